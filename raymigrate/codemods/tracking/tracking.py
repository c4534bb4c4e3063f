"""RM408: loggers of Ray Tune in the callbacks of a RunConfig.

Train V2 takes instances of ray.train.UserCallback only (docs/semantics/train-v2.md#refused-arguments). Legacy Ray
handed such a logger every report of rank 0; a UserCallback gets them too, with or without a checkpoint.
"""

import ast
from collections.abc import Iterable, Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.helpers import add_once
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.codemods.tracking import emitted_tracking
from raymigrate.codemods.tracking.given_elsewhere import made_in_kin, put_in_elsewhere
from raymigrate.codemods.tracking.logger_lists import is_written_out, serves_again, serves_only
from raymigrate.codemods.tracking.user_callbacks import (
    LOGGERS,
    WANDB_REFUSED,
    Tracked,
    convert_loggers,
    given_to_logger,
    wandb_keys,
)
from raymigrate.facts.ray_train.runs import fits, trainers_of
from raymigrate.facts.ray_train.trainers import TrainerCall, library_bases
from raymigrate.facts.ray_tune.tuners import REPORT_TO_TUNE, made
from raymigrate.facts.syntax.evaluated_once import is_evaluated_once
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.syntax.optional_imports import guarded_imports
from raymigrate.facts.values import (
    Source,
    all_items,
    called_name,
    has_unpacking,
    is_none,
    keyword_named,
    seen_items,
    written,
)
from raymigrate.knowledge.legacy import CONFIG_CLASSES

RM408 = Rule(
    "RM408",
    "a callback of Ray Tune given to a trainer",
    "Ray >= 2.51 takes only ray.train.UserCallback instances: RunConfig(callbacks=) raises a ValueError for others.",
    "A logger of MLflow or W&B becomes a UserCallback that logs the same metrics. Anything else: write a"
    " ray.train.UserCallback with after_report(), or log from rank 0 of the training function.",
    "https://docs.ray.io/en/latest/train/user-guides/experiment-tracking.html",
    errors=("All callbacks must be instances of `ray.train.UserCallback`",),
)

BY_HAND = (
    "Change what stands in the way and run raymigrate again; or write a ray.train.UserCallback with after_report(),"
    " or log from rank 0 of the training function."
)
RUN_CONFIGS = tuple(f"{module}.RunConfig" for module in ("ray.air", "ray.air.config", "ray.train"))
# Callbacks of Tune in other packages (swanlab 0.10.3). That of comet_ml 3.58 is a UserCallback where Ray has that.
OF_OTHERS = frozenset({"swanlab.integration.ray.SwanLabLoggerCallback"})
# Arguments whose effect the emitted callback has; any other one is reported. wandb.init takes the rest of W&B's.
MLFLOW_ARGUMENTS = ("experiment_name", "tracking_uri", "registry_uri", "tags", "save_artifact")


class NotSure(Exception):
    """A callback that cannot be converted; the message says why."""


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _callbacks(config: ast.Call) -> ast.keyword | None:
    return keyword_named(config, "callbacks")


def _items(module: Module, callbacks: ast.expr) -> tuple[list[Source], bool]:
    """The items of a list of callbacks that can be seen, and whether there may be others."""
    made = [source for source in module.origins(callbacks) if not is_none(source.node)]
    items = [Source(s.module, item) for s in made for item in seen_items(s.module, s.node)]
    return list(dict.fromkeys(items)), any(all_items(source.module, source.node) is None for source in made)


def _tune_callbacks(items: list[Source]) -> list[str]:
    """The names of the classes of Tune in a list of callbacks, as far as its items can be seen."""
    found = [_last(name) for item in items for name in _classes(item) if name]
    return list(dict.fromkeys(found))


def _classes(item: Source) -> list[str | None]:
    """The callback classes of Tune that a value may be an object of; "" for any other, None where unknown."""
    return [tune_callback(source.module, source.node) for source in item.module.origins(item.node)]


