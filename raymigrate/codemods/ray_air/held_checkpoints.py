"""RM303 and RM308 for a Checkpoint class that something holds, or that another file of the project imports.

`compat.Checkpoint.from_dict(data)`, a name behind `from common import *`, `self.checkpoint_class.from_dict(data)`.
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import ELSEWHERE, GONE, IN_TRAINING, RM303, RM308, from_dict
from raymigrate.facts.module import Module
from raymigrate.facts.passed_names import passed_names
from raymigrate.facts.places import Place
from raymigrate.facts.results import CHECKPOINTS

FROM_DICT = "from_dict"
METHODS = (FROM_DICT, *sorted(GONE))


@codemod("ray", phase=Phase.TRIALS, after=[from_dict])
def held_checkpoints(context: Context) -> None:
    """Reports the methods that current Ray lacks, of a class that the file does not import itself."""
    if not context.is_ray_script:
        return
    for node in _methods(context.module):
        message = f"Checkpoint.{node.attr}() raises an AttributeError"
        if node.attr == FROM_DICT:
            advice = IN_TRAINING if context.place_of(node) is not Place.UNKNOWN else ELSEWHERE
            context.manual(RM303, node, f"{message} on Ray >= 2.7.", advice)
        else:
            context.manual(RM308, node, f"{message}.")


def _methods(module: Module) -> Iterator[ast.Attribute]:
    used = [node for node in module.of_type(ast.Attribute) if node.attr in METHODS and module.qualified(node) is None]
    if not used and not any(name in module.spelled for name in METHODS):
        return
    passed = {found.node for found in passed_names(module) if found.qualified.rpartition(".")[0] in CHECKPOINTS}
    for node in module.of_type(ast.Attribute):
        assert isinstance(node, ast.Attribute)
        if node in passed and node.attr in METHODS:
            yield node
        elif node in used and not isinstance(node.value, ast.Call):
            held = [source.module.qualified(source.node) for source in module.origins(node.value)]
            if held and all(name in CHECKPOINTS for name in held):
                yield node
