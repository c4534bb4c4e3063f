"""RM604 and RM605: what scripts read of the result of a trainer."""

import ast
import sys
from collections.abc import Callable
from functools import cache

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.filled_keys import INSTEAD
from raymigrate.facts.projects.declared import is_declared
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.ray_train.last_reports import last_carries_checkpoint
from raymigrate.facts.ray_train.reports import (
    REPORTS,
    Carried,
    carried,
    carried_by_job,
    checkpoint_argument,
    with_all_imported,
)
from raymigrate.facts.ray_train.results import RESULTS, fitted_trainers, is_result, trainers_of
from raymigrate.facts.ray_train.results import results as reads_of_results
from raymigrate.facts.ray_train.run_folders import results_of_folder
from raymigrate.facts.ray_train.runs_without_checkpoint import reports_no_checkpoint
from raymigrate.facts.ray_train.training_code import TrainingCodes
from raymigrate.facts.ray_tune.trials import may_be_trial
from raymigrate.facts.ray_tune.tuners import RUN_CONFIGS
from raymigrate.facts.syntax.guards import is_guarded, tested
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import Assignment, is_assignment
from raymigrate.facts.values import (
    Source,
    argument,
    every_origin,
    has_unpacking,
    is_method_call,
    is_none,
    keyword_argument,
    keyword_named,
)
from raymigrate.facts.values.nothing import may_give_none
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, TORCH_TRAINERS

RESULT_GUIDE = "https://docs.ray.io/en/latest/train/user-guides/results.html"

RM604 = Rule(
    "RM604",
    "metrics and attributes of a result that Train V2 does not fill",
    "Ray >= 2.51 fills in nothing by itself: training_iteration, time_total_s and similar keys are missing (KeyError),"
    " result.log_dir is gone and result.config raises. result.path is the folder of the run; there is no folder of a"
    " trial in it. result.best_checkpoints also holds the last checkpoint.",
    "Read something else in its place, or remove it: step or epoch for training_iteration, a clock around fit() for"
    " the times, result.path for the folder.",
    RESULT_GUIDE,
    errors=(
        *(f"KeyError: '{key}'" for key in INSTEAD),
        "'Result' object has no attribute 'log_dir'",
        "'Result' object has no attribute 'dataset_stats'",
        "The `config` property for a `ray.train.Result` is deprecated",
        "Failed to restore the Result object",
    ),
)

RM605 = Rule(
    "RM605",
    "metrics that were reported without a checkpoint",
    "Ray >= 2.51 keeps the metrics of a report only if it carries a checkpoint: result.metrics are those of the last"
    " such report, and None without any.",
    "Report a checkpoint with the metrics, or return them from the training function and read result.return_value"
    " (Ray >= 2.56).",
    RESULT_GUIDE,
    errors=(
        "result.metrics is None",
        "metrics[* TypeError: 'NoneType' object is not subscriptable",
        "metrics.get(* AttributeError: 'NoneType' object has no attribute 'get'",
    ),
)

# What an attribute does today, and what to do.
ATTRIBUTES = {
    "metrics": ("", ""),
    "log_dir": ("", ""),
    "config": (
        "raises a DeprecationWarning on Ray >= 2.51.",
        "Read the dict that train_loop_config= was given, from a variable.",
    ),
    "dataset_stats": ("raises an AttributeError on Ray >= 2.51.", "Call stats() of the Ray Dataset on the driver."),
    "metrics_dataframe": (
        "has a row for each checkpoint that is kept on Ray >= 2.51, where it had one for each report, and is None"
        " without checkpoints.",
        "To have all rows, report a checkpoint each time and keep them all, without CheckpointConfig(num_to_keep=);"
        " else write the metrics to a file from rank 0.",
    ),
}


# Where there is a score, Train V2 keeps its checkpoints in that order, and makes the table of them (2.60
# train/v2/_internal/execution/checkpoint/checkpoint_manager.py:169, controller.py:1002).
SCORE = "checkpoint_score_attribute"
BY_SCORE = f"The rows come in the order of the score that CheckpointConfig({SCORE}=) names, not of time."
SORT = "Sort the rows by a number that is reported, such as the epoch."
ALL_ROWS = (
    "result.metrics_dataframe has a row for each report on Ray >= 2.51 too, as each carries a checkpoint and all are"
    " kept; but it lacks the columns that Ray added, such as training_iteration."
)


NO_ROWS = "is None on Ray >= 2.51, as nothing that runs here reports a checkpoint; it had a row for each report."


