"""RM856: the numbers of processes that a script works out itself, as from Slurm or a list of hosts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM856
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument

RANK_PLACE = 4  # of rank= among the parameters of init_process_group()
ADVICE = (
    "Start the processes with torchrun, or with accelerate launch on each machine (--num_machines, --machine_rank,"
    " --main_process_ip): they set RANK, LOCAL_RANK and WORLD_SIZE. Ray does so too."
)


def tell_of_own_numbers(changes: Changes, calls: list[ast.Call], number: Callable[[ast.expr], str | None]) -> None:
    """Tells of a process group that is given ranks which no launcher sets: they go with it.

    Args:
        changes: The edits.
        calls: The calls that make the process group, in a script that starts no processes itself.
        number: Says which number of a launcher an expression gets; None where it gets another one.
    """
    for call in calls:
        rank = argument(call, RANK_PLACE, "rank")
        if rank is None or isinstance(changes.module.constant(rank), int):  # the same for all processes, or for one
            continue
        if any(number(value) is not None for value in _values(changes.module, rank)):
            continue
        source = changes.module.source(rank)
        message = f"Each process is given its number here, `{source}`, and that goes with the call: started as before,"
        changes.manual(RM856, call, f"{message} each of them would train a model of its own, on all rows.", ADVICE)
        return


def _values(module: Module, rank: ast.expr) -> Iterator[ast.expr]:
    """What a rank may be: what a name is given, or an attribute of that spelling anywhere in the file."""
    yield rank
    yield from (source.node for source in module.origins(rank))
    if not isinstance(rank, ast.Attribute):
        return
    for statement in module.of_type(ast.Assign):
        assert isinstance(statement, ast.Assign)
        for target in statement.targets:
            if ast.unparse(target) == ast.unparse(rank):
                yield statement.value
