"""The shards of datasets that training functions ask for, and whether trainers have these datasets.

Ray 2.60, train/v2/_internal/callbacks/datasets.py:60: a KeyError for a name that is not in `datasets=`. Ray 2.6.3,
train/_internal/session.py, `get_dataset_shard`: None for it.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from raymigrate.facts.ray_data.datasets import GET_SHARD, asks_for_shard, attributes_of_shards
from raymigrate.facts.ray_train.ranks import Condition, rank_condition, sides_of, skipped_by_rank
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.ray_train.training_code import TrainingCode
from raymigrate.facts.syntax.guards import tested as tested_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import ITERATIONS
from raymigrate.facts.values import argument, constants, is_none, last_name, seen_entries
from raymigrate.facts.values.items import items_behind
from raymigrate.facts.values.keys import unpacked_value
from raymigrate.facts.values.looped_keys import looped_keys

READING = ("iter_batches", "iter_rows", "iter_tf_batches", "iter_torch_batches", "materialize", "to_tf", "to_torch")


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


class ShardUsers:
    """The trainers whose workers ask for shards; what each of them runs is looked for once.

    Args:
        trainers: The trainers.
        homes: The files that may have a part in what they run.
    """

    def __init__(self, trainers: Iterable[TrainerCall], homes: list[Module]) -> None:
        self._trainers = list(trainers)
        self._homes = homes

    @cached_property
    def _codes(self) -> list[tuple[TrainerCall, TrainingCode]]:
        found = [(trainer, TrainingCode(self._homes)) for trainer in self._trainers]
        for trainer, code in found:
            code.add(trainer.module, trainer.node)
        return found

    def of(self, shard: Shard) -> list[TrainerCall]:
        """Those whose workers may ask for a shard; where not all of their code was looked at, they may."""
        return [trainer for trainer, code in self._codes if code.is_cut or code.may_run(shard.module, shard.call)]


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
        is_whole = entries is not None or is_none(source.node)
        found.add(True if name in seen or name in looped_keys(source) else False if is_whole else None)
    return found.pop() if len(found) == 1 else None


def _used(module: Module) -> set[ast.AST]:
    """The shards of a module that are asked for rows, also as items of a dict or a list."""
    owners = [attribute.value for attribute in attributes_of_shards(module)]
    owners += [loop.iter for kind in ITERATIONS for loop in module.of_type(kind)]  # type: ignore[attr-defined]
    found: set[ast.AST] = {source.node for owner in owners for source in module.origins(owner)}
    for _, method in module.method_calls(*READING):
        read = module.origins(method.value)
        items = [item for source in read for item in items_behind(source)]
        found |= {origin.node for one in (*read, *items) for origin in one.module.origins(one.node)}
    return found


def read_on_some_ranks(module: Module) -> Iterator[Shard]:
    """The shards whose rows only some of the workers ask for, in source order, each with the call that does so.

    Reading in both branches of an `if` is reading on every worker.
    """
    for call, method in module.method_calls(*READING):
        asked = [source for source in module.origins(method.value) if asks_for_shard(source)]
        if asked and _is_for_some_ranks(module, call, set()):
            named = [argument(source.node, 0, "dataset_name") for source in asked]  # type: ignore[arg-type]
            values = [
                {value for _, value in constants(source.module, name)} if name is not None else {"train"}
                for source, name in zip(asked, named, strict=True)
            ]
            yield Shard(module, call, frozenset(name for each in values for name in each if isinstance(name, str)))


def _is_for_some_ranks(module: Module, node: ast.AST, seen: set[ast.AST]) -> bool:
    """Whether only some of the workers get to a node, or to every call of the function that it is in."""
    condition = rank_condition(module, node)
    if condition is not None and not _reads_elsewise(module, condition, node):
        return True
    if condition is None and skipped_by_rank(module, node) is not None:
        return True
    function = module.function(node)
    if not isinstance(function, ast.FunctionDef) or function in seen:
        return False
    seen.add(function)
    uses = module.uses_of(function)
    calls = [module.parent_of[use] for use in uses]
    are_calls = all(isinstance(call, ast.Call) and call.func is use for call, use in zip(calls, uses, strict=True))
    return bool(uses) and are_calls and all(_is_for_some_ranks(module, call, seen) for call in calls)


def _reads_elsewise(module: Module, condition: Condition, node: ast.AST) -> bool:
    """Whether each other way through a condition calls the same method or function."""
    name = last_name(node.func) if isinstance(node, ast.Call) else ""
    if not name:
        return False
    around = {node, *module.ancestors(node)}
    return all(
        any(
            isinstance(part, ast.Call) and last_name(part.func) == name
            for statement in side
            for part in ast.walk(statement)
        )
        for side in sides_of(condition)
        if around.isdisjoint(side)
    )
