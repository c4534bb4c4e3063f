"""RM856: helpers of other files that speak to a process group, which accelerate makes for several processes alone.

Without one, `torch.distributed.get_rank()` raises ValueError (torch 2.13, distributed_c10d.py, _get_default_group).
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.home import is_main_guard
from raymigrate.codemods.to_accelerate.rules import RM856
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS, FunctionNode

DIST = "torch.distributed"
STARTS = f"{DIST}.init_process_group"
ASKS = f"{DIST}.is_initialized"
NEED_GROUP = tuple(
    f"{DIST}.{name}"
    for name in (
        *("get_rank", "get_world_size", "get_backend", "barrier", "all_reduce", "all_gather", "all_gather_object"),
        *("broadcast", "broadcast_object_list", "reduce", "gather", "gather_object", "scatter"),
    )
)
DEPTH = 3  # functions that call each other
BRANCHES = (ast.If, ast.IfExp, ast.While, ast.Try, ast.Match)
LEAVES = (ast.Return, ast.Raise)


def tell_helpers(changes: Changes, module: Module) -> None:
    """Tells of functions of other files that need the group which the script made for one process too.

    Args:
        changes: The edits.
        module: The module that trains.
    """
    if not any(_is_certain(module, call, module.function(call)) for call in module.calls(STARTS)):
        return  # what runs without a group asks for one by a condition of its own
    if not any("distributed" in other.text for other in with_imported(module) if other.text != module.text):
        return
    told = set[ast.AST]()
    for call in module.of_type(ast.Call):
        if changes.is_gone(call):
            continue
        for home, need in _needs(module, module, call.func, DEPTH):
            if need in told:
                continue
            told.add(need)
            name = home.source(need.func)
            message = (
                f"`{name}()` in {home.path}:{need.lineno} needs a process group. accelerate makes one for several"
                " processes alone: with one, as with `python`, this raises ValueError there."
            )
            changes.manual(
                RM856, call, message, f"Ask {name.rpartition('.')[0] or 'dist'}.is_initialized() there first."
            )


def _needs(own: Module, module: Module, called: ast.expr, depth: int) -> Iterator[tuple[Module, ast.Call]]:
    """The calls that need a group, in functions of other files than one's own that a call surely comes to."""
    for callee in callees(module, called):
        home, function = callee.module, callee.function
        if function is None or home.text == own.text or _asks(home, function, DEPTH):
            continue
        for call in _calls(home, function):
            if not _is_certain(home, call, function):
                continue
            if home.qualified(call.func) in NEED_GROUP:
                yield home, call
            elif depth:
                yield from _needs(own, home, call.func, depth - 1)


def _asks(module: Module, function: FunctionNode, depth: int) -> bool:
    """Whether a function asks for a group, itself or by one that it calls: or makes one."""
    for call in _calls(module, function):
        if module.qualified(call.func) in (ASKS, STARTS):
            return True
        for callee in callees(module, call.func) if depth else ():
            if callee.function not in (None, function) and _asks(callee.module, callee.function, depth - 1):
                return True
    return False


def _calls(module: Module, function: FunctionNode) -> list[ast.Call]:
    return [node for node in module.below(function) if isinstance(node, ast.Call)]


def _is_certain(module: Module, call: ast.Call, function: ast.AST | None) -> bool:
    """Whether a function comes to a call whenever it runs: no condition is around it, and none before it leaves."""
    child: ast.AST = call
    for parent in module.ancestors(call):
        if parent is function:
            break
        is_first = isinstance(parent, (ast.If, ast.IfExp, ast.While)) and child is parent.test
        is_first = is_first or (isinstance(parent, ast.BoolOp) and child is parent.values[0])
        if isinstance(parent, (*BRANCHES, ast.BoolOp, *FUNCTIONS)) and not is_first and not is_main_guard(parent):
            return False
        child = parent
    if function is None:
        return True
    return not any(
        isinstance(node, LEAVES) and node.lineno < call.lineno and module.parent_of[node] is not function
        for node in module.below(function)
    )
