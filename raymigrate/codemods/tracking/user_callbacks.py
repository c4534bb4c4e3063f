"""What takes the place of Tune's loggers in a job: a UserCallback each, and what ends its run after fit()."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.helpers import add_once
from raymigrate.codemods.tracking import emitted_tracking
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.ray_train.checkpoint_storage import LOCAL, scheme_of_run
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import argument, called_name, is_none, leading_text, written
from raymigrate.knowledge.legacy import TRANSFORMERS_TRAINERS

PLACES = ("ray.air.integrations", "ray.air.callbacks", "ray.tune.integration", "ray.tune.logger")
LOGGERS = {
    f"{place}.{service}.{name}": service
    for place in PLACES
    for service, name in (("mlflow", "MLflowLoggerCallback"), ("wandb", "WandbLoggerCallback"))
}
FIRST = {"mlflow": "tracking_uri", "wandb": "project"}  # what may be given by position
# Words of scripts that run on Databricks, where MLflow logs to it unless told otherwise.
DATABRICKS_SIGNS = ("databricks", "dbutils", "ray.util.spark")
LOGIN_OF_HELPER = '"mlflow_", "databricks_"'  # how the callback of an earlier run names the variables: no sign
# How the emitted callback takes the key of W&B, by the argument that gave it; legacy Ray read the first line too (2.6.3
# air/integrations/wandb.py, `_set_api_key`).
WANDB_KEYS = {
    "api_key": """
        if api_key:
            login["WANDB_API_KEY"] = api_key
""",
    "api_key_file": """
        if api_key_file:
            with open(os.path.expanduser(api_key_file)) as file:
                login["WANDB_API_KEY"] = file.readline().strip()
