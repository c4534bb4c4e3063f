"""What a function of the script does beside what it gives back: `get_device()` may set a seed too."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.facts.syntax.nodes import targets_of
from raymigrate.facts.values import last_name

CHOOSES = ("torch.cuda.set_device", "torch.cuda.empty_cache", "torch.accelerator.set_device_index")
TELLS = ("print", "debug", "info", "warning", "warn", "error")  # what says which device there is


def does_more(changes: Changes, function: ast.FunctionDef) -> bool:
    """Whether what is left of a function does something that lasts, and is more than choosing a device and telling it.

    Args:
        changes: The edits so far.
        function: The function.
    """
    for part in ast.walk(function):
        if not isinstance(part, ast.stmt) or changes.is_gone(part):
            continue
        if isinstance(part, (ast.Assign, ast.AugAssign)):
            targets = targets_of(part)
            if any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets):
                return True
        elif isinstance(part, ast.Global):
            return True
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            called = part.value.func
            if last_name(called) not in TELLS and changes.module.qualified(called) not in CHOOSES:
                return True
    return False
