"""What asks for the time or for what is on the disk, where each process may get another answer."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.arguments import called_name, is_method_call

CLOCKS = frozenset(
    {
        *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
        *("time.time", "time.time_ns"),
    }
)
TIMES = frozenset({"time.perf_counter", "time.monotonic", "time.process_time", "time.strftime", "time.ctime"})
ON_DISK = frozenset({f"os.path.{name}" for name in ("exists", "isfile", "isdir", "getsize", "getmtime")}) | {
    *("os.listdir", "glob.glob"),
}
# By which processes ask each other.
AGREES = (
    *("torch.distributed.", "ray.train.collective."),
    *(f"accelerate.utils.{name}" for name in ("broadcast", "gather", "reduce", "operations.")),
)
EXISTS = frozenset({"exists", "is_file", "is_dir", "glob", "rglob", "iterdir"})  # of a pathlib.Path


def asks_now(module: Module, test: ast.expr) -> Iterator[ast.expr]:
    """What in a condition asks for the time or the disk: itself, or where a name of it gets its value.

    Args:
        module: The module.
        test: The condition.
    """
    for part in ast.walk(test):
        given = module.value(part) if isinstance(part, ast.Name) else part
        calls = ast.walk(given) if given is not part else (part,)
        for call in calls:
            if isinstance(call, ast.Call) and _is_asked_now(module, call):
                yield part  # type: ignore[misc]


def is_agreed(module: Module, asked: ast.expr) -> bool:
    """Whether all processes are given one answer, which a name holds: `dist.all_reduce(late)`."""
    return any(called_name(module, _around(module, use)).startswith(AGREES) for use in module.uses_of(asked))


def _around(module: Module, use: ast.AST) -> ast.AST:
    """What a value is given to, itself or in a list: `broadcast_object_list([seed])`."""
    outer = module.parent_of[use]
    return module.parent_of[outer] if isinstance(outer, ast.List) else outer


def _is_asked_now(module: Module, call: ast.Call) -> bool:
    name = called_name(module, call)
    return name in CLOCKS | TIMES | ON_DISK or (not name and is_method_call(call, *EXISTS))
