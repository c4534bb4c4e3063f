"""Whether the workers of a trainer have a GPU, as its `scaling_config=` says."""

import ast
from dataclasses import dataclass

from raymigrate.facts.syntax.attribute_chains import is_of_self
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument, has_starred, has_unpacking, is_none, keyword_argument
from raymigrate.facts.values.carried import values_given

SCALING_CONFIGS = ("ray.air.ScalingConfig", "ray.air.config.ScalingConfig", "ray.train.ScalingConfig")
POSITION = 2  # of use_gpu among the parameters, in every version of Ray


@dataclass(frozen=True)
class UseGpu:
    """Whether workers have a GPU.

    Args:
        known: The literal at the call, or False where nothing is given; None where it is decided at run time.
        decided_by: The expression that decides it, where there is one.
    """

    known: bool | None
    decided_by: Source | None = None


UNKNOWN = UseGpu(None)


def use_gpu(module: Module, scaling_config: ast.expr | None) -> UseGpu:
    """What a `scaling_config=` says of GPUs.

    Only a literal where the ScalingConfig is written counts as known: a name stands for a switch that its owner may
    turn, and the converted code has to follow it.

    Args:
        module: The module.
        scaling_config: The argument; None where a trainer has none.
    """
    if _is_tuned(module):
        return UNKNOWN
    if scaling_config is None:
        return UseGpu(False)
    if any(not is_of_self(store) for store in module.stores("use_gpu")):  # `scaling_config.use_gpu = ...`
        return UNKNOWN
    found = {_of_source(source) for source in module.origins(scaling_config)}
    return found.pop() if len(found) == 1 else UNKNOWN


def use_gpu_of_call(module: Module, call: ast.Call) -> UseGpu:
    """What the construction of a trainer says of GPUs: `scaling_config=`, which what it unpacks may hold."""
    given = keyword_argument(call, "scaling_config")
    if given is not None or not has_unpacking(call):
        return use_gpu(module, given)
    unpacked = [keyword.value for keyword in call.keywords if keyword.arg is None]
    whole = [module.entries(each) for each in unpacked]
    if None in whole or has_starred(call.args):
        return UNKNOWN
    return use_gpu(module, next((each["scaling_config"] for each in whole if each and "scaling_config" in each), None))


def same_gpus(one: UseGpu, other: UseGpu) -> bool:
    """Whether two answers are the same: one literal, or one switch."""
    if one == other or one.decided_by is None or other.decided_by is None:
        return one == other
    module, nodes = one.decided_by.module, (one.decided_by.node, other.decided_by.node)
    if module is not other.decided_by.module or ast.dump(nodes[0]) != ast.dump(nodes[1]):
        return False
    names = ([part for part in ast.walk(node) if isinstance(part, ast.Name)] for node in nodes)
    return all(module.bound_in(first) is module.bound_in(second) for first, second in zip(*names, strict=True))


def has_one_worker(module: Module, trainer: ast.Call) -> bool:
    """Whether a trainer has one worker: a literal says so, and no search space may say something else."""
    if _is_tuned(module):
        return False
    configs = values_given(module, trainer, "scaling_config")
    made = [source for config in configs for source in config.module.origins(config.node)]
    return bool(made) and all(_is_for_one(source) for source in made)


def _is_for_one(source: Source) -> bool:
    module, node = source.module, source.node
    if not isinstance(node, ast.Call) or module.qualified(node.func) not in SCALING_CONFIGS:
        return False
    workers = [given.node for given in values_given(module, node, "num_workers", POSITION - 1)]
    return bool(workers) and all(isinstance(n, ast.Constant) and type(n.value) is int and n.value == 1 for n in workers)


def _is_tuned(module: Module) -> bool:
    """Whether a search space may hold another ScalingConfig than the trainer's."""
    words = (node for node in module.spelling("scaling_config") if isinstance(node, ast.Constant))
    return any(isinstance(module.parent_of[word], ast.Dict) for word in words)


def _of_source(source: Source) -> UseGpu:
    module, node = source.module, source.node
    given: ast.expr | None
    if is_none(node):
        return UseGpu(False)
    if isinstance(node, ast.Call) and module.qualified(node.func) in SCALING_CONFIGS and not has_unpacking(node):
        given = argument(node, POSITION, "use_gpu")
    elif not isinstance(node, ast.Name) and (entries := module.entries(node)) is not None:
        given = entries.get("use_gpu")
    else:
        return UNKNOWN
    if given is None:
        return UseGpu(False)
    if isinstance(given, ast.Constant):
        return UseGpu(bool(given.value))
    return UseGpu(None, Source(module, given))