def tune_callback(module: Module, made: ast.expr) -> str | None:
    """The callback class of Tune that an expression makes an object of; "" for any other, None where it is unknown."""
    if not isinstance(made, ast.Call):
        return None
    home: ast.AST | None = module.definition(made.func)
    other = module.elsewhere(made.func) if not isinstance(home, ast.ClassDef) else None
    owner, home = (other.module, other.node) if other is not None else (module, home)
    if isinstance(home, ast.ClassDef):
        return home.name if any(_is_of_tune(base) for base in library_bases(owner, home)) else ""
    name = module.qualified(made.func) if other is None else None
    return None if name is None else name if _is_of_tune(name) else ""


def _is_of_tune(name: str) -> bool:
    """Whether a class is a callback of Tune. TuneReportCallback is a UserCallback, although it is there too."""
    return name in OF_OTHERS or (name.startswith(("ray.air.", "ray.tune.")) and name != REPORT_TO_TUNE)


def _tracked(context: Context, config: ast.Call) -> Tracked:
    """Finds out whether the callbacks of a RunConfig can be converted.

    Raises:
        NotSure: If not; the message goes into the finding.
    """
    module = context.module
    keyword = _callbacks(config)
    items, others = _items(module, keyword.value) if keyword is not None else ([], True)
    if keyword is None or others or not items:
        raise NotSure("the list cannot be followed")
    made_by = [source for item in items for source in item.module.origins(item.node)]
    named = [(source, tune_callback(source.module, source.node) or "") for source in dict.fromkeys(made_by)]
    if unknown := [_last(name) or source.module.source(source.node) for source, name in named if name not in LOGGERS]:
        raise NotSure(f"nothing is known to take the place of {', '.join(unknown)}")
    chosen = not is_written_out(module, keyword)
    loggers, reasons = [], list[str]()
    for (home, logger), name in named:
        if home is not module:
            raise NotSure("the list cannot be followed")
        assert isinstance(logger, ast.Call)
        reasons += _refused_arguments(logger, LOGGERS[name])
        if _can_do_without(module, logger):
            reasons.append("its import may fail, and the file goes on: what takes its place needs the library")
        if not serves_only(module, logger, keyword):
            reasons.append("the list cannot be followed" if chosen else "it is used at several places")
        loggers.append(logger)
    trainers = trainers_of(module, config)
    found = [fit for trainer in trainers for fit in fits(module, trainer)]
    if len(trainers) == 1 and not found and _may_be_another(module, trainers[0]):
        reasons.append("where the trainer is fitted, it may be another one")
    elif len(trainers) != 1 or len(found) != 1:
        reasons.append("the fit() that ends the run cannot be seen")
    elif module.function(found[0]) is not module.function(config) or isinstance(module.function(found[0]), ast.Lambda):
        reasons.append("RunConfig and fit() are in different functions")
    elif not is_evaluated_once(module, found[0]):
        reasons.append("fit() is called on a condition within its statement")
    elif not reasons and any(serves_again(module, logger, found[0]) for logger in loggers):
        reasons.append("fit() may run again with the same logger, which began a new run each time")
    if reasons:
        raise NotSure("; ".join(dict.fromkeys(reasons)))
    return Tracked(config, keyword, loggers, chosen, trainers[0], found[0])


def _can_do_without(module: Module, logger: ast.Call) -> bool:
    """Whether the class of a logger is imported in a `try` that gives it another value where that fails."""
    reference = module.reference_at.get(logger.func)
    binding = reference.binding if reference is not None else None
    return binding is not None and binding.statement in guarded_imports(module)


def _may_be_another(module: Module, trainer: ast.Call) -> bool:
    """Whether the name that a trainer gets is given to something else as well, such as one that is restored."""
    name = module.name_of(trainer)
    return name is not None and not module.is_bound_once(name)


def _refused_arguments(made: ast.Call, service: str) -> Iterator[str]:
    """Why the emitted callback would not do what the arguments of a logger ask for: every reason that there is."""
    given = given_to_logger(made, service)
    if len(made.args) > 1 or has_unpacking(made):
        yield "its arguments cannot be seen"
        return
    for keyword in made.keywords:
        if service == "mlflow" and keyword.arg not in MLFLOW_ARGUMENTS:
            yield f"{keyword.arg}= has no successor"
        if service == "mlflow" and keyword.arg == "save_artifact":
            if not isinstance(written(keyword.value), bool):
                yield "save_artifact= is decided at run time"
        if service == "wandb" and keyword.arg in WANDB_REFUSED and written(keyword.value):
            yield f"{keyword.arg}=: {WANDB_REFUSED[keyword.arg]}"
    if service == "wandb" and len(wandb_keys(made)) > 1:
        yield "api_key= and api_key_file= together were a ValueError"
    needed = "experiment_name" if service == "mlflow" else "project"
    if needed not in given:
        yield f"{needed}= came from the environment"


