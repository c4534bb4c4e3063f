"""Calls of a method, also by another name: `encode = tokenizer.encode`, `getattr(tokenizer, "encode")`."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module


def calls_of_method(module: Module, name: str) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """The calls of a method: each call, what gives the method, and the object that it is of.

    Args:
        module: The module.
        name: The method.
    """
    for method in module.attributes(name):
        if isinstance(method.ctx, ast.Load):
            yield from ((call, method, method.value) for call in _calls(module, method))
    for lookup in module.named_calls("getattr"):
        if len(lookup.args) > 1 and module.constant(lookup.args[1]) == name:
            yield from ((call, lookup, lookup.args[0]) for call in _calls(module, lookup))


def _calls(module: Module, method: ast.expr) -> Iterator[ast.Call]:
    """The calls of what an expression gives, at once or by a name that stands for nothing else."""
    outer = module.parent_of[method]
    if isinstance(outer, ast.Call) and outer.func is method:
        yield outer
        return
    name = module.name_of(method)
    for use in module.uses_of(name) if name is not None and module.is_bound_once(name) else ():
        call = module.parent_of[use]
        if isinstance(call, ast.Call) and call.func is use:
            yield call
