"""Which reports of a training function carry a checkpoint: Train V2 keeps the metrics of these alone."""

import ast
from collections.abc import Iterator, Sequence
from enum import Enum

from raymigrate.facts.projects.project import with_imported
from raymigrate.facts.ray_train.ranks import tests_rank
from raymigrate.facts.ray_train.training_code import TrainingCode
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import is_none, unpacked_dicts
from raymigrate.facts.values.carried import carried as carried_by

MOST_IMPORTED = 30  # files that are looked through for reports
REPORTS = ("ray.air.session.report", "ray.train.report")


class Carried(Enum):
    """How many reports of a module carry a checkpoint, counted over all workers."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


def carried(module: Module, code: TrainingCode | None = None) -> Carried | None:
    """How many reports of a module carry a checkpoint; None where it makes no report.

    Args:
        module: The module.
        code: The code whose reports are meant; None: all of them.
    """
    if code is None:
        return _carried_by_all(module)
    return _carried_by(module, [report for report in module.calls(*REPORTS) if code.may_run(module, report)])


@kept
def _carried_by_all(module: Module) -> Carried | None:
    return _carried_by(module, [*module.calls(*REPORTS)])


def _carried_by(module: Module, reports: list[ast.Call]) -> Carried | None:
    if not reports:
        return None
    if not any(may_carry(module, report) for report in reports):
        return Carried.NONE
    return Carried.SOME if without_checkpoint(module, reports) else Carried.ALL


def may_carry(module: Module, report: ast.Call) -> bool:
    """Whether a report carries a checkpoint at some time."""
    return False in _is_none_at_times(module, report)


def without_checkpoint(module: Module, reports: Sequence[ast.Call]) -> list[ast.Call]:
    """The reports among these that may carry no checkpoint while no other worker reports one."""
    always = {report for report in reports if True not in _is_none_at_times(module, report)}
    return [report for report in reports if report not in always and not _other_ranks(module, report, always)]


def carried_by_job(module: Module, code: TrainingCode | None = None) -> tuple[Carried | None, Module]:
    """How many reports carry a checkpoint in the job whose result a module reads, and where these reports are.

    They are those of the module itself; else those of a file that it imports, or that one of these imports. None where
    there are none, and where several files make some: it is not asked which of them run.

    Args:
        module: The module.
        code: What the trainer of that result runs; None where that cannot be seen: any report may be of the job.
    """
    own = carried(module, code)
    others = with_all_imported(module)[1:] if own is None else []
    reporting = [(found, other) for other in others if (found := carried(other, code)) is not None]
    return reporting[0] if len(reporting) == 1 else (own, module)


def with_all_imported(module: Module) -> list[Module]:
    """A module with the files of its project that it imports, and those that these import; not very many of them."""
    found = [module]
    for home in found:  # which grows meanwhile
        for other in with_imported(home):
            if all(other.path != known.path for known in found) and len(found) <= MOST_IMPORTED:
                found.append(other)
    return found


def checkpoint_argument(report: ast.Call) -> ast.expr | None:
    """The checkpoint of a report; where arguments cannot be seen, any of them may be it."""
    if len(report.args) > 1:
        return report.args[1]
    starred = [argument for argument in report.args if isinstance(argument, ast.Starred)]
    named = [keyword.value for keyword in report.keywords if keyword.arg in (None, "checkpoint")]
    return next(iter(starred + named), None)


def _is_none_at_times(module: Module, report: ast.Call) -> set[bool]:
    """For each value that the checkpoint of a report can have: whether it is None, as where none is given."""
    given = checkpoint_argument(report)
    if given is None:
        return {True}
    return {*(_of_unpacked if given in unpacked_dicts(report) else _may_be_none)(module, given)}


def _of_unpacked(module: Module, given: ast.expr, above: tuple[ast.expr, ...] = ()) -> Iterator[bool]:
    """The same of a dict that is unpacked; one that gets a checkpoint in a branch alone has none in the other."""
    made = module.value(given)
    if isinstance(made, ast.IfExp):
        if made not in above:  # else it is part of itself
            yield from _of_unpacked(module, made.body, (*above, made))
            if not only_rank(module, made.test):
                yield from _of_unpacked(module, made.orelse, (*above, made))
        return
    known = carried_by(module, given)
    entries = [entry for entry in known.entries if entry.name == "checkpoint"]
    if not entries:
        yield known.whole and {entry.name for entry in known.entries} <= {"metrics"}  # with others it is not understood
        return
    shared = {*_branches(module, given)}
    branches = {entry: {*_branches(entry.module, entry.key)} - shared for entry in entries}
    always = [
        entry
        for entry in entries
        if not is_none(entry.value) and all(only_rank(entry.module, branch.test) for branch, _ in branches[entry])
    ]
    for entry in always or entries:
        yield from _may_be_none(entry.module, entry.value)
    taken = {branch for found in branches.values() for branch in found}
    if not always and not any((statement, not holds) in taken for statement, holds in taken):
        yield True


def _may_be_none(module: Module, node: ast.expr, above: tuple[ast.expr, ...] = ()) -> Iterator[bool]:
    """For each value that an argument can have on the one worker whose checkpoint counts: whether it is None.

    Args:
        module: The module.
        node: The argument.
        above: The conditional expressions that it is a part of: `checkpoint = checkpoint if rank == 0 else None`.
    """
    if isinstance(node, ast.IfExp):
        if node not in above:
            yield from _may_be_none(module, node.body, (*above, node))
            if not only_rank(module, node.test):
                yield from _may_be_none(module, node.orelse, (*above, node))
        return
    if not isinstance(node, ast.Name):
        yield is_none(node)
        return
    assigned = [module.parent_of.get(binding.node) for binding in module.scope_of[node].lookup(node.id)]
    values = [a.value for a in assigned if is_assignment(a)]
    by_rank = [value for value in values if _under_rank(module, value)]
    by_rank = [] if all(is_none(value) for value in by_rank) else by_rank
    if not values or len(values) < len(assigned):
        yield False
    for value in values:
        if value not in by_rank and _is_outweighed(module, value, by_rank, node):
            continue
        if not isinstance(value, ast.Name) and not _is_of_other_workers(module, value, by_rank):
            yield from _may_be_none(module, value, above)


def only_rank(module: Module, test: ast.expr) -> bool:
    """Whether a condition asks for the rank and nothing else: not `rank == 0 and step % 10 == 0`."""
    test = module.value(test)
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    is_and = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
    return _is_of_rank(module, *(part for part in parts if not (is_and and _asks_for_given(module, part))))


def _is_of_rank(module: Module, *tests: ast.expr) -> bool:
    """Whether there are conditions, and each of them, and each part, depends on the rank."""
    values = [module.value(test) for test in tests]
    parts = [part for value in values for part in (value.values if isinstance(value, ast.BoolOp) else [value])]
    return bool(parts) and all(tests_rank(module, part) for part in parts)


def _asks_for_given(module: Module, part: ast.expr) -> bool:
    """Whether a condition asks for a value that the one worker has: `data = None; if rank == 0: data = ...` before."""
    match part:
        case ast.Compare(left=ast.Name() as name, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            assigned = [module.parent_of.get(binding.node) for binding in module.scope_of[name].lookup(name.id)]
        case _:
            return False
    if not assigned or not all(is_assignment(a) for a in assigned):
        return False
    values = [a.value for a in assigned if is_assignment(a)]
    around = {*_branches(module, name)}
    last_none = max((module.start(value) for value in values if is_none(value)), default=(0, 0))
    return any(
        module.start(value) > last_none
        and all(_is_of_rank(module, branch.test) for branch, _ in {*_branches(module, value)} - around)
        for value in values
        if not is_none(value)
    )


def _under_rank(module: Module, node: ast.AST) -> bool:
    """Whether the innermost `if` around a node asks for the rank and nothing else."""
    outer = _conditions(module, node)[:1]
    return bool(outer) and only_rank(module, outer[0].test)


def _is_outweighed(module: Module, value: ast.expr, by_rank: list[ast.expr], use: ast.Name) -> bool:
    """Whether the one worker has another value in place of this one, wherever it gets this: `c = None; if rank: c = x`.

    Args:
        value: A value of the checkpoint.
        by_rank: Those of its values that depend on the rank where they are given.
        use: Where it is used.
    """
    shared = {*_branches(module, value), *_branches(module, use)}
    return any(
        not is_none(other) and all(only_rank(module, branch.test) for branch, _ in {*_branches(module, other)} - shared)
        for other in by_rank
    )


def _is_of_other_workers(module: Module, value: ast.expr, by_rank: list[ast.expr]) -> bool:
    """Whether a None is what the other workers have, or what the one had before: `if rank: c = x else: c = None`.

    Args:
        value: A value of the checkpoint.
        by_rank: Those of its values that depend on the rank alone where they are given.
    """
    if not is_none(value) or value not in by_rank:
        return False
    outer = _conditions(module, value)[0]
    for other in by_rank:
        conditions = _conditions(module, other)
        inner = conditions[: conditions.index(outer)] if outer in conditions else None
        if inner is not None and not is_none(other) and all(only_rank(module, condition.test) for condition in inner):
            return True
    return False


def _conditions(module: Module, node: ast.AST) -> list[ast.If]:
    """The `if` statements around a node, the innermost first."""
    return [parent for parent in module.ancestors(node) if isinstance(parent, ast.If)]


def _branches(module: Module, node: ast.AST) -> Iterator[tuple[ast.If, bool]]:
    """The branches of `if` statements that a node is in: the statement, and whether it is where the test holds."""
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, ast.If):
            yield parent, child in parent.body
        child = parent


def _other_ranks(module: Module, report: ast.Call, carriers: set[ast.Call]) -> bool:
    """Whether other workers report a checkpoint when this one does not: in the other branch of an `if` on the rank."""
    for parent in module.ancestors(report):
        if isinstance(parent, ast.If) and only_rank(module, parent.test):
            return any(module.inside(carrier, parent) for carrier in carriers)
    return False
