"""Calls of a method, also by another name: `encode = tokenizer.encode`, `partial(tokenizer.encode)`."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, free_name
from raymigrate.facts.values.partials import partial_methods


def calls_of_method(module: Module, name: str) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """The calls of a method, or of partial() with it: each call, what gives the method, and the object that it is of.

    A call by a name that stands for the method of one of several objects comes once for each of them.

    Args:
        module: The module.
        name: The method.
    """
    for method in module.attributes(name):
        if isinstance(method.ctx, ast.Load):
            yield from ((call, method, method.value) for call in _calls(module, method, name))
    for lookup in module.named_calls("getattr"):
        if _is_lookup(module, lookup, name):
            yield from ((call, lookup, lookup.args[0]) for call in _calls(module, lookup, name))
    yield from ((call, method, method.value) for call, method in partial_methods(module, name))


def _is_lookup(module: Module, node: ast.Call, name: str) -> bool:
    is_getattr = free_name(module, node.func) == "getattr"
    return is_getattr and len(node.args) > 1 and module.constant(node.args[1]) == name


def _calls(module: Module, method: ast.expr, name: str) -> Iterator[ast.Call]:
    """The calls of what an expression gives, at once or by a name that stands for such a method each time."""
    outer = module.parent_of[method]
    if isinstance(outer, ast.Call) and outer.func is method:
        yield outer
        return
    target = module.name_of(method)
    for call in module.calls_of(target) if target is not None else ():
        if all(_is_method(source, name) for source in module.origins(call.func)):
            yield call


def _is_method(source: Source, name: str) -> bool:
    node = source.node
    if isinstance(node, ast.Call):
        return _is_lookup(source.module, node, name)
    return isinstance(node, ast.Attribute) and node.attr == name
