"""RM302: the device of a worker, asked for where no worker is.

`get_device()` and `get_devices()` of ray.train.torch raise a RuntimeError in any other process (Ray 2.60
train/v2/torch/train_loop_utils.py, `requires_train_worker`). Those of Ray 2.6.3 gave its device there
(air/_internal/torch_utils.py, `get_device`).
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_air import RM302
from raymigrate.facts.module import Module
from raymigrate.facts.outside import Outside, outside
from raymigrate.facts.own_objects import is_sent_by_name
from raymigrate.facts.places import Place

NAMES = tuple(f"ray.train.torch.{name}" for name in ("get_device", "get_devices"))
THE_DEVICE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
ADVICE = f"There it gave {THE_DEVICE}: write that, or hand the device in as an argument."
INSTEAD = {"get_device": ADVICE, "get_devices": ADVICE.replace(THE_DEVICE, f"[{THE_DEVICE}]")}


@codemod("get_device", "get_devices", phase=Phase.SESSION)
def devices_outside(context: Context) -> None:
    """Reports the functions that ask for it and run without a trainer too, each once, and what else does so."""
    module, told = context.module, set[tuple[ast.AST, str]]()
    for call in module.calls(*NAMES):
        found = None if has_another_way(module, call) else _outside(context, call)
        if found is None:
            continue
        place, called = found
        name = (module.qualified(call.func) or "").rpartition(".")[2]
        if (place, name) not in told:
            told.add((place, name))
            message = f"{called}: ray.train.torch.{name}() raises a RuntimeError there."
            context.manual(RM302, place, message, INSTEAD[name])


def _outside(context: Context, call: ast.Call) -> tuple[ast.AST, str] | None:
    """What runs a call where no worker is, and how; None where nothing is seen to do so."""
    module, function = context.module, context.module.function(call)
    # A worker may import the file, and be who runs what stands at its top.
    run_here = function is None or function in context.places.called_outside
    if function is not None and (
        how := None if run_here else outside(module, context.places, {function}).get(function)
    ):
        return function, f"{_name(function)} {how.value}"
    if run_here and not is_sent_by_name(module):
        if function is not None and function in context.places.workers:
            return function, f"{_name(function)} {Outside.DRIVER.value}"
        return call, "This runs without a trainer"
    if context.place_of(call) in (Place.TRIAL, Place.BOTH):
        return call, "This runs in a Tune trial, which is no worker of a trainer"
    return None


def _name(function: ast.AST) -> str:
    return f"{getattr(function, 'name', 'this lambda')}()"


def has_another_way(module: Module, node: ast.AST) -> bool:
    """Whether its function chooses between a node and something else: a condition with two ways, or `try`."""
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return False
        if isinstance(parent, (ast.If, ast.IfExp)) and parent.orelse and child is not parent.test:
            return True
        if isinstance(parent, ast.Try) and parent.handlers and child in parent.body:
            return True
        child = parent
    return False
