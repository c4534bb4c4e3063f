"""RM697: what current Ray still has, and refuses to do: a call raises a DeprecationWarning.

Which calls these are is read from Ray's own source (`raymigrate/knowledge/libraries.py`): no one has to list them. What
to do instead is what Ray says, or better advice where there is some.
"""

import ast
from collections.abc import Iterator, Mapping

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import is_dealt_with, is_spoken_of, rescan
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_air import MOVED
from raymigrate.facts.guards import is_guarded
from raymigrate.facts.instances import instance_of
from raymigrate.facts.keys import keys_of
from raymigrate.facts.module import Module
from raymigrate.facts.places import Place
from raymigrate.facts.values import is_none, sources
from raymigrate.knowledge.libraries import Refusal, look_up, parameters, refusal
from raymigrate.knowledge.successors import PREPROCESSED

RM697 = Rule(
    "RM697",
    "a call that current Ray refuses",
    "Current Ray still has the name or the argument, and raises a DeprecationWarning as an exception when it is used.",
    "Use what took its place.",
    "https://github.com/ray-project/ray/issues/50042",
    errors=(
        "The `accelerate`, `backward`, and `prepare_optimizer` utility methods in the `ray.train.torch` module",
        "The legacy XGBoostTrainer API is deprecated",
        "The legacy LightGBMTrainer API is deprecated",
        "`HorovodTrainer` is not supported",
        "`TuneReportCallback` is deprecated",
        "`chdir_to_trial_dir` is deprecated",
    ),
)
TRAIN_CONTEXT = "ray.train.v2.api.context.TrainContext"
MIXED_PRECISION = "Use torch.autocast and torch.amp.GradScaler in the training loop."
BOOST = (
    'Give it a training function, which takes its rows from ray.train.get_dataset_shard("train"), makes {data} of them'
    " and calls {library}.train(params, ..., callbacks=[RayTrainReportCallback()]); the callback is in"
    " ray.train.{library}."
)
LOAD = "Call get_model() of the RayTrainReportCallback in the same module, which loads what that callback saved."
ON_EACH_REPORT = "Use TuneReportCheckpointCallback(..., frequency=0), in the same module, which reports without saving."
ADVICE: Mapping[str, str] = {
    **dict.fromkeys(("accelerate", "backward", "prepare_optimizer"), MIXED_PRECISION),
    "HorovodTrainer": (
        "Train with a TorchTrainer or TensorflowTrainer, without horovod in the training function. Until then the"
        " environment variable RAY_TRAIN_V2_ENABLED=0 keeps the old one, with the ScalingConfig and RunConfig of"
        " ray.train."
    ),
    "XGBoostTrainer": BOOST.format(data="a DMatrix", library="xgboost"),
    "LightGBMTrainer": BOOST.format(data="a lightgbm.Dataset", library="lightgbm"),
    "get_model": LOAD,
    "ray.tune.integration.xgboost.TuneReportCallback": ON_EACH_REPORT,
    "ray.tune.integration.lightgbm.TuneReportCallback": ON_EACH_REPORT,
    "ray.tune.integration.keras.TuneReportCallback": (
        "Use ray.train.tensorflow.keras.ReportCheckpointCallback, or call ray.tune.report() in a callback of Keras."
    ),
    "resume_from_checkpoint": (
        "Hand the checkpoint over in train_loop_config, and load it where ray.train.get_checkpoint() is None."
    ),
    "local_dir": "Give storage_path=, an absolute path or a URI.",
    "preprocess_datasets": PREPROCESSED,
    "chdir_to_trial_dir": "Set the environment variable RAY_CHDIR_TO_TRIAL_DIR to 0 where it was False.",
}


@codemod("ray", phase=Phase.GONE, after=[rescan])
def refused_calls(context: Context) -> None:
    """Reports calls that raise a DeprecationWarning, and that no other rule speaks of."""
    if not context.is_ray_script:
        return
    for call in context.module.of_type(ast.Call):
        name, place, method = _called(context.module, call)
        refused = refusal(place, method) if place else None
        if refused is None or is_dealt_with(context, call.func):
            continue
        if place == TRAIN_CONTEXT and context.place_of(call) is Place.TRIAL:
            continue  # in a Tune function it becomes Tune's context, which has these methods
        last = name.rpartition(".")[2]
        if not refused.parameters:
            if not any(last in finding.message for finding in context.findings_on(call.lineno, call.func.end_lineno)):
                _report(context, call, f"{name}()", ADVICE.get(place) or ADVICE.get(last) or refused.advice)
            continue
        given = [argument for argument in _given(context, call) if argument in refused.parameters]
        given = [argument for argument in given if not _is_harmless(context, call, argument, refused)]
        if given:
            advice = ADVICE.get(name.rpartition(".")[2]) or " ".join(ADVICE.get(argument, "") for argument in given)
            _report(
                context, call, f"{name}({', '.join(f'{argument}=' for argument in given)})", advice or refused.advice
            )


def _called(module: Module, call: ast.Call) -> tuple[str, str, str]:
    """What a call calls: its name for people, the place where the class or function is defined, and the method."""
    name = module.qualified(call.func)
    if name is not None:
        return _named(name)
    if isinstance(call.func, ast.Attribute) and (kind := instance_of(module, call.func.value)):
        return f"{kind.rpartition('.')[2]}.{call.func.attr}", kind, call.func.attr
    if isinstance(call.func, ast.Name) and isinstance(module.definition(call.func), (ast.Name, ast.arg)):
        values = (module.qualified(source) for source in sources(module, call.func))
        candidates = (_named(value) for value in values if value is not None)  # of several the first that Ray refuses
        return next((found for found in candidates if found[1] and refusal(found[1], found[2])), ("", "", ""))
    return "", "", ""


def _named(name: str) -> tuple[str, str, str]:
    """The same for a qualified name."""
    if name in MOVED:
        name = f"{MOVED[name].module}.{MOVED[name].name}"
    answer = look_up(name)
    owner, _, last = name.rpartition(".")
    if answer.method is not None:
        return f"{owner.rpartition('.')[2]}.{last}", answer.place, last
    return last if last[:1].isupper() else name, answer.place, ""


def _given(context: Context, call: ast.Call) -> Iterator[str]:
    """The names of the arguments of a call, also of those without one and of those that `**` brings in."""
    name = context.module.qualified(call.func)
    taken = parameters(look_up(name)) if name else None
    for parameter, value in zip(taken or (), call.args, strict=False):
        if parameter.isidentifier() and not is_none(value):
            yield parameter
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg
            continue
        keys = keys_of(context.module, keyword.value)
        yield from sorted({key for key, _ in keys.strings} | {inner.arg for _, inner in keys.keywords if inner.arg})


def _is_harmless(context: Context, call: ast.Call, argument: str, refused: Refusal) -> bool:
    """Whether an argument is None, which Ray may take, or another rule deals with it."""
    keyword = next((keyword for keyword in call.keywords if keyword.arg == argument), None)
    if keyword is None:
        return False
    return (is_none(keyword.value) and argument not in refused.even_none) or is_spoken_of(context, call, keyword)


def _report(context: Context, call: ast.Call, what: str, advice: str) -> None:
    if not is_guarded(context.module, call, what.partition("(")[0].rpartition(".")[2]):
        context.manual(RM697, call, f"{what} raises a DeprecationWarning on Ray >= 2.51.", advice or None)
