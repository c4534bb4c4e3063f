"""What the checkpoints of ray.train.huggingface load: get_model(Class), get_tokenizer(Class)."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.checkpoint_files import layout_after
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_method_call, reads, sources
from raymigrate.facts.values.arguments import is_call_by_name

# Arguments of from_pretrained() after which the model is what its class makes of the folder that it was trained to.
KEEPS_MODEL = {
    *("pretrained_model_name_or_path", "cache_dir", "revision", "token", "use_auth_token", "local_files_only"),
    *("num_labels", "ignore_mismatched_sizes"),
}
LOADED = {"get_model": "model", "get_tokenizer": "tokenizer"}  # parameter with the class to load


def loaded_class(module: Module, call: ast.Call, method: str) -> ast.expr | None:
    """The class given to get_model() or get_tokenizer() as its first argument; None where it may be an object.

    Args:
        module: The module.
        call: The call.
        method: The name of the method.
    """
    given = call.args[0] if call.args else call.keywords[0].value if call.keywords else None
    if given is None or isinstance(given, ast.Starred):
        return None
    if not call.args and call.keywords[0].arg != LOADED.get(method):
        return None
    if isinstance(module.definition(given), ast.ClassDef):
        return given
    if (made := loaded_before(module, call, method)) is not None:
        return made
    name = module.qualified(given) or ""
    is_class = name.rpartition(".")[2][:1].isupper() or _is_class_of_object(given)
    return given if is_class or (method == "get_tokenizer" and _is_plain(given)) else None


def loaded_before(module: Module, call: ast.Call, method: str) -> ast.expr | None:
    """The class of a model that is loaded for get_model() alone, which put the trained weights in the place of others.

    Ray called load_state_dict() of the model, and gave it back (2.6.3 train/huggingface/transformers/
    transformers_checkpoint.py): loaded by its class it is the same, where nothing else reads or has changed the first.

    Args:
        module: The module.
        call: The call of the method.
        method: The name of the method.
    """
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if method != "get_model" or len(given) != 1:
        return None
    loads = module.value(given[0])
    if not isinstance(loads, ast.Call) or not is_method_call(loads, "from_pretrained"):
        return None
    if isinstance(given[0], ast.Name) and (module.name_of(loads) is None or reads(module, given[0]) != given):
        return None
    assert isinstance(loads.func, ast.Attribute)
    around = (outer for outer in module.ancestors(loads) if isinstance(outer, (ast.With, ast.AsyncWith)))
    if any(not module.inside(call, outer) for outer in around):
        return None  # `with torch.device("cuda")`, which is not around the other one
    owner = loads.func.value
    scope = module.bound_in(owner)
    if not isinstance(owner, ast.Name) or not (module.qualified(owner) or "").startswith("transformers."):
        return None
    is_same = scope is not None and module.scope_of[call].find(owner.id) is scope and module.is_bound_once(owner)
    is_plain = len(loads.args) <= 1 and all(keyword.arg in KEEPS_MODEL for keyword in loads.keywords)
    return owner if is_same and is_plain else None


def _is_class_of_object(given: ast.expr) -> bool:
    """Whether an expression is the class of an object: `type(model)`, `model.__class__`."""
    if isinstance(given, ast.Attribute):
        return given.attr == "__class__"
    return is_call_by_name(given, "type") and len(given.args) == 1 and not given.keywords


def _is_plain(given: ast.expr) -> bool:
    """Whether an expression can have from_pretrained(), as all that get_tokenizer() takes, and is not that method."""
    if isinstance(given, ast.Attribute):
        return given.attr != "from_pretrained"
    return isinstance(given, (ast.Name, ast.Call))


def is_of_transformers(context: Context, made: ast.expr) -> bool:
    """Whether a value comes from a class of transformers for sure, and so has save_pretrained().

    What get_model() of a checkpoint gave counts as what `checkpoint_methods` writes in its place.

    Args:
        context: The module.
        made: The value.
    """
    return all(
        isinstance(source, ast.Call) and (_class_of(context, source) or "").startswith("transformers.")
        for source in sources(context.module, made)
    )


def _class_of(context: Context, call: ast.Call) -> str | None:
    """The name of what is called; where a checkpoint loads something, of the class that it is given."""
    method = call.func
    if isinstance(method, ast.Attribute) and method.attr in LOADED and layout_after(context, method.value) is not None:
        loaded = loaded_class(context.module, call, method.attr)
        return context.module.qualified(loaded) if loaded is not None else None
    return context.module.qualified(method)
