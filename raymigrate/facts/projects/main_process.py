"""Which code the main process of a distributed run alone comes to, as functions of any file of the project ask it."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.projects.environment import variable_read
from raymigrate.facts.syntax.functions import on_every_way, returned_values
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import LEAVES, blocks, is_negation
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import is_call_by_name, is_method_call, last_name
from raymigrate.facts.values.arguments import called_name
from raymigrate.facts.values.calls import called_function

# Functions that give the number of a process in the whole run, of torch and of Ray; and within its machine.
OF_RUN = frozenset({"get_rank", "get_world_rank"})
OF_MACHINE = frozenset({"get_node_local_rank", "get_local_rank"})
LIBRARIES = ("torch.distributed.", "ray.")
RUN_VARIABLE, MACHINE_VARIABLE, SIZE_VARIABLE = "RANK", "LOCAL_RANK", "WORLD_SIZE"
RUN_ATTRIBUTES = frozenset({"rank", "process_index"})  # of Accelerator and TrainingArguments; own ones
MACHINE_ATTRIBUTES = frozenset({"local_rank", "local_process_index"})
# Methods of a Trainer, the last of each up to transformers 3; properties of its state, and of accelerate's objects.
FIRST_OF_RUN = frozenset({"is_main_process", "is_world_process_zero", "is_world_master"})
FIRST_OF_MACHINE = frozenset({"is_local_main_process", "is_local_process_zero", "is_local_master"})
COMPARES: dict[type[ast.cmpop], Callable[..., object]] = {
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.eq, ast.IsNot: operator.ne},
    **{ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge},
    **{ast.In: lambda rank, several: rank in several, ast.NotIn: lambda rank, several: rank not in several},
}
FIRST = (0, -1)  # -1 stands for a run of one process
OTHERS = (1, 2, 3, 7, 8, 1_000_003)  # what is so for these is taken to be so for every process but the first
IS_THERE = ("torch.distributed.is_initialized", "torch.distributed.is_available")
OF_GROUPS = lazy_regex(r"distributed|(?:^|_)ddp(?:_|$)", re.IGNORECASE)  # names for a run of several processes
Seen = frozenset[ast.AST]


@dataclass(frozen=True)
class MainProcess:
    """How code asks whether a process is the main one.

    Args:
        of_run: Whether the first process of the whole run alone counts, and not that of each machine, nor that of a
            run that has no other: `rank < 0`.
        is_number: What else the caller knows to be the number of a process.
    """

    of_run: bool = False
    is_number: Callable[[Module, ast.expr], bool] | None = None

    def is_alone(self, module: Module, node: ast.AST, seen: Seen = frozenset()) -> bool:
        """Whether the main process alone comes to a node, by an `if` around it or by one that leaves.

        Calls of the function around it are not looked at. A function that the main process alone defines is for it.

        Args:
            module: The module.
            node: The node.
            seen: The tests that were asked about already.
        """
        child = node
        for parent in module.ancestors(node):
            if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
                is_first = child in parent.body if isinstance(parent.body, list) else child is parent.body
                if self.asks(module, parent.test, seen, first=is_first):
                    return True
            if any(self._sends_away(module, step, seen) for step in _left_in(module, parent, child)):
                return True
            child = parent
        return False

    def _sends_away(self, module: Module, step: ast.If, seen: Seen) -> bool:
        """Whether all other processes leave a block in a statement: `if not is_main(): return`."""
        if isinstance(step.body[-1], LEAVES) and self.asks(module, step.test, seen, first=False):
            return True
        return bool(step.orelse) and isinstance(step.orelse[-1], LEAVES) and self.asks(module, step.test, seen)

    def asks(self, module: Module, test: ast.expr, seen: Seen = frozenset(), *, first: bool = True) -> bool:
        """Whether a test holds in the main process alone, or in a run that has no other.

        Args:
            module: The module.
            test: The test.
            seen: The tests that were asked about already.
            first: False asks instead whether it holds in every process but the main one: `rank != 0`, `rank`.
        """
        if test in seen:
            return False
        above, seen = seen, seen | {test}
        if is_negation(test):
            return self.asks(module, test.operand, seen, first=not first)
        if isinstance(test, ast.BoolOp):
            parts = [part for part in test.values if not _asks_for_group(module, part, there=not first)]
            every = any if isinstance(test.op, ast.And if first else ast.Or) else all
            return bool(parts) and every(self.asks(module, part, seen, first=first) for part in parts)
        if isinstance(test, ast.IfExp) and module.constant(test.orelse) is first:
            return self.asks(module, test.body, seen, first=first)
        if isinstance(test, ast.Compare):
            return self._compares(module, test, seen, first=first)
        if isinstance(test, ast.Name) and (value := module.value(test)) is not test:
            if self.asks(module, value, seen, first=first):
                return True
        elif isinstance(test, ast.Name):  # a parameter, for which each call may give such a test
            given = module.origins(test)
            if given and all(self.asks(source.module, source.node, seen, first=first) for source in given):
                return True
        if first and isinstance(test, ast.Attribute):
            return self._names_first(test)
        if isinstance(test, ast.Call):
            return (first and self._names_first(test.func)) or self._answers_so(module, test, seen, first=first)
        return not first and self._kind(module, test, above) not in (None, str)  # zero is false, its text is not

    def _names_first(self, node: ast.expr) -> bool:
        names = FIRST_OF_RUN if self.of_run else FIRST_OF_RUN | FIRST_OF_MACHINE
        return isinstance(node, ast.Attribute) and node.attr in names

    def _answers_so(self, module: Module, call: ast.Call, seen: Seen, *, first: bool) -> bool:
        """Whether a function of the project answers so; where there is one process, it may give a constant.

        Each function is asked once: there may be exponentially many ways to one. Meanwhile it answers nothing.
        """
        if not first and self._kind(module, call, seen - {call}) not in (None, str):
            return True
        home, answers = _answers(module, call)
        if not answers:
            return False
        known, key = _answered(home), (self, answers[0], first)
        if key not in known:
            known[key] = False
            known[key] = self._answer_so(home, answers, seen, first=first)
        return known[key]

    def _answer_so(self, home: Module, answers: list[ast.expr], seen: Seen, *, first: bool) -> bool:
        asked = [answer for answer in answers if home.constant(answer) not in (True, False)]
        if asked:
            return all(self.asks(home, answer, seen, first=first) for answer in asked)
        true = [answer for answer in answers if home.constant(answer) is True]
        return first and bool(true) and all(self.is_alone(home, answer, seen) for answer in true)

    def _compares(self, module: Module, test: ast.Compare, seen: Seen, *, first: bool) -> bool:
        """Whether a comparison tells the main process from all others: `rank == 0`, `rank in (-1, 0)`, `0 < rank`."""
        holds = self._outcomes(module, test, seen)
        try:
            numbers = (FIRST[:1] if self.of_run else FIRST, _others(module, test))
            own, found = [[holds(number) for number in some] if holds else [] for some in numbers]
        except TypeError:  # no Python code compares these
            return False
        return bool(found) and (any(own) and not any(found) if first else all(found) and not all(own))

    def is_same_for_all(self, module: Module, test: ast.expr) -> bool:
        """Whether a test of the number of a process has one outcome in all of a run: `rank >= 0`.

        `os.environ["RANK"] == 0` compares a text with a number, and is never so; the text itself is always true.
        """
        if not isinstance(test, ast.Compare):
            return self._kind(module, test, frozenset()) is str
        holds = self._outcomes(module, test, frozenset())
        try:
            return holds is not None and len({bool(holds(number)) for number in (0, *_others(module, test))}) == 1
        except TypeError:
            return False

    def _outcomes(self, module: Module, test: ast.Compare, seen: Seen) -> Callable[[int], object] | None:
        """What a comparison with constants says of each number of a process; None where it is none of that kind.

        A number of which it is not seen whether it was made of its text is one where it is compared with numbers.
        """
        sides = [test.left, *test.comparators]
        known = [module.constant(side) for side in sides]
        others = [place for place, value in enumerate(known) if value is ... or value is None]
        kind = self._kind(module, sides[others[0]], seen) if len(others) == 1 else None
        if kind is None:
            return None
        as_given = str if kind is str or (kind is object and any(map(_has_texts, known))) else int
        compares = [COMPARES[type(op)] for op in test.ops]

        def holds(number: int) -> bool:
            values = [as_given(number) if place in others else value for place, value in enumerate(known)]
            return all(compare(*pair) for compare, pair in zip(compares, pairwise(values), strict=True))

        return holds

    def may_pass_by(self, module: Module, node: ast.AST) -> bool:
        """Whether an `if` keeps the main process from a node, or may do so: `if rank == world_size - 1`, `if rank`."""
        child = node
        for parent in module.ancestors(node):
            if isinstance(parent, (ast.If, ast.IfExp)) and child is not parent.test:
                comes = child in parent.body if isinstance(parent.body, list) else child is parent.body
                parts = (part for part in ast.walk(parent.test) if isinstance(part, ast.Compare))
                compared = [part for part in parts if self._compares_rank(module, part)]
                fails = (self._may_fail(module, part, comes=comes) for part in compared)
                if any(fails) if compared else self.asks(module, parent.test, first=not comes):
                    return True
            child = parent
        return False

    def _compares_rank(self, module: Module, test: ast.Compare) -> bool:
        sides = (test.left, *test.comparators)
        return any(self.is_rank(module, side) for side in sides) and all(module.constant(s) is not None for s in sides)

    def _may_fail(self, module: Module, test: ast.Compare, *, comes: bool) -> bool:
        """Whether a comparison of a rank is not known to be so, or not so, for the main process."""
        holds = self._outcomes(module, test, frozenset())
        try:
            return holds is None or bool(holds(0)) is not comes
        except TypeError:
            return False

    def is_rank(self, module: Module, node: ast.expr, seen: Seen = frozenset()) -> bool:
        """Whether an expression is the number of a process, or 0 (or -1) in a run that has one."""
        return self._kind(module, node, seen) is not None

    def _kind(self, module: Module, node: ast.expr, seen: Seen) -> type | None:
        """What the number of a process is, `str` as a variable gives it or `int`; `object` where that is not seen.

        None of any other expression.
        """
        if node in seen:
            return None
        seen |= {node}
        if self.is_number is not None and self.is_number(module, node):
            return object
        if isinstance(node, ast.Name):
            ends = [end for end in module.origins(node) if end.module.constant(end.node) not in FIRST]
            return _one({self._kind(end.module, end.node, seen) if end.node is not node else None for end in ends})
        if isinstance(node, ast.IfExp):
            return self._kind(module, node.body, seen) if module.constant(node.orelse) in FIRST else None
        if isinstance(node, ast.Attribute):
            return (
                object
                if node.attr in (RUN_ATTRIBUTES if self.of_run else RUN_ATTRIBUTES | MACHINE_ATTRIBUTES)
                else None
            )
        if variable_read(module, node) in ((RUN_VARIABLE,) if self.of_run else (RUN_VARIABLE, MACHINE_VARIABLE)):
            return str
        return self._kind_given(module, node, seen) if isinstance(node, ast.Call) else None

    def _kind_given(self, module: Module, call: ast.Call, seen: Seen) -> type | None:
        """What a call gives, where that is the number of a process."""
        for made in (int, str):
            if is_call_by_name(call, made.__name__) and len(call.args) == 1:
                return made if self.is_rank(module, call.args[0], seen) else None
        functions = OF_RUN if self.of_run else OF_RUN | OF_MACHINE
        name = called_name(module, call)
        if name.startswith(LIBRARIES) and name.rpartition(".")[2] in functions:
            return int
        home, answers = _answers(module, call)
        if not answers:  # `train.get_context().get_world_rank()`, `session.get_world_rank()`
            return int if not name and is_method_call(call, *functions) else None
        known, key = _given(home), (self, answers[0])
        if key not in known:
            known[key] = None  # meanwhile, as in `_answers_so`
            ranks = [answer for answer in answers if home.constant(answer) not in FIRST]
            known[key] = _one({self._kind(home, rank, seen) for rank in ranks})
        return known[key]


def _others(module: Module, test: ast.Compare) -> list[int]:
    """Numbers of processes that stand for all but the first, with those that a comparison names: `rank == 5`."""
    waiting = [module.constant(side) for side in (test.left, *test.comparators)]
    named = set[int]()
    while waiting:
        match waiting.pop():
            case list() | tuple() | set() | frozenset() as several:
                waiting += several
            case int() | str() as number if str(number).isdecimal():
                named.update((int(number), int(number) + 1))
    return [*OTHERS, *sorted(named - {0, *OTHERS})]


def _one(kinds: set[type | None]) -> type | None:
    """What all numbers of a process are, `object` where they differ; None where one is something else."""
    return None if not kinds or None in kinds else next(iter(kinds)) if len(kinds) == 1 else object


@kept
def _given(module: Module) -> dict[tuple[MainProcess, ast.expr], type | None]:
    """What functions of a module give as the number of a process, by the first value that each returns."""
    return {}


@kept
def _answered(module: Module) -> dict[tuple[MainProcess, ast.expr, bool], bool]:
    """What functions of a module answer, by the first value that each returns."""
    return {}


@kept
def _leaving(module: Module) -> dict[ast.stmt, list[tuple[int, ast.If]]]:
    """The `if`s in which a process may leave a block, with their places in it, by the first statement of the block."""
    found: dict[ast.stmt, list[tuple[int, ast.If]]] = {}
    for step in module.of_type(ast.If):
        if isinstance(step.body[-1], LEAVES) or (step.orelse and isinstance(step.orelse[-1], LEAVES)):
            block = next(block for block in blocks(module.parent_of[step]) if step in block)
            found.setdefault(block[0], []).append((block.index(step), step))
    return found


def _left_in(module: Module, parent: ast.AST, statement: ast.AST) -> list[ast.If]:
    """Those before a statement in a block of a node."""
    leaving = _leaving(module)
    block = next((block for block in blocks(parent) if block[:1] and block[0] in leaving and statement in block), [])
    place = block.index(statement) if block else 0  # type: ignore[arg-type]
    return [step for its_place, step in leaving[block[0]] if its_place < place] if block else []


def _has_texts(known: object) -> bool:
    return isinstance(known, str) or (isinstance(known, (list, tuple, set)) and any(isinstance(k, str) for k in known))


def _asks_for_group(module: Module, test: ast.expr, *, there: bool) -> bool:
    """`dist.is_initialized()`, or not, beside which a test of the rank counts for nothing in a run of one process.

    So do `args.distributed`, as scripts call it, and `world_size > 1`.
    """
    if is_negation(test):
        return _asks_for_group(module, test.operand, there=not there)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and is_size(module, test.left):
        limit = module.constant(test.comparators[0])
        outcomes = [COMPARES[type(test.ops[0])](size, limit) for size in (1, 2, 8)] if type(limit) is int else []
        return outcomes == [not there, there, there]
    if isinstance(test, (ast.Name, ast.Attribute)):
        return there and OF_GROUPS.search(last_name(test)) is not None
    return there and called_name(module, test) in IS_THERE


def is_size(module: Module, node: ast.expr) -> bool:
    """Whether an expression is the number of processes: `dist.get_world_size()`, `int(os.environ["WORLD_SIZE"])`.

    Args:
        module: The module.
        node: The expression; what is called `world_size` counts too.
    """
    value = module.value(node)
    if is_call_by_name(value, "int") and value.args:
        value = value.args[0]
    if isinstance(value, ast.Call):
        return last_name(value.func) == "get_world_size" or variable_read(module, value) == SIZE_VARIABLE
    is_called_so = isinstance(value, (ast.Name, ast.Attribute)) and last_name(value) in ("world_size", "num_processes")
    return is_called_so or variable_read(module, value) == SIZE_VARIABLE


def _answers(module: Module, call: ast.Call) -> tuple[Module, list[ast.expr]]:
    """What a function of the project returns to a call, with its module; nothing where it is not seen whole."""
    home, function = called_function(module, call, elsewhere=True)
    if not isinstance(function, (ast.FunctionDef, ast.Lambda)):
        return module, []
    values = returned_values(home, function)
    found = [value for value in values if value is not None]
    return home, found if len(found) == len(values) else []


ANY = MainProcess()
OF_WHOLE_RUN = replace(ANY, of_run=True)


def is_for_main(module: Module, node: ast.AST, seen: Seen = frozenset()) -> bool:
    """Whether the main process alone, of the run or of its machine, comes to a node in its function."""
    return ANY.is_alone(module, node, seen)


def asks_for_main(module: Module, test: ast.expr) -> bool:
    """Whether a test holds in the main process alone, of the run or of its machine, or in a run that has no other."""
    return ANY.asks(module, test)


def is_for_first_rank(module: Module, node: ast.AST) -> bool:
    """Whether no other worker than that of rank 0 comes to a node, also where its function is called by this one alone.

    Args:
        module: The module.
        node: The node.
    """

    def function_of(place: ast.AST) -> ast.FunctionDef | None:
        outer = next(
            (parent for parent in module.ancestors(place) if isinstance(parent, (*FUNCTIONS, ast.ClassDef))), None
        )
        is_top = isinstance(outer, ast.FunctionDef) and isinstance(module.parent_of[outer], ast.Module)
        return outer if is_top else None  # type: ignore[return-value]

    return on_every_way(node, lambda place: OF_WHOLE_RUN.is_alone(module, place), function_of, module.uses_of)
