"""RM856: `len(sampler)` of a DistributedSampler that goes, where a progress line shows how many rows a process has."""

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM856
from raymigrate.facts.projects.main_process import is_size
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, called_name, has_unpacking, is_call_by_name, is_none, last_name

SHOWS = frozenset({"info", "debug", "write", "set_description", "set_postfix", "set_postfix_str", "log"})
COMPUTES = ("math", "numpy", "torch")  # whose log() is that of a number
NOW = "The sampler goes: its length becomes that of what it shared out, for each process."


def show_length(changes: Changes, read: ast.Name) -> bool:
    """Puts the rows of one process in place of the length of a sampler that is shown, as far as that is sure.

    A length that something is divided by stays: the Accelerator fills the last batches up in another way.

    Args:
        changes: The edits.
        read: The sampler.

    Returns:
        Whether it does.
    """
    module = changes.module
    length = module.parent_of[read]
    if not is_call_by_name(length, "len") or not _is_shown(module, length):
        return False
    made = [source.node for source in module.origins(read) if isinstance(source.node, ast.Call)]
    rows = argument(made[0], 0, "dataset") if len(made) == 1 else None
    if not isinstance(rows, ast.Name) or has_unpacking(made[0]) or not _means_the_same(module, rows, read):
        return False
    processes = argument(made[0], 1, "num_replicas")
    if processes is not None and not is_none(processes) and not is_size(module, processes):
        return False
    drops = argument(made[0], 5, "drop_last")
    each = f"len({rows.id}) / accelerator.num_processes"
    if drops is None or module.constant(drops) is False:
        changes.replace(length, f"math.ceil({each})")
        changes.edits.append(lambda: changes.context.plan.need_import("math"))
    elif module.constant(drops) is True:
        changes.replace(length, each.replace("/", "//"))
    else:
        return False
    changes.converted(RM856, length, NOW)
    return True


def _is_shown(module: Module, length: ast.expr) -> bool:
    """Whether a length is an argument of what shows it, in whatever text, and nothing is worked out with it."""
    child: ast.AST = length
    for parent in module.ancestors(length):
        if isinstance(parent, ast.Call) and child is not parent.func:
            if _shows(module, parent):
                return True
            if last_name(parent.func) != "format":
                return False
        elif not isinstance(parent, (ast.JoinedStr, ast.FormattedValue, ast.Tuple, ast.keyword)):
            is_filled_in = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod) and child is parent.right
            if not is_filled_in or not isinstance(module.constant(parent.left), str):  # type: ignore[attr-defined]
                return False
        child = parent
    return False


def _shows(module: Module, call: ast.Call) -> bool:
    """Whether a call shows what it is given, by its name: `print(n)`, `logger.info(n)`, `bar.write(n)`."""
    if isinstance(call.func, ast.Name):
        return is_call_by_name(call, "print")
    return last_name(call.func) in SHOWS and called_name(module, call).partition(".")[0] not in COMPUTES


def _means_the_same(module: Module, rows: ast.Name, read: ast.Name) -> bool:
    """Whether a name that a sampler was given is bound once, and means the same where the sampler is read."""
    here, there = module.scope_of[read].lookup(rows.id), module.scope_of[rows].lookup(rows.id)
    return len(there) == 1 and here == there
