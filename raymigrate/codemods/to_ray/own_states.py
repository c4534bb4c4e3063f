"""States that an epoch saves in files of its own, under whatever names, itself or in functions that it calls.

`torch.save({"MODEL": model.state_dict(), "EPOCH": epoch}, path)`, `save_snapshot(epoch)`, and `save_state` of
accelerate in a function.
"""

import ast
from collections.abc import Iterator

from raymigrate.facts.projects.callees import callees
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file, own_lines
from raymigrate.facts.values import is_call_by_name, last_name

STATES = ("state_dict", "get_state_dict")
WRITES = ("save", "dump")
MOST = 200  # functions that are looked through


def state_saved(module: Module, loop: ast.For | ast.While) -> str:
    """The line where an epoch saves a state that training could go on from; empty where none is seen."""
    calls = [(last_name(call.func), home, call) for home, call in _calls(module, loop)]
    whole, states, writes = (
        [(home, call) for name, home, call in calls if name in names] for names in (("save_state",), STATES, WRITES)
    )
    of = {ast.unparse(call.func) for _, call in states}
    if writes and (len(of) > 1 or any(_is_one_of_several(home, call) for home, call in states)):
        whole += writes
    if not whole:
        return ""
    home, call = whole[0]
    return own_lines(module, call) if home is module else line_of_file(home, call)


def _is_one_of_several(module: Module, call: ast.Call) -> bool:
    """Whether a dict holds something else beside the state of a model: the number of the epoch."""
    for outer in module.ancestors(call):
        if isinstance(outer, ast.stmt):
            return False
        if isinstance(outer, ast.Dict) and len(outer.values) > 1:
            return True
        if is_call_by_name(outer, "dict"):
            return len(outer.keywords) > 1
    return False


def code_of_epochs(module: Module, loop: ast.For | ast.While) -> Iterator[tuple[Module, ast.AST]]:
    """The code of an epoch: the loop itself, and the functions of the project that are called in it."""
    waiting: list[tuple[Module, ast.AST]] = [(module, loop)]
    seen = set[ast.AST]()
    while waiting and len(seen) < MOST:
        home, node = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        yield home, node
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                found = callees(home, call.func)
                waiting += [(callee.module, callee.function) for callee in found if callee.function is not None]


def _calls(module: Module, loop: ast.For | ast.While) -> Iterator[tuple[Module, ast.Call]]:
    """The calls of an epoch, and those in the functions of the project that it calls."""
    for home, node in code_of_epochs(module, loop):
        yield from ((home, call) for call in ast.walk(node) if isinstance(call, ast.Call))
