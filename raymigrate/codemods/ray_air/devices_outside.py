"""RM302: the device of a worker, asked for where no worker is.

`get_device()` and `get_devices()` of ray.train.torch raise a RuntimeError in any other process (Ray 2.60
train/v2/torch/train_loop_utils.py, `requires_train_worker`). Those of Ray 2.6.3 gave its device there
(air/_internal/torch_utils.py, `get_device`).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_air import RM302
from raymigrate.facts.projects.places import Place
from raymigrate.facts.ray_train.outside import Outside, outside
from raymigrate.facts.ray_train.own_objects import is_sent_by_name
from raymigrate.facts.syntax.guards import waits_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import called_name

NAMES = tuple(f"ray.train.torch.{name}" for name in ("get_device", "get_devices"))
THE_DEVICE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
ADVICE = f"There it gave {THE_DEVICE}: write that, or hand the device in as an argument."
INSTEAD = {"get_device": ADVICE, "get_devices": ADVICE.replace(THE_DEVICE, f"[{THE_DEVICE}]")}


@dataclass(frozen=True)
class Asked:
    """A place where the device is asked for.

    Args:
        node: The call, or what hands the function to another one that calls it.
        function: The function in which it runs; None for the module.
        name: Which of NAMES is called.
    """

    node: ast.expr
    function: ast.AST | None
    name: str


@codemod("get_device", "get_devices", phase=Phase.SESSION)
def devices_outside(context: Context) -> None:
    """Reports the functions that ask for it and run without a trainer too, each once, and what else does so."""
    module, told = context.module, set[tuple[ast.AST, str]]()
    for asked in (*_calls(module), *_handed_on(module)):
        if has_another_way(module, asked.node) or waits_for(module, asked.node, RuntimeError):
            continue
        found = _outside(context, asked)
        if found is None:
            continue
        place, called = found
        if (place, asked.name) not in told:
            told.add((place, asked.name))
            message = f"{called}: ray.train.torch.{asked.name}() raises a RuntimeError there."
            context.manual(RM302, place, message, INSTEAD[asked.name])


def _calls(module: Module) -> Iterator[Asked]:
    for call in module.calls(*NAMES):
        yield Asked(call, _runs_in(module, call), called_name(module, call).rpartition(".")[2])


def _runs_in(module: Module, node: ast.AST) -> ast.AST | None:
    """The function in whose body a node is: defaults and decorators run where the function is defined."""
    child = node
    for outer in module.ancestors(node):
        if isinstance(outer, FUNCTIONS) and child in (outer.body if isinstance(outer.body, list) else [outer.body]):
            return outer
        child = outer
    return None


def _handed_on(module: Module) -> Iterator[Asked]:
    """What gives the function itself to one that calls it: an argument, or the default of a parameter."""
    if all(module.calling(reference.node) is not None for reference in module.references_within(*NAMES)):
        return
    for call in module.of_type(ast.Call):
        if not isinstance(module.definition(call.func), ast.arg):
            continue
        for given in module.origins(call.func):
            name = given.module.qualified(given.node)
            if name in NAMES and given.module is module and module.calling(given.node) is None:
                is_default = isinstance(module.parent_of[given.node], ast.arguments)
                place = call if is_default else given.node
                yield Asked(given.node, _runs_in(module, place), name.rpartition(".")[2])


def _outside(context: Context, asked: Asked) -> tuple[ast.AST, str] | None:
    """What runs a call where no worker is, and how; None where nothing is seen to do so."""
    module, function = context.module, asked.function
    # A worker may import the file, and be who runs what stands at its top.
    run_here = function is None or function in context.places.called_outside
    if function is not None and (
        how := None if run_here else outside(module, context.places, {function}).get(function)
    ):
        return function, f"{_name(function)} {how.value}"
    if run_here and not is_sent_by_name(module):
        if function is not None and function in context.places.workers:
            return function, f"{_name(function)} {Outside.DRIVER.value}"
        return asked.node, "This runs without a trainer"
    if context.place_of(asked.node) in (Place.TRIAL, Place.BOTH):
        return asked.node, "This runs in a Tune trial, which is not a worker of a trainer"
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
