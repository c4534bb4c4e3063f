"""RM408: loggers of Ray Tune in the callbacks of a RunConfig.

Train V2 takes instances of ray.train.UserCallback only (docs/semantics/train-v2.md#refused-arguments). Legacy Ray
handed such a logger every report of rank 0; a UserCallback gets them too, with or without a checkpoint.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.helpers import add_once
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.codemods.tracking import emitted_tracking
from raymigrate.codemods.tracking.given_elsewhere import made_in_kin, put_in_elsewhere
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.ray_train.checkpoint_storage import LOCAL, scheme_of_run
from raymigrate.facts.ray_train.runs import fits, only_use, trainers_of
from raymigrate.facts.ray_train.trainers import TrainerCall, library_bases
from raymigrate.facts.ray_tune.tuners import REPORT_TO_TUNE, made
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    Source,
    all_items,
    argument,
    fillings,
    has_unpacking,
    is_none,
    keyword_named,
    leading_text,
    seen_items,
    written,
)
from raymigrate.knowledge.legacy import CONFIG_CLASSES, TRANSFORMERS_TRAINERS

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
    "Change what hinders it and run raymigrate again; or write a ray.train.UserCallback with after_report(), or log"
    " from rank 0 of the training function."
)
RUN_CONFIGS = tuple(f"{module}.RunConfig" for module in ("ray.air", "ray.air.config", "ray.train"))
PLACES = ("ray.air.integrations", "ray.air.callbacks", "ray.tune.integration", "ray.tune.logger")
LOGGERS = {
    f"{place}.{service}.{name}": service
    for place in PLACES
    for service, name in (("mlflow", "MLflowLoggerCallback"), ("wandb", "WandbLoggerCallback"))
}
# Callbacks of Tune in other packages (swanlab 0.10.3). That of comet_ml 3.58 is a UserCallback where Ray has that.
OF_OTHERS = frozenset({"swanlab.integration.ray.SwanLabLoggerCallback"})
# Arguments whose effect the emitted callback has; any other one is reported. wandb.init takes the rest of W&B's.
MLFLOW_ARGUMENTS = ("experiment_name", "tracking_uri", "registry_uri", "tags", "save_artifact")
FIRST = {"mlflow": "tracking_uri", "wandb": "project"}  # what may be given by position
# Words of scripts that run on Databricks, where MLflow logs to it unless told otherwise.
DATABRICKS_SIGNS = ("databricks", "dbutils", "ray.util.spark")
LOGIN_OF_HELPER = '"mlflow_", "databricks_"'  # how the callback of an earlier run names the variables: no sign
WANDB_REFUSED = {
    "api_key": "set WANDB_API_KEY in the driver",
    "api_key_file": "set WANDB_API_KEY in the driver",
    "excludes": "leave the keys out of the reports",
    "log_config": "the configuration is logged once, at the start",
    "upload_checkpoints": "log an artifact in after_report()",
    "save_checkpoints": "log an artifact in after_report()",
    "upload_timeout": "drop it",
    "video_kwargs": "report wandb.Video yourself",
    "image_kwargs": "report wandb.Image yourself",
}


class NotSure(Exception):
    """A callback that cannot be converted; the message says why."""


@dataclass(frozen=True)
class Tracked:
    """A RunConfig with loggers, the trainer that it is for, and the only fit() of that."""

    config: ast.Call
    loggers: list[ast.Call]
    trainer: ast.Call
    fit: ast.Call


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _callbacks(config: ast.Call) -> ast.keyword | None:
    return keyword_named(config, "callbacks")


def _listed(context: Context, keyword: ast.keyword) -> list[ast.expr] | None:
    """The callbacks of a RunConfig, where they stand in one list."""
    name, value = keyword.value, context.module.value(keyword.value)
    if isinstance(name, ast.Name) and fillings(context.module, name):
        return None
    return value.elts if isinstance(value, (ast.List, ast.Tuple)) else None


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
    items = _listed(context, keyword) if keyword is not None else None
    if keyword is None or items is None:
        raise NotSure("the list cannot be followed")
    named = [(item, tune_callback(module, module.value(item)) or "") for item in items]
    if others := [_last(name) or module.source(item) for item, name in named if name not in LOGGERS]:
        raise NotSure(f"nothing is known to take the place of {', '.join(others)}")
    loggers, reasons = [], list[str]()
    for item, name in named:
        made = module.value(item)
        assert isinstance(made, ast.Call)
        reasons += _refused_arguments(made, LOGGERS[name])
        if only_use(module, made) is None or only_use(module, module.value(keyword.value)) is None:
            reasons.append("it is used at several places")
        loggers.append(made)
    trainers = trainers_of(module, config)
    found = [fit for trainer in trainers for fit in fits(module, trainer)]
    if len(trainers) == 1 and not found and _may_be_another(module, trainers[0]):
        reasons.append("where the trainer is fitted, it may be another one")
    elif len(trainers) != 1 or len(found) != 1:
        reasons.append("the fit() at whose end the run ends is not in sight")
    elif module.function(found[0]) is not module.function(config) or isinstance(module.function(found[0]), ast.Lambda):
        reasons.append("RunConfig and fit() are in different functions")
    if reasons:
        raise NotSure("; ".join(dict.fromkeys(reasons)))
    return Tracked(config, loggers, trainers[0], found[0])


def _may_be_another(module: Module, trainer: ast.Call) -> bool:
    """Whether the name that a trainer gets is given to something else as well, such as one that is restored."""
    name = module.name_of(trainer)
    return name is not None and not module.is_bound_once(name)


def _refused_arguments(made: ast.Call, service: str) -> Iterator[str]:
    """Why the emitted callback would not do what the arguments of a logger ask for: every reason that there is."""
    given = _given(made, service)
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
    needed = "experiment_name" if service == "mlflow" else "project"
    if needed not in given:
        yield f"{needed}= came from the environment"


def _given(made: ast.Call, service: str) -> dict[str | None, ast.expr]:
    """The arguments of a logger by name, also the one that may be given by position."""
    by_position = zip([FIRST[service]], made.args, strict=False)
    return {**dict(by_position), **{keyword.arg: keyword.value for keyword in made.keywords}}


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
        if context.converts(RM408, keyword, message):
            _finish(context, tracked, [_convert_logger(context, tracked, logger) for logger in tracked.loggers])
    for stored in context.module.stores("callbacks"):
        _report_stored(context, stored)


def _report_stored(context: Context, stored: ast.Attribute) -> None:
    """Reports loggers that a RunConfig gets once it was constructed, `run_config.callbacks = [...]`: none is called."""
    assignment = context.module.parent_of[stored]
    made = [source.node for source in context.module.origins(stored.value, elsewhere=False)]
    configs = [c for c in made if isinstance(c, ast.Call) and context.module.qualified(c.func) in RUN_CONFIGS]
    if not isinstance(assignment, ast.Assign) or not any(config not in context.tuned for config in configs):
        return
    if names := _tune_callbacks(_items(context.module, assignment.value)[0]):
        silent = f"Nothing calls {', '.join(names)} on Ray >= 2.51, and no error says so: nothing is logged."
        context.manual(RM408, stored, silent, f"Give it to RunConfig(callbacks=). {RM408.fix}")


def _for_trainer(context: Context, config: ast.Call) -> bool:
    """Whether a RunConfig is not for a Tuner, which goes on to take the callbacks of Tune."""
    parent = context.module.parent_of[config]
    owner = context.module.parent_of.get(parent) if isinstance(parent, ast.keyword) else None
    name = context.module.qualified(owner.func) if isinstance(owner, ast.Call) else None
    return name not in ("ray.tune.Tuner", "ray.tune.tuner.Tuner")


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


# -- emission ----------------------------------------------------------------------------------------


def _convert_logger(context: Context, tracked: Tracked, logger: ast.Call) -> str:
    """Converts a logger; gives the variable that holds the callback in its place."""
    module, plan = context.module, context.plan
    reference = module.reference_at[logger.func]
    near = reference.binding.statement
    service = LOGGERS[reference.qualified]
    helper = _mlflow(context, tracked, logger) if service == "mlflow" else emitted_tracking.WANDB
    edit = plan.call(logger)
    edit.function = add_once(context, helper, logger, near)
    edit.names = [FIRST[service]] if logger.args else []
    edit.remove |= {"save_artifact"} if service == "mlflow" else WANDB_REFUSED.keys()
    context.handle(reference, gone=True)
    return _variable(context, logger, f"{service}_callback")


def _mlflow(context: Context, tracked: Tracked, logger: ast.Call) -> Helper:
    """The callback for MLflow, with the parts that the arguments of the logger ask for."""
    given = _given(logger, "mlflow")
    parameters = [p for p in ("experiment_name", "tracking_uri", "registry_uri", "tags") if p in given]
    setup = "".join(f"        mlflow.set_{uri}({uri})\n" for uri in ("tracking_uri", "registry_uri") if uri in given)
    databricks = _may_be_databricks(context, given.get("tracking_uri"), given.get("experiment_name"))
    finish, needed = _end_of_run(context, tracked, given)
    # A TransformersTrainer logged no parameters: trainer_init_config was none of the fields that its trial had.
    trainer = context.module.qualified(tracked.trainer.func) or ""
    params = trainer not in TRANSFORMERS_TRAINERS
    helper = emitted_tracking.MLFLOW.filled(
        parameters=", ".join(parameters), tags=", tags=tags" if "tags" in given else "", trainer=_last(trainer)
    )
    template = (
        helper.template.replace("        $setup\n", setup)
        .replace("        $databricks\n", emitted_tracking.MLFLOW_DATABRICKS if databricks else "")
        .replace("            $params\n", emitted_tracking.MLFLOW_PARAMS if params else "")
        .replace("        $finish\n", finish)
    )
    imports = (*helper.imports, emitted_tracking.DATABRICKS_LOGIN) if databricks else helper.imports
    return replace(helper, template=template, imports=(*imports, *needed))


def _end_of_run(
    context: Context, tracked: Tracked, given: Mapping[str | None, ast.expr]
) -> tuple[str, Sequence[tuple[str, str | None]]]:
    """What ends the run of MLflow, and the imports that it needs."""
    if written(given.get("save_artifact")) is not True:
        return emitted_tracking.MLFLOW_END, ()
    if scheme_of_run(context.module, tracked.trainer) == LOCAL:
        return emitted_tracking.MLFLOW_ARTIFACTS, ()
    return emitted_tracking.MLFLOW_ARTIFACTS_OF_STORAGE, emitted_tracking.FROM_STORAGE


def _may_be_databricks(context: Context, tracking_uri: ast.expr | None, experiment: ast.expr | None) -> bool:
    """Whether the runs may be logged to Databricks, whose login MLflow takes out of the notebook.

    An experiment is called by its path in the workspace there, as "/Users/...", and hardly anywhere else.
    """
    module = context.module
    set_before = [argument(call, 0, "uri") for call in module.calls("mlflow.set_tracking_uri")]
    given = [tracking_uri] if tracking_uri is not None else [uri for uri in set_before if uri is not None]
    if not given:
        text = module.text.lower().replace(LOGIN_OF_HELPER, "")
        names = module.origins(experiment) if experiment is not None else []
        is_path = any(leading_text(source.module, source.node).startswith("/") for source in names)
        return is_path or any(sign in text for sign in DATABRICKS_SIGNS)
    starts = [leading_text(source.module, source.node) for uri in given for source in module.origins(uri)]
    return any(start.startswith("databricks") for start in starts) or not any(starts)


def _variable(context: Context, logger: ast.Call, wanted: str) -> str:
    """The variable that holds a callback; makes one where there is none."""
    parent = context.module.parent_of[logger]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id
    name = context.fresh(wanted)
    context.plan.statement(context.module.statement(logger)).before.append(Code(f"{name} = $made", {"made": logger}))
    context.plan.hoist(logger, name)
    return name


def _finish(context: Context, tracked: Tracked, callbacks: list[str]) -> None:
    """Ends the runs of callbacks after fit()."""
    module, plan, fit = context.module, context.plan, tracked.fit
    statement = module.statement(fit)
    edit = plan.statement(statement)
    if isinstance(statement, ast.Assign) and statement.value is fit and isinstance(statement.targets[0], ast.Name):
        edit.after += [Code(f"{callback}.finish({statement.targets[0].id})") for callback in callbacks]
        return
    is_alone = module.is_statement(fit)
    if is_alone and len(callbacks) == 1:
        edit.replacement = Code(f"{callbacks[0]}.finish($fit)", {"fit": fit})
        return
    result = context.fresh("result", "training_result")
    code = Code(
        "\n".join([f"{result} = $fit", *(f"{callback}.finish({result})" for callback in callbacks)]), {"fit": fit}
    )
    if is_alone:
        edit.replacement = code
    else:
        edit.before.append(code)
        plan.hoist(fit, result)
