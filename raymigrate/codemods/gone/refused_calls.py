"""RM697: what current Ray still has, and refuses to do: a call raises an error, most often a DeprecationWarning.

Which calls these are is read from Ray's own source (`raymigrate/knowledge/libraries.py`): no one has to list them. What
to do instead is what Ray says, or better advice where there is some.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.rescan import is_dealt_with, is_spoken_of, rescan
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_air import MOVED
from raymigrate.codemods.torch_trainer.inner_modules import MOVES, moved_trainers
from raymigrate.facts.hugging_face.instances import DEPLOYMENT, instance_of, is_imported_deployment
from raymigrate.facts.projects.places import Place
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.ray_train.trainers import OF_V2, trainer_base
from raymigrate.facts.syntax.guards import is_guarded, waits_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, is_none, keyword_argument, keyword_named
from raymigrate.facts.values.carried import Entry, gives_none
from raymigrate.knowledge.libraries import Answer, Refusal, look_up, parameters, refusal, refused
from raymigrate.knowledge.successors import NO_METADATA, PREPROCESSED

RM697 = Rule(
    "RM697",
    "a call that current Ray refuses",
    "Current Ray still has the name or the argument, and raises an exception when it is used, most often a"
    " DeprecationWarning.",
    "Use what took its place.",
    "https://github.com/ray-project/ray/issues/50042",
    errors=(
        "The `accelerate`, `backward`, and `prepare_optimizer` utility methods in the `ray.train.torch` module",
        "The legacy XGBoostTrainer API is deprecated",
        "The legacy LightGBMTrainer API is deprecated",
        "`HorovodTrainer` is not supported",
        "`TuneReportCallback` is deprecated",
        "`chdir_to_trial_dir` is deprecated",
        "`local_mode` is no longer supported",
    ),
)
FUNCTION = "train_loop_per_worker"  # of Train V2's trainers the one argument without a default
TRAIN_CONTEXT = "ray.train.v2.api.context.TrainContext"
TUNE_CONTEXT = "ray.tune.context.TuneContext"
MIXED_PRECISION = "Use torch.autocast and torch.amp.GradScaler in the training loop."
AS_BEFORE = "torch.autocast and torch.amp.GradScaler take its place too."
# What these did without mixed precision (Ray 2.3.0 and 2.60, train/torch/train_loop_utils.py, `_TorchAccelerator`).
ACCELERATE = "ray.train.torch.accelerate"
IN_FULL_PRECISION: Mapping[str, str] = {
    "accelerate": "Delete it: without amp=True it changed nothing.",
    "prepare_optimizer": "Without accelerate(amp=True) the steps were those of the optimizer that it gets: use that.",
    "backward": "Without accelerate(amp=True) it called backward() of the loss: do that.",
}
ELSEWHERE = " Where another file calls accelerate(amp=True), torch.autocast and torch.amp.GradScaler take their place."
BOOST = (
    'Give it a training function, which takes its rows from ray.train.get_dataset_shard("train"), makes {data} of them'
    " and calls {library}.train(params, ..., {evaluated}, callbacks=[RayTrainReportCallback()]); the callback is in"
    " ray.train.{library}, and reports the metrics of what stands there: before, those of every dataset, by its name."
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
    "XGBoostTrainer": BOOST.format(data="a DMatrix", library="xgboost", evaluated='evals=[(matrix, "train"), ...]'),
    "LightGBMTrainer": BOOST.format(
        data="a lightgbm.Dataset", library="lightgbm", evaluated='valid_sets=[rows, ...], valid_names=["train", ...]'
    ),
    "get_model": LOAD,
    "ray.tune.integration.xgboost.TuneReportCallback": ON_EACH_REPORT,
    "ray.tune.integration.lightgbm.TuneReportCallback": ON_EACH_REPORT,
    "ray.tune.integration.keras.TuneReportCallback": (
        "Use ray.train.tensorflow.keras.ReportCheckpointCallback, or call ray.tune.report() in a callback of Keras."
    ),
    "resume_from_checkpoint": (
        "Hand the checkpoint over in train_loop_config, and load it where ray.train.get_checkpoint() is None."
    ),
    "metadata": (
        "Hand the metadata over in train_loop_config, and call checkpoint.update_metadata(...) with it before each"
        " report."
    ),
    "local_dir": "Give storage_path=, an absolute path or a URI.",
    "preprocess_datasets": PREPROCESSED,
    "local_mode": (
        "Leave it out. Tasks and actors then run in processes of their own: they see no global variables that the"
        " driver changes, and a breakpoint in them needs Ray's distributed debugger."
    ),
    TUNE_CONTEXT: NO_METADATA,
    "chdir_to_trial_dir": "Set the environment variable RAY_CHDIR_TO_TRIAL_DIR to 0 where it was False.",
    "version": "Delete it: Serve itself tells the versions of a deployment apart.",
    "middlewares": "Add them to the FastAPI application that @serve.ingress() is given.",
    "num_cpus": "Delete it: Serve reserves no CPUs for its proxies.",
    "_owner": "Delete it.",
}

# Classes whose arguments a function gets as they are: the Tuner hands those of a TuneConfig to ray.tune.run() (2.60,
# tune/impl/tuner_internal.py), and it is fit() that raises.
HANDED_ON: Mapping[str, str] = {"ray.tune.tune_config.TuneConfig": "ray.tune.tune.run"}

# The first Ray that raises, where that is not 2.51, which has each DeprecationWarning of 2.60: read in 2.51.0, 2.54.0
# and 2.55.0 (_private/worker.py), those of Serve in 2.55.0 to 2.57.0 (serve/api.py, serve/config.py); before, Ray only
# warned, or took them.
SINCE: Mapping[str, str] = {
    "local_mode": "2.55",
    **dict.fromkeys(("version", "_owner"), "2.56"),
    **dict.fromkeys(("middlewares", "num_cpus"), "2.57"),
}


class _Said(NamedTuple):
    """What Ray refuses of a call, with which error, since which version, and what to do."""

    what: str
    error: str
    since: str
    advice: str


class _Called(NamedTuple):
    """What a call calls: its name for people, where the class or function is defined, and the method."""

    name: str
    place: str
    method: str


@codemod("ray", phase=Phase.GONE, after=[rescan], in_ray_scripts=True)
def refused_calls(context: Context) -> None:
    """Reports calls that raise an error, and that no other rule speaks of."""
    told = set[tuple[ast.AST | None, str]]()
    for call in context.module.of_type(ast.Call):
        if call in context.tuned:
            continue  # a configuration of something else than a trainer of today
        if is_dealt_with(context, call.func) and not _moved(context.module, context.module.qualified(call.func)):
            continue  # but a trainer that moves to its package is refused there
        answers = [(called, _refused(context, call, called)) for called in _called(context.module, call)]
        for called, said in answers:  # all were asked before one is told: a finding would speak of the next one too
            if said is not None:
                _report(context, call, called, said, told)


def _refused(context: Context, call: ast.Call, called: _Called) -> _Said | None:
    """What Ray refuses of a call; None where it refuses nothing or another rule speaks of it."""
    if called.place == TRAIN_CONTEXT and context.place_of(call) is Place.TRIAL:
        # In a Tune function it becomes Tune's context, which has most of these methods.
        called = called._replace(place=TUNE_CONTEXT, name=f"TuneContext.{called.method}")
    found = _refusal(called)
    if found is None:
        return None
    last = called.name.rpartition(".")[2]
    if not found.parameters:
        if any(last in finding.message for finding in context.findings_on(call.lineno, call.func.end_lineno)):
            return None
        advice = ADVICE.get(called.place) or ADVICE.get(last) or found.advice
        if advice == MIXED_PRECISION and not _mixes_precision(context.module):
            elsewhere = "" if any(context.module.calls(ACCELERATE)) else ELSEWHERE
            advice = IN_FULL_PRECISION[last] + elsewhere
        return _Said(f"{called.name}()", found.error_of(), _since(last), advice)
    given = [argument for argument in _given(context, call, called, found) if argument in found.parameters]
    given = [argument for argument in given if not _is_harmless(context, call, argument, found)]
    if not given:
        return None
    advice = ADVICE.get(last) or " ".join(ADVICE[argument] for argument in given if argument in ADVICE) or found.advice
    shown = (f"{argument}={_shown_value(context.module, call, argument, found)}" for argument in given)
    return _Said(f"{called.name}({', '.join(shown)})", found.error_of(given), _since(*given), advice)


def _mixes_precision(module: Module) -> bool:
    """Whether a module may have Ray train in mixed precision: amp is the one argument of accelerate(), and False."""
    calls = list(module.calls(ACCELERATE))
    if len(module.references_within(ACCELERATE)) > len(calls):
        return True  # by another name of it
    given = (argument(call, 0, "amp") or call for call in calls if call.args or call.keywords)
    return not all(_is_false(module, value) for value in given)


def _refusal(called: _Called) -> Refusal | None:
    """What Ray refuses of what is called, or of what that hands on as it was given."""
    if (taker := HANDED_ON.get(called.place)) is not None:
        found = refusal(taker, "")
        refused = found.parameters.intersection(parameters(Answer(place=called.place)) or ()) if found else ()
        return replace(found, parameters=frozenset(refused)) if found and refused else None
    return refusal(called.place, called.method) if called.place else None


def _shown_value(module: Module, call: ast.Call, argument: str, refused: Refusal) -> str:
    """The value in a message: of what must not be true, unless the call shows something else that counts as true."""
    value = keyword_argument(call, argument)
    known = True if value is None or isinstance(value, ast.Name | ast.Attribute) else module.constant(value)
    return "True" if argument in refused.if_true and known is True else ""


def _since(*names: str) -> str:
    return next((SINCE[name] for name in names if name in SINCE), "2.51")


def _called(module: Module, call: ast.Call) -> list[_Called]:
    """What a call may call: a class or function, a method of an object, or each class that a name stands for."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _refused_names():
        if is_imported_deployment(module, call.func.value):
            return [_Called(f"Deployment.{call.func.attr}", DEPLOYMENT, call.func.attr)]
    name = module.qualified(call.func)
    if name is not None:
        return [_named(module, name)]
    if not _holders(module, call.func):
        return []  # a method of whatever object, of a name that Ray does not refuse
    if isinstance(call.func, ast.Attribute) and (kind := instance_of(module, call.func.value)):
        return [_Called(f"{kind.rpartition('.')[2]}.{call.func.attr}", kind, call.func.attr)]
    return [_named(module, name) for name in dict.fromkeys(_names_behind(module, call.func))]


