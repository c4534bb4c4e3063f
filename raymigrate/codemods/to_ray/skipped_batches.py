"""How many batches of its first epoch a script skips where it goes on within one.

A run that goes on from a checkpoint of Ray begins with a whole epoch: what the script found out about a checkpoint of
its own, which it was started with, holds for that run no more.
"""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from raymigrate.facts.syntax.guards import is_condition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in
from raymigrate.facts.values import argument, is_none, last_name

SKIPPING = "skip_first_batches"
USUAL = "resume_step"  # as the scripts of transformers and accelerate call it
BELOW, ABOVE = (ast.Lt, ast.GtE), (ast.Gt, ast.LtE)  # `step < resume_step` and `resume_step > step` hold for no step


@dataclass(frozen=True)
class Skipped:
    """A number of batches that the loop over epochs skips.

    Args:
        node: Where the loop uses it.
        source: The number as the script writes it.
        nothing: What stands for none, as source; empty where that is not sure.
        skips: Whether batches are skipped by it, and it does not count something else.
    """

    node: ast.expr
    source: str
    nothing: str
    skips: bool


def skipped_batches(module: Module, loop: ast.For, restored: Collection[str]) -> Iterator[Skipped]:
    """The numbers of batches that epochs skip, and that a checkpoint does not bring back.

    Args:
        module: The module.
        loop: The loop over epochs.
        restored: The names that get their value from the checkpoint.
    """
    names: dict[str, ast.Name] = {}
    for number in _given(module, loop):
        if isinstance(number, ast.Name) and not _is_of_epoch(module, loop, number):
            names.setdefault(number.id, number)
        elif not any(_is_worked_out(value, restored) for value in _values(module, number)):
            yield Skipped(number, module.source(number), "", skips=True)
    for use in module.reads(USUAL):
        if module.inside(use, loop):
            names.setdefault(USUAL, use)
    for name, use in names.items():
        if name not in restored:
            scope = module.scope_of[use].find(name)
            reads = module.uses(name, scope) if scope is not None else [use]
            later = [r for r in reads if module.start(r) >= module.start(loop) or module.scope_of[r] is not scope]
            skips = any(_skips(module, read) or _is_compared(module, read) for read in later)
            is_own = scope is module.scope_of[loop]  # else the function that trains cannot give it another value
            yield Skipped(use, name, _nothing(module, name, use, later) if is_own and skips else "", skips)


def _given(module: Module, loop: ast.For) -> Iterator[ast.expr]:
    """What the loop gives to `skip_first_batches`."""
    for call in module.of_type(ast.Call):
        called = last_name(call.func)
        number = argument(call, 1, "num_batches") if called == SKIPPING and module.inside(call, loop) else None
        if number is not None and not isinstance(number, ast.Constant):
            yield number


def _is_of_epoch(module: Module, loop: ast.For, number: ast.Name) -> bool:
    """Whether a name gets its value within the loop only."""
    bindings = module.scope_of[number].lookup(number.id)
    return bool(bindings) and all(module.inside(binding.node, loop) for binding in bindings)


def _values(module: Module, number: ast.expr) -> list[ast.expr]:
    """An expression, or what a name is given."""
    if not isinstance(number, ast.Name):
        return [number]
    given = (module.assigned(binding.node) for binding in module.scope_of[number].lookup(number.id))
    return [value for value in given if value is not None]


def _is_worked_out(value: ast.expr, restored: Collection[str]) -> bool:
    """Whether a number comes of what the checkpoint brings back: `completed_steps % len(loader)`."""
    return not names_in(value).isdisjoint(restored)


def _nothing(module: Module, name: str, use: ast.Name, later: list[ast.Name]) -> str:
    """What stands for no batches: what the script itself writes for that, as far as all that comes then can take it."""
    values = [module.assigned(binding.node) for binding in module.scope_of[use].lookup(name)]
    if any(isinstance(value, ast.Constant) and value.value == 0 and value.value is not False for value in values):
        return "0"
    if all(_takes_none(module, read) for read in later):
        return "None"
    suits = (_skips(module, read) or _is_compared(module, read) or _is_tested(module, read) for read in later)
    return "0" if all(suits) else ""


# -- uses ----------------------------------------------------------------------------------------


def _skips(module: Module, read: ast.Name) -> bool:
    """Whether a number is given to `skip_first_batches`."""
    call = module.parent_of[read]
    if isinstance(call, ast.keyword):
        call = module.parent_of[call]
    return isinstance(call, ast.Call) and last_name(call.func) == SKIPPING


def _is_compared(module: Module, read: ast.Name) -> bool:
    """Whether steps below a number are skipped: `if step < resume_step: continue`."""
    test = module.parent_of[read]
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return False
    return isinstance(test.ops[0], ABOVE if test.left is read else BELOW)


def _is_tested(module: Module, read: ast.AST) -> bool:
    """Whether something is compared with None, or taken for true or false."""
    test = module.parent_of[read]
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot)) and is_none(test.comparators[0])
    return is_condition(module, read)


def _takes_none(module: Module, read: ast.Name) -> bool:
    """Whether code can do with None for a name: it asks for that, or does not run then."""
    if _is_tested(module, read):
        return True
    child: ast.AST = read
    for around in module.ancestors(read):
        if isinstance(around, (ast.If, ast.IfExp)) and child is not around.test:
            body = [around.body] if isinstance(around, ast.IfExp) else around.body
            if _rules_none_out(around.test, read.id, holds=child in body):
                return True
        if isinstance(around, ast.BoolOp):
            before = around.values[: around.values.index(child)]  # type: ignore[arg-type]
            if any(_rules_none_out(value, read.id, holds=isinstance(around.op, ast.And)) for value in before):
                return True
        child = around
    return False


def _rules_none_out(test: ast.expr, name: str, *, holds: bool) -> bool:
    """Whether a name is something else than None where a test holds, or does not."""
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return _rules_none_out(operand, name, holds=not holds)
        case ast.BoolOp(op, values):
            is_whole = holds == isinstance(op, ast.And)  # each part has this value
            return is_whole and any(_rules_none_out(value, name, holds=holds) for value in values)
        case ast.Name(id=tested):
            return holds and tested == name
        case ast.Compare(ast.Name(id=tested), [op], [other]):
            return tested == name and is_none(other) and isinstance(op, ast.IsNot if holds else ast.Is)
    return False
