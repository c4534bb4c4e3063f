"""RM802: files that train in a function or class which another file starts, and what that one has to do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.launched import tell_starts
from raymigrate.codemods.to_ray.refusals import leave
from raymigrate.codemods.to_ray.script import top_definition
from raymigrate.facts.projects.definitions import Definition
from raymigrate.facts.projects.project_uses import uses_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.knowledge.legacy import TORCH_TRAINERS
from raymigrate.pins.needed import RAY

DEEPEST = 4  # files that lead to the training through one another
UNSTARTED = "No statement of this file starts the training"
START_THERE = (
    "Call {0} there in a function, and start that with TorchTrainer(function, train_loop_config=...,"
    " scaling_config=...).fit(): {1}. Make relative paths absolute before it, since workers run in a folder of their"
    f" own. A list of packages has to have {RAY.requirement}."
)


@dataclass(frozen=True)
class Start:
    """A call of what trains in a file, in another file of its project.

    Args:
        name: What is called.
        module: The other file.
        node: What is called, there.
    """

    name: str
    module: Module
    node: ast.AST


def is_left_to_starter(context: Context, trains: ast.Call, each: str) -> bool:
    """Leaves a script whose training another file starts, and says what is to be done there.

    Nothing is said where a file on the way trains with a TorchTrainer: then it was done.

    Args:
        context: The module that trains.
        trains: What trains.
        each: What each worker does then.

    Returns:
        Whether another file is seen that starts it.
    """
    starts = list(_starts(context.module, trains, DEEPEST))
    if not starts:
        return False
    if not any(any(start.module.calls(*TORCH_TRAINERS)) for start in starts):
        first = starts[0]
        place = line_of_file(first.module, first.node)
        message = f"{UNSTARTED}: {place} does, with {first.name}."
        leave(context, trains, message, START_THERE.format(first.name, each))
        for path in dict.fromkeys(start.module.path for start in starts):
            tell_starts(context, trains, path, "once that is done")
    return True


def _starts(module: Module, node: ast.AST, depth: int) -> Iterator[Start]:
    """The calls in other files of the function or class that a node is in, and of those that these calls are in."""
    definition = top_definition(module, node)
    if module.project is None or not depth or not isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
        return
    found = uses_of(module.project, Definition(module, definition, definition.name))
    calls = [
        (m, n) for m, n in found.reads if m is not module and isinstance(m.parent_of.get(n), (ast.Call, ast.keyword))
    ]
    calls.sort(key=lambda call: (Path(call[0].path).name.startswith("test"), call[0].path, call[0].start(call[1])))
    yield from (Start(definition.name, user, read) for user, read in calls)
    for user, read in calls:
        yield from _starts(user, read, depth - 1)
