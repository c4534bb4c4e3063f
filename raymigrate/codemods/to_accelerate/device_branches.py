"""RM850: branches that only choose a device, of which one is left."""

import ast
from collections.abc import Set as AbstractSet

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.variables import Variable, Variables
from raymigrate.facts.syntax.nodes import only_target


def take_together(changes: Changes, statement: ast.stmt, variables: Variables, devices: AbstractSet[Variable]) -> None:
    """Leaves one of the branches that only choose the device.

    Args:
        changes: The edits.
        statement: What gives the device its name, in the first of them.
        variables: The variables of the module.
        devices: Those that hold a device.
    """
    parents = variables.module.parent_of
    branch = parents[statement]
    if not isinstance(branch, ast.If) or changes.is_gone(branch) or branch.body != [statement]:
        return
    while isinstance(outer := parents[branch], ast.If) and outer.orelse == [branch]:
        branch = outer
    blocks = [branch.body]
    last = branch
    while len(last.orelse) == 1 and isinstance(inner := last.orelse[0], ast.If):
        last = inner
        blocks.append(last.body)
    chosen = {_chosen_by(block, variables) for block in (*blocks, *([last.orelse] if last.orelse else []))}
    if len(chosen) == 1 and chosen <= devices and (last.orelse or _asks_for_none(branch, only_target(statement))):
        changes.instead(branch, branch.body)


def _chosen_by(block: list[ast.stmt], variables: Variables) -> Variable | None:
    """The variable that a block gives its value and does nothing else."""
    target = only_target(block[0]) if len(block) == 1 else None
    return variables.spelled(target) if target is not None else None


def _asks_for_none(branch: ast.If, target: ast.expr | None) -> bool:
    """Whether a branch is for a device that nobody gave: one that somebody gave has no effect any more either."""
    name = ast.unparse(target) if target is not None else ""
    return ast.unparse(branch.test) in (f"{name} is None", f"not {name}", f"{name} == None")
