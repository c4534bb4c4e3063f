"""The state of a GradScaler in checkpoints, and its scale in what is logged: those of the one of the Accelerator.

`accelerator.scaler` is None where nothing is scaled: without fp16, and on a CPU (accelerate 1.15, accelerator.py:563).
A GradScaler that is off gives an empty state, takes any, and has a scale of 1 (torch 2.13, grad_scaler.py:564 and 654).
"""

import ast
from collections.abc import Iterator, Sequence

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.rules import RM852, Refusal
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.values import is_none

STATE, LOAD, SCALE = "state_dict", "load_state_dict", "get_scale"
NAMES = {STATE: "state", LOAD: "state", SCALE: "scale"}
WITHOUT = {STATE: "{}", SCALE: "1.0"}  # what a GradScaler gives that is off
SCALER = "accelerator.scaler"
IS_THERE = f"{SCALER} is not None"


class ScalerStates(Side):
    """Where a training saves and loads the state of its GradScalers.

    Args:
        training: What is trained.

    Attributes:
        calls: The calls that do so.
    """

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self.calls = [
            call
            for call in training.method_calls(STATE, LOAD, SCALE)
            if isinstance(call.func, ast.Attribute)
            and self._is_scaler(call.func.value)
            and (call.func.attr != SCALE or self._is_kept(call))
        ]

    def convert(self, changes: Changes) -> None:
        """Plans that the state is that of the Accelerator's scaler.

        Raises:
            Refusal: If one is loaded within another statement.
        """
        tests = dict.fromkeys(test for call in self.calls for test in self._tests_around(call))
        for test in tests:
            changes.replace(test.left, SCALER)
        for call in self.calls:
            if not changes.is_gone(call):
                what = NAMES[call.func.attr]  # type: ignore[attr-defined]
                changes.converted(RM852, call, f"The {what} of the GradScaler is that of accelerator.scaler now.")
                self._convert(changes, call)

    def _convert(self, changes: Changes, call: ast.Call) -> None:
        assert isinstance(call.func, ast.Attribute)
        statement, is_tested = self.module.statement(call), any(self._tests_around(call))
        if call.func.attr == LOAD:
            if not self.module.is_statement(call):
                raise Refusal(call, "the state of a GradScaler is loaded within another statement")
            if not is_tested:
                changes.put_into([statement], f"if {IS_THERE}:")
        elif not is_tested:
            text = f"{SCALER}.{call.func.attr}() if {IS_THERE} else {WITHOUT[call.func.attr]}"
            stands_alone = isinstance(
                self.module.parent_of[call], (ast.Dict, ast.Call, ast.keyword, ast.Assign, ast.Return)
            )
            changes.replace(call, text if stands_alone else f"({text})")
            return
        changes.replace(call.func.value, SCALER)

    def _is_kept(self, call: ast.Call) -> bool:
        """Whether a scale is what it was, as it is not read between a step and the update, which is a part of it now.

        There a script compares it with the next one, to skip its scheduler. Who calls other functions is not asked.
        """
        function = self.module.function(call)
        lines = {
            name: [
                made.lineno
                for made in self.training.method_calls(name)
                if self.module.function(made) is function and self._is_scaler(made.func.value)  # type: ignore[attr-defined]
            ]
            for name in ("step", "update")
        }
        is_between = any(step < call.lineno < update for step in lines["step"] for update in lines["update"])
        return all(lines.values()) and not is_between

    def _tests_around(self, call: ast.Call) -> Iterator[ast.Compare]:
        """The tests that let a call run only with a scaler: `if scaler is not None:` around nothing but such calls."""
        child: ast.AST = call
        for parent in self.module.ancestors(call):
            if isinstance(parent, (ast.If, ast.IfExp)):
                body: Sequence[ast.AST] = parent.body if isinstance(parent.body, list) else [parent.body]
                if child in body and not self._uses_otherwise(body):
                    parts = parent.test.values if isinstance(parent.test, ast.BoolOp) else [parent.test]
                    is_every = not isinstance(parent.test, ast.BoolOp) or isinstance(parent.test.op, ast.And)
                    for part in parts:
                        if is_every and isinstance(part, ast.Compare) and self._asks_for_scaler(part):
                            yield part
            child = parent

    def _uses_otherwise(self, body: Sequence[ast.AST]) -> bool:
        """Whether code does more with a scaler than to save or load its state."""
        owners = {call.func.value for call in self.calls if isinstance(call.func, ast.Attribute)}
        parts = (part for statement in body for part in ast.walk(statement))
        return any(part not in owners and self._is_scaler(part) for part in parts)

    def _asks_for_scaler(self, test: ast.Compare) -> bool:
        return isinstance(test.ops[0], ast.IsNot) and is_none(test.comparators[0]) and self._is_scaler(test.left)

    def _is_scaler(self, node: ast.AST) -> bool:
        is_read = isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", None), ast.Load)
        return is_read and bool(self.variables.of(node) & set(self.training.scalers))
