"""RM608 and RM416: the results of a Tuner, above all of one whose trials fit a trainer.

The trials hand on what the workers report, and where their checkpoints are, but no checkpoints: `checkpoint` is None
and `best_checkpoints` is empty; the folder is in metrics["checkpoint_path"], without the scheme of its storage
(docs/semantics/train-v2.md#tune).
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.results.checkpoint_readers import RM602
from raymigrate.codemods.tuner.tuner_config import run_config_in_force, storage_argument
from raymigrate.facts.legacy import TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS
from raymigrate.facts.module import Module
from raymigrate.facts.reports import REPORTS
from raymigrate.facts.tuners import REPORT_TO_TUNE, TUNERS, TunerCall, config_names, made
from raymigrate.facts.values import sources

RM608 = Rule(
    "RM608",
    "the checkpoints of a Tuner's trials",
    "On Ray >= 2.51 a trial that fits a trainer has no checkpoint of its own: result.checkpoint is None and"
    " result.best_checkpoints is empty.",
    'Use ray.train.Checkpoint(result.metrics["checkpoint_path"]), with filesystem= where the storage is not local.',
    "https://docs.ray.io/en/latest/train/user-guides/hyperparameter-optimization.html",
)
RM416 = Rule(
    "RM416",
    "log_dir of a trial's result",
    "The results of a Tuner have no log_dir on current Ray: an AttributeError.",
    "Use result.path, which is a string.",
    "https://docs.ray.io/en/latest/tune/api/doc/ray.tune.Result.html",
)
GRIDS = ("fit", "get_results")
READS = {"log_dir": "gone", "checkpoint": "None", "best_checkpoints": "empty"}
OPENED = ("as_directory", "to_directory", "path")


@codemod("Tuner", phase=Phase.TRIALS)
def tuner_results(context: Context) -> None:
    """Lets readers of `result.checkpoint` find it, and reports those that cannot for sure."""
    module = context.module
    seen: set[ast.Attribute] = set()
    for call in list(module.calls(*TUNERS)):
        tuner = TunerCall(module, call)
        converted = tuner.trainer is not None and call in context.plan.calls
        fits_a_trainer = converted or _fits_a_trainer(module, tuner)
        for result in results(module, call):
            read = module.parent_of[result]
            if not isinstance(read, ast.Attribute) or (read.attr != "log_dir" and not fits_a_trainer):
                continue
            seen.add(read)
            if read.attr == "log_dir":
                _log_dir(context, read)
            elif read.attr == "best_checkpoints":
                context.manual(RM608, read, "result.best_checkpoints is empty on Ray >= 2.51.")
            elif read.attr == "checkpoint":
                _checkpoint(context, tuner, read)

    _others(context, seen)


def _others(context: Context, seen: set[ast.Attribute]) -> None:
    """Reads of a best result whose Tuner is made in another place, or keeps its trainer for now."""
    module = context.module
    calls = list(module.calls(*TUNERS))
    if not calls:
        return
    trainers = {name for call in calls for name in _trainers_of(TunerCall(module, call))}
    for read in module.attributes(*READS):
        if read in seen or not _is_best_result(module, read.value):
            continue
        if read.attr == "log_dir":
            _log_dir(context, read)
        elif trainers:
            context.manual(RM608, read, f"result.{read.attr} is {READS[read.attr]} on Ray >= 2.51.")
            if trainers & TRANSFORMERS_TRAINERS:
                _tell_of_folder(context, read)


def _trainers_of(tuner: TunerCall) -> set[str]:
    """The classes of the trainers that a Tuner may tune."""
    given = sources(tuner.module, tuner.arguments["trainable"]) if "trainable" in tuner.arguments else []
    made_here = {tuner.module.qualified(source.func) for source in given if isinstance(source, ast.Call)}
    return {name for name in made_here if name in TRAINERS | TORCH_TRAINERS}


def _is_best_result(module: Module, node: ast.expr) -> bool:
    """Whether a value is what get_best_result() gave, in whatever function that was called."""
    methods = (source.func for source in sources(module, node) if isinstance(source, ast.Call))
    return any(isinstance(method, ast.Attribute) and method.attr == "get_best_result" for method in methods)


def _log_dir(context: Context, read: ast.Attribute) -> None:
    if context.converts(RM416, read, "result.log_dir raises an AttributeError on Ray >= 2.51; now Path(result.path)."):
        context.plan.need_import("pathlib")
        context.plan.replace(read, "pathlib.Path($result.path)", result=read.value)


def _checkpoint(context: Context, tuner: TunerCall, read: ast.Attribute) -> None:
    module = context.module
    message = "result.checkpoint is None on Ray >= 2.51"
    if not (tuner.trainer and _always_reported(module, tuner.trainer)):
        context.manual(RM608, read, f"{message}, and not every report may have a checkpoint.")
    elif not _is_local(module, tuner):
        context.manual(RM608, read, f"{message}, and its storage may not be local.")
    elif context.converts(RM608, read, f'{message}; now the one at metrics["checkpoint_path"].'):
        near = module.reference_at[tuner.node.func].binding.statement
        context.plan.need_import("ray.train", near=near)
        template = 'ray.train.Checkpoint($result.metrics["checkpoint_path"])'
        context.plan.replace(read, template, result=read.value)
    if tuner.trainer is not None and module.qualified(tuner.trainer.func) in TRANSFORMERS_TRAINERS:
        _tell_of_folder(context, read)


def _tell_of_folder(context: Context, read: ast.Attribute) -> None:
    """Tells where the files of Transformers are, if the folder of a checkpoint is opened."""
    opened = context.module.parent_of[read]
    if isinstance(opened, ast.Attribute) and opened.attr in OPENED:
        context.manual(RM602, read, 'The files of Transformers lie in the folder "checkpoint" of the checkpoint.')


def _always_reported(module: Module, trainer: ast.Call) -> bool:
    """Whether every report, and so the last one, has a checkpoint with it."""
    if module.qualified(trainer.func) in TRANSFORMERS_TRAINERS:
        return True  # the callback of the converted training function reports nothing else
    reports = list(module.calls(*REPORTS))
    given = [next((k.value for k in call.keywords if k.arg == "checkpoint"), None) for call in reports]
    # A call, and no name that is None at times: the last report has to have one.
    return bool(reports) and all(node is not None and isinstance(module.value(node), ast.Call) for node in given)


def _is_local(module: Module, tuner: TunerCall) -> bool:
    """Whether the checkpoints lie in a folder: the default, an absolute path, or what was a local_dir."""
    config = made(module, run_config_in_force(tuner), *config_names("RunConfig"))
    keyword = storage_argument(module, config) if config is not None else None
    if keyword is None or keyword.arg == "local_dir":
        return True
    literal = module.constant(keyword.value)
    return isinstance(literal, str) and "://" not in literal


def _fits_a_trainer(module: Module, tuner: TunerCall) -> bool:
    """Whether the trainable is a function of this file that hands the reports of a trainer on."""
    function = module.definition(tuner.arguments["trainable"]) if "trainable" in tuner.arguments else None
    return isinstance(function, ast.FunctionDef) and any(
        reference.qualified == REPORT_TO_TUNE and module.inside(reference.node, function)
        for reference in module.references
    )


def results(module: Module, tuner: ast.Call) -> Iterator[ast.expr]:
    """Expressions that are the result of one trial: of get_best_result(), of an index, of a loop over the grid."""
    for node in _with_name(module, tuner):
        fit = module.parent_of[node]
        call = module.parent_of[fit]
        if isinstance(fit, ast.Attribute) and fit.attr in GRIDS and isinstance(call, ast.Call):
            for grid in _with_name(module, call):
                yield from _of_grid(module, grid)


def _of_grid(module: Module, grid: ast.expr) -> Iterator[ast.expr]:
    user = module.parent_of[grid]
    if isinstance(user, ast.Attribute) and user.attr == "get_best_result":
        call = module.parent_of[user]
        if isinstance(call, ast.Call):
            yield from _with_name(module, call)
    elif isinstance(user, ast.Subscript) and user.value is grid:
        yield from _with_name(module, user)
    elif isinstance(user, (ast.For, ast.comprehension)) and user.iter is grid and isinstance(user.target, ast.Name):
        yield from _uses(module, user.target)


def _with_name(module: Module, node: ast.expr) -> Iterator[ast.expr]:
    """An expression, and the uses of the name that it alone is assigned to."""
    yield node
    assigned = module.parent_of[node]
    if isinstance(assigned, ast.Assign) and len(assigned.targets) == 1 and isinstance(assigned.targets[0], ast.Name):
        yield from _uses(module, assigned.targets[0])


def _uses(module: Module, target: ast.Name) -> list[ast.Name]:
    scope = module.scope_of[target].find(target.id)
    single = scope is not None and len(scope.bindings[target.id]) == 1
    return module.uses(target.id, scope) if scope is not None and single else []
