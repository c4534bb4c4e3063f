"""RM429: what Ray still has only to refuse it.

A name or a parameter that is there, so that no list of what is gone holds it, and that raises a DeprecationWarning as
an exception as soon as it is used (docs/semantics/train-v2.md#refused-arguments).
"""

import ast
from collections.abc import Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.guards import is_guarded
from raymigrate.facts.keys import keys_of
from raymigrate.facts.values import is_none

RM429 = Rule(
    "RM429",
    "what Ray keeps only to refuse it",
    "Current Ray still has the name or the argument, but raises a DeprecationWarning as an exception when it is used.",
    "Use what took its place.",
    "https://github.com/ray-project/ray/issues/50042",
    errors=("The `accelerate`, `backward`, and `prepare_optimizer` utility methods in the `ray.train.torch` module",),
)

MIXED_PRECISION = "Use torch.autocast and torch.amp.GradScaler in the training loop."
OF_HOROVOD = (
    "Train with a TorchTrainer or TensorflowTrainer, without horovod in the training function. Until then the"
    " environment variable RAY_TRAIN_V2_ENABLED=0 keeps the old one, with the ScalingConfig and RunConfig of ray.train."
)
LOAD = "Call get_model() of the RayTrainReportCallback in the same module, which loads what that callback saved."
ON_EACH_REPORT = "Use TuneReportCheckpointCallback(..., frequency=0), in the same module, which reports without saving."
OF_KERAS = "Use ray.train.tensorflow.keras.ReportCheckpointCallback, or call ray.tune.report() in a callback of Keras."
# What always raises, when it is called.
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        (f"ray.train.torch.{name}" for name in ("accelerate", "backward", "prepare_optimizer")), MIXED_PRECISION
    ),
    **dict.fromkeys(
        ("ray.train.horovod.HorovodTrainer", "ray.train.horovod.horovod_trainer.HorovodTrainer"), OF_HOROVOD
    ),
    **dict.fromkeys(
        (f"ray.tune.integration.{name}.TuneReportCallback" for name in ("xgboost", "lightgbm")), ON_EACH_REPORT
    ),
    "ray.tune.integration.keras.TuneReportCallback": OF_KERAS,
}
# Parameters that raise when they are given.
ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "ray.tune.run": {
        "local_dir": "Give storage_path=, an absolute path or a URI.",
        "chdir_to_trial_dir": "Set the environment variable RAY_CHDIR_TO_TRIAL_DIR to 0 where it was False.",
    }
}
# Ray's own boosting loop, for which the training function is today.
BOOSTED = ("label_column", "params", "num_boost_round", "dmatrix_params")
LIBRARIES = {"XGBoostTrainer": "xgboost", "LightGBMTrainer": "lightgbm"}


@codemod("accelerate|backward|prepare_optimizer|HorovodTrainer|TuneReportCallback")
def refused_calls(context: Context) -> None:
    """Names every call of what always raises."""
    for call in context.module.calls(*REFUSED):
        name = context.module.qualified(call.func) or ""
        if not is_guarded(context.module, call, name.rpartition(".")[2]):
            context.manual(RM429, call, f"{name}() only raises a DeprecationWarning on Ray >= 2.51.", REFUSED[name])


@codemod("local_dir|chdir_to_trial_dir")
def refused_arguments(context: Context) -> None:
    """Names the parameters that raise when they are given."""
    for call in context.module.calls(*ARGUMENTS):
        name = context.module.qualified(call.func) or ""
        for keyword in call.keywords:
            advice = ARGUMENTS[name].get(keyword.arg or "")
            accepted = keyword.arg == "local_dir" and is_none(keyword.value)
            if advice and not accepted and not is_guarded(context.module, keyword, str(keyword.arg)):
                message = f"{name}({keyword.arg}=) raises a DeprecationWarning on Ray >= 2.51."
                context.manual(RM429, keyword, message, advice)


@codemod("|".join(LIBRARIES))
def boosted_trees(context: Context) -> None:
    """Names the trainers that would boost themselves, and what loaded a model from their checkpoint."""
    module = context.module
    for trainer, library in LIBRARIES.items():
        names = [f"ray.train.{library}.{trainer}", f"ray.train.{library}.{library}_trainer.{trainer}"]
        for call in module.calls(*names):
            present = _given(context, call)
            given = [name for name in BOOSTED if name in present]
            if given and not is_guarded(module, call, given[0]):
                arguments = ", ".join(f"{name}=" for name in given)
                message = f"{trainer}({arguments}) raises on Ray >= 2.51: it does not boost by itself any more."
                context.manual(RM429, call, message, _loop(library))
        for call in module.calls(*(f"{name}.get_model" for name in names)):
            message = f"{trainer}.get_model() only raises a DeprecationWarning on Ray >= 2.51."
            context.manual(RM429, call, message, LOAD)


def _given(context: Context, call: ast.Call) -> set[str]:
    """The arguments of a call that are not None for sure, also those that `**` brings in."""
    found = {keyword.arg for keyword in call.keywords if keyword.arg and not is_none(keyword.value)}
    for keyword in call.keywords:
        if keyword.arg is None:
            keys = keys_of(context.module, keyword.value)
            found |= {key for key, _ in keys.strings} | {inner.arg for _, inner in keys.keywords if inner.arg}
    return found


def _loop(library: str) -> str:
    data = "a DMatrix" if library == "xgboost" else "a lightgbm.Dataset"
    return (
        'Give it a training function, which takes its rows from ray.train.get_dataset_shard("train"), makes'
        f" {data} of them and calls {library}.train(params, ..., callbacks=[RayTrainReportCallback()]); the callback"
        f" is in ray.train.{library}."
    )
