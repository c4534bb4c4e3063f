"""What a script shows to its user, or asks for, while it trains: a worker has no user."""

import ast
from collections.abc import Collection, Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.cell_lines import run_by_workers
from raymigrate.codemods.to_ray.outline import Outline
from raymigrate.codemods.to_ray.script import ends_process, uses_of_function
from raymigrate.facts.projects.callees import functions_elsewhere
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, free_name, is_method_call, last_name

ASKS = ("pdb.set_trace", "ipdb.set_trace", "IPython.embed", "code.interact")
BUILTINS = ("input", "breakpoint")
SHOWS = (
    *("matplotlib.pyplot.show", "matplotlib.pyplot.pause", "matplotlib.pyplot.draw", "pylab.show", "cv2.imshow"),
    *("IPython.display.display", "IPython.display.clear_output", "IPython.core.display.display"),
)
DISPLAY = "display"  # that notebooks know without an import
INTERRUPT = (
    "Ctrl-C reaches the driver now, and Ray ends the workers: neither this nor what follows it runs then. What is left"
    " of the training is in the checkpoints in Ray's storage."
)
ENDS = (
    "A worker takes SystemExit for a failure, with the code 0 too: the run ends with a TrainingFailedError, or starts"
    " again where max_failures= allows it."
)
HANDLERS = ("signal.signal", "signal.set_wakeup_fd")
# ray 2.60, train/v2/_internal/execution/worker_group/thread_runner.py
IN_A_THREAD = "Ray runs the training in a thread of each worker, where {}() raises a ValueError."
RUN_BY_TRAINER = ("Callback", "Trainer")  # ends of the names of classes whose methods a Trainer calls


def asks(module: Module) -> Iterator[ast.Call]:
    """The calls that wait for the user."""
    for call in module.of_type(ast.Call):
        if module.qualified(call.func) in ASKS or free_name(module, call.func) in BUILTINS:
            yield call


def shows_between_steps(module: Module) -> Iterator[ast.Call]:
    """The calls that show something to the user in a loop that trains, or in what a Trainer calls."""
    for call in module.of_type(ast.Call):
        shows = free_name(module, call.func) == DISPLAY or module.qualified(call.func) in SHOWS
        if shows and _is_in_training(module, call, set()):
            yield call


def tell_interrupts(context: Context, rule: Rule, reached: Collection[ast.AST]) -> None:
    """Tells that the user cannot end a training with Ctrl-C and go on in the script any more.

    Args:
        context: The module.
        rule: The rule that tells.
        reached: The calls that train, and those of functions that do.
    """
    module = context.module
    for tried in module.of_type(ast.Try):
        for handler in tried.handlers:
            caught = ast.walk(handler.type) if handler.type is not None else ()
            is_interrupt = any(free_name(module, part) == "KeyboardInterrupt" for part in caught)
            if is_interrupt and any(module.inside(call, part) for call in reached for part in tried.body):
                context.note(rule, handler, INTERRUPT)


def tell_exits(context: Context, rule: Rule, outline: Outline) -> None:
    """Tells of code of the workers that ends the process as if all were well.

    Args:
        context: The module.
        rule: The rule that tells.
        outline: What becomes of the script.
    """
    module, workers = context.module, set(outline.roles.moved_or_makers())
    ends = [call for call in module.of_type(ast.Call) if ends_process(module, call.func)]
    ends = [call for call in ends if call is not outline.exit_code]
    bare = [raised.exc for raised in module.of_type(ast.Raise) if isinstance(raised.exc, ast.Name)]
    for end in (*ends, *(name for name in bare if ends_process(module, name))):
        code = end.args[0] if isinstance(end, ast.Call) and end.args else None
        is_failure = code is not None and module.constant(code) not in (None, 0, ...)
        is_handler = any(isinstance(around, ast.ExceptHandler) for around in module.ancestors(end))
        if outline.script.step_of(end) in workers and not is_failure and not is_handler:
            context.manual(rule, end, ENDS, "Return from the training function instead.")


def tell_signals(context: Context, rule: Rule, outline: Outline) -> None:
    """Tells of code of the workers that sets a handler of signals, which the main thread of a process alone may do.

    Args:
        context: The module.
        rule: The rule that tells.
        outline: What becomes of the script.
    """
    module = context.module
    found = [(call, name) for call in module.of_type(ast.Call) if (name := _sets_handler(module, call))]
    of_workers = run_by_workers(outline) if found else set()
    for call, name in found:
        if outline.script.step_of(call) in of_workers:
            context.manual(rule, call, IN_A_THREAD.format(name), "Take it out, or set it on the driver, above fit().")


def _sets_handler(module: Module, call: ast.Call) -> str:
    """What sets a handler of signals, as it is named: a call, or a function of another file that it calls."""
    name = called_name(module, call)
    if name in HANDLERS:
        return "" if _is_for_main_thread(module, call) else name
    for other, function in functions_elsewhere(module, call) if module.names_of_files else ():
        for inner in other.calls(*HANDLERS):
            if other.inside(inner, function) and not _is_for_main_thread(other, inner):
                return called_name(other, inner)
    return ""


def _is_for_main_thread(module: Module, call: ast.Call) -> bool:
    """Whether a call is made in the main thread alone, or what it raises elsewhere is caught."""
    for around in module.ancestors(call):
        if isinstance(around, ast.Try) and any(module.inside(call, part) for part in around.body):
            return True
        if isinstance(around, ast.If) and any(last_name(node) == "main_thread" for node in ast.walk(around.test)):
            return True
    return False


def _is_in_training(module: Module, node: ast.AST, seen: set[ast.AST]) -> bool:
    for around in module.ancestors(node):
        if isinstance(around, (ast.For, ast.While)) and any(
            is_method_call(node, "backward") for node in ast.walk(around)
        ):
            return True
        if isinstance(around, ast.ClassDef):
            names = [last_name(base) for base in around.bases]
            if any(name.endswith(RUN_BY_TRAINER) for name in names):
                return True
        if isinstance(around, ast.FunctionDef) and around not in seen:
            seen.add(around)
            if any(_is_in_training(module, use, seen) for use in uses_of_function(module, around)):
                return True
    return False
