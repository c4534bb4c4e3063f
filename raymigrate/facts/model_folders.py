"""Which folders models of Transformers and adapters of peft are loaded from."""

import ast

from raymigrate.facts.hf_models import PIPELINES
from raymigrate.facts.module import Module
from raymigrate.facts.scopes import FUNCTIONS
from raymigrate.facts.values.calls import called_function, keyword_argument

LIBRARIES = ("transformers.", "peft.")
NAMES = ("pretrained_model_name_or_path", "model_id", "peft_model_id")
OF_DEEPSPEED = ("deepspeed", "zero_to_fp32")
DEEPEST = 3  # functions of the script that hand a folder on


def is_loaded(module: Module, folder: ast.AST) -> bool:
    """Whether an expression is what a call loads a model or an adapter from, with no function between."""
    call, name = _given_to(module, folder)
    if call is None:
        return False
    qualified = module.qualified(call.func) or ""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method == "load_adapter":
        return name in NAMES or folder in call.args[:1]
    if qualified in PIPELINES:
        return name == "model" or folder in call.args[1:2]
    is_known = qualified.startswith(LIBRARIES) or not qualified
    place = call.args[:2] if "Peft" in ast.unparse(call.func) else call.args[:1]
    return method == "from_pretrained" and is_known and (folder in place or name in NAMES)


def saves_state(module: Module) -> bool:
    """Whether accelerate saves models as safetensors in a file, as `save_state()` does since 0.25 (accelerator.py).

    DeepSpeed saves its own files, of which its zero_to_fp32.py makes a pytorch_model.bin (RM768).
    """
    if any(word in module.text.lower() for word in OF_DEEPSPEED) or not module.references_within("accelerate"):
        return False
    asked = (keyword_argument(call, "safe_serialization") for call, _ in module.method_calls("save_state"))
    return any(given is None or module.constant(given) is True for given in asked)


def leads_to_model(module: Module, folder: ast.AST, depth: int = 0) -> bool:
    """Whether a model is loaded from a folder, by the call that it is given to or by a function that hands it on."""
    if is_loaded(module, folder):
        return True
    call, name = _given_to(module, folder)
    if call is None or depth == DEEPEST:
        return False
    home, function = called_function(module, call, elsewhere=True)
    if not isinstance(function, FUNCTIONS):
        return False
    parameters = [*function.args.posonlyargs, *function.args.args]
    place = call.args.index(folder) if name is None else None  # type: ignore[arg-type]
    taken = parameters[place : place + 1] if place is not None else []
    taken += [one for one in (*parameters, *function.args.kwonlyargs) if name is not None and one.arg == name]
    scope = home.scope(function)
    return any(leads_to_model(home, use, depth + 1) for one in taken for use in home.uses(one.arg, scope))


def _given_to(module: Module, node: ast.AST) -> tuple[ast.Call | None, str | None]:
    """The call that an expression is an argument of, and its name there; None for one by position."""
    parent = module.parent_of[node]
    name = parent.arg if isinstance(parent, ast.keyword) else None
    call = module.parent_of[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or (name is None and node not in call.args):
        return None, None
    return call, name
