"""How a trainer, its RunConfig and its fit() belong together."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import argument, called_name, keyword_argument, unpacked_dicts
from raymigrate.facts.values.keys import keys_of
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
    if not is_assignment(module.parent_of[node]):
        return node
    name = module.name_of(node)
    uses = module.uses_of(name) if module.is_bound_once(name) else []
    return uses[0] if len(uses) == 1 else None


def name_of_run(module: Module, config: ast.expr) -> tuple[bool, ast.expr | None]:
    """Whether the name in a RunConfig, or in a dict in its place, can be seen, and the name."""
    if isinstance(config, ast.Call) and called_name(module, config).endswith(".RunConfig"):
        name = argument(config, 0, "name")
        found = [_entry(module, given) for given in unpacked_dicts(config) if name is None]
        name = next((given for _, given in found if given is not None), name)
        return name is not None or all(seen for seen, _ in found), name
    return _entry(module, config)


def _entry(module: Module, config: ast.expr) -> tuple[bool, ast.expr | None]:
    """Whether it can be seen what a dict holds as name, and that."""
    entries = module.entries(config)
    if entries is not None:
        return True, entries.get("name")
    keys = keys_of(module, config)
    return not keys.hidden and "name" not in keys.names, None
