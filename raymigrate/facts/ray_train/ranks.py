"""Which code only some of the workers run."""

import ast
import re
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.main_process import ANY
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_negation
from raymigrate.facts.values import is_method_call, last_name

RANK_FUNCTIONS = ("get_world_rank", "get_local_rank", "get_node_rank", "get_rank")
RANK_ATTRIBUTES = frozenset(
    {
        "is_main_process",
        "is_local_main_process",
        "is_last_process",
        "is_world_process_zero",
        "is_local_process_zero",
        "is_world_master",  # this and the next up to transformers 3
        "is_local_master",
        "process_index",
        "local_process_index",
    }
)
RANK_VARIABLES = frozenset({"RANK", "LOCAL_RANK", "NODE_RANK"})
LIBRARIES = ("ray.", "torch.distributed.", "accelerate.")
# Names by which a script asks which process it is, where it is not seen what they stand for.
OF_ONE = lazy_regex(r"rank|process|main|master|primary|local|node", re.IGNORECASE)


def tests_rank(module: Module, test: ast.expr) -> bool:
    """Whether a condition depends on the rank of the worker: `session.get_world_rank() == 0`, `is_main_process`.

    Names are followed to their values in a loop: `x = f(x)` may stand there any number of times. What functions of the
    project and attributes of its objects answer is looked at too: `is_main()`, `self.is_main`.
    """
    known = _tested(module)
    led_from: dict[ast.expr, ast.expr | None] = {test: None}  # by what a name stands for, the expression with the name
    waiting = [test]
    while waiting:
        part = waiting.pop()
        if part not in known and any(
            _is_rank(module, node) or _answers_by_rank(module, node) for node in _asked(module, part)
        ):
            known[part] = True
        if known.get(part):
            way: ast.expr | None = part
            while way is not None:
                known[way] = True
                way = led_from[way]
            return True
        for value in [] if part in known else _values(module, part):
            if value not in led_from:
                led_from[value] = part
                waiting.append(value)
    known.update(dict.fromkeys(led_from, False))
    return False


def _asked(module: Module, part: ast.expr) -> Iterator[ast.AST]:
    """The nodes of an expression, without comparisons of the rank that have one outcome on all workers."""
    waiting: list[ast.AST] = [part]
    while waiting:
        node = waiting.pop()
        if not (isinstance(node, ast.Compare) and ANY.is_same_for_all(module, node)):
            yield node
            waiting += ast.iter_child_nodes(node)


def _answers_by_rank(module: Module, node: ast.AST) -> bool:
    """Whether a call of a function of the project, or an attribute that it sets, tells one process from the others."""
    if not isinstance(node, (ast.Call, ast.Attribute)):
        return False
    ends = [(end.module, end.node) for end in module.origins(node) if end.node is not node]
    called = [(module, node)] if isinstance(node, ast.Call) else []  # which may return constants by the rank
    return any(ANY.asks(home, end, first=first) for home, end in (*called, *ends) for first in (True, False))


@kept
def _tested(module: Module) -> dict[ast.expr, bool]:
    """What `tests_rank` has found of conditions, and of the values of their names."""
    return {}


def _values(module: Module, test: ast.expr) -> list[ast.expr]:
    """What the names in a condition stand for."""
    names = [node for node in _asked(module, test) if isinstance(node, ast.Name)]
    return [value for name in names if not isinstance(value := module.value(name), ast.Name)]


def _is_rank(module: Module, node: ast.AST) -> bool:
    """Whether a part of a condition depends on the rank; what names stand for is not asked here."""
    if isinstance(node, ast.Attribute):
        return node.attr in RANK_ATTRIBUTES
    if isinstance(node, ast.Constant):
        return node.value in RANK_VARIABLES
    if not isinstance(node, ast.Call):
        return False
    name = module.qualified(node.func)
    if name is not None:
        return name.startswith(LIBRARIES) and name.endswith(RANK_FUNCTIONS)
    return is_method_call(node, *RANK_FUNCTIONS)


def asks_for_rank(module: Module, test: ast.expr) -> bool:
    """Whether a condition surely sets some workers apart: `rank == 0 and step % 10 == 0`, `rank < 2`, `is_main()`."""
    if any(ANY.asks(module, test, first=first) for first in (True, False)) or asks_for_rank_alone(module, test):
        return True
    while is_negation(test):
        test = test.operand
    return _answers_by_rank(module, test)


def asks_for_rank_alone(module: Module, test: ast.expr) -> bool:
    """Whether a condition is seen to ask for the rank and nothing else; what a function answers may ask for more."""
    asked = _without_not(module, test)
    if isinstance(asked, ast.Compare):
        sides = [asked.left, *asked.comparators]
        rest = [side for side in sides if not ANY.is_rank(module, side)]
        return len(rest) < len(sides) and all(module.constant(side) is not ... for side in rest)
    if isinstance(asked, ast.Call) and last_name(asked.func) in RANK_ATTRIBUTES:
        return True
    return ANY.is_rank(module, asked) or (isinstance(asked, ast.Attribute) and asked.attr in RANK_ATTRIBUTES)


def _divides(module: Module, test: ast.expr) -> bool:
    """Whether the answer to a condition can differ by the rank; the text of a number is true on every worker."""
    return tests_rank(module, test) and not ANY.is_same_for_all(module, _without_not(module, test))


def _without_not(module: Module, test: ast.expr) -> ast.expr:
    """What a condition asks for, or the opposite of it."""
    asked = module.value(test)
    while is_negation(asked):
        asked = module.value(asked.operand)
    return asked


def rank_condition(module: Module, node: ast.AST) -> ast.If | None:
    """The innermost `if` on the rank around a node in its function; only the branch without `else` counts."""
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return None
        if isinstance(parent, ast.If) and child is not parent.test and _divides(module, parent.test):
            return parent
        child = parent
    return None


def skipped_by_rank(module: Module, node: ast.AST) -> ast.If | None:
    """An `if` on the rank, before a node in one of the blocks around it, whose body leaves the block."""
    child: ast.AST = node
    for parent in module.ancestors(node):
        for block, leaving in _leaving(module).get(parent, ()):
            if isinstance(child, ast.stmt) and _holds(module, block, child):
                if module.start(leaving) < module.start(child):
                    return leaving
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return None
        child = parent
    return None


Block = list[ast.stmt]
_known: WeakKeyDictionary[Module, dict[ast.AST, list[tuple[Block, ast.If]]]] = WeakKeyDictionary()


def _leaving(module: Module) -> dict[ast.AST, list[tuple[Block, ast.If]]]:
    """By what is around it, each block that some ranks leave early, and the first `if` in it that sends them away."""
    if module in _known:
        return _known[module]
    found = _known[module] = {}
    for statement in module.of_type(ast.If):
        left = found.setdefault(module.parent_of[statement], [])
        if (
            isinstance(statement.body[-1], (ast.Return, ast.Continue, ast.Break))
            and not any(_holds(module, block, statement) for block, _ in left)
            and _divides(module, statement.test)
        ):
            left.append((module.block_of(statement), statement))
    return found


def _holds(module: Module, block: Block, statement: ast.stmt) -> bool:
    """Whether a statement, which is in some block of the same parent, is in this one."""
    return module.start(block[0]) <= module.start(statement) <= module.start(block[-1])
