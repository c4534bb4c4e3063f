"""RM405: a Tuner over a trainer becomes a Tuner over a function that builds the trainer and fits it.

https://docs.ray.io/en/latest/train/user-guides/hyperparameter-optimization.html has the form; what legacy Ray did with
the arguments of Tuner and trainer is in its base_trainer.py and tuner_internal.py (read in Ray 2.6.3).
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.trainer_data import convert_data_of
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.functions_not_found import on_its_config
from raymigrate.codemods.tuner.train_driver import TrainDriver
from raymigrate.codemods.tuner.train_driver_beside import TrainDriverBeside
from raymigrate.codemods.tuner.train_driver_built import TrainDriverBuilt
from raymigrate.codemods.tuner.tried_scaling import read_tried_scaling
from raymigrate.codemods.tuner.tuner_obstacles import BY_HAND, PAUSES, in_silence, may_give_dict, obstacles
from raymigrate.facts.projects.indirect import calls_of_held, partial_calls
from raymigrate.facts.ray_train.trainers import TRAIN_LOOP, TrainerCall
from raymigrate.facts.ray_tune.tuned_trainers import is_one_trainer, is_other_trainer, is_unseen, may_be_trainer
from raymigrate.facts.ray_tune.tuners import TUNERS, TunerCall
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, entries, keyword_argument
from raymigrate.facts.values.constructors import constructors
from raymigrate.facts.values.keys import known_keys, unpacked_value
from raymigrate.knowledge.legacy import LOOP_CONFIGS, TORCH_TRAINERS, TRANSFORMERS_TRAINERS

RM405 = Rule(
    "RM405",
    "a Tuner over a trainer",
    "On Ray >= 2.51 a trainer is not a Tune trainable: Tuner(trainer) raises a TuneError.",
    "Write a function that builds the trainer from its config and calls fit(), and give the Tuner that. The RunConfig"
    " of that trainer needs callbacks=[ray.tune.integration.ray_train.TuneReportCallback()], or the trials have no"
    " metrics, a name with ray.tune.get_context().get_trial_id(), or they share checkpoints, the storage_path of the"
    " Tuner, and its checkpoint_config and failure_config as those of ray.train: it refuses those of ray.tune. Limit"
    " TuneConfig(max_concurrent_trials=), or max_concurrent= of a ConcurrencyLimiter, beside which that raises: each"
    " trial takes a CPU besides those of its workers. Trials are called by the __name__ of the function, and have no"
    " checkpoints: those are in the folder of the run that the trial starts, the last one at"
    ' result.metrics["checkpoint_path"].',
    "https://docs.ray.io/en/latest/train/user-guides/hyperparameter-optimization.html",
    errors=("Improper 'run' - not string nor trainable",),
)
MESSAGE = "Tuner(trainer) raises a TuneError on Ray >= 2.51"
NOW = "now a function that fits the trainer. Checkpoints are in the folder of that run."
UNPACKED = "arguments passed as *args or **kwargs cannot be moved"
AT_RUN_TIME = "which trainer it gets is decided at run time"
IN_FUNCTION = "its trainer is built in a function or a branch"
OTHER = "only those of TorchTrainer and of the Hugging Face trainers are"
NO_PAUSES = (
    " Take a scheduler that only stops trials, such as ASHAScheduler, or report checkpoints to Tune and begin from"
    " ray.tune.get_checkpoint()."
)
UNSEEN = (
    "What this Tuner gets cannot be seen. Where it is a trainer, as {} in its param_space says, Tuner(trainer) raises a"
    " TuneError on Ray >= 2.51."
)
SCALING, PREPROCESSOR = "scaling_config", "preprocessor"
FITTED = "is fitted on the training data there, and transforms all datasets, in place of the trainer's preprocessor"
TRAINABLE = "trainable"
NAMES = frozenset(TUNERS)
BY_PARTIAL = "the Tuner is made by partial()"
BY_HOLDER = "the class is called by another name"
BY_SUPER = "the Tuner is made by a class of its own"


@codemod("Tuner", phase=Phase.TUNERS)
def tuners(context: Context) -> None:
    """Converts every Tuner over a trainer that it understands, and reports the others."""
    converted: list[TunerCall] = []
    for call in list(context.module.calls(*TUNERS)):
        tuner = TunerCall(context.module, call)
        if tuner.trainer is None:  # the RunConfig of any other Tuner: see tuner_config
            if may_be_trainer(context.module, tuner.arguments.get("trainable")):
                _report(context, tuner, [*in_silence(context, tuner), _which(context, tuner)])
            elif may_be_trainer(context.module, _unpacked_trainable(tuner)):
                _report(context, tuner, [UNPACKED])
            elif of_trainers := _keys_of_trainers(context, tuner):
                message = UNSEEN.format(" and ".join(of_trainers))
                context.manual(RM405, tuner.node, message, f"{RM405.fix}{_of_search_space(context, tuner)}")
        elif reasons := obstacles(context, tuner):
            _report(context, tuner, reasons)
        elif context.converts(RM405, call, f"{MESSAGE}; {NOW}"):
            trainer = tuner.trainer
            if tuner.trainer_stays and keyword_argument(trainer, PREPROCESSOR) and _is_torch(context, trainer):
                convert_data_of(context, TrainerCall(context.module, trainer, TRAIN_LOOP))
            _driver(tuner)(context, tuner).emit()
            converted.append(tuner)
    read_tried_scaling(context, RM405, converted)


@codemod("Tuner", phase=Phase.TUNERS)
def tuners_by_other_names(context: Context) -> None:
    """Reports a trainer for a Tuner that is made by partial(), by what holds the class, or in a class made from it."""
    for call, given, spelling in _other_tuners(context.module):
        if may_be_trainer(context.module, given):
            context.manual(RM405, call, f"{MESSAGE}; not converted: {spelling}.", RM405.fix)


def _driver(tuner: TunerCall) -> type[TrainDriver]:
    """How the function is written that takes the place of a trainer."""
    if tuner.builder is not None:
        return TrainDriverBuilt
    return TrainDriverBeside if tuner.trainer_stays else TrainDriver


def _keys_of_trainers(context: Context, tuner: TunerCall) -> list[str]:
    """The entries of a search space that only trainers have, where it can't be seen what the Tuner gets."""
    module = context.module
    given = {
        name: tuner.arguments.get(name) or unpacked_value(module, tuner.node, name)
        for name in ("trainable", "param_space")
    }
    if given["param_space"] is None or not is_unseen(module, given["trainable"]):
        return []
    keys = known_keys(module, given["param_space"])
    return [key for key in (*LOOP_CONFIGS, SCALING) if key in keys]


