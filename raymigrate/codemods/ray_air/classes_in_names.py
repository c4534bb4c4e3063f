"""RM303, RM308 where a name that is not an import stands for Checkpoint: `def load(data, cls=Checkpoint)`."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import ELSEWHERE, GONE, PATHS, RM303, RM308, constructor_arguments
from raymigrate.facts.ray_train.results import CHECKPOINTS
from raymigrate.facts.values.classes_behind import class_called

METHODS = ("from_dict", "from_uri", *GONE)
FROM_URI = "Call the class itself: Checkpoint(uri)."


@codemod("Checkpoint", phase=Phase.TRIALS)
def classes_in_names(context: Context) -> None:
    """Tells of what Checkpoint does not have, where it is called by a name that a function is given."""
    module = context.module
    for call, method in module.method_calls(*METHODS):
        if method in module.reference_at or class_called(module, call, CHECKPOINTS) is None:
            continue
        message = f"Checkpoint.{method.attr}() raises an AttributeError on Ray >= 2.7."
        if method.attr == "from_dict":
            context.manual(RM303, call, message, ELSEWHERE)
        else:
            context.manual(RM308, call, message, FROM_URI if method.attr == "from_uri" else None)
    for call in module.of_type(ast.Call):
        if not isinstance(call.func, ast.Name) or not isinstance(module.definition(call.func), ast.arg):
            continue
        if class_called(module, call, CHECKPOINTS) is None:
            continue
        given = constructor_arguments(module, call, by_position=False)
        if "data_dict" in given or "obj_ref" in given:
            context.manual(RM303, call, "Checkpoint(data_dict) raises a TypeError, or fails later.", ELSEWHERE)
        elif not given.keys().isdisjoint(PATHS):
            message = "Checkpoint takes a folder or a URI as path= today: anything else raises a TypeError."
            context.manual(RM308, call, message, "Name it path=.")
