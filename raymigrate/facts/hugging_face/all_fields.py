"""Dicts of all that TrainingArguments have: `args.to_dict()`, also with more entries around it, or by way of JSON.

Such a dict holds every argument of the transformers that runs it, and not only what the script knows of. None could be
made of `vars(args)` and `dataclasses.asdict(args)`: transformers 4 raised a TypeError for their `_n_gpu`.
"""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, is_method_call, unpacked_dicts

METHODS = ("to_dict", "to_json_string")
MOST = 50  # dicts around dicts


def with_all_fields(module: Module, call: ast.Call) -> list[ast.expr]:
    """What a construction of TrainingArguments unpacks that may hold all arguments of other ones.

    Args:
        module: The module.
        call: The construction.
    """
    unpacked = unpacked_dicts(call)
    return [node for node in unpacked if _holds_all(module, node)]


def _holds_all(module: Module, unpacked: ast.expr) -> bool:
    waiting, seen = [Source(module, unpacked)], set[ast.AST]()
    while waiting and len(seen) < MOST:
        current = waiting.pop()
        if current.node in seen:
            continue
        seen.add(current.node)
        for source in current.module.origins(current.node):
            if is_method_call(source.node, *METHODS):
                return True
            waiting += [Source(source.module, part) for part in _parts(source.node)]
    return False


def _parts(node: ast.expr) -> list[ast.expr]:
    """The dicts that a dict is made of."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return [value for key, value in zip(keys, values, strict=True) if key is None]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [left, right]
        case ast.DictComp(generators=[ast.comprehension(iter=ast.Call(func=ast.Attribute(value=whole)))]):
            return [whole]
        case ast.Call(func=ast.Attribute(value=whole, attr="copy")):
            return [whole]
        case ast.Call(args=[*given], keywords=[*named]):
            return [*given, *(keyword.value for keyword in named if keyword.arg is None)]
    return []
