"""RM806, RM828: what a script downloads to the home of its user on the driver, and workers look for in theirs."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import DEFINITIONS
from raymigrate.facts.values import called_name

DOWNLOADS = ("nltk.download", "nltk.downloader.download", "spacy.cli.download", "stanza.download", "benepar.download")
MESSAGE = (
    "{}() downloads for the machine of the driver alone: workers on other machines don't find it. Call it in what they"
    " run too, or install it with their environment."
)


def tell_downloads(context: Context, rule: Rule, outline: Outline) -> None:
    """Tells of downloads of the driver that workers need.

    Args:
        context: The file.
        rule: The rule of the conversion.
        outline: What becomes of the script.
    """
    module = context.module
    for call in module.calls(*DOWNLOADS):
        library = called_name(module, call).partition(".")[0]
        uses = (reference.node for reference in module.references_within(library))
        if not _may_be_of_workers(outline, call) and any(_may_be_of_workers(outline, use) for use in uses):
            context.note(rule, call, MESSAGE.format(ast.unparse(call.func)))


def _may_be_of_workers(outline: Outline, node: ast.AST) -> bool:
    """Whether workers may run some code: in what moves, or in a function that stays and that they may call."""
    return outline.is_for_workers(node) or isinstance(outline.script.step_of(node), DEFINITIONS)