def _names_behind(module: Module, function: ast.expr) -> Iterator[str]:
    """The names of libraries that a value stands for, or of a method of such a class: `cls()`, `cls.get_model()`."""
    for holder, method in _holders(module, function):
        if isinstance(holder, ast.Name) and not isinstance(module.definition(holder), (ast.Name, ast.arg)):
            continue
        for source in module.origins(holder):
            if (name := source.module.qualified(source.node)) is not None:
                yield name + method


def _holders(module: Module, function: ast.expr) -> list[tuple[ast.expr, str]]:
    """What may hold a class, with the method that is called of it; only where that can matter, as calls are many."""
    if not isinstance(function, ast.Attribute):
        return [(function, "")]
    held: list[tuple[ast.expr, str]] = [(function, "")] if module.stores(function.attr) else []
    return [*held, (function.value, f".{function.attr}")] if function.attr in _refused_names() else held


@cache
def _refused_names() -> frozenset[str]:
    """The last parts of the names that Ray refuses."""
    return frozenset(name.rpartition(".")[2] for name in refused("ray"))


def _moved(module: Module, name: str | None) -> str:
    """The old name of a trainer that another rule takes from its package, and that a name is or is below."""
    owner = next((old for old in MOVES if f"{name}.".startswith(f"{old}.")), "")
    return owner if owner and owner in moved_trainers(module) else ""


