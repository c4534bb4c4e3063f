"""Conditions on which a script uses half precision, told apart by what their names stand for where they are read."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import dataclass

from raymigrate.codemods.to_accelerate.cases import spelled
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.nodes import is_negation
from raymigrate.facts.values import is_none, reaching


@dataclass(frozen=True)
class Condition:
    """When half precision is used.

    Args:
        test: An expression; None where there is nothing to ask.
        holds: Whether it is used where that is true; without a test, whether it is used at all.
    """

    test: ast.expr | None
    holds: bool

    @property
    def opposite(self) -> Condition:
        """The condition on which it is not used."""
        return Condition(self.test, not self.holds)


ALWAYS = Condition(None, True)


class Conditions(Side):
    """The conditions of one training.

    Args:
        training: What is trained.
    """

    def of_test(self, test: ast.expr) -> Condition:
        """The condition that a test asks for, or an `enabled=` states."""
        if is_negation(test):
            return self.of_test(test.operand).opposite
        if isinstance(test, ast.Constant):
            return Condition(None, bool(test.value))
        scaler, is_there = test, True
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and is_none(test.comparators[0]):
            scaler, is_there = test.left, isinstance(test.ops[0], (ast.IsNot, ast.NotEq))
        held = self.variables.of(scaler) if isinstance(scaler, ast.Name) else frozenset()
        if isinstance(scaler, ast.Name) and held & set(self.training.scalers):
            if len(held) > 1 or not self._is_always_given(scaler):
                raise Refusal(scaler, _unseen(scaler.id))
            condition = self.of_scaler(next(iter(held)))
            return condition if is_there else condition.opposite
        return Condition(test, True)

    def _is_always_given(self, name: ast.Name) -> bool:
        """Whether every call gives a parameter, and its default does not count."""
        bindings = [binding.node for binding in reaching(self.module, name)]
        return not any(isinstance(node, ast.arg) and not self.variables.given_by_all(node) for node in bindings)

    def of_scaler(self, variable: Variable) -> Condition:
        """When a variable holds a GradScaler, and not None: that of `GradScaler() if amp else None`.

        Raises:
            Refusal: If that cannot be seen.
        """
        bindings = self.variables.bindings(variable)
        values = [value for node in bindings if (value := self.module.assigned(node)) is not None]
        made = [value for value in values if not is_none(value)]
        if len(values) == len(bindings) and len(made) == 1:
            if len(values) == 1 and isinstance(made[0], ast.IfExp):
                return self._of_choice(made[0], variable)
            statement = self.module.statement(made[0])
            outer = self.module.parent_of[statement]
            if len(values) > 1 and isinstance(outer, ast.If) and statement in outer.body:
                return self.of_test(outer.test)
        reads = self.variables.reads(variable)
        sources = {source.node for node in (*reads[:1], *made) for source in self.module.origins(node)}
        if sources and all(map(self.training.is_scaler, sources)) and len(made) == len(values):
            return ALWAYS
        raise Refusal(bindings[0], _unseen(variable.name))

    def _of_choice(self, choice: ast.IfExp, variable: Variable) -> Condition:
        if self.training.is_scaler(choice.body) and is_none(choice.orelse):
            return self.of_test(choice.test)
        if self.training.is_scaler(choice.orelse) and is_none(choice.body):
            return self.of_test(choice.test).opposite
        raise Refusal(choice, _unseen(variable.name))

    def key(self, condition: Condition) -> Hashable:
        """What two conditions have in common that always hold at once."""
        return (self._key(condition.test, ()) if condition.test is not None else None, condition.holds)

    def same(self, one: ast.expr, other: ast.expr) -> bool:
        """Whether two expressions are written alike, of names that stand for the same."""
        return self._key(one, ()) == self._key(other, ())

    def _key(self, node: ast.AST, followed: tuple[ast.AST, ...]) -> Hashable:
        return spelled(node, lambda name: self._key_of_name(name, followed))

    def _key_of_name(self, node: ast.Name, followed: tuple[ast.AST, ...]) -> Hashable:
        """What gives a name its value; through a parameter, what every call of its function gives."""
        bindings = [binding.node for binding in reaching(self.module, node)]
        if len(bindings) == 1 and bindings[0] not in followed:
            bound = bindings[0]
            is_parameter = isinstance(bound, ast.arg)
            value = self._given_by_all(bound) if isinstance(bound, ast.arg) else self.module.assigned(bound)
            # `amp = args.amp` is none of them: the attribute may be another one later.
            if isinstance(value, ast.Name) or (is_parameter and isinstance(value, ast.Attribute)):
                return self._key(value, (*followed, bound))
        return (node.id, frozenset(bindings))

    def _given_by_all(self, parameter: ast.arg) -> ast.expr | None:
        """The one value that all calls of a function give for a parameter; None where they do not, or are not seen."""
        given = self.variables.given_by_all(parameter)
        return given[0] if given and all(self.same(given[0], other) for other in given[1:]) else None


def _unseen(name: str) -> str:
    return f"when `{name}` is a GradScaler, and when it is None, cannot be seen; use GradScaler(enabled=...)"
