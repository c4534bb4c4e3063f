"""Which code only some of the workers run."""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import takewhile

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.main_process import ANY
from raymigrate.facts.syntax.functions import decorators_of
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import ENDS, blocks, is_negation
from raymigrate.facts.syntax.scopes import FUNCTIONS, LOOPS
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

CALLED_FIRST = lazy_regex(
    r"is_?(?:the_?)?(?:main|master|chief|primary|leader|(?:(?:global_?)?(?:rank_?)?(?:zero|0)))"
    r"(?:_?(?:process|proc|rank|worker|node))?",
    re.IGNORECASE,
)
# Of accelerate, of Lightning, and of utilities that have such a name.
DECORATORS = frozenset(
    {
        *("on_main_process", "on_local_main_process", "on_last_process", "on_process", "on_local_process"),
        *("rank_zero_only", "rank0_only", "main_process_only", "master_only", "only_main_process"),
    }
)
Condition = ast.If | ast.While | ast.Match
Block = list[ast.stmt]


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


def may_divide(module: Module, test: ast.expr) -> bool:
    """Whether the answer to a condition differs by the rank, or is called so where it isn't seen: `dist.is_main()`."""
    return _divides(module, test) or any(_is_called_first(module, node) for node in ast.walk(test))


def _is_called_first(module: Module, node: ast.AST) -> bool:
    """Whether what isn't seen has a name for the first of several processes."""
    if not isinstance(node, (ast.Call, ast.Attribute, ast.Name)):
        return False
    name = last_name(node.func if isinstance(node, ast.Call) else node)
    return CALLED_FIRST.fullmatch(name) is not None and all(end.node is node for end in module.origins(node))


def asked_of(condition: Condition) -> ast.expr:
    """What a statement decides by."""
    return condition.subject if isinstance(condition, ast.Match) else condition.test


def sides_of(condition: Condition) -> list[list[ast.stmt]]:
    """The ways through a statement, in source order; the last one is empty where it may do nothing."""
    if not isinstance(condition, ast.Match):
        return [condition.body, condition.orelse]
    last = condition.cases[-1]
    takes_all = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
    return [*(case.body for case in condition.cases), *([] if takes_all else [[]])]


def side_that_leaves(condition: ast.If) -> Block:
    """The side of an `if` that goes on to nothing behind it: its body, or else the other one; empty where none does."""
    return next((side for side in (condition.body, condition.orelse) if side and isinstance(side[-1], ENDS)), [])


def looped_by_rank(module: Module, node: ast.AST) -> ast.expr | None:
    """What a loop around a node in its function goes through, where the rank chooses that: `3 if rank == 0 else 0`."""
    child = node
    for parent in takewhile(lambda parent: not isinstance(parent, (*FUNCTIONS, ast.ClassDef)), module.ancestors(node)):
        if isinstance(parent, (ast.For, ast.AsyncFor)) and child in parent.body:
            parts = (module.value(part) if isinstance(part, ast.Name) else part for part in ast.walk(parent.iter))
            if any(isinstance(part, ast.IfExp) and _divides(module, part.test) for part in parts):
                return parent.iter
        child = parent
    return None


def rank_condition(
    module: Module, node: ast.AST, divides: Callable[[Module, ast.expr], bool] = _divides
) -> Condition | None:
    """The innermost `if`, `while` or `match` on the rank around a node in its function.

    Args:
        module: The module.
        node: The node.
        divides: What counts as a condition on the rank.
    """
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            return None
        decides = isinstance(parent, (ast.If, ast.Match)) or (isinstance(parent, ast.While) and child in parent.body)
        if decides and child is not (asked := asked_of(parent)) and divides(module, asked):  # type: ignore[arg-type]
            return parent  # type: ignore[return-value]
        child = parent
    return None


def chosen_by_rank(module: Module, node: ast.AST) -> ast.expr | None:
    """What may keep some workers from a part of a statement: `first` of `x if first else None`, of `first and x`."""
    child = node
    for parent in takewhile(lambda parent: not isinstance(parent, ast.stmt), module.ancestors(node)):
        tests = [parent.test] if isinstance(parent, ast.IfExp) and child is not parent.test else []
        if isinstance(parent, ast.BoolOp):
            tests = parent.values[: parent.values.index(child)]  # type: ignore[arg-type]
        if (found := next((test for test in tests if _divides(module, test)), None)) is not None:
            return found
        child = parent
    return None


def skipped_by_rank(module: Module, node: ast.AST, *, perhaps: bool = False) -> ast.If | None:
    """The last `if` on the rank, before a node in one of the blocks around it, of which one side leaves the block.

    Args:
        module: The module.
        node: The node.
        perhaps: Whether one counts too that not every worker comes to: in another `if`, in a loop.
    """
    child: ast.AST = node
    for parent in module.ancestors(node):
        for block, leaving, is_sure in reversed(_leaving(module).get(parent, [])):
            if isinstance(child, ast.stmt) and (is_sure or perhaps) and _holds(module, block, child):
                if module.start(leaving) < module.start(child):
                    return leaving
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            return None
        child = parent
    return None


@kept
def _leaving(module: Module) -> dict[ast.AST, list[tuple[Block, ast.If, bool]]]:
    """By what is around it, each block that some ranks leave early, and an `if` in it that sends them away, in order.

    With it stands whether all come to the `if` who come to the block; another one may come before it.
    """
    found: dict[ast.AST, list[tuple[Block, ast.If, bool]]] = {}
    for statement in module.of_type(ast.If):
        if side_that_leaves(statement) and _divides(module, statement.test):
            for parent, block, is_sure in _left(module, statement):
                found.setdefault(parent, []).append((block, statement, is_sure))
    return found


def _left(module: Module, statement: ast.If) -> Iterator[tuple[ast.AST, Block, bool]]:
    """The blocks that one side of an `if` leaves, from the inside out, with what each is in."""
    child: ast.AST = statement
    does_return = isinstance(side_that_leaves(statement)[-1], ast.Return)
    is_sure = True
    for parent in module.ancestors(statement):
        if block := next((block for block in blocks(parent) if child in block), None):
            yield parent, block, is_sure
        is_back = isinstance(parent, LOOPS) and not does_return
        if is_back or isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            return
        child, is_sure = parent, is_sure and isinstance(parent, (ast.With, ast.AsyncWith))


def _holds(module: Module, block: Block, statement: ast.stmt) -> bool:
    """Whether a statement, which is in some block of the same parent, is in this one."""
    return module.start(block[0]) <= module.start(statement) <= module.start(block[-1])


def decorated_by_rank(module: Module, node: ast.AST) -> ast.expr | None:
    """What lets some workers alone run a function around a node: `@accelerator.on_main_process`, one of the project."""
    functions = (
        outer for outer in module.ancestors(node) if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    given = (decorator for function in functions for decorator in decorators_of(function))
    return next((decorator for decorator in given if _calls_by_rank(module, decorator)), None)


def _calls_by_rank(module: Module, decorator: ast.expr) -> bool:
    """Whether a decorator calls what it is given on some workers only; one that isn't seen goes by its name."""
    found = module.elsewhere(decorator)
    home, function = (module, module.definition(decorator)) if found is None else (found.module, found.node)
    if not isinstance(function, ast.FunctionDef):
        return last_name(decorator) in DECORATORS
    calls = (call for call in home.below(function) if isinstance(call, ast.Call))
    given = (call for call in calls if isinstance(home.definition(call.func), ast.arg))
    return any(rank_condition(home, c) or skipped_by_rank(home, c) or ANY.is_alone(home, c) for c in given)
