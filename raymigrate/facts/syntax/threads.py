"""Functions that run in a thread or a task, and where the code waits for what they give."""

import ast

from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.arguments import is_method_call

# Methods and functions that run a function in a thread, with the place of that among their arguments.
IN_THREAD = {"to_thread": 0, "run_in_executor": 1, "submit": 0, "run_sync": 0, "sync_to_async": 0}
WAITS = ("asyncio.run", "trio.run")
# What starts or guards a task, and gives what is waited for: `asyncio.create_task(one())`.
STARTS = frozenset(
    f"asyncio.{name}" for name in ("create_task", "ensure_future", "wait_for", "shield", "run_coroutine_threadsafe")
)
STARTING = ("create_task", "ensure_future")  # methods of loops and of groups of tasks
GATHER = "asyncio.gather"
COMPLETED = ("asyncio.as_completed", "concurrent.futures.as_completed")
UNTIL_COMPLETE, RESULT = "run_until_complete", "result"


def run_elsewhere(node: ast.AST) -> ast.Attribute | None:
    """The method that a call runs in a thread: `trainer.fit` of `asyncio.to_thread(trainer.fit)`.

    Args:
        node: The call.
    """
    given = _given(node)
    return given if isinstance(given, ast.Attribute) else None


def _given(node: ast.AST) -> ast.expr | None:
    """The function that a call runs in a thread."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    place = IN_THREAD.get(node.func.attr)
    return node.args[place] if place is not None and len(node.args) > place else None


def waited_for(module: Module, node: ast.AST) -> list[ast.expr]:
    """What a value is waited for: `task` of `await task`, of `asyncio.run(task)` and of `task.result()`.

    Of a function of the module that runs so it is what that returns.

    Args:
        module: The module.
        node: The expression that gives the value.
    """
    task = _task(module, node)
    return given_by_task(module, task) if task is not None else _returned_by_coroutine(module, node)


def given_by_task(module: Module, task: ast.expr) -> list[ast.expr]:
    """What a task gives to those that wait for it; itself where that is not seen."""
    started = module.value(task)
    if isinstance(started, ast.Call) and started.args and _starts(module, started.func):
        return given_by_task(module, started.args[0]) if started.args[0] is not task else [task]
    run = _given(started)
    called = run if run is not None else started.func if isinstance(started, ast.Call) else None
    function = module.definition(called)
    if isinstance(function, ast.AsyncFunctionDef) or (run is not None and isinstance(function, ast.FunctionDef)):
        return [value for value in returned_values(module, function) if value is not None]
    return [started if run is not None else task]


def _starts(module: Module, function: ast.expr) -> bool:
    """Whether a function starts or guards the task that it is given: `wait_for` may be another library's."""
    is_method = isinstance(function, ast.Attribute) and function.attr in STARTING
    return is_method or module.qualified(function) in STARTS


def gathered(module: Module, node: ast.expr) -> list[ast.expr]:
    """The tasks whose results `await asyncio.gather(one(), two())` gives as a list; `*tasks` among them."""
    call = node.value if isinstance(node, ast.Await) else node
    is_gather = isinstance(call, ast.Call) and module.qualified(call.func) == GATHER
    return list(call.args) if is_gather and isinstance(call, ast.Call) else []


def _returned_by_coroutine(module: Module, node: ast.AST) -> list[ast.expr]:
    """What a call of an async function of the module gives to those that wait for it, wherever they do."""
    function = module.definition(node.func) if isinstance(node, ast.Call) else None
    if not isinstance(function, ast.AsyncFunctionDef):
        return []
    return [value for value in returned_values(module, function) if value is not None]


def _task(module: Module, node: ast.AST) -> ast.expr | None:
    """What a value is waited for, as it is written."""
    if isinstance(node, ast.Await):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if module.qualified(node.func) in WAITS and node.args:
        return node.args[0]
    if is_method_call(node, UNTIL_COMPLETE) and node.args:
        return node.args[0]
    if is_method_call(node, RESULT):
        return node.func.value
    return None
