"""RM308: checkpoints of a local folder that a script hands to actors, tasks, deployments, and the workers of a trainer.

A checkpoint of legacy Ray took its files along when it was pickled (Ray 2.6.3 air/checkpoint.py:797, `__getstate__`);
that of today is a path (Ray 2.60 train/_checkpoint.py). A relative one stays so, and is looked for in the folder in
which the other process runs (measured).
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import RM308
from raymigrate.codemods.shared.checkpoint_files import not_carried
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.checkpoint_folders import carried_files, open_folder
from raymigrate.facts.ray_train.pickling import sent_values
from raymigrate.facts.ray_train.reports import REPORTS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, called_name

UNKNOWN = (ast.Name, ast.Attribute, ast.Subscript)  # values that were followed no further
MESSAGE = "Another process looks for a relative path in its own folder on Ray >= 2.7; now it is made absolute here."


@codemod(r"\w*Checkpoint", "BatchPredictor", "resume_from_checkpoint", phase=Phase.RESULTS)
def sent_checkpoints(context: Context) -> None:
    """Notes where such a checkpoint goes to another process."""
    module = context.module
    for made in dict.fromkeys(_made(module)):
        folder = open_folder(made) if made.module is module else None
        if folder is not None and context.places.of(folder) is Place.UNKNOWN and not _is_reported(module, made.node):
            _make_absolute(context, folder)
    for node in _sent(module):
        if any(carried_files(made) for made in module.origins(node)) and (
            told := not_carried(module, node, "processes")
        ):
            context.note(RM308, node, told)


def _make_absolute(context: Context, folder: ast.expr) -> None:
    """Makes the path of a checkpoint absolute where the script makes the checkpoint."""
    if context.converts(RM308, folder, MESSAGE):
        context.plan.need_import("os")
        context.plan.replace(folder, "os.path.abspath($folder)", folder=folder)


def _made(module: Module) -> Iterator[Source]:
    """The checkpoints that may go to other processes: all of the file, where one may come from anywhere.

    A BatchPredictor sent its checkpoint to actors.
    """
    sent = [made for node in _sent(module) for made in module.origins(node)]
    yield from sent
    is_open = any(isinstance(made.node, UNKNOWN) for made in sent)
    if is_open or any("BatchPredictor" in reference.qualified for reference in module.references):
        yield from (Source(module, call) for call, _ in module.method_calls("from_directory"))


def _is_reported(module: Module, made: ast.expr) -> bool:
    """Whether a checkpoint is made for a report, and so on a worker."""
    return any(called_name(module, outer) in REPORTS for outer in module.ancestors(made))


def _sent(module: Module) -> Iterator[ast.expr]:
    """What goes to other processes, with what trainers go on from: their workers read it."""
    yield from sent_values(module)
    yield from (keyword.value for _, keyword in module.keywords("resume_from_checkpoint"))
