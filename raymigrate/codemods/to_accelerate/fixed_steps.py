"""The fixed numbers of steps in a schedule that is prepared, in a script that counted the steps of each process.

A prepared scheduler takes N steps at a time (accelerate/scheduler.py, 1.15). What is counted of a loader becomes N
times as much where its DistributedSampler goes; a number of steps that is written down stays as it is.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.callees import callees, functions_run
from raymigrate.facts.projects.main_process import is_size
from raymigrate.facts.syntax.functions import by_position, parameter_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.torch.optimizers import is_scheduler
from raymigrate.facts.torch.schedule_lengths import counts_rows, reached
from raymigrate.facts.values import all_arguments, called_name, is_call_by_name
from raymigrate.facts.values.carried import carried, values_given
from raymigrate.facts.values.partials import function_of

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
    "get_inverse_sqrt_schedule": {"num_warmup_steps": 1, "timescale": 2},
    "get_wsd_schedule": {"num_warmup_steps": 1, "num_decay_steps": 2, "num_training_steps": 3, "num_stable_steps": 4},
}
OF_ITS_KIND = "scheduler_specific_kwargs"  # a dict for get_scheduler(), of what one kind of schedule takes
STEPS_OF_KINDS = frozenset({"num_decay_steps", "num_stable_steps", "timescale"})
OF_TRANSFORMERS = {"num_warmup_steps": 1, "num_training_steps": 2}
FACTORS = {"LambdaLR": 1, "MultiplicativeLR": 1}  # these are given functions of the step
# What an argument of another class is called that is a number of steps: `warmup_steps`, and not `warmup_start_lr`.
OF_STEPS = lazy_regex(
    r"(?:^|_)(?:steps?|iters?|iterations|milestones?|updates|warm_?up)$|(?:steps|iters)_per_epoch$|step_size(?:$|_)",
    re.IGNORECASE,
)
SHARE = lazy_regex(r"ratio|proportion|fraction|percent|pct", re.IGNORECASE)
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
        if not is_scheduler(name):
            if part is maker:  # a class of the project, or of a library that is not known here
                yield from _given_to_another(home, part)
            continue
        kind = name.rpartition(".")[2]
        given = STEPS.get(kind, OF_TRANSFORMERS if name.startswith("transformers.") else {})
        for argument, place in given.items():
            for source in values_given(home, part, argument, place):
                yield from _uncounted(source.module, source.node)
        for source in values_given(home, part, OF_ITS_KIND, 4) if kind == "get_scheduler" else ():
            for entry in carried(source.module, source.node).entries:
                if entry.name in STEPS_OF_KINDS:
                    yield from _uncounted(entry.module, entry.value)
        if kind in FACTORS:
            for source in values_given(home, part, "lr_lambda", FACTORS[kind]):
                yield from _in_functions(source.module, source.node)


def _given_to_another(module: Module, maker: ast.Call) -> Iterator[Place]:
    """The numbers of steps, by their names, that what is no scheduler known here is given."""
    constructors = [function for _, function in functions_run(module, maker)]
    named = [(word.arg or "", word.value) for word in maker.keywords]
    if len(constructors) == 1 and isinstance(constructors[0], ast.FunctionDef):
        filled = 1 if constructors[0].name == "__init__" else 0
        named += [(parameter_for(constructors[0], maker, value, filled), value) for value in maker.args]
    for name, value in named:
        if OF_STEPS.search(name) and not SHARE.search(ast.unparse(value)):
            if not isinstance(module.constant(value), (str, bool)):
                yield from _uncounted(module, value)


def _uncounted(module: Module, value: ast.expr) -> Iterator[Place]:
    """The numbers in a length, in each of a list of them, or in what is added to one that is counted."""
    listed = module.value(value)
    if isinstance(listed, (ast.List, ast.Tuple)):
        for element in listed.elts:
            yield from _uncounted(module, element)
    elif not counts_rows(module, value):
        known = module.constant(value)
        is_share = isinstance(known, float) and known < 1
        if known not in (0, -1, None) and not is_share and not _is_of_all(module, value):
            yield module, value
    else:
        for home, part in reached(module, value):
            if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Add, ast.Sub)):
                divisor = _divisor(home, part)
                yield from (place for place in _added(home, [part.left, part.right]) if not _rounds(*place, divisor))


def _added(module: Module, terms: list[ast.expr]) -> Iterator[Place]:
    """Those of two terms that are no count of rows, beside one that is; a step more or less does not matter."""
    others = [term for term in terms if not counts_rows(module, term)]
    if len(others) == 1 and module.constant(others[0]) not in (0, 1) and not _is_of_all(module, others[0]):
        yield module, others[0]


def _divisor(module: Module, part: ast.BinOp) -> ast.expr | None:
    """What a sum is divided by and rounded: `(rows + batch - 1) // batch`."""
    outer = module.parent_of[part]
    while isinstance(outer, ast.BinOp) and isinstance(outer.op, (ast.Add, ast.Sub)):
        part, outer = outer, module.parent_of[outer]
    if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.FloorDiv) and outer.left is part:
        return outer.right
    return None


def _rounds(module: Module, term: ast.expr, divisor: ast.expr | None) -> bool:
    """Whether what is added to a sum before it is divided makes a step more or less, and no number of them."""
    if divisor is None:
        return False
    added, by = module.constant(term), module.constant(divisor)
    if isinstance(added, int) and isinstance(by, int):
        return added <= by
    shown = ast.unparse(divisor)
    return ast.unparse(term) in (shown, f"{shown} - 1", f"({shown} - 1)")


def _is_of_all(module: Module, value: ast.expr) -> bool:
    """Whether a number is multiplied by the number of processes already."""
    products = (
        (home, part)
        for home, part in reached(module, value)
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult)
    )
    return any(is_size(home, part.left) or is_size(home, part.right) for home, part in products)


def _in_functions(module: Module, given: ast.expr) -> Iterator[Place]:
    """What the functions of a scheduler compare their step with, and divide it by."""
    waiting, seen = list(_with_step(module, given)), set[tuple[ast.AST, str]]()
    while waiting:
        home, function, step = waiting.pop()
        if (function, step) in seen:
            continue
        seen.add((function, step))
        for number in map(_bare, _met(function, step)):
            known = home.constant(number)
            is_fixed = known is ... or (type(known) is int and known > 1)
            if is_fixed and not counts_rows(home, number) and not _is_of_all(home, number):
                yield home, number
        waiting += _handed_on(home, function, step)


def _with_step(module: Module, given: ast.expr) -> Iterator[tuple[Module, FunctionNode, str]]:
    """The functions that a scheduler calls, each with the name of the step there.

    Args:
        module: The module.
        given: What the scheduler is given: a function, what makes one, a list of several.
    """
    waiting, seen = [(source, 0) for source in module.origins(given)], set[ast.AST]()
    while waiting:
        source, filled = waiting.pop()
        home, node = source.module, source.node
        if node in seen:
            continue
        seen.add(node)
        inner: list[ast.expr] = []
        if isinstance(node, (ast.List, ast.Tuple)):
            inner = node.elts
        elif isinstance(node, ast.ListComp):
            inner = [node.elt]
        elif isinstance(node, ast.Call) and (function := function_of(home, node)) is not node.func:
            inner, filled = [function], filled + len(node.args) - 1
        waiting += [(behind, filled) for part in inner for behind in home.origins(part)]
        for callee in callees(home, node) if not inner else ():
            if callee.function is not None:
                own = [one.arg for one in by_position(callee.function) if one.arg != "self"]
                yield from ((callee.module, callee.function, name) for name in own[filled : filled + 1])


def _handed_on(module: Module, function: ast.AST, step: str) -> Iterator[tuple[Module, FunctionNode, str]]:
    """The functions that a function hands its step on to, each with its name there."""
    for call in (part for part in ast.walk(function) if isinstance(part, ast.Call)):
        steps = [value for value in all_arguments(call) if _is_step(value, step)]
        for home, taking in functions_run(module, call) if steps else ():
            filled = 1 if [one.arg for one in by_position(taking)][:1] == ["self"] else 0
            names = (parameter_for(taking, call, value, filled) for value in steps)
            yield from ((home, taking, name) for name in names if name)


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
