"""RM308: checkpoints of a local folder that a script hands to actors, tasks, deployments, and the workers of a trainer.

A checkpoint of legacy Ray took its files along when it was pickled (Ray 2.6.3 air/checkpoint.py:797, `__getstate__`);
that of today is a path (Ray 2.60 train/_checkpoint.py).
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import RM308
from raymigrate.codemods.shared.checkpoint_files import not_carried
from raymigrate.facts.module import Module
from raymigrate.facts.pickling import sent_values
from raymigrate.facts.results import class_method, made_by_script
from raymigrate.facts.values import Source


@codemod("Checkpoint", phase=Phase.RESULTS)
def sent_checkpoints(context: Context) -> None:
    """Notes where such a checkpoint goes to another process."""
    module = context.module
    for node in (*sent_values(module), *_resumed_from(module)):
        if any(_carried(made) for made in module.origins(node)) and (told := not_carried(module, node, "processes")):
            context.note(RM308, node, told)


def _resumed_from(module: Module) -> Iterator[ast.expr]:
    """What trainers go on from: their workers read it."""
    yield from (keyword.value for _, keyword in module.keywords("resume_from_checkpoint"))


def _carried(made: Source) -> bool:
    """Whether a checkpoint is of a class of Ray <= 2.6, which carried its files."""
    if class_method(made.module, made.node) is not None:
        return True
    name = made.module.qualified(made.node.func) if isinstance(made.node, ast.Call) else None
    return made_by_script(made.module, made.node) is not None and (name or "").startswith(("ray.air.", "ray.ml."))
