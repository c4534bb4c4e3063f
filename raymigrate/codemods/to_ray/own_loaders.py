"""RM806: Trainers with DataLoaders of their own, which nothing shares out among the workers.

A Trainer prepares the loader that it makes: `return self.accelerator.prepare(DataLoader(...))` (transformers 5.23,
trainer.py, `get_train_dataloader`). Its loops take what a method of the user's gives as it is: each process goes over
all rows, in batches of that loader's size.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.to_ray.streams import LOADERS
from raymigrate.codemods.to_ray.trainer_calls import Training, is_trainer
from raymigrate.codemods.to_ray.workers import tell_rows
from raymigrate.facts.projects.declared import Declared, own_lineage
from raymigrate.facts.ray_train.trainers import classes_behind
from raymigrate.facts.syntax.functions import returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import every_origin, is_method_call, last_name

TRAIN = "get_train_dataloader"
METHODS = (TRAIN, "get_eval_dataloader", "get_test_dataloader")
# What shares rows out among processes: accelerate, a sampler, the rank of a process.
SHARES = frozenset(
    {
        *("prepare", "prepare_data_loader", "DistributedSampler", "split_dataset_by_node", "shard"),
        *("process_index", "world_size", "num_processes", "get_rank", "get_world_size"),
    }
)
DOES = {
    TRAIN: "every worker trains on all of its rows, in batches of its own",
    "get_eval_dataloader": "every worker evaluates all of its rows, and metrics count each of them several times",
    "get_test_dataloader": "every worker predicts all of its rows, and the predictions hold each of them several times",
}
ADVICE = "Prepare it: return self.accelerator.prepare(loader)."


@dataclass(frozen=True)
class OwnLoader:
    """A method of a Trainer that gives a DataLoader of its own.

    Args:
        module: Where it is defined.
        function: The method, or what takes its place.
        method: Its name.
        made: The call in this Trainer's module that it belongs to.
        unshared: What it returns that is not shared out; None where that is shared out.
        is_sure: Whether that is seen to be a DataLoader as it was made.
    """

    module: Module
    function: FunctionNode
    method: str
    made: ast.AST
    unshared: ast.expr | None
    is_sure: bool


def own_loaders(module: Module, training: Training) -> list[OwnLoader]:
    """The loaders of their own of the Trainers of a module."""
    found: dict[ast.AST, OwnLoader] = {}
    for home, function, method, made in (*_methods(module, training), *_replaced(module)):
        returned = [value for value in returned_values(home, function) if value is not None]
        if returned and not all(_is_of_trainer(home, value) for value in returned):
            unshared = None if _shares(home, function) else _unshared(home, returned)
            is_sure = unshared is not None and _is_loader(home, unshared)
            found.setdefault(function, OwnLoader(home, function, method, made, unshared, is_sure))
    return list(found.values())


def tell_own_loaders(context: Context, rule: Rule, loaders: list[OwnLoader]) -> None:
    """Tells of loaders that nothing shares out.

    Args:
        context: The module.
        rule: The rule that tells.
        loaders: The loaders of its Trainers.
    """
    for loader in loaders:
        if loader.unshared is None:
            continue
        is_here = loader.module is context.module
        where = "" if is_here else f" in {line_of_file(loader.module, loader.unshared)}"
        what = f"What {loader.method}() returns{where}"
        state = "is not prepared, so that" if loader.is_sure else "is not seen to be prepared: if it is not,"
        place = loader.unshared if is_here else loader.made
        context.manual(rule, place, f"{what} {state} {DOES[loader.method]}.", ADVICE)


def tell_rows_of_own(context: Context, rule: Rule, place: ast.AST, loaders: list[OwnLoader]) -> bool:
    """Says whose the batch size is where a loader of the user's gives the rows to train on; whether that is so.

    Args:
        context: The module.
        rule: The rule that tells.
        place: Where.
        loaders: The loaders of its Trainers.
    """
    trained = [loader for loader in loaders if loader.method == TRAIN]
    if trained and all(loader.unshared is None for loader in trained):
        tell_rows(context, rule, place, f"The batch size of the loader of {TRAIN}() is", "")
    return bool(trained)


def _methods(module: Module, training: Training) -> Iterator[tuple[Module, FunctionNode, str, ast.AST]]:
    """The methods that the classes of Trainers have for their loaders, the project's other files included."""
    for made in training.makes:
        for found in classes_behind(module, made.func):
            seen: set[str] = set()
            for home, owner in own_lineage(Declared(*found)) if not isinstance(found, str) else ():
                for method in owner.body:
                    if isinstance(method, ast.FunctionDef) and method.name in METHODS and method.name not in seen:
                        seen.add(method.name)
                        yield home, method, method.name, made


def _replaced(module: Module) -> Iterator[tuple[Module, FunctionNode, str, ast.AST]]:
    """What takes the place of such a method on a Trainer: `trainer.get_train_dataloader = lambda: loader`."""
    for target in module.attributes(*METHODS):
        statement = module.parent_of[target]
        if is_assignment(statement) and target in targets_of(statement) and is_trainer(module, target.value):
            given = module.value(statement.value)
            function = given if isinstance(given, ast.Lambda) else module.definition(statement.value)
            if isinstance(function, (ast.FunctionDef, ast.Lambda)):
                yield module, function, target.attr, statement


def _is_of_trainer(module: Module, value: ast.expr) -> bool:
    """Whether a value is what the Trainer makes itself: `super().get_train_dataloader()`, another one's method."""
    return every_origin(module, value, lambda _, end: is_method_call(end, *METHODS))


def _shares(module: Module, function: FunctionNode) -> bool:
    """Whether a function names something that shares rows out."""
    return not SHARES.isdisjoint({last_name(node) for node in module.below(function)})


def _unshared(module: Module, returned: list[ast.expr]) -> ast.expr | None:
    """What is returned that is not shared out: for sure, or else as far as it is seen."""
    left = [value for value in returned if not _is_of_trainer(module, value) and not _is_shared(module, value)]
    return next((value for value in left if _is_loader(module, value)), next(iter(left), None))


def _is_shared(module: Module, value: ast.expr) -> bool:
    """Whether all that a value can be was shared out where it was made."""
    ends = [source.node for source in module.origins(value)]
    names = ({last_name(part) for part in ast.walk(end)} for end in ends)
    return all(not SHARES.isdisjoint(found) for found in names)


def _is_loader(module: Module, value: ast.expr) -> bool:
    """Whether a value is a DataLoader as it was made, of all rows."""
    ends = list(module.origins(value))
    made = (end.module.qualified(end.node.func) for end in ends if isinstance(end.node, ast.Call))
    return any(name in LOADERS for name in made) and not _is_shared(module, value)