def _is_torch(context: Context, trainer: ast.Call) -> bool:
    return context.module.qualified(trainer.func) in TORCH_TRAINERS


def _of_search_space(context: Context, tuner: TunerCall) -> str:
    """Where the entries of the search space go in the function, which nobody reads for the trainer any more.

    Legacy Ray merged dicts (ray/train/base_trainer.py, 2.0 to 2.9); a ScalingConfig of the trainer is none.
    """
    space = tuner.read_space or {}
    said = [f'config["{key}"] {_place_of(context, key, value)}' for key, value in space.items()]
    return f" The function gets the param_space: {', and '.join(said)}." if said else ""


def _place_of(context: Context, key: str, value: ast.expr) -> str:
    name = "train_loop_config" if key in LOOP_CONFIGS else key
    replaced, merged = f"takes the place of {name}=", f"goes into {name}=, over what is there"
    if key == PREPROCESSOR:
        return FITTED
    if key in LOOP_CONFIGS or (key != SCALING and entries(context.module, value) is not None):
        tuned = entries(context.module, value)
        is_deep = tuned is None or any(may_give_dict(context.module, inner) for inner in tuned.values())
        return f"{merged}, and each dict in it over the entries of the one there" if is_deep else merged
    if key == SCALING or isinstance(context.module.value(value), ast.Constant):
        return replaced
    return f"{replaced} (where both are dicts, it {merged})"


def _training_function(context: Context, tuner: TunerCall) -> ast.expr | None:
    """The function that the workers of a trainer run; None where it is an init function, or not seen."""
    trainer = tuner.trainer
    if trainer is None or context.module.qualified(trainer.func) in TRANSFORMERS_TRAINERS:
        return None
    return argument(trainer, 0, TRAIN_LOOP)


def _which(context: Context, tuner: TunerCall) -> str:
    trainable = tuner.arguments.get("trainable")
    if is_other_trainer(context.module, trainable):
        return OTHER
    return IN_FUNCTION if is_one_trainer(context.module, trainable) else AT_RUN_TIME


def _report(context: Context, tuner: TunerCall, reasons: list[str]) -> None:
    advice = RM405.fix + (NO_PAUSES if any(PAUSES in reason for reason in reasons) else "")
    if len(reasons) > 1:  # what the advice says of every entry
        reasons = [reason for reason in reasons if not reason.endswith(BY_HAND)]
    message = f"{MESSAGE}; not converted: {'; '.join(reasons)}."
    advice += _of_search_space(context, tuner) + on_its_config(context.module, _training_function(context, tuner))
    context.manual(RM405, tuner.node, message, advice)


def _unpacked_trainable(tuner: TunerCall) -> ast.expr | None:
    """What a Tuner gets out of a list or a dict that its call unpacks: `Tuner(*arguments)`, `Tuner(**arguments)`."""
    return _trainable(tuner.module, tuner.node) if tuner.unpacked else None


def _other_tuners(module: Module) -> Iterator[tuple[ast.Call, ast.expr | None, str]]:
    """The calls that make Tuners in another way than by the class, each with what it tunes, and how it is made."""
    for call, made in partial_calls(module, NAMES):
        given = [*made.args[1:2], *filter(None, (_trainable(module, call), _trainable(module, made, skip=1)))]
        yield call, next(iter(given), None), BY_PARTIAL
    for call, _ in calls_of_held(module, NAMES):
        yield call, _trainable(module, call), BY_HOLDER
    for call, method in module.method_calls("__init__"):
        line = constructors(module, call)
        if line and line[0] in NAMES:  # Tuner.__init__(self, ...) has the object first
            of_super = isinstance(method.value, ast.Call)
            yield call, _trainable(module, call, skip=0 if of_super else 1), BY_SUPER


def _trainable(module: Module, call: ast.Call, skip: int = 0) -> ast.expr | None:
    """What a call gives as the first argument of a Tuner, behind some others; None where it is not seen."""
    if len(call.args) > skip:
        first = call.args[skip]
        several = module.value(first.value) if isinstance(first, ast.Starred) else None
        if isinstance(several, (ast.List, ast.Tuple)):
            return several.elts[0] if several.elts else None
        return None if isinstance(first, ast.Starred) else first
    return keyword_argument(call, TRAINABLE) or unpacked_value(module, call, TRAINABLE)
