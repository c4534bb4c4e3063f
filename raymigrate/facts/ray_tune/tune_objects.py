"""The Trials of Tune and their checkpoints: what callbacks and schedulers get, and what an ExperimentAnalysis holds."""

import ast

from raymigrate.facts.hugging_face.instances import TRIAL, handed_by_tune, instance_of
from raymigrate.facts.ray_tune.trials import tuners_of_grid
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, is_none
from raymigrate.facts.values.items import DEEPEST, collections_of, origins_of_items

ANALYSIS = "ray.tune.analysis.experiment_analysis.ExperimentAnalysis"
OF_ANALYSIS = frozenset({"best_checkpoint", "get_best_checkpoint", "get_last_checkpoint"})


def is_tune_trial(module: Module, node: ast.expr) -> bool:
    """Whether an object is a Trial, also one that is taken out of several."""
    if instance_of(module, node) == TRIAL:
        return True
    found = module.origins(node)
    return bool(found) and all(
        instance_of(origin.module, origin.node) == TRIAL or _is_of_several(origin) for origin in found
    )


def _is_of_several(item: Source) -> bool:
    several = collections_of(item)
    return bool(several) and all(_are_trials(source.module, source.node) for source in several)


def _are_trials(module: Module, several: ast.expr) -> bool:
    if isinstance(several, ast.Attribute) and several.attr == "trials":
        return _is_analysis(module, several.value)
    return handed_by_tune(module, several) == "trials"


def _is_analysis(module: Module, node: ast.expr) -> bool:
    """Whether an object is an ExperimentAnalysis, also the one behind the results of a Tuner."""
    if instance_of(module, node) == ANALYSIS:
        return True
    found = [origin for origin in module.origins(node) if not is_none(origin.node)]
    return bool(found) and all(_is_of_tuner(origin) for origin in found)


def _is_of_tuner(analysis: Source) -> bool:
    node = analysis.node
    if not isinstance(node, ast.Attribute) or node.attr != "_experiment_analysis":
        return False
    tuners = tuners_of_grid(analysis.module, node.value)
    return bool(tuners) and None not in tuners


def is_tune_checkpoint(module: Module, source: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> bool:
    """Whether a value is a checkpoint that Tune keeps: of a Trial, of an analysis, or handed to a callback.

    Args:
        module: The module.
        source: The value, which cannot be followed any further.
        seen: The values that led here: a list may be filled with items of its own.
    """
    read = source.func if isinstance(source, ast.Call) else source
    if isinstance(read, ast.Attribute):
        if read.attr == "checkpoint" and read is source:
            return is_tune_trial(module, read.value)
        if read.attr in OF_ANALYSIS:
            return _is_analysis(module, read.value)
    if handed_by_tune(module, source) == "checkpoint":
        return True
    found = origins_of_items(Source(module, source)) if source not in seen and len(seen) < DEEPEST else []
    return bool(found) and all(is_tune_checkpoint(one.module, one.node, seen | {source}) for one in found)
