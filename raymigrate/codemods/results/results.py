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
from raymigrate.facts.legacy import ACCELERATE_TRAINERS, TORCH_TRAINERS
from raymigrate.facts.module import Module
from raymigrate.facts.project import with_imported
from raymigrate.facts.reports import Carried, carried_by_job, with_all_imported
from raymigrate.facts.results import results as reads_of_results
from raymigrate.facts.training_code import TrainingCodes
from raymigrate.facts.values import Source

RESULT_GUIDE = "https://docs.ray.io/en/latest/train/user-guides/results.html"

RM604 = Rule(
    "RM604",
    "metrics and attributes of a result that Train V2 does not fill",
    "Ray >= 2.51 fills in nothing by itself: training_iteration, time_total_s and similar keys are missing (KeyError),"
    " result.log_dir is gone and result.config raises. result.path is the folder of the run, without one of a trial.",
    "Read something else in its place, or take it out: step or epoch for training_iteration, a clock around fit() for"
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


@codemod("metrics", "log_dir", "config", "dataset_stats", "metrics_dataframe", phase=Phase.RESULTS)
def results(context: Context) -> None:
    """Reads of a trainer's result that find nothing, or something else, on current Ray."""
    codes = cache(lambda: TrainingCodes(with_all_imported(context.module)))
    by_last_report = ACCELERATE_TRAINERS | (TORCH_TRAINERS if context.of_legacy_job else set())
    for read, trainers in reads_of_results(context.module, *ATTRIBUTES):
        if read.attr == "log_dir":
            _log_dir(context, read, sure=None not in trainers)
        elif read.attr in ATTRIBUTES and read.attr != "metrics":
            outcome, what_to_do = ATTRIBUTES[read.attr]
            context.manual(RM604, read, f"result.{read.attr} {outcome}", what_to_do)
        elif None not in trainers and trainers & by_last_report:
            _last_report(context, read, codes)


@codemod("from_path", phase=Phase.RESULTS)
def stored_results(context: Context) -> None:
    """Reports results that are read from the folder of a run: those of ray.air were of legacy runs and of trials."""
    for call in context.module.calls(*(f"ray.air.{name}.from_path" for name in ("Result", "result.Result"))):
        message = "ray.train.Result reads only folders that Ray >= 2.51 wrote: that of an older run is a RuntimeError."
        advice = "Take ray.tune.Result, which reads those of older runs and of trials, where it is such a folder."
        context.manual(RM604, call, message, advice)


def _log_dir(context: Context, read: ast.Attribute, *, sure: bool) -> None:
    """`print(result.log_dir)` becomes `print(result.path)`; what reads files there is reported."""
    gone = "result.log_dir raises an AttributeError on Ray >= 2.51"
    if not sure or not is_shown(context.module, read) or not is_placed(context.module, read):
        context.manual(
            RM604,
            read,
            f"{gone}.",
            "result.path is the folder of the run: a str, not a Path, with checkpoints, but without Tune's result.json,"
            " progress.csv and files that the workers wrote.",
        )
    elif context.converts(RM604, read, f"{gone}; now result.path."):
        context.plan.replace(read, "$result.path", result=read.value)


SHOWING_METHODS = ("info", "debug", "warning", "error", "exception", "critical", "log", "write")


def is_shown(module: Module, node: ast.expr) -> bool:
    """Whether a value is only turned into text for people: printed, logged, put into a sentence."""
    parent = module.parent_of[node]
    if isinstance(parent, ast.FormattedValue):
        text = module.parent_of[parent]
        return isinstance(text, ast.JoinedStr) and (is_shown(module, text) or not _begins_path(text, parent))
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, (ast.Add, ast.Mod)):
        return is_shown(module, parent)
    if isinstance(parent, ast.Tuple) and isinstance(module.parent_of[parent], ast.BinOp):
        return is_shown(module, parent)
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return False
    function = parent.func
    if isinstance(function, ast.Name) and not module.scope_of[function].lookup(function.id):
        return function.id == "print" or (function.id in ("str", "repr") and is_shown(module, parent))
    if isinstance(function, ast.Attribute) and function.attr == "format":
        template = module.constant(function.value)
        return is_shown(module, parent) or (isinstance(template, str) and "}/" not in template)
    return isinstance(function, ast.Attribute) and function.attr in SHOWING_METHODS


def _begins_path(text: ast.JoinedStr, part: ast.FormattedValue) -> bool:
    """Whether the part of an f-string is followed by a slash, or is all of it."""
    place = text.values.index(part)
    rest = text.values[place + 1] if place + 1 < len(text.values) else None
    if rest is None:
        return place == 0
    return isinstance(rest, ast.Constant) and str(rest.value).startswith("/")


def is_placed(module: Module, node: ast.expr) -> bool:
    """Whether it is known where a node stands: before Python 3.12 ast does not tell it of the parts of an f-string."""
    return sys.version_info >= (3, 12) or not any(isinstance(outer, ast.JoinedStr) for outer in module.ancestors(node))


def _last_report(context: Context, read: ast.Attribute, codes: Callable[[], TrainingCodes]) -> None:
    """Reports that result.metrics are those of the last report, if that carries no checkpoint."""
    found, home = carried_by_job(context.module)
    if found in (Carried.NONE, Carried.SOME):  # of all; now of those that its trainer makes
        found, home = carried_by_job(context.module, codes().of_results([Source(context.module, read.value)]))
    if found not in (Carried.NONE, Carried.SOME) or _has_report_callback(context.module) or _has_report_callback(home):
        return
    here = "here" if home is context.module else f"in {home.path}"
    if found is Carried.NONE:
        context.manual(RM605, read, f"No report {here} carries a checkpoint, so result.metrics is None on Ray >= 2.51.")
    else:
        context.manual(
            RM605,
            read,
            f"Some reports {here} carry no checkpoint: on Ray >= 2.51 result.metrics are those of the last one that"
            " does.",
        )


def _has_report_callback(module: Module) -> bool:
    """Whether a module, or one of the project that it imports, has the callback that reports checkpoints."""
    modules = with_imported(module)
    return any(r.qualified.endswith("RayTrainReportCallback") for other in modules for r in other.references)
