"""How a trainer, its RunConfig and its fit() belong together."""

import ast

from raymigrate.facts.legacy import TORCH_TRAINERS, TRAINERS
from raymigrate.facts.module import Module
from raymigrate.facts.values import keyword_argument


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
    target = module.parent_of[node]
    if not isinstance(target, ast.Assign):
        return node
    if len(target.targets) != 1 or not isinstance(target.targets[0], ast.Name):
        return None
    name = target.targets[0]
    scope = module.scope_of[name].find(name.id)
    if scope is None or len(scope.bindings[name.id]) != 1:
        return None
    uses = module.uses(name.id, scope)
    return uses[0] if len(uses) == 1 else None
