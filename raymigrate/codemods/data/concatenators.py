"""RM502 for a Concatenator, whose first parameter was the name of the new column, and is the list of those that go in.

Ray 2.6.3: `output_column_name="concat_out", include=None, exclude=None, dtype, raise_if_missing`. Ray 2.60: `columns`,
without a default, before `output_column_name`. Measured on 2.60: of a text as columns the letters are looked for, and
transform() raises a KeyError.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.preprocessors import RM502
from raymigrate.codemods.phases import Phase
from raymigrate.facts.ray_data.preprocessors import BEFORE_RAY_2, PREPROCESSORS
from raymigrate.facts.values import has_unpacking, keyword_argument

CONCATENATORS = tuple(
    f"{module}{place}.Concatenator" for module in (PREPROCESSORS, BEFORE_RAY_2) for place in ("", ".concatenator")
)
ORDER = "the columns come in this order, where legacy Ray kept that of the dataset."
GIVE = f"Give columns=[...]; {ORDER}"
GIVE_ALL = f"Give columns=[...] with every column that it took: all of the dataset; {ORDER}"
NAMED = " The name of the new column is output_column_name={} today."
NONE_GIVEN = "Concatenator() without columns= raises a TypeError."
FIRST = (
    "The first argument of Concatenator() is columns= today, and was output_column_name=: transform() raises a"
    " KeyError."
)


@codemod("Concatenator", phase=Phase.CONFIGURATION)
def concatenators(context: Context) -> None:
    """Reports the arguments that a Concatenator lost, those at another place, and the one that it has to have."""
    module = context.module
    for call in module.calls(*CONCATENATORS):
        first = call.args[0] if call.args else None
        is_name = first is not None and isinstance(module.constant(first), str)
        named = NAMED.format(module.source(first)) if first is not None and is_name else ""
        lost = [keyword for keyword in call.keywords if keyword.arg in ("include", "exclude")]
        for keyword in lost:
            context.manual(RM502, keyword, f"Concatenator({keyword.arg}=) raises a TypeError.", GIVE + named)
        if lost or has_unpacking(call) or keyword_argument(call, "columns") is not None:
            continue
        if first is None:
            context.manual(RM502, call, NONE_GIVEN, GIVE_ALL)
        elif is_name:
            of_all = len(call.args) == 1
            context.manual(RM502, first, FIRST, (GIVE_ALL if of_all else GIVE) + named)
