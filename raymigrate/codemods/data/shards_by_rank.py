"""RM205 where a training function reads a shard on some of its workers only.

Measured on Ray 2.60 with two workers: the shard of a dataset that is split waits until each worker reads its own, and
says "StreamSplitDataIterator blocked waiting on other clients". So it is for ever where one worker reads alone.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.split_datasets import RM205, SPLIT_ALL_SINCE, open_data_config
from raymigrate.codemods.data.trainer_classes import SIBLINGS
from raymigrate.codemods.phases import Phase
from raymigrate.facts.ray_data.shards import READING, Shard, ShardUsers, read_on_some_ranks
from raymigrate.facts.ray_train.scaling import has_one_worker
from raymigrate.facts.ray_train.trainers import TRAIN_LOOP, TrainerCall, trainer_calls
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, TORCH_TRAINERS, TRANSFORMERS_TRAINERS

WITH_LOOP = TORCH_TRAINERS | ACCELERATE_TRAINERS | SIBLINGS
READ_ALONE = (
    "Only some workers read this shard. Where its dataset is split among the workers, as Ray >= 2.7 does by default,"
    " the shard waits for ever for the others to read theirs."
)
ON_ALL = (
    "Read it on every worker, and put the results together; or leave the dataset whole:"
    ' dataset_config=DataConfig(datasets_to_split=["train"]) in the trainer, if it is not the training data.'
)


@codemod(*READING, phase=Phase.TRIALS, in_ray_scripts=True)
def shards_by_rank(context: Context) -> None:
    """Tells of shards that wait for the other workers; in a note where the trainer is not seen."""
    module = context.module
    shards = list(read_on_some_ranks(module))
    trainers = list(trainer_calls(module, WITH_LOOP, TRAIN_LOOP)) if shards else []
    users_of = ShardUsers(trainers, [module])
    for shard in shards:
        users = users_of.of(shard)
        several = [user for user in users if not has_one_worker(module, user.node)]
        if not users and not any(module.calls(*TRANSFORMERS_TRAINERS)):
            context.note(RM205, shard.call, READ_ALONE)
        elif any(_may_split(context, user, shard) for user in several):
            context.manual(RM205, shard.call, READ_ALONE, ON_ALL)


def _may_split(context: Context, call: TrainerCall, shard: Shard) -> bool:
    """Whether a trainer may split the dataset of a shard, as it will be when the script is converted."""
    if "dataset_config" in call.arguments and open_data_config(context, call) is None:
        split = _split(context.module, call)
        return split is None or not shard.names or not shard.names.isdisjoint(split)
    keeps = "preprocessor" in call.arguments or context.from_ray.surely_before(SPLIT_ALL_SINCE)
    is_assumed = context.module.qualified(call.node.func) in ACCELERATE_TRAINERS
    keeps |= is_assumed and context.from_ray.version < SPLIT_ALL_SINCE
    return "train" in shard.names or not shard.names or not keeps or context.options.guide


def _split(module: Module, call: TrainerCall) -> list[str] | None:
    """The datasets that a DataConfig splits; None where that is all of them, or is not seen."""
    made = module.value(call.arguments["dataset_config"])
    given = argument(made, 0, "datasets_to_split") if isinstance(made, ast.Call) else None
    value = module.value(given) if given is not None else None
    if not isinstance(value, (ast.List, ast.Tuple)):
        return None
    names = [module.constant(name) for name in value.elts]
    return [str(name) for name in names] if all(isinstance(name, str) for name in names) else None
