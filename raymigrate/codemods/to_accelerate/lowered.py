"""The lines of devices that go below the settings the Accelerator is made with: `device = ...` above `class CFG:`."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.devices import Devices
from raymigrate.codemods.to_accelerate.home import Block, position
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target


def lines_of_devices(devices: Devices, changes: Changes, block: Block) -> dict[ast.stmt, Variable]:
    """The statements of a block that name a device and do nothing else, each with its name."""
    found: dict[ast.stmt, Variable] = {}
    for variable in devices.held:
        for node in devices.variables.bindings(variable):
            statement = devices.module.parent_of.get(node)
            if not isinstance(statement, ast.stmt) or not isinstance(node, ast.Name) or statement not in block:
                continue
            if only_target(statement) is node and not changes.is_gone(statement):
                found[statement] = variable
    return found


def is_read_above(devices: Devices, changes: Changes, variable: Variable, block: Block, end: int) -> bool:
    """Whether code reads a device, or may do so, before a statement of the block runs.

    Args:
        devices: The devices.
        changes: The edits so far.
        variable: The name of the device.
        block: The statements.
        end: The position of the statement.
    """
    module = devices.module
    waiting: list[ast.AST] = [read for read in devices.variables.reads(variable) if not changes.is_gone(read)]
    seen: set[ast.AST] = set()
    while waiting:
        node = waiting.pop()
        definition = _around(module, node)
        if definition is None or block[0] in definition.body:
            place = position(module, block, node)
            if place is None or place < end:
                return True
        elif definition not in seen:  # an object's methods run when it was made, functions where they are named
            seen.add(definition)
            owner = module.parent_of[definition]
            waiting += module.uses_of(owner if isinstance(owner, ast.ClassDef) else definition)
    return False


def _around(module: Module, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that has to be called for code to run; not the one whose default it is."""
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(node is part or module.inside(node, part) for part in parent.body):
                return parent
    return None
