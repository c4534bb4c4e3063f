"""Folders that a script makes if they are not there: another process may make one between the question and the call.

`if not os.path.exists(folder): os.makedirs(folder)` raises FileExistsError then; `exist_ok=True` does not.
"""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_negation
from raymigrate.facts.values import argument, has_unpacking, is_method_call, last_name

QUESTIONS = ("os.path.exists", "os.path.isdir", "os.path.lexists")
ASKED_OF_PATHS = frozenset({"exists", "is_dir"})
MAKES, MAKES_ONE, OF_PATHS = "os.makedirs", "os.mkdir", "mkdir"
KEYWORD = "exist_ok"
RACE = "Several processes ask for this folder at the same time, and one may make it before another does"
NOW = f"{RACE}: {KEYWORD}=True now."
MANUAL = f"{RACE}: that raises FileExistsError."
ADVICE = "Write os.makedirs(..., exist_ok=True)."


def folders_asked_for(module: Module) -> Iterator[tuple[ast.Call, bool]]:
    """The calls that make a folder below a question whether it is there, and whether they can be given exist_ok=.

    Args:
        module: The module.
    """
    for call in module.of_type(ast.Call):
        folder = _made(module, call)
        if folder is None or not _is_asked_for(module, call, ast.dump(folder)):
            continue
        is_one = module.qualified(call.func) == MAKES_ONE
        given = argument(call, 2, KEYWORD) if not is_one else None
        if given is None or module.constant(given) is False:
            is_named = given is None or any(keyword.value is given for keyword in call.keywords)
            yield call, not is_one and is_named


def _made(module: Module, call: ast.Call) -> ast.expr | None:
    """The folder that a call makes, if it raises where that is there already, as far as is seen."""
    if has_unpacking(call):
        return None
    if module.qualified(call.func) in (MAKES, MAKES_ONE):
        return argument(call, 0, "name", "path")
    is_of_path = isinstance(call.func, ast.Attribute) and last_name(call.func) == OF_PATHS
    return call.func.value if is_of_path and module.qualified(call.func) is None else None  # type: ignore[attr-defined]


def _is_asked_for(module: Module, call: ast.Call, folder: str) -> bool:
    """Whether a call is below a question for its folder, and in no `try` that may expect the error."""
    child: ast.AST = call
    is_asked = False
    for parent in module.ancestors(call):
        if isinstance(parent, (ast.Try, ast.With, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return is_asked and not isinstance(parent, (ast.Try, ast.With))
        if isinstance(parent, ast.If):
            tests = parent.test.values if isinstance(parent.test, ast.BoolOp) else [parent.test]
            is_all = not isinstance(parent.test, ast.BoolOp) or isinstance(parent.test.op, ast.And)
            missing = child in parent.body and is_all and any(_asks(module, test, folder) for test in tests)
            there = child in parent.orelse and any(_asks_whether(module, test, folder) for test in [parent.test])
            is_asked = is_asked or missing or there
        child = parent
    return is_asked


def _asks(module: Module, test: ast.expr, folder: str) -> bool:
    """`not os.path.exists(folder)`, `os.path.exists(folder) is False` or `== False`."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.Eq)):
        return module.constant(test.comparators[0]) is False and _asks_whether(module, test.left, folder)
    return is_negation(test) and _asks_whether(module, test.operand, folder)


def _asks_whether(module: Module, test: ast.expr, folder: str) -> bool:
    """`os.path.exists(folder)`, `Path(folder).exists()`."""
    if not isinstance(test, ast.Call):
        return False
    if module.qualified(test.func) in QUESTIONS:
        asked = argument(test, 0, "path", "s")
        return asked is not None and ast.dump(asked) == folder
    return is_method_call(test, *ASKED_OF_PATHS) and not test.args and ast.dump(test.func.value) == folder