def _named(module: Module, name: str) -> _Called:
    """The same for a qualified name."""
    if owner := _moved(module, name):
        name = f"{MOVES[owner].module}.{MOVES[owner].name}{name.removeprefix(owner)}"
    elif name in MOVED:
        name = f"{MOVED[name].module}.{MOVED[name].name}"
    answer = look_up(name)
    owner, _, last = name.rpartition(".")
    if answer.method is not None:
        return _Called(f"{owner.rpartition('.')[2]}.{last}", answer.place, last)
    return _Called(last if last[:1].isupper() else name, answer.place, "")


def _given(context: Context, call: ast.Call, called: _Called, refused: Refusal) -> Iterator[str]:
    """The names of the arguments of a call, also of those without one and of those that `**` brings in."""
    taken = () if called.method else parameters(Answer(place=called.place)) or ()
    for parameter, value in zip(taken, call.args, strict=False):
        if parameter.isidentifier() and not is_none(value):
            yield parameter
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg
            continue
        found = carried_from_callers(context.module, keyword.value).entries
        entries = [entry for entry in found if entry.name in refused.even_none or not gives_none(entry)]
        yield from sorted({entry.name for entry in entries if not _is_told(context, entry, keyword)})


def _is_told(context: Context, entry: Entry, unpacked: ast.keyword) -> bool:
    """Whether another rule speaks of an entry that `**` brings in: where it is written, or there."""
    places = [unpacked.value, *([entry.key] if entry.module is context.module else [])]
    lines = [getattr(place, "lineno", None) for place in places]
    return any(f"{entry.name}=" in finding.message for finding in context.findings_on(*lines))


