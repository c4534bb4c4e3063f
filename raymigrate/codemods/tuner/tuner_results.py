"""RM608 and RM416: the results of a Tuner, above all of one whose trials fit a trainer.

The trials hand on what the workers report, and where their checkpoints are, but no checkpoints: `checkpoint` is None,
`best_checkpoints` is empty, and get_best_checkpoint() raises an error; the folder is in metrics["checkpoint_path"],
without the scheme of its storage (docs/semantics/train-v2.md#tune).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.checkpoint_readers import RM602
from raymigrate.codemods.results.handed_checkpoints import is_handed_a_model
from raymigrate.codemods.results.results import is_placed, is_shown
from raymigrate.codemods.shared.checkpoint_files import leads_to_files
from raymigrate.codemods.shared.missing_reports import how_to_report
from raymigrate.codemods.tuner.tuner_config import run_config_in_force
from raymigrate.codemods.tuner.tuner_reports import RM412, saves_as_often_as_it_logs
from raymigrate.codemods.tuner.tuner_storage import storage_argument
from raymigrate.facts.ray_train.checkpoint_folders import name_of_folder
from raymigrate.facts.ray_train.reports import REPORTS, with_all_imported
from raymigrate.facts.ray_train.results import layout, trainers_of, tuners_behind
from raymigrate.facts.ray_train.runs_without_checkpoint import reports_no_checkpoint
from raymigrate.facts.ray_train.training_code import TrainingCodes
from raymigrate.facts.ray_tune.trials import is_of_rl_trainer, tuners_of
from raymigrate.facts.ray_tune.tuners import REPORT_TO_TUNE, RESTORED, TunerCall, config_names, made
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_negation
from raymigrate.facts.values import Source, argument, called_name, is_none, keyword_argument, sources
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS

RM608 = Rule(
    "RM608",
    "the checkpoints of a Tuner's trials",
    "On Ray >= 2.51 a trial that fits a trainer has no checkpoint of its own: result.checkpoint is None,"
    " result.best_checkpoints is empty and result.get_best_checkpoint() raises a RuntimeError.",
    'Use ray.train.Checkpoint(result.metrics["checkpoint_path"]), with filesystem= where the storage is not local.',
    "https://docs.ray.io/en/latest/train/user-guides/hyperparameter-optimization.html",
    errors=("No checkpoint exists in the trial directory!",),
)
RM416 = Rule(
    "RM416",
    "log_dir of a trial's result",
    "The results of a Tuner have no log_dir on current Ray: reading it raises an AttributeError.",
    "Use result.path, which is a string.",
    "https://docs.ray.io/en/latest/tune/api/doc/ray.tune.Result.html",
)
READS = {
    "checkpoint": "result.checkpoint is None on Ray >= 2.51.",
    "best_checkpoints": "result.best_checkpoints is empty on Ray >= 2.51.",
    "get_best_checkpoint": "result.get_best_checkpoint() raises a RuntimeError on Ray >= 2.51: a trial that fits a"
    " trainer has no checkpoint of its own.",
}
ANY_OF_THEM = (
    'ray.train.Checkpoint(result.metrics["checkpoint_path"]) is the last one, with filesystem= where the storage is not'
    ' local. The path of any other one stands under "checkpoint_path" in its row of result.metrics_dataframe.'
)
OF_TRIAL = "Where this is the result of a trial that fits a trainer: "
EITHER = (
    'result.checkpoint or ray.train.Checkpoint(result.metrics["checkpoint_path"]) is the one that there is, with'
    " filesystem= where the storage is not local. In other results metrics has no such key, which raises a KeyError."
)
OPENED = ("as_directory", "to_directory", "path")


@codemod("Tuner", "log_dir", "best_checkpoints", "get_best_checkpoint", "metrics_dataframe", phase=Phase.TRIALS)
def tuner_results(context: Context) -> None:
    """Lets readers of `result.checkpoint` find it, and reports those that cannot for sure."""
    module = context.module
    for read in module.attributes("log_dir", "metrics_dataframe", *READS):
        if read.attr == "log_dir" and is_of_rl_trainer(module, read.value):
            _log_dir(context, read, sure=True)
            continue
        found = tuners_of(module, read.value)
        tuners = [tuner for tuner in found if tuner is not None]
        if not tuners:
            continue
        fitting = [tuner for tuner in tuners if fitted_trainers(context, tuner)]
        if read.attr == "log_dir":
            if not trainers_of(module, read.value) - {None}:  # else RM604 tells of it
                _log_dir(context, read, sure=None not in found)
        elif read.attr == "metrics_dataframe":
            _rows(context, read, fitting)
        elif fitting and read.attr == "checkpoint" and len(found) == 1:
            _checkpoint(context, _tuner_call(fitting[0]), read)
        elif fitting or any(_is_restored_alone(tuner) for tuner in tuners):
            _tell(context, read, sure=len(fitting) == len(found))
    _tell_of_folders(context)


def _tell(context: Context, read: ast.Attribute, *, sure: bool) -> None:
    """Reports what a result lacks; one that fit() of a trainer may have given as well has it there."""
    if sure:
        context.manual(RM608, read, READS[read.attr], None if read.attr == "checkpoint" else ANY_OF_THEM)
    else:
        advice = EITHER if read.attr == "checkpoint" else f"There, {ANY_OF_THEM}"
        context.manual(RM608, read, f"{OF_TRIAL}{READS[read.attr]}", advice)


def _tuner_call(made: Source) -> TunerCall:
    assert isinstance(made.node, ast.Call)
    return TunerCall(made.module, made.node)


def fitted_trainers(context: Context, made: Source) -> set[str]:
    """The classes of the trainers that a Tuner may tune, or that the function fits which it runs."""
    tuner = _tuner_call(made)
    given = tuner.arguments.get("trainable")
    if given is None:
        return set()
    calls = [source for source in tuner.module.origins(given) if isinstance(source.node, ast.Call)]
    names = {source.module.qualified(source.node.func) for source in calls if isinstance(source.node, ast.Call)}
    found = {name for name in names if name in TRAINERS | TORCH_TRAINERS}
    if tuner.trainer is not None and tuner.node in context.plan.calls:
        found.add(called_name(tuner.module, tuner.trainer))
    return found or (set(TORCH_TRAINERS) if fits_a_trainer(tuner.module, tuner.arguments.get("trainable")) else set())


def _is_restored_alone(made: Source) -> bool:
    """Whether a Tuner is restored without its trainable, as before Ray 2.7: it may have been a trainer."""
    tuner = _tuner_call(made)
    is_restored = made.module.qualified(tuner.node.func) in RESTORED
    return is_restored and not tuner.unpacked and argument(tuner.node, 1, "trainable") is None


def _rows(context: Context, read: ast.Attribute, fitting: list[Source]) -> None:
    """Reports the DataFrame of a trial whose Transformers trainer reports at other steps now."""
    trainers = {name for tuner in fitting for name in fitted_trainers(context, tuner)}
    if trainers & TRANSFORMERS_TRAINERS and not saves_as_often_as_it_logs(context.module):
        context.manual(RM412, read, "The metrics_dataframe of a trial has a row for each checkpoint, not for each log.")


def _log_dir(context: Context, read: ast.Attribute, *, sure: bool) -> None:
    if not sure or not is_placed(context.module, read):
        context.manual(RM416, read, "result.log_dir raises an AttributeError on Ray >= 2.51.")
        return
    shown = is_shown(context.module, read)  # a str is shown as a Path is
    now = "result.path" if shown else "Path(result.path)"
    if not context.converts(RM416, read, f"result.log_dir raises an AttributeError on Ray >= 2.51; now {now}."):
        return
    if shown:
        context.plan.replace(read, "$result.path", result=read.value)
    elif _has_path(context.module, read):
        context.plan.replace(read, "Path($result.path)", result=read.value)
    else:
        context.plan.need_import("pathlib")
        context.plan.replace(read, "pathlib.Path($result.path)", result=read.value)


def _has_path(module: Module, node: ast.AST) -> bool:
    """Whether `Path` is that of pathlib where a node stands: not if it is imported below, or for type checkers only."""
    bound = module.scope_of[node].lookup("Path")
    statements = [binding.statement for binding in bound if binding.qualified == "pathlib.Path"]
    return 0 < len(bound) == len(statements) and all(
        statement is not None
        and module.start(statement) < module.start(node)
        and module.inside(node, module.parent_of[statement])
        for statement in statements
    )


def _checkpoint(context: Context, tuner: TunerCall, read: ast.Attribute) -> None:
    module = context.module
    message = "result.checkpoint is None on Ray >= 2.51"
    is_converted = tuner.trainer is not None and tuner.node in context.plan.calls
    has_driver = is_converted or fits_a_trainer(
        tuner.module, tuner.arguments.get("trainable")
    )  # now, or since an earlier run
    if has_driver and _is_tested(module, read):
        context.manual(RM608, read, f"{message}, so that this test always ends the same.")
    elif not has_driver:
        context.manual(RM608, read, f"{message}.")
    elif (trainer := _trainer_of(tuner)) and (advice := _never_reported(tuner.module, trainer)):
        context.manual(RM608, read, f"{message}: nothing that the trainer runs reports a checkpoint.", advice)
    elif not (tuner.trainer and _always_reported(tuner.module, tuner.trainer)):
        context.manual(RM608, read, f"{message}, and not every report may have a checkpoint.")
    elif not _is_local(tuner.module, tuner):
        context.manual(RM608, read, f"{message}, and its storage may not be local.")
    elif not is_placed(module, read):
        context.manual(RM608, read, f"{message}.")
    elif context.converts(RM608, read, f'{message}; now the one at metrics["checkpoint_path"].'):
        near = module.import_of(tuner.node.func)
        home = module.function(near) if near is not None else None
        context.plan.need_import("ray.train", near=near if home is None or module.inside(read, home) else None)
        template = 'ray.train.Checkpoint($result.metrics["checkpoint_path"])'
        context.plan.replace(read, template, result=read.value)


def _is_tested(module: Module, read: ast.expr) -> bool:
    """Whether it is asked if there is a checkpoint: one that is looked for at a path is always there."""
    outer = module.parent_of[read]
    if isinstance(outer, ast.Compare):
        return any(is_none(part) for part in (outer.left, *outer.comparators))
    is_test = isinstance(outer, (ast.If, ast.While, ast.IfExp)) and outer.test is read
    in_filter = isinstance(outer, ast.comprehension) and read in outer.ifs
    return is_test or in_filter or isinstance(outer, ast.BoolOp) or is_negation(outer)


def _tell_of_folders(context: Context) -> None:
    """Tells where the files of Transformers are, if the folder of a checkpoint is opened that RM602 does not follow.

    A trial may be one of several Tuners, and a Tuner may get one of several trainers.
    """
    module = context.module
    for opened in module.attributes(*OPENED):
        checkpoint = opened.value
        found = [tuner for source in sources(module, checkpoint) for tuner in tuners_behind(module, source)]
        if layout(module, checkpoint) is not None or is_handed_a_model(module, opened):
            continue  # RM602 follows it, and says so
        if _goes_deeper(context, opened):
            continue
        if any(fitted_trainers(context, tuner) & TRANSFORMERS_TRAINERS for tuner in found):
            context.manual(RM602, opened, 'The files of Transformers lie in the folder "checkpoint" of the checkpoint.')


def _goes_deeper(context: Context, opened: ast.Attribute) -> bool:
    """Whether the files are looked for in that folder already: by a person, or by code of an earlier run."""
    module = context.module
    call, name = module.calling(opened), name_of_folder(module, opened)
    folders = [opened, *([call] if call is not None else [])]
    folders += module.uses_of(name)
    return any(leads_to_files(context, folder) for folder in folders)


def _always_reported(module: Module, trainer: ast.Call) -> bool:
    """Whether every report, and so the last one, has a checkpoint with it."""
    if module.qualified(trainer.func) in TRANSFORMERS_TRAINERS:
        return True  # the callback of the converted training function reports nothing else
    reports = list(module.calls(*REPORTS))
    given = [keyword_argument(call, "checkpoint") for call in reports]
    # A call, and no name that is None at times: the last report has to have one.
    return bool(reports) and all(node is not None and isinstance(module.value(node), ast.Call) for node in given)


def _trainer_of(tuner: TunerCall) -> ast.Call | None:
    """The trainer that the trials fit, also where an earlier run put it into their function; None of several."""
    module, given = tuner.module, tuner.arguments.get("trainable")
    function = module.definition(given)
    fitted = [call for call in module.calls(*TORCH_TRAINERS) if function and module.inside(call, function)]
    return tuner.trainer or (fitted[0] if len(fitted) == 1 else None)


def _never_reported(module: Module, trainer: ast.Call) -> str:
    """What to do where nothing that a trainer runs reports a checkpoint; empty where something does, or may do so."""
    if module.qualified(trainer.func) not in TORCH_TRAINERS:
        return ""  # a converted one gets a callback that reports
    homes = with_all_imported(module)
    code = TrainingCodes(homes).of_trainers([Source(module, trainer)])
    return how_to_report(homes, code) if reports_no_checkpoint(code) else ""


def _is_local(module: Module, tuner: TunerCall) -> bool:
    """Whether the checkpoints lie in a folder: the default, an absolute path, or what was a local_dir."""
    config = made(module, run_config_in_force(tuner), *config_names("RunConfig"))
    keyword = storage_argument(module, config) if config is not None else None
    if keyword is None or keyword.arg == "local_dir":
        return True
    literal = module.constant(keyword.value)
    return isinstance(literal, str) and "://" not in literal


def fits_a_trainer(module: Module, trainable: ast.expr | None) -> bool:
    """Whether a trainable is a function of this file that hands the reports of a trainer on."""
    function = module.definition(trainable)
    return isinstance(function, ast.FunctionDef) and any(
        reference.qualified == REPORT_TO_TUNE and module.inside(reference.node, function)
        for reference in module.references
    )
