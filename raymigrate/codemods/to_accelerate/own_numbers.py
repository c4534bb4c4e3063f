"""RM856: the numbers of processes that a script works out itself, as from Slurm or a list of hosts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.local_ranks import ATTRIBUTE, local_rank_options, related
from raymigrate.codemods.to_accelerate.rules import RM856
from raymigrate.facts.projects.environment import OF_PROCESSES, value_set, variable_read, variables_set
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import Source, argument, called_name, is_call_by_name

RANK_PLACE = 4  # of rank= among the parameters of init_process_group()
ASKED = "torch.distributed.get_rank"  # of a group that is there already
RANKS = ("RANK", "LOCAL_RANK")  # where accelerate reads that there are several processes
ADVICE = (
    "Start the processes with torchrun, or with accelerate launch on each machine (--num_machines, --machine_rank,"
    " --main_process_ip): they set RANK, LOCAL_RANK and WORLD_SIZE. Ray does so too."
)


def tell_of_own_numbers(changes: Changes, calls: Iterable[ast.Call]) -> None:
    """Tells of ranks which no launcher sets that accelerate knows: it finds one process, wherever they run.

    Args:
        changes: The edits.
        calls: The calls that make the process group, in a script that starts no processes itself.
    """
    module = changes.module
    given: list[tuple[ast.AST, ast.expr | None]] = [(call, argument(call, RANK_PLACE, "rank")) for call in calls]
    for place, rank in (*given, *_set(module)):
        if rank is None or not _is_own(module, rank):
            continue
        message = f"Each process is given its number here, `{module.source(rank)}`, which accelerate does not read:"
        end = "started as before, each of them would train a model of its own, on all rows."
        changes.manual(RM856, place, f"{message} {end}", ADVICE)
        return


def _set(module: Module) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """Where a script gives itself a rank in its environment: that goes, or comes after an Accelerator is made."""
    for place, _ in variables_set(module, *RANKS):
        if isinstance(module.parent_of[place], ast.Subscript) or module.function(place) is not None:
            yield place, value_set(module, place)


def _is_own(module: Module, rank: ast.expr) -> bool:
    """Whether a rank comes from elsewhere than torchrun, or may: from srun where the script is started by that."""
    if isinstance(module.constant(rank), (int, str)):  # the same for all processes, or for one
        return False
    parts = [(value.module, part) for value in _values(module, rank) for part in ast.walk(value.node)]
    read = {name for home, part in parts if (name := variable_read(home, part)) is not None}
    if any(OF_PROCESSES.fullmatch(name) for name in read):
        return True
    if any(called_name(home, part) == ASKED for home, part in parts):
        return False
    is_option = any(isinstance(part, ast.Attribute) and part.attr == ATTRIBUTE for _, part in parts)
    return read.isdisjoint(RANKS) and not (is_option and any(map(local_rank_options, related(module))))


def _values(module: Module, rank: ast.expr) -> Iterator[Source]:
    """What a rank may be: what a name is given, or an attribute of that spelling anywhere in the file."""
    rank = rank.args[0] if is_call_by_name(rank, "str") and rank.args else rank
    yield Source(module, rank)
    yield from module.origins(rank)
    if not isinstance(rank, ast.Attribute):
        return
    for target in module.stores(rank.attr):
        if is_assignment(statement := module.parent_of[target]) and ast.unparse(target) == ast.unparse(rank):
            yield Source(module, statement.value)
