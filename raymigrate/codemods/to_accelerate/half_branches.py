"""`if amp: ... else: ...`, which do the same with half precision and without: one of the branches remains."""

import ast
from collections.abc import Iterator, Sequence

from raymigrate.codemods.to_accelerate.autocasts import Autocasts
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.conditions import Condition, Conditions
from raymigrate.codemods.to_accelerate.rules import RM852, Refusal
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.values import sources_here

# What a GradScaler does that the Accelerator does itself.
SCALER_METHODS = ("scale", "unscale_", "step", "update")


class HalfBranches(Side):
    """The branches of one training.

    Args:
        training: What is trained.
        autocasts: The calls of autocast().
        models: The calls of what is trained.
    """

    def __init__(self, training: Training, autocasts: Autocasts, models: Sequence[ast.Call]) -> None:
        super().__init__(training)
        self.autocasts = autocasts
        self.models = models
        scalers = set(training.scalers)
        self.scaler_calls = {
            call: call.func.attr
            for call in training.method_calls(*SCALER_METHODS)
            if isinstance(call.func, ast.Attribute) and training.variables.of(call.func.value) & scalers
        }

    def choose(self, changes: Changes, conditions: Conditions) -> list[tuple[ast.If, Condition]]:
        """Plans that the branches without half precision remain.

        Returns:
            The statements that had the branches, each with the condition on which half precision is used there.

        Raises:
            Refusal: If branches differ by more than half precision.
        """
        found = []
        for branch in self.module.of_type(ast.If):
            if not branch.orelse or changes.is_gone(branch):
                continue
            half, plain, in_body = branch.body, branch.orelse, True
            if not self._is_half(half):
                half, plain, in_body = plain, half, False
            if not self._is_half(half) or self._is_half(plain):
                continue
            different = self._difference(half, plain)
            if different is not None:
                if not self._trains(plain):
                    continue  # `if phase == "train"`
                raise Refusal(
                    branch,
                    f"its branches with half precision and without differ by more than that, first in `{different}`;"
                    " write one for both, with enabled= for autocast() and GradScaler",
                )
            condition = conditions.of_test(branch.test)
            found.append((branch, condition if in_body else condition.opposite))
            changes.converted(RM852, branch, "The branch without half precision remains: the Accelerator adds it.")
            changes.instead(branch, plain)
            self.autocasts.chosen += plain
        return found

    def _is_half(self, block: list[ast.stmt]) -> bool:
        known = {*self.autocasts.calls, *self.scaler_calls}
        return any(part in known for statement in block for part in ast.walk(statement)) or any(
            self._is_autocast(item) for s in block for w in ast.walk(s) if isinstance(w, ast.With) for item in w.items
        )

    def _is_autocast(self, item: ast.withitem) -> bool:
        return any(source in self.autocasts.calls for source in sources_here(self.module, item.context_expr))

    def _trains(self, block: list[ast.stmt]) -> bool:
        """Whether a block does a part of a step: else it is the other branch of something else."""
        parts = {part for statement in block for part in ast.walk(statement)}
        steps = [call for call in self.models if self.autocasts.is_in_training(call)]
        return any(call in parts for call in (*self.training.backwards, *steps))

    # -- what both have in common --------------------------------------------------------------

    def _difference(self, half: list[ast.stmt], plain: list[ast.stmt]) -> str | None:
        """The first line that one of two blocks has alone, less what is for half precision."""
        one, other = list(self._lines(half)), list(self._lines(plain))
        pairs = zip([*one, ""], [*other, ""], strict=False)
        found = next((a or b for a, b in pairs if a != b), None)
        return found.strip().partition("\n")[0] if found is not None else None

    def _lines(self, block: list[ast.stmt], depth: str = "") -> Iterator[str]:
        """What a block does, line by line, if it were without half precision."""
        for statement in block:
            if isinstance(statement, ast.With):
                heads = [ast.unparse(item) for item in statement.items if not self._is_autocast(item)]
                if heads:
                    yield f"{depth}with {', '.join(heads)}:"
                yield from self._lines(statement.body, f"{depth} " if heads else depth)
            elif isinstance(statement, (ast.If, ast.For, ast.While)):
                head = type(statement)(**{**vars(statement), "body": [], "orelse": []})
                yield depth + ast.unparse(head)
                yield from self._lines(statement.body, f"{depth} ")
                if statement.orelse:
                    yield f"{depth}else:"
                    yield from self._lines(statement.orelse, f"{depth} ")
            elif (line := self._line(statement)) is not None:
                yield depth + line

    def _line(self, statement: ast.stmt) -> str | None:
        """A statement without what is done with a GradScaler; None where nothing is left of it."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            method, owner = self.scaler_calls.get(call), call.func.value
            if method in ("unscale_", "update"):
                return None
            if method == "step" and len(call.args) == 1:
                return f"{ast.unparse(call.args[0])}.step()"
            if isinstance(owner, ast.Call) and self.scaler_calls.get(owner) == "scale" and len(owner.args) == 1:
                func = ast.Attribute(owner.args[0], call.func.attr, ast.Load())
                return ast.unparse(ast.Call(func, call.args, call.keywords))
        return ast.unparse(statement)
