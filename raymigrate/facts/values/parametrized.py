"""What pytest gives the parameters of a test: `@pytest.mark.parametrize("trainer_cls", [XGBoostTrainer, ...])`.

https://docs.pytest.org/en/stable/how-to/parametrize.html
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from raymigrate.facts.values.arguments import has_starred
from raymigrate.facts.values.behind import UNKNOWN, Behind, Source

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module
    from raymigrate.facts.syntax.scopes import FunctionNode

PARAMETRIZE = "pytest.mark.parametrize"
PARAM = "pytest.param"


def parametrized(module: Module, function: FunctionNode, parameter: ast.arg) -> list[Behind]:
    """What each decorator of a test that names one of its parameters gives for it."""
    found = []
    for decorator in () if isinstance(function, ast.Lambda) else function.decorator_list:
        if isinstance(decorator, ast.Call) and module.qualified(decorator.func) == PARAMETRIZE:
            names = _names(decorator.args[0]) if len(decorator.args) > 1 else []
            if parameter.arg in names:
                found.append(_column(module, decorator.args[1], names.index(parameter.arg), len(names)))
    return found


def _names(node: ast.expr) -> list[str]:
    """The names of `"a, b"`, `("a", "b")` or `["a", "b"]`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",")]
    listed = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
    return [str(part.value) if isinstance(part, ast.Constant) else "" for part in listed]


def _column(module: Module, cases: ast.expr, place: int, width: int) -> Behind:
    """The values at one place of all cases."""
    listed = module.value(cases)
    if not isinstance(listed, (ast.List, ast.Tuple)):
        return UNKNOWN
    values = [_value(module, case, place, width) for case in listed.elts]
    seen = [Source(module, value) for value in values if value is not None]
    return Behind(seen, whole=len(seen) == len(values))


def _value(module: Module, case: ast.expr, place: int, width: int) -> ast.expr | None:
    if isinstance(case, ast.Call) and module.qualified(case.func) == PARAM:
        parts: list[ast.expr] = case.args
    elif width == 1:
        return case
    else:
        parts = case.elts if isinstance(case, (ast.Tuple, ast.List)) else []
    shown = len(parts) == width and not has_starred(parts)
    return parts[place] if shown else None
