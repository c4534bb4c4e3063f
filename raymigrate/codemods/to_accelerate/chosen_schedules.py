"""Schedulers that a script makes under a condition, and not at all otherwise: they are prepared under it too."""

from __future__ import annotations

import ast
from collections.abc import Iterable
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

    def condition(self, scheduler: Variable) -> ast.If | None:
        """The `if` without which a scheduler is not made; None where it has a value in any case."""
        found: ast.If | None = None
        for binding in self.variables.bindings(scheduler):
            around = [parent for parent in self.module.ancestors(binding) if self._is_beside_training(parent)]
            above = self.module.statement(binding)
            inside = next((test for test in around if above in test.body and not test.orelse), None)
            if inside is None or found not in (None, inside):
                return None
            found = inside
        return found

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
        groups: dict[ast.If, list[Variable]] = {}
        for scheduler in schedulers:
            condition = self.condition(scheduler)
            if condition is not None:
                groups.setdefault(condition, []).append(scheduler)
        for condition, made in groups.items():
            names = ", ".join(name for variable in made if (name := self.home.local(variable)) is not None)
            is_here = condition in self.home.block and self.home.start < len(self.home.block)
            if not is_here or not all(map(self._is_asked_again, ast.walk(condition.test))):
                reason = "is made under a condition which cannot be asked again where it is prepared"
                raise Refusal(condition, f"`{names}` {reason}; set it to None before")
            line = f"if {self.module.source(condition.test)}:\n    {names} = accelerator.prepare({names})"
            changes.before(self.home.block[self.home.start], line)

    def _is_asked_again(self, part: ast.AST) -> bool:
        """Whether a part of a condition has the same value later on."""
        if isinstance(part, ast.Name):
            return len(self.module.scope_of[part].lookup(part.id)) <= 1
        return isinstance(part, ASKED_AGAIN)
