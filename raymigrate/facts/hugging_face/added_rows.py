"""Whether resize_token_embeddings() may add rows: it does for tokens that a script gives to a tokenizer."""

import ast

from raymigrate.facts.projects.callees import callees
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    argument,
    free_name,
    has_unpacking,
    is_method_call,
    is_none,
    named_arguments,
    reaching,
    sources_here,
)

ADDS_TOKENS = ("add_tokens", "add_special_tokens", "train_new_from_iterator")
HOLDERS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Starred, ast.keyword)
LOAD = "from_pretrained"
SETTING = ("_token", "_tokens")  # as the names of arguments and attributes of special tokens end


def may_add_rows(module: Module, call: ast.Call) -> bool:
    """Whether a call of resize_token_embeddings() may add rows.

    It adds none for the tokens that a tokenizer has in the same checkpoint as the model, without more of them.

    Args:
        module: The module.
        call: The call.
    """
    if has_unpacking(call) or argument(call, 1, "pad_to_multiple_of") is not None:
        return True
    size = argument(call, 0, "new_num_tokens")
    if size is None or is_none(size):
        return False
    counted = [_counted(module, source) for source in sources_here(module, size)]
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    models = _loaded(module, owner)
    if len(counted) != 1 or counted[0] is None or models is None:
        return True
    tokenizers = _loaded(module, counted[0])
    if tokenizers is None or len({_checkpoint(module, load) for load in (*tokenizers, *models)}) != 1:
        return True
    return _sets_tokens(module) or any(_gets_more(module, load) for load in tokenizers)


def _counted(module: Module, node: ast.expr) -> ast.expr | None:
    """What len() is called with."""
    is_length = isinstance(node, ast.Call) and free_name(module, node.func) == "len" and len(node.args) == 1
    return node.args[0] if is_length and isinstance(node, ast.Call) else None


def _loaded(module: Module, node: ast.expr) -> list[ast.Call] | None:
    """The calls that load a model or tokenizer, if nothing else in the file makes it."""
    calls = [source.node for source in module.origins(node) if isinstance(source.node, ast.Call)]
    loads: list[ast.Call] = [call for call in calls if is_method_call(call, LOAD) and call.args]
    here = all(module.parent_of.get(call) is not None for call in loads)
    return loads if loads and here and len(loads) == len(module.origins(node)) else None


def _checkpoint(module: Module, load: ast.Call) -> tuple[object, ...]:
    """What names the checkpoint, with all that gives its names their values there."""
    names = [part for part in ast.walk(load.args[0]) if isinstance(part, ast.Name)]
    return ast.unparse(load.args[0]), *(binding.node for name in names for binding in reaching(module, name))


def _sets_tokens(module: Module) -> bool:
    """Whether a file gives tokens to a tokenizer that need not be among those that it has, as `tok.eos_token` is."""
    if any(module.attributes(*ADDS_TOKENS)) or any(module.named_calls("setattr")):
        return True
    stores = (node for node in module.of_type(ast.Attribute) if isinstance(node.ctx, ast.Store))
    values = [module.assigned(node) for node in stores if node.attr.endswith(SETTING)]
    return not all(isinstance(value, ast.Attribute) and value.attr.endswith(SETTING) for value in values)


def _gets_more(module: Module, load: ast.Call) -> bool:
    """Whether a tokenizer is loaded with more tokens, or given to code that is not seen and may add some."""
    names = named_arguments(load)
    if has_unpacking(load) or any(name.endswith(SETTING) for name in names):
        return True
    name = module.name_of(load)
    scope = module.bound_in(name)
    if name is None or scope is None:
        return True
    given = [(use, _taker(module, use)) for use in module.uses(name.id, scope)]
    return any(
        callee.is_unknown or (callee.function is not None and callee.module is not module)
        for use, call in given
        if isinstance(call, ast.Call) and call.func is not use
        for callee in callees(module, call.func)
    )


def _taker(module: Module, use: ast.AST) -> ast.AST:
    """What takes a value, alone or among others: the call of `prepare([tokenizer])`."""
    return next(outer for outer in module.ancestors(use) if not isinstance(outer, HOLDERS))