def _is_harmless(context: Context, call: ast.Call, argument: str, refused: Refusal) -> bool:
    """Whether Ray takes an argument: it is None, or false where it must not be true; or another rule deals with it."""
    keyword = keyword_named(call, argument)
    if keyword is None:
        return False
    if argument in refused.if_true and _is_false(context.module, keyword.value):
        return True
    return (is_none(keyword.value) and argument not in refused.even_none) or is_spoken_of(context, call, keyword)


def _is_false(module: Module, value: ast.expr) -> bool:
    """Whether a value counts as false for sure: False, 0, an empty list."""
    if isinstance(value, ast.List | ast.Tuple):
        return not value.elts
    return module.constant(value) in (False, 0, "")


def _report(
    context: Context, call: ast.Call, called: _Called, said: _Said, told: set[tuple[ast.AST | None, str]]
) -> None:
    """Reports a call; with the advice in full where its function was not given it yet."""
    module = context.module
    kind = getattr(builtins, said.error)
    if waits_for(module, call, kind) or is_guarded(module, call, called.name.rpartition(".")[2]):
        return
    outcome = f"a {said.error} on Ray >= {said.since}"
    if not called.method and trainer_base(called.place) == OF_V2 and not _has_function(call):
        outcome = f"a TypeError on Ray >= 2.51, as {FUNCTION} is missing; with it a {said.error}"
    place = (module.function(call), said.advice)
    context.manual(RM697, call, f"{said.what} raises {outcome}.", AS_BEFORE if place in told else said.advice or None)
    if said.advice == MIXED_PRECISION:
        told.add(place)  # three functions of one module, most often in one loop


def _has_function(call: ast.Call) -> bool:
    """Whether a trainer is surely given the training function that it needs."""
    return bool(call.args) or keyword_argument(call, FUNCTION) is not None
