"""The fixed numbers of steps in a schedule that is prepared, in a script that counted the steps of each process.

A prepared scheduler takes N steps at a time (accelerate/scheduler.py, 1.15). What is counted of a loader becomes N
times as much where its DistributedSampler goes; a number of steps that is written down stays as it is.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.functions import by_position
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.main_process import is_size
from raymigrate.facts.torch.optimizers import is_scheduler
from raymigrate.facts.torch.schedule_lengths import counts_rows, reached
from raymigrate.facts.values import called_name, is_call_by_name
from raymigrate.facts.values.carried import values_given

# The numbers of steps that schedulers are given, with their places (torch 2.9, optim/lr_scheduler.py; transformers 5).
STEPS = {
    "StepLR": {"step_size": 1},
    "MultiStepLR": {"milestones": 1},
    "ConstantLR": {"total_iters": 2},
    "LinearLR": {"total_iters": 3},
    "PolynomialLR": {"total_iters": 1},
    "CosineAnnealingLR": {"T_max": 1},
    "CosineAnnealingWarmRestarts": {"T_0": 1},
    "SequentialLR": {"milestones": 2},
    "CyclicLR": {"step_size_up": 3, "step_size_down": 4},
    "OneCycleLR": {"total_steps": 2, "steps_per_epoch": 4},
    "get_scheduler": {"num_warmup_steps": 2, "num_training_steps": 3},
}
OF_TRANSFORMERS = {"num_warmup_steps": 1, "num_training_steps": 2}
FACTORS = {"LambdaLR": 1, "MultiplicativeLR": 1}  # these are given functions of the step
OF_STEPS = lazy_regex(r"steps?(?:$|_)|warmup|milestone|iters?(?:$|_)", re.IGNORECASE)
SHARES = (ast.Div, ast.FloorDiv, ast.Mod)
Place = tuple[Module, ast.expr]


def fixed_steps(module: Module, maker: ast.Call) -> Iterator[Place]:
    """The numbers of steps that a scheduler and those within it are given, and that no rows are counted for.

    Args:
        module: The module of the call that makes the scheduler.
        maker: The call.
    """
    for home, part in reached(module, maker):
        if not isinstance(part, ast.Call):
            continue
        name = called_name(home, part)
        if part is maker and not is_scheduler(name):  # a class of the project, or of a library that is not known here
            for keyword in part.keywords:
                if OF_STEPS.search(keyword.arg or "") and not isinstance(home.constant(keyword.value), (str, bool)):
                    yield from _uncounted(home, keyword.value)
        if not is_scheduler(name):
            continue
        kind = name.rpartition(".")[2]
        given = STEPS.get(kind, OF_TRANSFORMERS if name.startswith("transformers.") else {})
        for argument, place in given.items():
            for source in values_given(home, part, argument, place):
                yield from _uncounted(source.module, source.node)
        if kind in FACTORS:
            for source in values_given(home, part, "lr_lambda", FACTORS[kind]):
                yield from _in_functions(source.module, source.node)


def _uncounted(module: Module, value: ast.expr) -> Iterator[Place]:
    """The numbers in a length, in each of a list of them, or in what is added to one that is counted."""
    listed = module.value(value)
    if isinstance(listed, (ast.List, ast.Tuple)):
        for element in listed.elts:
            yield from _uncounted(module, element)
    elif not counts_rows(module, value):
        if module.constant(value) not in (0, None) and not _is_of_all(module, value):
            yield module, value
    else:
        for home, part in reached(module, value):
            if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Add, ast.Sub)):
                yield from _added(home, [part.left, part.right])


def _added(module: Module, terms: list[ast.expr]) -> Iterator[Place]:
    """Those of two terms that are no count of rows, beside one that is; a step more or less does not matter."""
    others = [term for term in terms if not counts_rows(module, term)]
    if len(others) == 1 and module.constant(others[0]) not in (0, 1) and not _is_of_all(module, others[0]):
        yield module, others[0]


def _is_of_all(module: Module, value: ast.expr) -> bool:
    """Whether a number is multiplied by the number of processes already."""
    products = (
        (home, part)
        for home, part in reached(module, value)
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult)
    )
    return any(is_size(home, part.left) or is_size(home, part.right) for home, part in products)


def _in_functions(module: Module, given: ast.expr) -> Iterator[Place]:
    """What functions compare their step with, and divide it by."""
    if isinstance(given, (ast.List, ast.Tuple)):
        for element in given.elts:
            yield from _in_functions(module, element)
        return
    for home, part in reached(module, given):
        if isinstance(part, (ast.Lambda, ast.FunctionDef)):
            own = [one.arg for one in by_position(part) if one.arg != "self"]
            for number in map(_bare, _met(part, own[0]) if own else ()):
                known = home.constant(number)
                if not counts_rows(home, number) and (known is ... or (type(known) is int and known > 1)):
                    yield home, number


def _met(function: ast.AST, step: str) -> Iterator[ast.expr]:
    """What a step is compared with, divided by, or held against by `min` and `max`."""
    for part in ast.walk(function):
        sides: Iterable[ast.expr] = ()
        if isinstance(part, ast.Compare):
            sides = (part.left, *part.comparators)
        elif isinstance(part, ast.BinOp) and isinstance(part.op, SHARES):
            sides = (part.left, part.right)
        elif is_call_by_name(part, "min", "max"):
            sides = part.args
        if any(_is_step(side, step) for side in sides):
            yield from (side for side in sides if not _is_step(side, step))


def _is_step(node: ast.expr, step: str) -> bool:
    """Whether an expression is a step, or the one after it: `step`, `float(step)`, `step + 1`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and isinstance(node.right, ast.Constant):
        node = node.left
    node = _bare(node)
    return isinstance(node, ast.Name) and node.id == step


def _bare(node: ast.expr) -> ast.expr:
    """A number without what guards or converts it: `max(1, steps)`, `float(steps)`."""
    while is_call_by_name(node, "float", "int", "max") and node.args:
        node = node.args[-1]
    return node
