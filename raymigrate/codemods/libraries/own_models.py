"""RM770: classes of models that a script derives from PreTrainedModel, and that never call post_init().

docs/semantics/libraries.md#own-models: transformers 4 needed init_weights() at most, and loaded a class without either.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.phases import Phase
from raymigrate.facts.syntax.attribute_chains import is_of_self
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import method_of
from raymigrate.facts.values.lineages import lineage

RM770 = Rule(
    "RM770",
    "a class of models without post_init()",
    "transformers >= 5 keeps in post_init() what init_weights(), from_pretrained() and save_pretrained() read: without"
    " it they raise an AttributeError.",
    "self.post_init(), at the end of __init__, takes the place of self.init_weights(), which it calls.",
    GUIDE,
    errors=("object has no attribute 'all_tied_weights_keys'",),
)
ABSTRACT = "PreTrainedModel"  # the end of the name of each class of transformers that is no model by itself
POST, WEIGHTS = "post_init", "init_weights"
ADVICE = (
    "Call self.post_init() at the end of __init__. It initializes weights as _init_weights() of the class says: one"
    " that is made from a configuration alone begins with others than before."
)


@codemod(rf"\w*{ABSTRACT}", phase=Phase.LIBRARIES)
def own_models(context: Context) -> None:
    """Calls post_init() where a class called init_weights(), and tells of those that call neither."""
    module = context.module
    for home in module.of_type(ast.ClassDef):
        line = lineage(module, home)
        made = [own for each in line for own in method_of(module, each, "__init__") if module.parent_of[own] is each]
        if not made or module.parent_of[made[0]] is not home or not _is_abstract(module, line):
            continue
        if method_of(module, home, POST) or any(_calls(module, own, POST) for own in made):
            continue
        calls = _calls(module, made[0], WEIGHTS)
        for call in calls:
            _convert(context, call)
        if not calls and len(made) == 1:  # of what a base class here lacks, that is told there
            does = "from_pretrained() and save_pretrained() raise an AttributeError today"
            context.manual(RM770, home, f"{home.name} never calls self.post_init(): {does}.", ADVICE)


def _is_abstract(module: Module, line: list[ast.ClassDef]) -> bool:
    """Whether a class gets nothing of transformers but PreTrainedModel, that of a family of models too."""
    names = [module.qualified(base) or "" for each in line for base in each.bases]
    theirs = [name for name in names if name.startswith("transformers.")]
    return bool(theirs) and all(name.endswith((ABSTRACT, "Mixin")) for name in theirs)


def _calls(module: Module, function: ast.FunctionDef, method: str) -> list[ast.Call]:
    return [call for call, named in module.method_calls(method) if is_of_self(named) and module.inside(call, function)]


def _convert(context: Context, call: ast.Call) -> None:
    if call.args or call.keywords:
        context.manual(RM770, call, "init_weights() raises an AttributeError before post_init() today.", ADVICE)
    elif context.converts(
        RM770, call, "init_weights() alone raises an AttributeError today; now post_init(), which calls it."
    ):
        context.plan.call(call).function = f"self.{POST}"
