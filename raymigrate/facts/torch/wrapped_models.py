"""Models that a script wraps in DistributedDataParallel, so that `.module` of them is the model itself."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.optimizers import is_prepared
from raymigrate.facts.values import Source, argument

# prepare_model() of Ray wraps a model where there are several workers (Ray 2.60 train/torch/train_loop_utils.py:389).
PREPARE_MODEL = frozenset(f"ray.train.torch{module}.prepare_model" for module in ("", ".train_loop_utils"))
WRAPPERS = frozenset(
    PREPARE_MODEL
    | {f"torch.nn.parallel{module}.DistributedDataParallel" for module in ("", ".distributed")}
    | {"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"}
)
STRATEGY = "parallel_strategy"  # FullyShardedDataParallel gathers the state that `.module` of it has parts of
POSITION = 2  # of it among the arguments of prepare_model()


def is_wrapped(module: Module, node: ast.expr) -> bool:
    """Whether a value may be such a model, unless the script takes the wrapper off itself.

    Args:
        module: The module.
        node: The value.
    """
    values = module.origins(node)
    takes_off = any(isinstance(value.node, ast.Attribute) and value.node.attr == "module" for value in values)
    return not takes_off and any(_wraps(value.module, value.node) for value in values)


def strategy_of(call: ast.Call) -> ast.expr | None:
    """What says how prepare_model() wraps a model: parallel_strategy=, which was wrap_ddp= up to Ray 2.2, or the third.

    Args:
        call: The call.
    """
    return argument(call, POSITION, STRATEGY, "wrap_ddp")


def is_wrapped_by_accelerate(module: Module, node: ast.expr) -> bool:
    """Whether a value may be a model that `accelerator.prepare` has returned.

    Args:
        module: The module.
        node: The value.
    """
    prepared = any(is_prepared(source) and not _is_of_ray(source) for source in module.origins(node))
    return prepared and not _takes_steps(module, node)


def _takes_steps(module: Module, node: ast.expr) -> bool:
    """Whether `step()` of a value is called, as of an optimizer or a scheduler, which `prepare` returns too."""
    owner = module.source(node)
    return any(module.source(method.value) == owner for _, method in module.method_calls("step"))


def _wraps(module: Module, made: ast.expr) -> bool:
    if not isinstance(made, ast.Call) or module.qualified(made.func) not in WRAPPERS:
        return False
    given = strategy_of(made) if module.qualified(made.func) in PREPARE_MODEL else None
    return given is None or module.constant(given) in (True, "ddp")


def _is_of_ray(made: Source) -> bool:
    """Whether a function of a library is called, and no method of an object."""
    return isinstance(made.node, ast.Call) and made.module.qualified(made.node.func) is not None