@codemod(*CONFIG_CLASSES, phase=Phase.CONFIGURATION)
def convert(context: Context) -> None:
    """Turns loggers of Tune into UserCallbacks, and reports other callbacks of Tune."""
    for config in context.module.calls(*RUN_CONFIGS):
        keyword = _callbacks(config)
        if keyword is None or config in context.tuned:
            continue
        elsewhere = (found(context.module, keyword.value) for found in (made_in_kin, put_in_elsewhere))
        others_give = _tune_callbacks([one for given in elsewhere for one in given])
        if context.module.constant(keyword.value) in (None, []) and not others_give:
            continue
        items, others = _items(context.module, keyword.value)
        names = _tune_callbacks(items)
        more = [name for name in others_give if name not in names]
        if not names and not more and not others and not any(None in _classes(item) for item in items):
            continue  # somebody's UserCallback
        if not _for_trainer(context, config):
            continue
        listed = ", ".join([*names, *more]) or "callbacks of Ray Tune"
        try:
            if more:
                raise NotSure("the list cannot be followed")
            tracked = _tracked(context, config)
        except NotSure as reason:
            message = f"RunConfig(callbacks=) raises for {listed} on Ray >= 2.51; not converted: {reason}."
            context.manual(RM408, keyword, message, BY_HAND)
            continue
        message = f"RunConfig(callbacks=) raises for {listed} on Ray >= 2.51; now a UserCallback."
        for name in _needed(context.module, tracked):
            message += f" {name} has to be installed now, also where it is not chosen."
        if context.converts(RM408, keyword, message):
            convert_loggers(context, tracked)
    for stored in context.module.stores("callbacks"):
        _report_stored(context, stored)


def _needed(module: Module, tracked: Tracked) -> Iterable[str]:
    """The packages that a script imports from now on, which legacy Ray imported only where a logger was made."""
    return dict.fromkeys(LOGGERS[called_name(module, one)] for one in tracked.loggers if tracked.chosen)


def _report_stored(context: Context, stored: ast.Attribute) -> None:
    """Reports loggers that a RunConfig gets once it was constructed, `run_config.callbacks = [...]`: none is called."""
    assignment = context.module.parent_of[stored]
    made = [source.node for source in context.module.origins(stored.value, elsewhere=False)]
    configs = [c for c in made if called_name(context.module, c) in RUN_CONFIGS]
    if not is_assignment(assignment) or not any(config not in context.tuned for config in configs):
        return
    if names := _tune_callbacks(_items(context.module, assignment.value)[0]):
        silent = f"Nothing calls {', '.join(names)} on Ray >= 2.51, and no error says so: nothing is logged."
        context.manual(RM408, stored, silent, f"Give it to RunConfig(callbacks=). {RM408.fix}")


def _for_trainer(context: Context, config: ast.Call) -> bool:
    """Whether a RunConfig is not for a Tuner, which goes on to take the callbacks of Tune."""
    parent = context.module.parent_of[config]
    owner = context.module.parent_of.get(parent) if isinstance(parent, ast.keyword) else None
    return called_name(context.module, owner) not in ("ray.tune.Tuner", "ray.tune.tuner.Tuner")


def is_tracked(context: Context, call: TrainerCall) -> bool:
    """Whether a trainer call has loggers of Tune that are converted."""
    config = made(context.module, call.arguments.get("run_config"), *RUN_CONFIGS)
    if config is None or not context.options.enabled(RM408.code):
        return False
    try:
        _tracked(context, config)
    except NotSure:
        return False
    return True


def report_logs(context: Context, call: TrainerCall, function: TrainFunction) -> None:
    """Lets the training function of a TransformersTrainer report what it logs, where a logger will listen."""
    if not is_tracked(context, call):
        return
    near = context.module.import_of(call.node.func)
    user = call.node if function.init is None else function.init
    name = add_once(context, emitted_tracking.LOG_REPORT, user, near)
    function.before_training.append(f"{{trainer}}.add_callback({name}())")
