"""What a method has just stored in an attribute of its object: `self.result = tuner.fit()`, and `self.result` below.

Other methods may store something else there. That is seen by those who read it in other methods, and behind a call that
gets the object, or of anything but Python and libraries: `self.thread.join()`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.nodes import blocks
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.syntax.scopes import FUNCTIONS, LOOPS
from raymigrate.facts.values.arguments import all_arguments, called_name, free_name
from raymigrate.facts.values.bindings import TRY, place_in_block

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

ENDS = (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler)
PAUSES = (ast.Await, ast.Yield, ast.YieldFrom)


def just_stored(module: Module, read: ast.Attribute) -> ast.expr | None:
    """The value that an attribute of `self` surely has where a method reads it; None where it may have another.

    Args:
        module: The module.
        read: The attribute; what it belongs to is the `self` of a method.
    """
    owner = read.value
    if len(module.stores(read.attr)) < 2 or not isinstance(owner, ast.Name):
        return None
    around: set[ast.AST] = {read}
    child: ast.AST = read
    for parent in module.ancestors(read):
        block, position = place_in_block(module, child, parent) if not isinstance(parent, ast.expr) else (None, 0)
        for statement in reversed(block[:position] if block is not None else []):
            if (value := _stored(module, statement, owner.id, read.attr)) is not None:
                return value
            if _may_change(module, [statement], owner.id, read.attr, around):
                return None
        if isinstance(parent, ENDS) or _may_change(module, _run_before(parent, block), owner.id, read.attr, around):
            return None
        around.add(parent)
        child = parent
    return None


def _stored(module: Module, statement: ast.stmt, owner: str, name: str) -> ast.expr | None:
    """What a statement assigns to an attribute."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    for target in targets:
        if isinstance(target, ast.Attribute) and target.attr == name and _is(target.value, owner):
            return module.assigned(target)
    return None


def _run_before(parent: ast.AST, block: list[ast.stmt] | None) -> list[ast.AST]:
    """The parts of a statement that may run before what is read in its head, or in a block of it."""
    inner = [statement for part in blocks(parent) for statement in part]
    if isinstance(parent, LOOPS) or (isinstance(parent, TRY) and block is not parent.body):
        return [*ast.iter_child_nodes(parent)]
    targets = parent.targets if isinstance(parent, ast.Assign) else []  # which are stored to behind the reads
    return [part for part in ast.iter_child_nodes(parent) if part not in inner and part not in targets]


def _may_change(module: Module, parts: Iterable[ast.AST], owner: str, name: str, around: set[ast.AST]) -> bool:
    """Whether something stores to the attribute, calls what may do so, or lets others run meanwhile.

    Args:
        parts: What is run before the attribute is read.
        owner: The name of the object.
        name: The name of the attribute.
        around: What holds the attribute: a call that it is an argument of runs behind it.
    """
    for node in (node for part in parts for node in ast.walk(part)):
        if isinstance(node, PAUSES):
            return True
        if isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.ctx, ast.Load):
            return True
        if isinstance(node, ast.Call) and node not in around and _may_reach(module, node, owner):
            return True
    return False


def _may_reach(module: Module, call: ast.Call, owner: str) -> bool:
    """Whether a call may store to an object: it gets it, or runs what is neither of Python nor of a library."""
    given = all_arguments(call)
    name, package = free_name(module, call.func), called_name(module, call).partition(".")[0]
    is_known = hasattr(builtins, name) or package in LIBRARIES
    return not is_known or name == "super" or any(_is(part, owner) for part in given)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
