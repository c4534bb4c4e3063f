"""Schedulers that a script makes under a condition, and not at all otherwise: they are prepared under it too."""

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeGuard

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.home import Home
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.variables import Variable, Variables

# What a condition may be made of that is asked again, besides names that are bound once.
ASKED_AGAIN = (
    *(ast.Attribute, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp),
    *(ast.cmpop, ast.boolop, ast.unaryop, ast.expr_context),
)


@dataclass(frozen=True)
class Choice:
    """Branches of an `if` that make a scheduler.

    Args:
        place: The `if`.
        tests: The conditions of which one has to hold; none where no such conditions say it.
    """

    place: ast.If
    tests: tuple[ast.expr, ...]


def _choice(first: ast.If, made: Collection[ast.stmt]) -> Choice | None:
    """The branches of an `if` and its `elif` that hold some statements; None where one is in each of all that run."""
    branches, rest = [first], first.orelse
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        branches.append(rest[0])
        rest = rest[0].orelse
    holding = [any(statement in made for statement in branch.body) for branch in branches]
    in_rest = any(statement in made for statement in rest)
    if in_rest and all(holding):
        return None
    number = sum(holding)
    is_clear = all(holding[:number]) and not in_rest and (number == 1 or not any(map(_is_open, branches[:number])))
    return Choice(first, tuple(branch.test for branch in branches[:number]) if is_clear else ())


def _is_open(branch: ast.If) -> bool:
    """Whether a test means something else in an `or`."""
    return isinstance(branch.test, (ast.IfExp, ast.Lambda, ast.NamedExpr))


class ChosenSchedules:
    """The schedulers that have no value where a condition does not hold.

    Args:
        variables: The names of the module.
        home: Where the training is made.
    """

    def __init__(self, variables: Variables, home: Home) -> None:
        self.variables = variables
        self.module = variables.module
        self.home = home

    def condition(self, scheduler: Variable) -> Choice | None:
        """The choice without which a scheduler is not made; None where it has a value in any case."""
        found: ast.If | None = None
        made: set[ast.stmt] = set()
        for binding in self.variables.bindings(scheduler):
            around = [parent for parent in self.module.ancestors(binding) if self._is_beside_training(parent)]
            above = self.module.statement(binding)
            inside = next((choice for choice in around if above in (*choice.body, *choice.orelse)), None)
            if inside is None or found not in (None, self._first(inside)):
                return None
            found = self._first(inside)
            made.add(above)
        return _choice(found, made) if found is not None else None

    def _first(self, choice: ast.If) -> ast.If:
        """The `if` that an `elif` belongs to."""
        while isinstance(outer := self.module.parent_of[choice], ast.If) and outer.orelse == [choice]:
            choice = outer
        return choice

    def _is_beside_training(self, node: ast.AST) -> TypeGuard[ast.If]:
        """Whether a condition is asked where the training is made, which does not depend on it as a whole."""
        if not isinstance(node, ast.If) or self.module.function(node) is not self.home.function:
            return False
        return not self.module.inside(self.home.block[0], node)

    def prepare(self, changes: Changes, schedulers: Iterable[Variable]) -> None:
        """Plans what prepares them, once the rest is prepared.

        Raises:
            Refusal: Where the condition cannot be asked again.
        """
        groups: dict[Choice, list[Variable]] = {}
        for scheduler in schedulers:
            condition = self.condition(scheduler)
            if condition is not None:
                groups.setdefault(condition, []).append(scheduler)
        for choice, made in groups.items():
            names = ", ".join(name for variable in made if (name := self.home.local(variable)) is not None)
            is_here = choice.place in self.home.block and self.home.start < len(self.home.block)
            asked = [part for test in choice.tests for part in ast.walk(test)]
            if not is_here or not asked or not all(map(self._is_asked_again, asked)):
                reason = "is made under a condition which cannot be asked again where it is prepared"
                raise Refusal(choice.place, f"`{names}` {reason}; set it to None before")
            tests = " or ".join(map(self.module.source, choice.tests))
            line = f"if {tests}:\n    {names} = accelerator.prepare({names})"
            changes.before(self.home.block[self.home.start], line)

    def _is_asked_again(self, part: ast.AST) -> bool:
        """Whether a part of a condition has the same value later on."""
        if isinstance(part, ast.Name):
            return len(self.module.scope_of[part].lookup(part.id)) <= 1
        return isinstance(part, ASKED_AGAIN)
