"""Whether a script is ready for the files of weights that transformers writes today."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import last_name

NAMES = ("SAFE_WEIGHTS_NAME", "SAFETENSORS_WEIGHTS_NAME")
MAKE_PATHS = ("join", "joinpath", "Path", "PurePath", "str")
SEVERAL = (ast.Tuple, ast.List, ast.Set)


def reads_new_weights_else(module: Module, node: ast.AST, new: str) -> bool:
    """Whether a script reads the weights of today where those are, or where these old ones are not found.

    Args:
        module: The module.
        node: The name of a file of old weights.
        new: The name of the file that holds them today.
    """
    return any(_leads_to(module, part, new) for other in _others(module, node) for part in ast.walk(other))


def _others(module: Module, node: ast.AST) -> Iterator[ast.AST]:
    """What is done in place of code with the name, or tried with another one: `for name in (new, old)`."""
    for outer in module.ancestors(node):
        arms: list[list[ast.AST]] = []
        if isinstance(outer, ast.Try):
            arms = [[*outer.body], [*outer.handlers]]
        elif isinstance(outer, ast.If):
            arms = [[outer.test], [*outer.body], [*outer.orelse]]
        elif isinstance(outer, ast.IfExp):
            arms = [[outer.test], [outer.body], [outer.orelse]]
        elif isinstance(outer, ast.BoolOp):
            arms = [[value] for value in outer.values]
        elif isinstance(outer, SEVERAL):
            arms = [[item] for item in outer.elts]
        yield from (part for arm in arms if not any(module.inside(node, one) for one in arm) for part in arm)
        if isinstance(outer, ast.stmt):
            block = module.block_of(outer)
            yield from (
                s for s in block[: block.index(outer)] if isinstance(s, ast.If) and s.body[-1] in module.leaving
            )
        if is_assignment(outer) and isinstance(target := targets_of(outer)[0], ast.Name):
            paths = _values(module, target)
            yield from (path for path in paths if outer.value in paths and path is not outer.value)


def _leads_to(module: Module, node: ast.AST, new: str) -> bool:
    """Whether code names the new weights, or what a path of them was given to."""
    values = _values(module, node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else []
    return any(_names(part, new) for value in [node, *values] for part in (ast.walk(value) if values else [node]))


def _values(module: Module, name: ast.Name) -> list[ast.expr]:
    """The paths that a name is assigned, not what is read from them."""
    assigned = (module.parent_of.get(binding.node) for binding in module.bindings_of(name))
    values = [statement.value for statement in assigned if is_assignment(statement)]
    return [value for value in values if not isinstance(value, ast.Call) or last_name(value.func) in MAKE_PATHS]


def _names(node: ast.AST, new: str) -> bool:
    text = node.value if isinstance(node, ast.Constant) else getattr(node, "id", getattr(node, "attr", ""))
    last = text.rpartition("/")[2] if isinstance(text, str) else ""
    return last in (new, *NAMES) or (last.endswith(".safetensors") and "*" in last)
