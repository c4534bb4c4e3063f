"""The shards of datasets that training functions ask for, and whether trainers have these datasets.

Ray 2.60, train/v2/_internal/callbacks/datasets.py:60: a KeyError for a name that is not in `datasets=`. Ray 2.6.3,
train/_internal/session.py, `get_dataset_shard`: None for it.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from raymigrate.facts.guards import tested as tested_values
from raymigrate.facts.keys import unpacked_value
from raymigrate.facts.module import Module
from raymigrate.facts.ray_data import GET_SHARD, attributes_of_shards
from raymigrate.facts.trainers import TrainerCall
from raymigrate.facts.training_code import TrainingCode
from raymigrate.facts.values import argument, constants, is_none, seen_entries

LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)


@dataclass(frozen=True)
class Shard:
    """A call of get_dataset_shard().

    Args:
        module: The file that it is in.
        call: The call.
        names: The names of the datasets that it may ask for.
    """

    module: Module
    call: ast.Call
    names: frozenset[str]


def optional_shards(homes: Iterable[Module]) -> Iterator[Shard]:
    """The shards that may be None for all that is done with them, of datasets whose names are seen.

    One whose rows are asked for at once, and that nothing compares with None, was always there.
    """
    homes = list(homes)
    asked = [(home, call) for home in homes for call in home.calls(*GET_SHARD)]
    tested = (
        {source.node for home in homes for node in tested_values(home) for source in home.origins(node)}
        if asked
        else ()
    )
    used = {node for home in dict.fromkeys(home for home, _ in asked) for node in _used(home)}
    for home, call in asked:
        given = argument(call, 0, "dataset_name")
        names = {value for _, value in constants(home, given)} if given is not None else set()
        if (call in tested or call not in used) and names and all(isinstance(name, str) for name in names):
            yield Shard(home, call, frozenset(map(str, names)))


def runs(trainer: TrainerCall, shard: Shard, homes: list[Module]) -> bool:
    """Whether the workers of a trainer may ask for a shard."""
    code = TrainingCode(homes)
    code.add(trainer.module, trainer.node)
    return code.may_run(shard.module, shard.call)


def has_dataset(trainer: TrainerCall, name: str) -> bool | None:
    """Whether a trainer has a dataset of some name; None where that is not sure."""
    module = trainer.module
    given = trainer.arguments.get("datasets") or unpacked_value(module, trainer.node, "datasets")
    if given is None:
        return None if trainer.unpacked else False
    found: set[bool | None] = set()
    for source in module.origins(given):
        entries = source.module.entries(source.node)
        seen = seen_entries(source.module, source.node) if entries is None else entries
        found.add(True if name in seen else None if entries is None and not is_none(source.node) else False)
    return found.pop() if len(found) == 1 else None


def _used(module: Module) -> set[ast.AST]:
    """The shards of a module that are asked for rows."""
    owners = [attribute.value for attribute in attributes_of_shards(module)]
    owners += [loop.iter for kind in LOOPS for loop in module.of_type(kind)]  # type: ignore[attr-defined]
    return {source.node for owner in owners for source in module.origins(owner)}
