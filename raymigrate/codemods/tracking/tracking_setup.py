"""RM409: setup_wandb() and setup_mlflow() in a training function; trackers at places that are gone.

setup_wandb asks a session that Train V2 does not have (`get_session` in ray/air/integrations/wandb.py of Ray 2.60), so
its rank_zero_only has no effect: every worker starts a run of its own, without the name of the trial. setup_mlflow
knows the rank, but without experiment_id or experiment_name, which were the trial's, it raises a ValueError. Legacy Ray
raised it too, for an experiment with the name of the trial does not exist, unless create_experiment_if_not_exists=True.

Measured with wandb 0.31 (offline) and mlflow-skinny 3.17 (files) on two CPU workers.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.moves import Move, move_names
from raymigrate.codemods.tracking import tracking
from raymigrate.facts.hugging_face.callbacks import is_callback
from raymigrate.facts.projects.main_process import is_for_first_rank
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.trainers import trainers_with_function
from raymigrate.facts.values import named_arguments, unpacked_dicts

RM409 = Rule(
    "RM409",
    "setup_wandb() or setup_mlflow() in a training function",
    "On Ray >= 2.51 setup_wandb() starts a run on every worker, rank_zero_only or not, and setup_mlflow() without an"
    " experiment raises a ValueError: neither finds a Tune trial to ask.",
    'Give setup_wandb() mode="disabled" on every worker but rank 0; give setup_mlflow() an experiment_name'
    " and, where that experiment may not exist, create_experiment_if_not_exists=True.",
    "https://docs.ray.io/en/latest/train/user-guides/experiment-tracking.html",
)
RM410 = Rule(
    "RM410",
    "a tracker imported from a module that is gone",
    "Current Ray has neither ray.air.callbacks nor ray.tune.integration.mlflow, .wandb and .comet: the import fails.",
    "The loggers are imported from ray.air.integrations. In place of a mixin, call setup_mlflow() or setup_wandb() in"
    " the function.",
    "https://docs.ray.io/en/latest/tune/api/logging.html",
)

CONTEXT = "ray.train.get_context()"
UNNAMED = "On Ray >= 2.51 setup_wandb() finds no name for its run; now that of Ray's run."
SETUP_MLFLOW = "ray.air.integrations.mlflow.setup_mlflow"
OLD_PLACES = ("ray.air.callbacks", "ray.tune.integration")
MOVED = {
    f"{place}.{service}.{name}": Move(f"ray.air.integrations.{service}", name)
    for place in OLD_PLACES
    for service, names in {
        "mlflow": ("MLflowLoggerCallback", "setup_mlflow"),
        "wandb": ("WandbLoggerCallback", "setup_wandb"),
        "comet": ("CometLoggerCallback",),
    }.items()
    for name in names
}
# What of Tune the RunConfig of a trainer took too.
OF_RUN_CONFIGS = (
    *(f"ray.tune.{name}" for name in ("SyncConfig", "syncer", "logger", "stopper", "progress_reporter", "callback")),
    *(f"ray.tune.{name}" for name in ("CLIReporter", "JupyterNotebookReporter", "Callback", "Stopper")),
    *(f"ray.tune.{name}" for name in ("RunConfig", "CheckpointConfig", "FailureConfig")),
)
GONE_PLACES = ("ray.air.callbacks", *(f"ray.tune.integration.{name}" for name in ("mlflow", "wandb", "comet")))


@codemod("setup_wandb", "setup_mlflow", phase=Phase.CONFIGURATION)
def setups(context: Context) -> None:
    """Tells the set-up functions of W&B and MLflow what they cannot find out on Train V2."""
    for call in context.module.calls(*(f"{place}.setup_wandb" for place in _places("wandb"))):
        _setup_wandb(context, call)
    for call in context.module.calls(*(f"{place}.setup_mlflow" for place in _places("mlflow"))):
        _setup_mlflow(context, call)


def _places(service: str) -> tuple[str, ...]:
    return tuple(f"{place}.{service}" for place in ("ray.air.integrations", *OLD_PLACES))


def _setup_wandb(context: Context, call: ast.Call) -> None:
    given = named_arguments(call)
    rank_zero_only = context.module.constant(given.get("rank_zero_only")) if "rank_zero_only" in given else True
    if rank_zero_only is False or context.module.constant(given.get("mode")) == "disabled":
        return
    if isinstance(given.get("mode"), ast.IfExp):
        return  # by rank already
    message = "On Ray >= 2.51 every worker would start a run of its own"
    is_first = is_for_first_rank(context.module, call)
    if is_first and "group" in given and {"trial_name", "name"} & given.keys():
        return
    if not _in_training(context, call) or unpacked_dicts(call) or rank_zero_only is not True:
        where = None if is_first else _on_workers(context, call)
        if where is not None:
            context.manual(RM409, call, f"{message}{where}.")
    elif context.converts(RM409, call, UNNAMED if is_first else f"{message}; now rank 0 alone."):
        _need_ray_train(context, call)
        rank = f'if {CONTEXT}.get_world_rank() == 0 else "disabled"'
        edit = context.plan.call(call)
        if not is_first:
            mode = {"mode": given["mode"]} if "mode" in given else {}
            edit.set("mode", f"{'$mode' if mode else 'None'} {rank}", **mode)
        for name in ("trial_name", "group"):  # the trial's and the experiment's
            if name not in given and not (name == "trial_name" and "name" in given):
                edit.set(name, f"{CONTEXT}.get_experiment_name()")


def _setup_mlflow(context: Context, call: ast.Call) -> None:
    given = named_arguments(call)
    if {"experiment_name", "experiment_id"} & given.keys():
        return
    message = "setup_mlflow() without an experiment raises a ValueError on Ray >= 2.51"
    creates = context.module.constant(given.get("create_experiment_if_not_exists")) is True
    if not _in_training(context, call) or unpacked_dicts(call) or len(call.args) > 1:
        if (where := _on_workers(context, call)) is not None:
            context.manual(RM409, call, f"{message}{where}.")
    elif not creates:
        advice = "Give it experiment_name=, of an experiment that exists, or with create_experiment_if_not_exists=True."
        context.manual(RM409, call, f"{message}, and did so before.", advice)
    elif context.converts(RM409, call, f"{message}; now the run's name."):
        _need_ray_train(context, call)
        context.plan.call(call).set("experiment_name", f"{CONTEXT}.get_experiment_name()")


def _need_ray_train(context: Context, call: ast.Call) -> None:
    reference = context.module.reference_at[call.func]
    context.plan.need_import("ray.train", near=reference.binding.statement)


def _in_training(context: Context, call: ast.Call) -> bool:
    """Whether a call is in a function that a trainer of this module runs, and no Tuner, where `ray` is Ray."""
    module = context.module
    functions = (function for trainer in trainers_with_function(module) for function in trainer.functions)
    inside = any(module.inside(call, function) for function in functions) and context.place_of(call) is not Place.BOTH
    return inside and context.can_import("ray", module.reference_at[call.func])


def _on_workers(context: Context, call: ast.Call) -> str | None:
    """Under which condition a trainer's workers run a call: "" for surely, None for never. Trials find their own."""
    place = context.place_of(call)
    if place in (Place.WORKER, Place.BOTH) or not _uses_tune(context):
        return ""
    classes = (outer for outer in context.module.ancestors(call) if isinstance(outer, ast.ClassDef))
    is_event = place is Place.UNKNOWN and any(is_callback(context.module, node) for node in classes)
    return ", where the workers of a trainer run this" if is_event else None


def _uses_tune(context: Context) -> bool:
    """Whether functions of this module may run under Tune, where both set-ups work as they did.

    What trainers were given in a RunConfig says nothing of that.
    """
    return any(
        reference.qualified.startswith("ray.tune") and not reference.qualified.startswith(OF_RUN_CONFIGS)
        for reference in context.module.references
    )


@codemod("callbacks", "integration", phase=Phase.CONFIGURATION, after=[tracking.convert])
def old_places(context: Context) -> None:
    """Imports loggers from where they are; names what has no place any more."""
    move_names(context, RM410, MOVED)
    for reference in context.references(*GONE_PLACES):
        if reference.qualified in MOVED:
            continue
        context.leave(RM410, reference, f"{reference.qualified} is gone: current Ray raises an ImportError.")
