"""RM773: use_fast=False of AutoTokenizer, which transformers 5 takes and ignores.

5.23 models/auto/tokenization_auto.py:748: "Always use fast tokenizers, ignore use_fast parameter". Measured on 5.23
with a folder that holds a vocabulary of BERT: what comes is fast all the same (`is_fast`), and no warning says so.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import calls_of_classes
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_negation
from raymigrate.facts.values import keyword_argument
from raymigrate.facts.values.keys import unpacked_value

RM773 = Rule(
    "RM773",
    "use_fast=False of AutoTokenizer",
    "transformers 5 ignores it, and no warning says so: the tokenizer is the fast one where there is one, which can"
    " split some texts otherwise than the slow one did.",
    "Take it out. Where the ids have to be the old ones, as for a checkpoint that is trained on, compare those of some"
    " texts.",
    "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
    unproven="The script runs on; the tokenizer that comes was looked at by hand.",
)

USE_FAST = "use_fast"
LOAD = "from_pretrained"
CLASSES = ("transformers.AutoTokenizer", "transformers.models.auto.AutoTokenizer")
MESSAGE = (
    "transformers 5 ignores use_fast=False: the fast tokenizer comes where there is one, and can split some texts"
    " otherwise than the slow one did."
)


@codemod(USE_FAST, phase=Phase.LIBRARIES)
def slow_tokenizers(context: Context) -> None:
    """Notes where a script for transformers 4 asks for a slow tokenizer: once for each place where it says so."""
    module = context.module
    if not is_for_old_transformers(context):
        return
    loads = [call for call, *_, names in calls_of_classes(module, LOAD) if not set(CLASSES).isdisjoint(names)]
    places = [place for call in loads if (place := _asks_for_slow(module, call)) is not None]
    for place in dict.fromkeys(places):
        context.note(RM773, place, MESSAGE)


def _asks_for_slow(module: Module, call: ast.Call) -> ast.expr | None:
    """Where a call is told to give the slow one, as far as that is written in this module."""
    given = keyword_argument(call, USE_FAST)
    if given is None:
        given = unpacked_value(module, call, USE_FAST)
    if given is None or is_guarded(module, call, USE_FAST):
        return None
    return given if _may_be_false(module, given) and given in module.parent_of else None


def _may_be_false(module: Module, given: ast.expr) -> bool:
    """Whether one of the values that an argument can come from is written as False, or as `not` of what is True."""
    waiting = [(source, False) for source in module.origins(given)]
    for (home, node), value in waiting:  # which grows meanwhile
        if isinstance(node, ast.Constant) and node.value is value:
            return True
        turned = home.origins(node.operand) if is_negation(node) else []
        waiting += [new for source in turned if (new := (source, not value)) not in waiting]  # `slow = not slow`
    return False
