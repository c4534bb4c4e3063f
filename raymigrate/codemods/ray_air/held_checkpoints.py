"""RM303 and RM308 for a Checkpoint class that something holds, or that another file of the project imports.

`compat.Checkpoint.from_dict(data)`, a name behind `from common import *`, `self.checkpoint_class.from_dict(data)`.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import ELSEWHERE, GONE, IN_TRAINING, RM303, RM308, from_dict
from raymigrate.facts.projects.passed_names import passed_names
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.results import CHECKPOINTS
from raymigrate.facts.syntax.module import Module

FROM_DICT = "from_dict"
METHODS = (FROM_DICT, *sorted(GONE))


@codemod("ray", phase=Phase.TRIALS, after=[from_dict], in_ray_scripts=True)
def held_checkpoints(context: Context) -> None:
    """Reports the methods that current Ray lacks, of a class that the file does not import itself."""
    for node in _methods(context.module):
        message = f"Checkpoint.{node.attr}() raises an AttributeError"
        if node.attr == FROM_DICT:
            advice = IN_TRAINING if context.place_of(node) is not Place.UNKNOWN else ELSEWHERE
            context.manual(RM303, node, f"{message} on Ray >= 2.7.", advice)
        else:
            context.manual(RM308, node, f"{message}.")


def _methods(module: Module) -> Iterator[ast.Attribute]:
    named = module.attributes(*METHODS)
    found = passed_names(module) if named else []
    passed = {name.node for name in found if name.qualified.rpartition(".")[0] in CHECKPOINTS}
    for node in named:
        if node in passed:
            yield node
        elif module.qualified(node) is None and not isinstance(node.value, ast.Call):
            held = [source.module.qualified(source.node) for source in module.origins(node.value)]
            if held and all(name in CHECKPOINTS for name in held):
                yield node