@codemod("metrics", "log_dir", "config", "dataset_stats", "metrics_dataframe", phase=Phase.RESULTS)
def results(context: Context) -> None:
    """Reads of a trainer's result that find nothing, or something else, on current Ray."""
    codes = cache(lambda: TrainingCodes(with_all_imported(context.module)))
    by_last_report = ACCELERATE_TRAINERS | TORCH_TRAINERS
    for read, trainers in reads_of_results(context.module, *ATTRIBUTES):
        if read.attr == "log_dir":
            is_sure = None not in trainers or is_declared(context.module, read.value, RESULTS)
            _log_dir(context, read, sure=is_sure)
        elif read.attr == "metrics_dataframe" and _has_all_rows(context.module, read.value):
            context.note(RM604, read, of_trainer(ALL_ROWS, Source(context.module, read.value)))
        elif read.attr in ATTRIBUTES and read.attr != "metrics":
            outcome, what_to_do = ATTRIBUTES[read.attr]
            is_table, by_hand = read.attr == "metrics_dataframe", trainers <= by_last_report  # others report themselves
            if is_table and by_hand and _reports_nothing(context.module, read, codes()):
                outcome = NO_ROWS
            elif is_table and _is_scored(context.module, read.value):
                outcome, what_to_do = f"{outcome} {BY_SCORE}", f"{what_to_do} {SORT}"
            message = of_trainer(f"result.{read.attr} {outcome}", Source(context.module, read.value))
            context.manual(RM604, read, message, what_to_do)
        elif None not in trainers and trainers & by_last_report:
            _last_report(context, read, codes)


def of_trainer(message: str, *results: Source, sure: bool = True) -> str:
    """A sentence on the results of trainers, which says so where one may be of a trial: those have it all as before.

    Args:
        message: The sentence.
        results: Whose attributes are read.
        sure: Whether it is seen that a trainer may have given one.
    """
    if sure and not any(_may_be_trial(result.module, result.node) for result in results):
        return message
    return f"Where a trainer gave the result, and not a Tuner: {message[0].lower()}{message[1:]}"


def _may_be_trial(module: Module, result: ast.expr) -> bool:
    """Whether it is seen that a value may be the result of a trial, or an annotation alone says what it is."""
    known_by_name = None in trainers_of(module, result) and is_declared(module, result, RESULTS)
    return may_be_trial(module, result) or known_by_name


@codemod("from_path", phase=Phase.RESULTS)
def stored_results(context: Context) -> None:
    """Reports results that are read from the folder of a run: those of legacy Ray were of legacy runs and of trials."""
    old = ("ray.air.Result", "ray.air.result.Result", *(("ray.train.Result",) if context.of_legacy_job else ()))
    for call in context.module.calls(*(f"{name}.from_path" for name in old)):
        path = argument(call, 0, "path")
        runs = results_of_folder(Source(context.module, path)) if path is not None else []
        if runs and all(is_result(run.module, run.node) for run in runs):
            continue  # the script has just made that run
        message = (
            "ray.train.Result reads only the folders of runs that a trainer of Ray >= 2.51 made: that of an older run,"
            " or of a Tuner's trial, raises a RuntimeError."
        )
        advice = (
            "Take ray.tune.Result for such a folder. That of a new trial which fits a trainer holds no checkpoints:"
            ' they are in the folder of the run that the trial starts, where metrics["checkpoint_path"] lies.'
        )
        context.manual(RM604, call, message, advice)


LOG_DIR_IS_GONE = "result.log_dir raises an AttributeError on Ray >= 2.51"
IN_PLACE_OF_LOG_DIR = (
    "result.path is the folder of the run: a str, not a Path, with checkpoints, but without Tune's result.json,"
    " progress.csv and files that the workers wrote."
)


def _log_dir(context: Context, read: ast.Attribute, *, sure: bool) -> None:
    """`print(result.log_dir)` becomes `print(result.path)`; what reads files there is reported."""
    if not sure or not is_shown(context.module, read) or not is_placed(context.module, read):
        context.manual(RM604, read, f"{LOG_DIR_IS_GONE}.", IN_PLACE_OF_LOG_DIR)
    elif context.converts(RM604, read, f"{LOG_DIR_IS_GONE}; now result.path."):
        context.plan.replace(read, "$result.path", result=read.value)


TEXTS = (ast.JoinedStr, ast.BinOp, ast.Call)
MOST_NAMES = 5  # through which a text is followed
# What shows a text to people. `sys.exit(text)` prints it; exceptions do where they are raised.
SHOWING_FUNCTIONS = ("print", "input", "exit", "quit", "display")
SHOWING_METHODS = (
    *("info", "debug", "warning", "warn", "error", "exception", "critical", "log"),
    *("write", "print", "echo", "secho", "exit", "set_description", "log_param", "set_tag"),
)


