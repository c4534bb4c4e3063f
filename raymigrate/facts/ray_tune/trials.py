"""The results of a Tuner's trials: which expressions stand for one, and which Tuner it comes from."""

import ast

from raymigrate.facts.projects.handed_on import trainer_classes
from raymigrate.facts.ray_tune.tuners import RESTORED, TUNERS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, called_name, is_method_call, is_none, sources
from raymigrate.facts.values.items import DEEPEST, collections_of, items_behind, items_of
from raymigrate.knowledge.legacy import RL_TRAINERS, TRAINERS

GRIDS = ("fit", "get_results")
ANALYSES = tuple(f"ray.tune.{place}ExperimentAnalysis" for place in ("", "analysis.", "analysis.experiment_analysis."))
ANALYZED = ("experiment_checkpoint_path", "experiment_path")  # the folder that one reads


def tuners_of(module: Module, result: ast.expr) -> list[Source | None]:
    """The constructions of the Tuners of which a value is one trial's result, through every way to it.

    Returns:
        Calls of Tuner or Tuner.restore; None among them for a way that leads to something else, or nowhere. What
        get_best_result() gave of something unknown comes from the Tuners of the module, if it has any.
    """
    found = _of_result(Source(module, result), 0, set())
    if any(found) or not _is_best_result(module, result):
        return found
    return [Source(module, call) for call in module.calls(*TUNERS)] or found


def tuners_of_grid(module: Module, grid: ast.expr) -> list[Source | None]:
    """The constructions of the Tuners whose fit() or get_results() gave a ResultGrid."""
    return _of_grid(Source(module, grid))


def is_of_rl_trainer(module: Module, result: ast.expr, depth: int = 0) -> bool:
    """Whether a value is what fit() of an RLTrainer gave, through every way to it: today the one trial of a Tuner."""
    found = [origin for origin in module.origins(result) if not is_none(origin.node)]
    return bool(found) and all(_fits_rl_trainer(origin) or _holds_such(origin, depth) for origin in found)


def _holds_such(origin: Source, depth: int) -> bool:
    """Whether a value was taken out of a list of such results."""
    items = items_behind(origin) if depth < DEEPEST else []
    return bool(items) and all(is_of_rl_trainer(item.module, item.node, depth + 1) for item in items)


def _fits_rl_trainer(fit: Source) -> bool:
    if not is_method_call(fit.node, "fit"):
        return False
    made = [origin for origin in fit.module.origins(fit.node.func.value) if not is_none(origin.node)]
    names = [origin.module.qualified(origin.node.func) for origin in made if isinstance(origin.node, ast.Call)]
    return len(names) == len(made) and {(name or "").removesuffix(".restore") for name in names} <= RL_TRAINERS


def is_trial(module: Module, result: ast.expr) -> bool:
    """Whether a value is the result of a trial, through every way to it."""
    tuners = tuners_of(module, result)
    return bool(tuners) and None not in tuners


def may_be_trial(module: Module, result: ast.expr) -> bool:
    """Whether a value may be the result of a trial: one of a Tuner that is seen, or the best of whatever gave it."""
    return any(tuners_of(module, result)) or _is_best_result(module, result)


def legacy_trainers_of(module: Module, result: ast.expr) -> set[str | None]:
    """The classes of the legacy trainers that trials fit of which a value is a result; None where one may be another.

    Args:
        module: The module.
        result: The value.
    """
    names: set[str | None] = set()
    for tuner in tuners_of(module, result):
        trainable = _trainable(tuner) if tuner is not None else None
        classes = trainer_classes(tuner.module, trainable) if tuner is not None and trainable is not None else {None}
        names |= {name if name in TRAINERS else None for name in classes}
    return names


def _trainable(tuner: Source) -> ast.expr | None:
    """What a Tuner is given to tune, where it is made or restored."""
    assert isinstance(tuner.node, ast.Call)
    is_restored = tuner.module.qualified(tuner.node.func) in RESTORED
    return argument(tuner.node, 1 if is_restored else 0, "trainable")


def _is_best_result(module: Module, node: ast.expr) -> bool:
    """Whether a value is what get_best_result() gave, in whatever function that was called."""
    methods = (source.func for source in sources(module, node) if isinstance(source, ast.Call))
    return any(isinstance(method, ast.Attribute) and method.attr == "get_best_result" for method in methods)


def _of_result(result: Source, depth: int, seen: set[ast.AST]) -> list[Source | None]:
    found: list[Source | None] = []
    for origin in result.module.origins(result.node):
        node = origin.node
        if is_none(node) or node in seen:
            continue
        seen.add(node)
        if is_method_call(node, "get_best_result"):
            found += _of_grid(Source(origin.module, node.func.value))
        else:
            found += _picked(origin, depth, seen)
    return found


def _picked(result: Source, depth: int, seen: set[ast.AST]) -> list[Source | None]:
    """The Tuners behind a result that was taken out of a grid, or out of a list of such results."""
    found: list[Source | None] = []
    for collection in collections_of(result) if depth < DEEPEST else ():
        items = items_of(collection)
        found += _of_grid(collection) if not items else []
        for item in items:
            found += _of_result(item, depth + 1, seen)
    for part in items_behind(result) if not found and depth < DEEPEST else ():
        found += _of_result(part, depth + 1, seen)
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
    return called_name(*made) in TUNERS + RESTORED
