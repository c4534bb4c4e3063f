"""RM857: what torch.save() writes is written by the main process alone."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM857
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, every_origin, has_unpacking

TAKEN = ("obj", "f")  # what save() of accelerate takes of the arguments of torch.save(), by position too
IN_MEMORY = ("io.BytesIO", "tempfile.SpooledTemporaryFile")


def save_in_main(changes: Changes, module: Module, call: ast.Call, function: str, head: str) -> bool:
    """Lets the main process alone save; each one saves what it keeps in memory.

    Args:
        changes: What is planned.
        module: The module.
        call: The call of torch.save().
        function: What accelerate has in its place.
        head: The line below which the main process alone runs.

    Returns:
        Whether the main process alone saves now.
    """
    if every_origin(module, argument(call, 1, "f"), _is_in_memory):
        return False
    others = {keyword.arg for keyword in call.keywords} - {*TAKEN}
    if not others and len(call.args) <= len(TAKEN) and not has_unpacking(call):
        changes.converted(RM857, call, f"torch.save() becomes {function}(), which the main process alone does.")
        changes.replace(call.func, function)
        return True
    if not module.is_statement(call):
        changes.manual(
            RM857,
            call,
            f"Every process of a distributed run writes this file; {function}() takes no argument but those two.",
            f"Let it run under `{head}`.",
        )
        return False
    changes.converted(RM857, call, "The main process alone saves.")
    changes.put_into([module.statement(call)], head)
    return True


def _is_in_memory(module: Module, node: ast.AST) -> bool:
    return called_name(module, node) in IN_MEMORY
