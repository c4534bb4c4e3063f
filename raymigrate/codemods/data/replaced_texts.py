r"""RM524: `.str.replace()` of pandas with a pattern, and without `regex=`.

pandas 1 took more than one character for a regular expression there. pandas 2 takes a plain text, so that "\s+" is
found nowhere, and refuses what is no text (docs/semantics/data.md#texts). A script may have run with either.
"""

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.ray_data.frame_texts import meant_as_pattern

RM524 = Rule(
    "RM524",
    "a pattern that .str.replace() of pandas takes for a plain text",
    "Without regex=, pandas 1 took what it is given for a regular expression. pandas >= 2 looks for that text itself,"
    " and replaces nothing, without a word; a compiled pattern or a function raises a ValueError.",
    "--unsafe writes regex=True for a text. A script that was written for pandas >= 2 has replaced nothing: regex=False"
    " goes on so.",
    "https://pandas.pydata.org/docs/whatsnew/v2.0.0.html",
    errors=(
        "Cannot use a callable replacement when regex=False",
        "Cannot use a compiled regex as replacement pattern with regex=False",
    ),
    unproven="What is replaced depends on the rows, and a task that raises is that of any function.",
)
PLAIN = (
    "Without regex=, .str.replace() of pandas >= 2 looks for this very text, and finds it nowhere, where pandas 1 took"
    " it for a pattern"
)
REFUSED = "Without regex=True, .str.replace() of pandas >= 2 raises a ValueError for {}"


@codemod("str.replace", phase=Phase.LIBRARIES, in_ray_scripts=True)
def replaced_texts(context: Context) -> None:
    """Says that what is replaced is a pattern."""
    module = context.module
    if not context.of_legacy_job or "polars" in module.text:
        return
    for call, method in module.method_calls("replace"):
        meant = meant_as_pattern(module, call) if module.source(method.value).endswith(".str") else ""
        if not meant:
            continue
        is_text = meant == "a pattern"
        message = PLAIN if is_text else REFUSED.format(meant)
        if context.converts(RM524, call, f"{message}; now regex=True.", safe=not is_text):
            context.plan.call(call).set("regex", "True")
