"""RM427: what catches the error of a trainer's fit().

docs/semantics/names.md and docs/semantics/train-v2.md#torchtrainer: Ray 2.60, train/v2/api/exceptions.py.
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.moves import Move, move_names
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.syntax.guards import EXPECTING, SUPPRESS
from raymigrate.facts.syntax.module import Module

RM427 = Rule(
    "RM427",
    "what catches the error of fit()",
    "On Ray >= 2.51 fit() raises ray.train.TrainingFailedError. It is not a RuntimeError, not what the workers"
    " raised, and not the TrainingFailedError of ray.train.base_trainer: code that catches one of these no longer"
    " catches it.",
    "TrainingFailedError is imported from ray.train. Where the code catches something else, let it catch"
    " TrainingFailedError. What the workers raised is in worker_failures of a WorkerGroupError, by rank, and no"
    " longer in __cause__.",
    "https://docs.ray.io/en/latest/train/user-guides/fault-tolerance.html",
)
FAILED = "ray.train.TrainingFailedError"
OLD_PLACES = ("ray.train.base_trainer.TrainingFailedError", "ray.train.trainer.TrainingFailedError")
MOVES = {place: Move("ray.train", "TrainingFailedError") for place in OLD_PLACES}
WORKER_FAILURES = "What each worker raised is in worker_failures of a WorkerGroupError."
CATCH = f"Catch {FAILED}. {WORKER_FAILURES}"
# What catches the error of today too.
STILL_CAUGHT = frozenset({"Exception", "BaseException", FAILED, *OLD_PLACES})
OF_TODAY = frozenset({"ray.train.WorkerGroupError", "ray.train.ControllerError", "ray.train.PreemptionError"})
# What legacy Ray raised: RuntimeError is above its TrainingFailedError, and before 2.3 the worker's own error came.
CAUGHT_BEFORE = ("RuntimeError", "ray.exceptions.", "ray.tune.TuneError", "ray.tune.error.TuneError")
WAITING = EXPECTING | {SUPPRESS}
# What `with suppress(ImportError)` is there for: a library that may be missing, and no failed training.
OF_IMPORTS = frozenset({"ImportError", "ModuleNotFoundError"})


@codemod("TrainingFailedError", "fit")
def failures(context: Context) -> None:
    """Imports the error that fit() raises today, and reports what waits for another one."""
    move_names(context, RM427, MOVES)
    module = context.module
    for fit in _fits(module):
        child: ast.AST = fit
        for outer in module.ancestors(fit):
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                break
            if isinstance(outer, ast.Try) and child in outer.body:
                _handlers(context, outer)
            elif isinstance(outer, ast.With | ast.AsyncWith) and child in outer.body:
                _expected(context, outer)
            child = outer
    _causes(context)


def _fits(module: Module) -> Iterator[ast.Call]:
    """Calls of a trainer's `fit()`."""
    for call, _ in module.method_calls("fit"):
        if trainers_of(module, call) - {None}:
            yield call


def _handlers(context: Context, block: ast.Try) -> None:
    """Reports handlers that the error of a failed training no longer gets to."""
    module = context.module
    for handler in block.handlers:
        names = _names(module, handler.type)
        if names & (STILL_CAUGHT | OF_TODAY) or handler.type is None:
            return
        before = sorted(name for name in names if name.startswith(CAUGHT_BEFORE))
        if before:
            context.manual(
                RM427,
                handler,
                f"On Ray >= 2.51 fit() raises {FAILED}, which is no {before[0].rpartition('.')[2]}:"
                " this handler no longer catches it.",
                CATCH,
            )
            return


def _expected(context: Context, block: ast.With | ast.AsyncWith) -> None:
    """Reports `with pytest.raises(ValueError): trainer.fit()`."""
    module = context.module
    for item in block.items:
        call = item.context_expr
        if not isinstance(call, ast.Call) or module.naming(call.func) not in WAITING:
            continue
        names = {name for argument in call.args for name in _names(module, argument)}
        names -= OF_IMPORTS if module.naming(call.func) == SUPPRESS else set()
        if names and not names & (STILL_CAUGHT | OF_TODAY):
            caught = sorted(names)[0].rpartition(".")[2]
            message = f"On Ray >= 2.51 fit() raises {FAILED}, which is no {caught}: it is not caught here."
            context.manual(RM427, call, message, CATCH)


def _causes(context: Context) -> None:
    """Reports reads of `error.__cause__`, where the error of the worker was."""
    module = context.module
    caught = {FAILED, *OLD_PLACES}
    expected = {
        (module.scope_of[item.optional_vars], item.optional_vars.id)
        for block in module.of_type(ast.With)
        for item in block.items
        if isinstance(call := item.context_expr, ast.Call) and isinstance(item.optional_vars, ast.Name)
        if module.naming(call.func) in WAITING and caught & {n for a in call.args for n in _names(module, a)}
    }
    for read in module.attributes("__cause__"):
        error = read.value
        if isinstance(error, ast.Attribute) and error.attr in ("value", "exception"):
            owner = error.value
            is_ours = isinstance(owner, ast.Name) and (module.scope_of[owner], owner.id) in expected
        else:
            handler = module.definition(error)
            is_ours = isinstance(handler, ast.ExceptHandler) and bool(_names(module, handler.type) & caught)
        if is_ours:
            message = f"{FAILED} of Ray >= 2.51 has no __cause__: this is None."
            context.manual(RM427, read, message, WORKER_FAILURES)


def _names(module: Module, caught: ast.expr | None) -> set[str]:
    """The classes that a handler names."""
    if isinstance(caught, ast.Tuple):
        return {name for element in caught.elts for name in _names(module, element)}
    return {module.naming(caught)} if caught is not None else set()
