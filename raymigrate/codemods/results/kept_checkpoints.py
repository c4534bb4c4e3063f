"""RM604: a place in best_checkpoints, where the last checkpoint stands besides the best since Ray 2.7.

docs/semantics/results.md#attributes-of-a-result
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.results import RM604, of_trainer
from raymigrate.facts.ray_train.results import fitted_trainers, trainers_of
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS, config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, has_unpacking, is_none, keyword_argument

LAST_AMONG_BEST = (2, 7)
CHECKPOINT_CONFIGS = (*config_names("CheckpointConfig"), "ray.tune.CheckpointConfig")
MESSAGE = (
    "result.best_checkpoints holds the last checkpoint too since Ray 2.7, whatever its score, and the one with the"
    " worst score comes first"
)
BEST = "The best is result.best_checkpoints[-1]."


@codemod("best_checkpoints", phase=Phase.RESULTS)
def kept_checkpoints(context: Context) -> None:
    """Takes the best checkpoint from the end, where it was the only one; tells of other places in the list."""
    module, ray = context.module, context.from_ray
    if not context.of_legacy_job or ray.lowest >= LAST_AMONG_BEST:
        return
    for item, reads in _items(module):
        numbers = {number for read in reads for number in _numbers_kept(module, read.value)}
        if not numbers:
            continue
        is_sure = all(None not in trainers_of(module, read.value) for read in reads)
        if numbers == {1} and module.constant(item.slice) == 0 and is_sure and ray.surely_before(LAST_AMONG_BEST):
            if context.converts(RM604, item, f"{MESSAGE}; now [-1]."):
                context.plan.replace(item.slice, "-1")
        else:
            message = of_trainer(f"{MESSAGE}: this may be another one now.", Source(module, reads[0].value))
            context.manual(RM604, item, message, BEST)


def _items(module: Module) -> Iterator[tuple[ast.Subscript, list[ast.Attribute]]]:
    """What is taken out of best_checkpoints by its place from the front, with where the list is read."""
    for item in module.of_type(ast.Subscript):
        place = module.constant(item.slice) if not isinstance(item.slice, ast.Slice) else ...
        if not isinstance(place, int) or place < 0:
            continue
        found = [source for source in module.origins(item.value) if source.module is module]
        reads = [source.node for source in found if isinstance(source.node, ast.Attribute)]
        if reads and len(reads) == len(found) and all(read.attr == "best_checkpoints" for read in reads):
            yield item, reads


def _numbers_kept(module: Module, result: ast.expr) -> Iterator[object]:
    """How many checkpoints each run keeps that keeps the best ones by a score; `...` where that is not seen."""
    for trainer in fitted_trainers(module, result) or []:
        for made in trainer.module.origins(trainer.node):
            for config in _given(made, "run_config"):
                for checkpoints in _of_run(config):
                    yield from _number(checkpoints)


def _given(made: Source, name: str) -> list[Source]:
    """What a call may be given for one argument."""
    given = keyword_argument(made.node, name) if isinstance(made.node, ast.Call) else None
    return made.module.origins(given) if given is not None else []


def _of_run(config: Source) -> list[Source]:
    """The CheckpointConfigs that a RunConfig may have."""
    call = config.node
    if not isinstance(call, ast.Call) or config.module.qualified(call.func) not in RUN_CONFIGS:
        return []
    return _given(config, "checkpoint_config")


def _number(checkpoints: Source) -> Iterator[object]:
    module, call = checkpoints.module, checkpoints.node
    if not isinstance(call, ast.Call) or module.qualified(call.func) not in CHECKPOINT_CONFIGS or has_unpacking(call):
        return
    number, score = argument(call, 0, "num_to_keep"), argument(call, 1, "checkpoint_score_attribute")
    if number is not None and score is not None and not is_none(module.value(number)) and not is_none(score):
        yield module.constant(number)