def is_shown(module: Module, node: ast.expr) -> bool:
    """Whether a value is only turned into text for people: printed, logged, raised, put into a sentence for that.

    A text that goes elsewhere may be a command or a path: `os.system(f"ls {folder}")`.
    """
    return _is_shown(module, node, 0)


def _is_shown(module: Module, node: ast.expr, depth: int) -> bool:
    parent = module.parent_of[node]
    if isinstance(parent, (ast.FormattedValue, ast.JoinedStr, ast.Tuple)) or (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Mod))
    ):
        return _is_shown(module, parent, depth)
    if is_assignment(parent):
        uses = _uses(module, parent) if isinstance(node, TEXTS) else []
        return bool(uses) and depth < MOST_NAMES and all(_is_shown(module, use, depth + 1) for use in uses)
    if isinstance(parent, ast.Assert):
        return parent.msg is node
    call = module.parent_of[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return False
    if is_method_call(call, "format"):
        return _is_shown(module, call, depth)
    if node not in call.args:
        return False
    return _shows(module, call, depth)


def _shows(module: Module, call: ast.Call, depth: int) -> bool:
    """Whether a call shows what it gets, or makes a text of it that is shown."""
    if isinstance(module.parent_of[call], ast.Raise):
        return True
    function = call.func
    if isinstance(function, ast.Name) and not module.scope_of[function].lookup(function.id):
        is_text = function.id in ("str", "repr")
        return function.id in SHOWING_FUNCTIONS or (is_text and _is_shown(module, call, depth))
    return isinstance(function, ast.Attribute) and function.attr in SHOWING_METHODS


def _uses(module: Module, assigned: Assignment) -> list[ast.expr]:
    """Where a name is read that a statement binds, and no other."""
    name = module.name_of(assigned.value)
    return [*module.uses_of(name)] if module.is_bound_once(name) else []


def is_placed(module: Module, node: ast.expr) -> bool:
    """Whether it is known where a node stands: before Python 3.12 ast does not tell it of the parts of an f-string."""
    return sys.version_info >= (3, 12) or not any(isinstance(outer, ast.JoinedStr) for outer in module.ancestors(node))


def _last_report(context: Context, read: ast.Attribute, codes: Callable[[], TrainingCodes]) -> None:
    """Reports that result.metrics are those of the last report, if that carries no checkpoint; once for each line."""
    found, home = carried_by_job(module := context.module)
    if found in (Carried.NONE, Carried.SOME):  # of all; now of those that its trainer makes
        found, home = _carried_by_run(Source(module, read.value), codes())
    if found not in (Carried.NONE, Carried.SOME) or _has_report_callback(module) or _has_report_callback(home):
        return
    if any(told.code == RM605.code for told in context.findings_on(module.start(read)[0])):
        return
    here = "here" if home is module else f"in {home.path}"
    if found is Carried.NONE and _is_none(context, read, codes):
        context.manual(RM605, read, f"No report {here} carries a checkpoint, so result.metrics is None on Ray >= 2.51.")
    elif found is Carried.SOME and context.of_legacy_job:
        if not last_carries_checkpoint(home, codes().of_results([Source(module, read.value)])):
            message = f"Some reports {here} carry no checkpoint: on Ray >= 2.51 result.metrics are those of the last"
            context.manual(RM605, read, f"{message} one that does.")


def _carried_by_run(result: Source, codes: TrainingCodes) -> tuple[Carried | None, Module]:
    """How many reports carry a checkpoint in the run that gave a result, and where; None where that is not known.

    Where the code of its trainer is not seen, as that of a class of the project, and another file makes the trainer, it
    may be given a function of either file.
    """
    code = codes.of_results([result])
    found, home = carried_by_job(result.module, code)
    trainers = fitted_trainers(result.module, result.node) or []
    made = [source.module for trainer in trainers for source in trainer.module.origins(trainer.node)]
    makers = {home.path: home for home in made if home is not result.module}
    if code is None:
        there = {by_maker for maker in makers.values() if (by_maker := carried_by_job(maker)[0]) is not None}
        if (there | _carried_above(result.module)) - {found}:
            return None, home
    return found, home


def _trainers(module: Module, result: ast.expr) -> list[Source]:
    """What makes the trainers that may have given a result."""
    found = fitted_trainers(module, result) or []
    return [source for trainer in found for source in trainer.module.origins(trainer.node)]


def _is_scored(module: Module, result: ast.expr) -> bool:
    """Whether a file that may say how a run was made names a score for its checkpoints."""
    makers = dict.fromkeys([module, *(trainer.module for trainer in _trainers(module, result))])
    homes = dict.fromkeys(home for maker in makers for home in with_all_imported(maker) if SCORE in home.spelled)
    return not all(_is_without_score(home) for home in homes)


def _is_without_score(module: Module) -> bool:
    """Whether each score that a file names is the argument None."""
    given = [keyword.value for _, keyword in module.keywords(SCORE)]
    return bool(given) and all(map(is_none, given)) and not module.stores(SCORE) and not any(module.spelling(SCORE))


def _has_all_rows(module: Module, result: ast.expr) -> bool:
    """Whether each report of a run carries a checkpoint, and none of these is deleted, as far as all is seen."""
    trainers = _trainers(module, result)
    if not trainers or not all(map(_keeps_all, trainers)) or _has_report_callback(module):
        return False
    homes = with_all_imported(module)
    code = TrainingCodes(homes).of_results([Source(module, result)])
    if code is None or carried_by_job(module, code)[0] is not Carried.ALL:
        return False
    reports = [Source(home, found.node) for home in homes for found in home.references_within(*REPORTS)]
    return all(_has_own_checkpoint(report) for report in reports if code.may_run(report.module, report.node))


def _has_own_checkpoint(report: Source) -> bool:
    """Whether a report is called with a checkpoint that is made there, not with what a caller may leave out."""
    module = report.module
    call = module.calling(report.node)
    given = checkpoint_argument(call) if call is not None else None
    return every_origin(module, given, lambda _, made: isinstance(made, ast.Call) and not may_give_none(made))


def _keeps_all(trainer: Source) -> bool:
    """Whether a trainer is seen to keep all its checkpoints: its RunConfig, if it has one, has no CheckpointConfig."""
    module, made = trainer.module, trainer.node
    if not isinstance(made, ast.Call) or has_unpacking(made) or sets_how_many(module):
        return False
    if is_method_call(made, "restore"):  # with the RunConfig of an earlier run
        return False
    configs = module.origins(keyword_argument(made, "run_config"))
    return all(is_none(config.node) or _keeps_by_default(config.module, config.node) for config in configs)


def sets_how_many(module: Module) -> bool:
    """Whether a file says behind the construction of a RunConfig how many checkpoints are kept."""
    return any(module.stores(name) for name in ("checkpoint_config", "num_to_keep"))


def _keeps_by_default(module: Module, config: ast.expr) -> bool:
    """Whether a RunConfig is made without a CheckpointConfig."""
    if not isinstance(config, ast.Call) or module.qualified(config.func) not in RUN_CONFIGS or sets_how_many(module):
        return False
    return len(config.args) < 2 and not has_unpacking(config) and keyword_named(config, "checkpoint_config") is None


@kept
def _carried_above(module: Module) -> set[Carried]:
    """What the reports carry of the files that import a module, and of what those import.

    They may give its trainer a training function: by a class that is made from one of the module, as an argument.
    """
    above = importing_modules(module)
    others = (other for importer in above for other in with_all_imported(importer) if other is not module)
    return {found for other in others if (found := carried(other)) is not None}


def _is_none(context: Context, read: ast.Attribute, codes: Callable[[], TrainingCodes]) -> bool:
    """Whether None in place of metrics is told: of legacy scripts always, of others where their read of it raises."""
    module, is_legacy = context.module, context.of_legacy_job
    return is_legacy or (is_relied_on(module, read) and _reports_nothing(module, read, codes()))


def _reports_nothing(module: Module, read: ast.Attribute, codes: TrainingCodes) -> bool:
    """Whether it is seen that the run whose result is read reports no checkpoint, of whatever age the script is."""
    return reports_no_checkpoint(codes.of_results([Source(module, read.value)]))


def is_relied_on(module: Module, read: ast.Attribute) -> bool:
    """Whether what is read is asked for an item, an attribute or a method, and nobody looks whether it is None."""
    is_asked = read in _asked_for_more(module) and not is_guarded(module, read, read.attr)
    return is_asked and read.attr not in _tested(module)


@kept
def _asked_for_more(module: Module) -> frozenset[ast.AST]:
    """The values that a file asks for an item, an attribute or a method."""
    users: list[ast.Subscript | ast.Attribute] = [*module.of_type(ast.Subscript), *module.of_type(ast.Attribute)]
    return frozenset(module.value(user.value) for user in users)


@kept
def _tested(module: Module) -> frozenset[str]:
    """The attributes that a file compares with None, or takes for true or false."""
    return frozenset(value.attr for node in tested(module) if isinstance(value := module.value(node), ast.Attribute))


def _has_report_callback(module: Module) -> bool:
    """Whether a module, or one of the project that it imports, has the callback that reports checkpoints."""
    modules = with_imported(module)
    return any(r.qualified.endswith("RayTrainReportCallback") for other in modules for r in other.references)
