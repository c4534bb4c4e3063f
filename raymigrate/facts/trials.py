"""The results of a Tuner's trials: which expressions stand for one, and which Tuner it comes from."""

import ast

from raymigrate.facts.items import DEEPEST, collections_of, items_of
from raymigrate.facts.legacy import RL_TRAINERS
from raymigrate.facts.module import Module
from raymigrate.facts.tuners import TUNERS
from raymigrate.facts.values import Source, is_none

GRIDS = ("fit", "get_results")
RESTORED = tuple(f"{tuner}.restore" for tuner in TUNERS)


def tuners_of(module: Module, result: ast.expr) -> list[Source | None]:
    """The constructions of the Tuners of which a value is one trial's result, through every way to it.

    Returns:
        Calls of Tuner or Tuner.restore; None among them for a way that leads to something else, or nowhere.
    """
    return _of_result(Source(module, result), 0)


def is_of_rl_trainer(module: Module, result: ast.expr, depth: int = 0) -> bool:
    """Whether a value is what fit() of an RLTrainer gave, through every way to it: today the one trial of a Tuner."""
    found = [origin for origin in module.origins(result) if not is_none(origin.node)]
    return bool(found) and all(_fits_rl_trainer(origin) or _holds_such(origin, depth) for origin in found)


def _holds_such(origin: Source, depth: int) -> bool:
    """Whether a value was taken out of a list of such results."""
    collections = collections_of(origin) if depth < DEEPEST else []
    items = [item for collection in collections for item in items_of(collection)]
    return bool(items) and all(is_of_rl_trainer(item.module, item.node, depth + 1) for item in items)


def _fits_rl_trainer(fit: Source) -> bool:
    if (
        not isinstance(fit.node, ast.Call)
        or not isinstance(fit.node.func, ast.Attribute)
        or fit.node.func.attr != "fit"
    ):
        return False
    made = [origin for origin in fit.module.origins(fit.node.func.value) if not is_none(origin.node)]
    names = [origin.module.qualified(origin.node.func) for origin in made if isinstance(origin.node, ast.Call)]
    return len(names) == len(made) and {(name or "").removesuffix(".restore") for name in names} <= RL_TRAINERS


def _of_result(result: Source, depth: int) -> list[Source | None]:
    found: list[Source | None] = []
    for origin in result.module.origins(result.node):
        node = origin.node
        if is_none(node):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get_best_result":
            found += _of_grid(Source(origin.module, node.func.value))
        else:
            found += _picked(origin, depth)
    return found


def _picked(result: Source, depth: int) -> list[Source | None]:
    """The Tuners behind a result that was taken out of a grid, or out of a list of such results."""
    found: list[Source | None] = []
    for collection in collections_of(result) if depth < DEEPEST else ():
        items = items_of(collection)
        found += _of_grid(collection) if not items else []
        for item in items:
            found += _of_result(item, depth + 1)
    return found or [None]


def _of_grid(grid: Source) -> list[Source | None]:
    found: list[Source | None] = []
    for origin in grid.module.origins(grid.node):
        fit = origin.node.func if isinstance(origin.node, ast.Call) else None
        if isinstance(fit, ast.Attribute) and fit.attr in GRIDS:
            made = origin.module.origins(fit.value)
            found += [tuner if _is_tuner(tuner) else None for tuner in made if not is_none(tuner.node)]
        elif not is_none(origin.node):
            found.append(None)
    return found


def _is_tuner(made: Source) -> bool:
    return isinstance(made.node, ast.Call) and made.module.qualified(made.node.func) in TUNERS + RESTORED