""",
}
WANDB_REFUSED = {
    "excludes": "leave the keys out of the reports",
    "log_config": "the configuration is logged once, at the start",
    "upload_checkpoints": "log an artifact in after_report()",
    "save_checkpoints": "log an artifact in after_report()",
    "upload_timeout": "drop it",
    "video_kwargs": "report wandb.Video yourself",
    "image_kwargs": "report wandb.Image yourself",
}


@dataclass(frozen=True)
class Tracked:
    """A RunConfig with loggers, the trainer that it is for, and the only fit() of that."""

    config: ast.Call
    listed: ast.keyword
    loggers: list[ast.Call]
    chosen: bool  # which of them there are shows at run time: they are not the items of one list that is written out
    trainer: ast.Call
    fit: ast.Call


def given_to_logger(made: ast.Call, service: str) -> dict[str | None, ast.expr]:
    """The arguments of a logger by name, also the one that may be given by position."""
    by_position = zip([FIRST[service]], made.args, strict=False)
    return {**dict(by_position), **{keyword.arg: keyword.value for keyword in made.keywords}}


def convert_loggers(context: Context, tracked: Tracked) -> None:
    """Makes a UserCallback of each logger of a RunConfig, and ends their runs after fit()."""
    for logger in tracked.loggers:
        _convert_logger(context, tracked, logger)
    if not tracked.chosen:
        variables = [_variable(context, logger, f"{_service(context, logger)}_callback") for logger in tracked.loggers]
        _finish(context, tracked, [f"{variable}.finish($result)" for variable in variables])
        return
    several = _variable_of_list(context, tracked)
    if any(is_none(source.node) for source in context.module.origins(tracked.listed.value)):
        several = f"{several} or ()"
    one = context.fresh("callback", "user_callback")
    _finish(context, tracked, [f"for {one} in {several}:\n    {one}.finish($result)"])


def _service(context: Context, logger: ast.Call) -> str:
    return LOGGERS[context.module.reference_at[logger.func].qualified]


def _convert_logger(context: Context, tracked: Tracked, logger: ast.Call) -> None:
    plan, service = context.plan, _service(context, logger)
    reference = context.module.reference_at[logger.func]
    near = reference.binding.statement
    helper = _mlflow(context, tracked, logger) if service == "mlflow" else _wandb(logger)
    edit = plan.call(logger)
    edit.function = add_once(context, helper, logger, near)
    edit.names = [FIRST[service]] if logger.args else []
    edit.remove |= (
        {"save_artifact"} if service == "mlflow" else (WANDB_REFUSED | WANDB_KEYS).keys() - wandb_keys(logger)
    )
    context.handle(reference, gone=True)


def wandb_keys(logger: ast.Call) -> set[str]:
    """The arguments of a logger that give it a key of W&B."""
    given = given_to_logger(logger, "wandb")
    return {name for name in WANDB_KEYS if name in given and written(given[name])}


def _wandb(logger: ast.Call) -> Helper:
    """The callback for Weights & Biases, which is given the key as the logger was."""
    keys = sorted(wandb_keys(logger))
    helper = emitted_tracking.WANDB.filled(parameters="".join(f"{key}, " for key in keys))
    login = "".join(WANDB_KEYS[key].lstrip("\n") for key in keys)
    return replace(helper, template=helper.template.replace("        $login\n", login))


def _mlflow(context: Context, tracked: Tracked, logger: ast.Call) -> Helper:
    """The callback for MLflow, with the parts that the arguments of the logger ask for."""
    given = given_to_logger(logger, "mlflow")
    parameters = [p for p in ("experiment_name", "tracking_uri", "registry_uri", "tags") if p in given]
    setup = "".join(f"        mlflow.set_{uri}({uri})\n" for uri in ("tracking_uri", "registry_uri") if uri in given)
    databricks = _may_be_databricks(context, given.get("tracking_uri"), given.get("experiment_name"))
    finish, needed = _end_of_run(context, tracked, given)
    # A TransformersTrainer logged no parameters: trainer_init_config was none of the fields that its trial had.
    trainer = called_name(context.module, tracked.trainer)
    params = trainer not in TRANSFORMERS_TRAINERS
    helper = emitted_tracking.MLFLOW.filled(
        parameters=", ".join(parameters),
        tags=", tags=tags" if "tags" in given else "",
        trainer=trainer.rpartition(".")[2],
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
        names = module.origins(experiment)
        is_path = any(leading_text(source.module, source.node).startswith("/") for source in names)
        return is_path or any(sign in text for sign in DATABRICKS_SIGNS)
    starts = [leading_text(source.module, source.node) for uri in given for source in module.origins(uri)]
    return any(start.startswith("databricks") for start in starts) or not any(starts)


def _variable(context: Context, logger: ast.Call, wanted: str) -> str:
    """The variable that holds a callback; makes one where there is none."""
    parent = context.module.parent_of[logger]
    if is_assignment(parent) and isinstance(target := targets_of(parent)[0], ast.Name):
        return target.id
    name = context.fresh(wanted)
    context.plan.statement(context.module.statement(logger)).before.append(Code(f"{name} = $made", {"made": logger}))
    context.plan.hoist(logger, name)
    return name


def _variable_of_list(context: Context, tracked: Tracked) -> str:
    """The variable that holds the callbacks of a RunConfig, also after fit(); makes one where there is none."""
    module, value = context.module, tracked.listed.value
    if isinstance(value, ast.Name) and module.function(value) is module.function(tracked.fit):
        if all(module.start(binding.node) < module.start(value) for binding in module.bindings_of(value)):
            return value.id
    name = context.fresh("callbacks", "user_callbacks")
    context.plan.statement(module.statement(value)).before.append(Code(f"{name} = $made", {"made": value}))
    context.plan.hoist(value, name)
    return name


def _finish(context: Context, tracked: Tracked, ends: list[str]) -> None:
    """Ends the runs of callbacks after fit().

    Args:
        ends: Statements that do it, with `$result` for what fit() returned.
    """
    module, plan, fit = context.module, context.plan, tracked.fit
    statement = module.statement(fit)
    edit = plan.statement(statement)
    target = targets_of(statement)[0] if is_assignment(statement) and statement.value is fit else None
    if isinstance(target, ast.Name):
        edit.after += [Code(end.replace("$result", target.id)) for end in ends]
        return
    is_alone = module.is_statement(fit)
    if is_alone and len(ends) == 1 and not tracked.chosen:
        edit.replacement = Code(ends[0].replace("$result", "$fit"), {"fit": fit})
        return
    result = context.fresh("result", "training_result")
    code = Code("\n".join([f"{result} = $fit", *(end.replace("$result", result) for end in ends)]), {"fit": fit})
    if is_alone:
        edit.replacement = code
    else:
        edit.before.append(code)
        plan.hoist(fit, result)
