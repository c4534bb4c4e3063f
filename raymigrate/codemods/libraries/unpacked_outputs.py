"""RM759: outputs of a model of transformers that are unpacked as the tuple they were before transformers 4.

docs/semantics/libraries.md#outputs: what a model gives is a dict, and unpacking a dict gives its keys. `output[1]` and
`output[:2]` still give values.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import is_model, models_in, stored_in_self
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name

RM759 = Rule(
    "RM759",
    "outputs of a model that are unpacked",
    "A model gives a ModelOutput, since transformers 4 by default: unpacking it gives the names of its fields, such as"
    ' "last_hidden_state", and what takes them for tensors fails.',
    "return_dict=False gives a tuple, as before; or read the fields by their names.",
    GUIDE,
)
ARGUMENT = "return_dict"
FAILS = "Unpacking what a model gives binds the names of its fields, not their values"
SEVERAL = "Give the call return_dict=False, or read the fields by their names."


@codemod("transformers", phase=Phase.LIBRARIES)
def unpacked_outputs(context: Context) -> None:
    """Asks for the tuple in calls of models whose outputs are unpacked."""
    module = context.module
    for statement, call in _unpacked(module):
        if not _is_model(module, call.func) or _says(module, call):
            continue
        if module.parent_of[call] is not statement:  # named first: other code may read the fields
            context.manual(RM759, statement, f"{FAILS}.", SEVERAL)
        elif context.converts(RM759, statement, f"{FAILS}; now return_dict=False."):
            context.plan.call(call).set(ARGUMENT, "False")


def _is_model(module: Module, node: ast.expr) -> bool:
    """Whether what is called is a model: also the `self.bert` of a torch module, by all that the class stores there."""
    stored = stored_in_self(module, node)
    return bool(stored) and all(value is not None and is_model(module, value) for value in stored)


def _unpacked(module: Module) -> Iterator[tuple[ast.Assign, ast.Call]]:
    """The calls whose values are assigned to several names at once, each with that statement."""
    for node in module.of_type(ast.Assign):
        several = [target for target in node.targets if isinstance(target, (ast.Tuple, ast.List))]
        value = module.value(node.value) if several else None
        if isinstance(value, ast.Call) and isinstance(value.func, (ast.Name, ast.Attribute)):
            yield node, value


def _says(module: Module, call: ast.Call) -> bool:
    """Whether a call, its model or the configuration of that may ask for one form or the other."""
    if any(keyword.arg in (ARGUMENT, None) for keyword in call.keywords):
        return True
    values = [call.func, *stored_in_self(module, call.func)]
    models = [model for value in values if value is not None for model in models_in(module, value)]
    made = [keyword.arg for model in models for keyword in model.call.keywords]
    return ARGUMENT in made or bool(module.stores(ARGUMENT)) or any(True for _ in _configured(module))


def _configured(module: Module) -> Iterator[ast.keyword]:
    """Where a configuration is given the argument: `AutoConfig.from_pretrained(name, return_dict=False)`."""
    for call, keyword in module.keywords(ARGUMENT):
        name = called_name(module, call)
        if name.startswith("transformers.") and "Config" in name:
            yield keyword
