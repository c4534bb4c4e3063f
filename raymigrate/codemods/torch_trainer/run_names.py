"""RM406: a name under which a second run goes on from the first one's last checkpoint.

To delete the folder of the first run is no advice to give. The working directory of the workers,
`<session>/artifacts/<name>` (Ray 2.60: train/constants.py:15, train/v2/_internal/execution/storage.py:529), stays
as long as the cluster is up, whatever the storage path is, and RayTrainReportCallback reports the highest checkpoint-N
of a relative output_dir: measured, one of the first run (docs/semantics/traps.md#t9).
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.torch_trainer.train_v2_arguments import REFUSED, REFUSED_BY_TRAINER
from raymigrate.facts.projects.indirect import calls_in_other_ways
from raymigrate.facts.ray_train.results import GET_CHECKPOINT, results
from raymigrate.facts.ray_train.runs import name_of_run
from raymigrate.facts.ray_train.trainers import TRAIN_LOOP, TrainerCall, trainer_calls
from raymigrate.facts.ray_tune.tuners import config_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, called_name, constants, is_none
from raymigrate.facts.values.carried import values_given
from raymigrate.facts.values.renewals import Renewal, renewal
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

RM406 = Rule(
    "RM406",
    "a legacy trainer's run name that is the same each time",
    "Ray >= 2.51 takes a second run with the same name and storage path for the same run: it goes on from the last"
    " checkpoint, and a finished run ends at once. A training function that reads no checkpoint begins anew, among the"
    " first run's checkpoints. Legacy Ray started afresh.",
    "Keep the name if the second run is to continue the first; otherwise add something unique to it. Deleting the"
    " run's folder isn't enough: on a cluster that stays up, the workers' working directory of that name keeps the"
    " old checkpoints.",
    "https://docs.ray.io/en/latest/train/user-guides/fault-tolerance.html",
    errors=("A run snapshot was found in storage folder",),
)
GOES_ON = "goes on from the first one's last checkpoint"
# Of a function that begins anew: Ray loads the list of the run's checkpoints from its folder, and adds to it (2.60
# train/v2/_internal/execution/checkpoint/checkpoint_manager.py:141, `_maybe_load_state_from_storage`).
MIXES = "adds to the first one's checkpoints: those of both runs are in {}"
SAME = "A second run with this name {}."
IF_SAME = "If the name is the same each time, a second run {}."
OF_A_TIME = {
    Renewal.DAILY: "A second run on the same day has the same name: it {}.",
    Renewal.HOURLY: "A second run in the same hour has the same name: it {}.",
}
OF_SEVERAL = ("best_checkpoints", "get_best_checkpoint", "metrics_dataframe")
TAKEN_TODAY = {"callbacks"}  # if they are callbacks of ray.train
READS = (*GET_CHECKPOINT, "ray.train.load_checkpoint")


@codemod(*(name.rpartition(".")[2] for name in sorted(TRAINERS | TORCH_TRAINERS)), phase=Phase.CONFIGURATION)
def run_names(context: Context) -> None:
    """Tells what a run name means now, where a legacy trainer is converted and the name is not seen to be unique."""
    converted = [call for call in context.module.calls(*TRAINERS) if call in context.plan.calls]
    going_on = dict.fromkeys((*converted, *_that_go_on(context)), GOES_ON)
    for call, what in {**_that_mix(context), **going_on}.items():
        given = values_given(context.module, call, "run_config")
        for place, name in (found for source in given for found in _names(context, source, call)):
            renewed = renewal(name.module, name.node) if name is not None else Renewal.UNSEEN
            if renewed is not Renewal.EACH_RUN:
                found = constants(name.module, name.node) if name is not None else []
                known = bool(found) and all(isinstance(value, str) for _, value in found)
                context.manual(RM406, place, OF_A_TIME.get(renewed, SAME if known else IF_SAME).format(what))


def _legacy_trainers(context: Context) -> list[TrainerCall]:
    """The TorchTrainers of a job for an older Ray: as its names say, the user, or an argument that is refused today.

    Ray 2.7 to 2.50 had all names where they are now.
    """
    module = context.module
    if not (context.of_legacy_job or context.options.from_ray or _gives_what_is_refused(module)):
        return []
    others = (call for calls in calls_in_other_ways(module, TORCH_TRAINERS, ("run_config",)) for call in calls)
    held = (TrainerCall(module, call, TRAIN_LOOP) for call in dict.fromkeys(others))
    return [*trainer_calls(module, TORCH_TRAINERS, TRAIN_LOOP), *held]


def _gives_what_is_refused(module: Module) -> bool:
    """Whether a configuration or a TorchTrainer is given what Train V2 raises for, so that it never ran on that."""
    of_trainers = {name: frozenset(REFUSED_BY_TRAINER) for name in TORCH_TRAINERS}
    of_configs = {path: taken - TAKEN_TODAY for name, taken in REFUSED.items() for path in config_names(name)}
    refused = {**of_trainers, **of_configs}
    return any(
        keyword.arg in refused[called_name(module, call)]
        for call in module.calls(*refused)
        for keyword in call.keywords
    )


def _that_go_on(context: Context) -> Iterator[ast.Call]:
    """The TorchTrainers of a legacy job whose training function may begin from a checkpoint."""
    reads = any(context.module.calls(*READS))
    for call in _legacy_trainers(context):
        if reads or not call.functions:
            yield call.node


def _that_mix(context: Context) -> dict[ast.Call, str]:
    """The TorchTrainers of a legacy job of which something compares, or lists, all checkpoints of a run; what to say.

    Legacy Ray began a list anew with each fit().
    """
    module = context.module
    calls = [call.node for call in _legacy_trainers(context)]
    read = {node.attr for node, trainers in results(module, *OF_SEVERAL) if trainers & TORCH_TRAINERS} if calls else {}
    what = " and ".join(f"result.{name}" for name in OF_SEVERAL if name in read)
    for given, keyword in module.keywords("checkpoint_score_attribute") if calls and not what else ():
        is_config = called_name(module, given).endswith(".CheckpointConfig")
        what = "what CheckpointConfig compares" if is_config and not is_none(keyword.value) else what
    return dict.fromkeys(calls, MIXES.format(what)) if what else {}


def _names(context: Context, given: Source, call: ast.Call) -> Iterator[tuple[ast.AST, Source | None]]:
    """The names in what a `run_config=` can be, each with the place to report; None where it cannot be seen."""
    for source in given.module.origins(given.node):
        module, config = source.module, source.node
        if is_none(config) or config in context.tuned - context.undecided:
            continue
        seen, name = name_of_run(module, config)
        if seen and is_none(name):
            continue
        place: ast.AST = given.node if given.module is context.module else call
        if module is context.module and name is not None:
            parent = module.parent_of[name]
            place = parent if isinstance(parent, ast.keyword) else name
        yield place, Source(module, name) if name is not None else None
