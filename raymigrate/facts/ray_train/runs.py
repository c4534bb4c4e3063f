"""How a trainer, its RunConfig and its fit() belong together."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import keyword_argument
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS


def trainers_of(module: Module, run_config: ast.Call) -> list[ast.Call]:
    """The trainer calls that a RunConfig is given to, directly or through a variable."""
    found = []
    for call in module.calls(*TRAINERS, *TORCH_TRAINERS):
        given = keyword_argument(call, "run_config")
        if given is not None and module.value(given) is run_config:
            found.append(call)
    return found


def fits(module: Module, trainer: ast.Call) -> list[ast.Call]:
    """The calls of fit() on what a trainer call makes."""
    return [call for call, method in module.method_calls("fit") if module.value(method.value) is trainer]


def only_use(module: Module, node: ast.expr) -> ast.expr | None:
    """What a name that stands for an expression is read as, where it is read once; an expression that has no name."""
    if not isinstance(module.parent_of[node], ast.Assign):
        return node
    name = module.name_of(node)
    uses = module.uses_of(name) if module.is_bound_once(name) else []
    return uses[0] if len(uses) == 1 else None
