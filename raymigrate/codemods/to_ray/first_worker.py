"""The condition that is true on the first worker alone, for what is written behind a training."""

import ast
from bisect import bisect_right

from raymigrate.codemods.to_ray.trackers import FIRST
from raymigrate.codemods.to_ray.trainer_calls import Training
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import reaching


def first_worker(module: Module, training: Training, call: ast.Call, step: ast.stmt) -> str:
    """The condition for a statement behind a training: the Trainer is asked where it is still there.

    Args:
        module: The module.
        training: What trains in it.
        call: The call that trains, or one of a function that does.
        step: The statement.
    """
    if call not in training.trains:  # of a function that trains
        return FIRST
    trainer = call.func.value  # type: ignore[attr-defined]
    stays = isinstance(trainer, (ast.Name, ast.Attribute)) and ast.unparse(trainer) not in _deleted(module)
    if not stays or _is_bound_again(module, trainer, step) or not _is_bound_for(module, trainer, step):
        return FIRST
    return f"{module.source(trainer)}.is_world_process_zero()"


@kept
def _deleted(module: Module) -> frozenset[str]:
    """What `del` takes away, and parts of it: it frees the memory of a Trainer, `del trainer`, or lets its name go."""
    gone = (target for statement in module.of_type(ast.Delete) for target in statement.targets)
    return frozenset(ast.unparse(part) for target in gone for part in ast.walk(target))


def _is_bound_again(module: Module, trainer: ast.Name | ast.Attribute, step: ast.stmt) -> bool:
    """Whether a statement behind the training may give its Trainer's name something else."""
    known = [b.node for b in reaching(module, trainer)] if isinstance(trainer, ast.Name) else []
    places = _stores(module).get(ast.unparse(trainer), [])
    behind = places[bisect_right(places, module.start(trainer), key=module.start) :]
    return any(module.function(node) is module.function(step) or node not in known for node in behind)


@kept
def _stores(module: Module) -> dict[str, list[ast.Name | ast.Attribute]]:
    """Where names and attributes get a value, by their text, in source order."""
    found: dict[str, list[ast.Name | ast.Attribute]] = {}
    nodes: list[ast.Name | ast.Attribute] = [*module.of_type(ast.Name), *module.of_type(ast.Attribute)]
    for node in nodes:  # a text is of one kind
        if isinstance(node.ctx, ast.Store):
            found.setdefault(ast.unparse(node), []).append(node)
    return found


def _is_bound_for(module: Module, trainer: ast.Name | ast.Attribute, step: ast.stmt) -> bool:
    """Whether a Trainer that trains is there for a statement in whatever branch that is."""
    certain: list[ast.stmt] = [module.statement(trainer)]
    if isinstance(trainer, ast.Name):
        bound = [binding.node for binding in reaching(module, trainer)]
        if len(bound) == 1 and isinstance(bound[0], ast.arg):
            return True
        certain += [module.statement(bound[0])] if len(bound) == 1 else []
    return any(module.is_in_block_of(step, one) for one in certain)
