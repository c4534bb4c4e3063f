"""RM705: from_pretrained with the name of a model and weights of its own, `from_pretrained(name, state_dict=state)`.

transformers 5.23 (modeling_utils.py:4204) raises a ValueError where both are given. transformers 4 made the model from
the name's configuration, and filled it from the weights alone: what they lacked was new.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM705
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import is_model_class
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, constants, is_none, keyword_named, last_name

ARGUMENT = "state_dict"
MESSAGE = "from_pretrained({name}, state_dict=...) raises a ValueError today: it takes a name or weights."
PERHAPS = "Where {state} is not None, this raises a ValueError today: from_pretrained takes a name or weights."
ADVICE = (
    "Make the model of the configuration, {made}, and call load_state_dict() of it with the weights, with strict=False"
    " where they are not all, and eval() unless it is trained: from_pretrained did."
)
AUTO = "transformers.Auto"
READERS = ("get", "pop", "getattr")  # what gives None for an entry that is missing


@codemod(ARGUMENT, phase=Phase.LIBRARIES, after=[keyword_arguments])
def loaded_states(context: Context) -> None:
    """Tells of weights that a model's class is given beside a name."""
    module = context.module
    for call, method in module.method_calls("from_pretrained"):
        names = {source.module.qualified(source.node) or "" for source in module.origins(method.value)}
        name, state = argument(call, 0, "pretrained_model_name_or_path"), keyword_named(call, ARGUMENT)
        if state is None or name is None or is_none(name) or not all(map(_is_of_transformers, names)):
            continue
        values = constants(module, state.value)
        if all(value is None for _, value in values):
            continue
        shown = module.source(name)
        text = PERHAPS if any(value is None or _may_be_none(source) for source, value in values) else MESSAGE
        message = text.format(name=shown, state=module.source(state.value))
        context.manual(RM705, state, message, ADVICE.format(made=_made(module, method, names, shown)))


def _is_of_transformers(name: str) -> bool:
    return name.startswith("transformers.") and is_model_class(name)


def _may_be_none(source: Source) -> bool:
    """Whether a value is out of sight: what a function was called with, a field, or an entry that may be missing."""
    node = source.node
    if isinstance(node, ast.Call):
        function = node.func
        return last_name(function) in READERS
    return isinstance(node, (ast.Name, ast.Attribute))


def _made(module: Module, method: ast.Attribute, names: set[str], shown: str) -> str:
    """How the model is made from its configuration alone."""
    owner = module.source(method.value)
    config = f"AutoConfig.from_pretrained({shown})"
    return f"{owner}.from_config({config})" if all(n.startswith(AUTO) for n in names) else f"{owner}({config})"
