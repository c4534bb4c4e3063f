"""RM514: shards of datasets that a trainer may not have."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.already_there import definitions_of
from raymigrate.codemods.shared.emitted import TRAIN_SHARD
from raymigrate.facts.projects.callers import is_used_elsewhere
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_data.shards import Shard, ShardUsers, has_dataset, optional_shards
from raymigrate.facts.ray_train.reports import with_all_imported
from raymigrate.facts.ray_train.trainers import TrainerCall, trainers_with_function
from raymigrate.facts.ray_tune.tuners import TUNERS
from raymigrate.facts.syntax.module import Module

RM514 = Rule(
    "RM514",
    "the shard of a dataset that the trainer may not have",
    "get_dataset_shard() of Ray >= 2.51 raises a KeyError for a name that is not in the trainer's datasets=. Legacy Ray"
    " gave None.",
    "Where the trainer has no such dataset, None takes its place. Where that is decided at run time: hand over in"
    ' train_loop_config= whether it has it, "dev" in datasets, and ask for the shard only then.',
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.get_dataset_shard.html",
    errors=("Dataset shard for '*' not found",),
    unproven="The KeyError is said by a worker alone; the tests make the libraries say it without one.",
)
MISSING = 'The trainer has no dataset "{}": legacy Ray gave None, Ray >= 2.51 raises a KeyError; now None.'
MAY_MISS = 'Where datasets= has no "{name}", {call} raises a KeyError on Ray >= 2.51; legacy Ray gave None.'
HAND_OVER = (
    'Hand over in train_loop_config= whether it has it, "{name}" in the dict of datasets, and ask for the shard only'
    " then."
)


@codemod("get_dataset_shard", "datasets", phase=Phase.TRIALS)
def missing_shards(context: Context) -> None:
    """Takes None for the shard of a dataset that no trainer has, and reports those that one may not have."""
    if not context.of_legacy_job:
        return
    module = context.module
    trainers = list(trainers_with_function(module))
    homes = with_all_imported(module) if trainers else [module]
    users_of = ShardUsers(trainers, homes)
    for shard in optional_shards(homes):
        if _is_of_helper(shard):
            continue  # the loop that was written with it makes one only where the trainer has the dataset
        users = users_of.of(shard)
        for name in sorted(shard.names):
            if users:
                _with_trainers(context, shard, name, users)
            elif shard.module is module and context.place_of(shard.call) is Place.UNKNOWN:
                _may_miss(context, shard, name, shard.call)


def _is_of_helper(shard: Shard) -> bool:
    """Whether a shard is asked for in the class that an earlier conversion wrote into its file."""
    module = shard.module
    return any(module.inside(shard.call, definition) for definition in definitions_of(module, TRAIN_SHARD))


def _with_trainers(context: Context, shard: Shard, name: str, users: list[TrainerCall]) -> None:
    has = {has_dataset(trainer, name) for trainer in users}
    here = shard.module is context.module
    if has == {True}:
        return
    is_open = _gives_datasets_to_trials(context.module) or is_used_elsewhere(context.module, shard.call)
    if has != {False} or not here or len(shard.names) > 1 or is_open:
        _may_miss(context, shard, name, shard.call if here else users[0].arguments.get("datasets", users[0].node))
    elif context.converts(RM514, shard.call, MISSING.format(name)):
        context.plan.replace(shard.call, "None")
        reference = context.module.reference_at.get(shard.call.func)
        if reference is not None:
            context.handle(reference, gone=True)


def _gives_datasets_to_trials(module: Module) -> bool:
    """Whether a Tuner may give its trials other datasets than those of the trainer: param_space={"datasets": ...}."""
    return any(module.calls(*TUNERS)) and any(isinstance(node, ast.Constant) for node in module.spelling("datasets"))


def _may_miss(context: Context, shard: Shard, name: str, place: ast.AST) -> None:
    call = "this" if place is shard.call else f"get_dataset_shard() in {shard.module.path}"
    context.manual(RM514, place, MAY_MISS.format(name=name, call=call), HAND_OVER.format(name=name))
