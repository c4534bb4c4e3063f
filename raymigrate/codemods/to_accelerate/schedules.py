"""Learning rate schedulers: prepared or not, so that the schedule is the same under several processes."""

from __future__ import annotations

import ast

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.home import Home
from raymigrate.codemods.to_accelerate.rules import RM854, Refusal
from raymigrate.codemods.to_accelerate.training import PLATEAU, Training
from raymigrate.codemods.to_accelerate.variables import Variable


class Schedules:
    """The schedulers of a training.

    Args:
        training: What is trained.
        home: Where it is made.
    """

    def __init__(self, training: Training, home: Home) -> None:
        self.training = training
        self.module = training.module
        self.home = home

    def prepared(self, changes: Changes) -> list[Variable]:
        """The schedulers to prepare; says of each what becomes of it."""
        found = []
        for variable, makers in self.training.schedulers.items():
            made = self.training.made_at(variable)
            steps = [
                call
                for call in self.training.method_calls("step")
                if isinstance(call.func, ast.Attribute) and variable in self.training.variables.of(call.func.value)
            ]
            if any((self.module.qualified(maker.func) or "").endswith(PLATEAU) for maker in makers):
                message = "is not prepared: it acts on a number of epochs, and a prepared one would count faster."
            elif not all(self._is_per_batch(call) for call in steps):
                if any(self._is_per_batch(call) for call in steps):
                    raise Refusal(made, f"`{variable.name}` takes steps both for each batch and for each epoch")
                message = "is not prepared: it counts epochs, and a prepared one would count once for each process."
            elif not any(self._counts_batches(maker) for maker in makers):
                message = "is not prepared: it counts optimizer steps, each of which sees the rows of all processes."
            else:
                if self.home.local(variable) is None:
                    raise Refusal(made, f"`{variable.name}` is made in another place than the optimizer")
                found.append(variable)
                message = (
                    "is prepared: its length counts the batches of one process alone, and under several processes it"
                    " takes as many steps at a time."
                )
            changes.converted(RM854, made, f"`{variable.name}` {message}")
        return found

    def _is_per_batch(self, call: ast.Call) -> bool:
        """Whether a step is taken in a loop over batches."""
        return self.training.training_loop(call) is not None

    def _counts_batches(self, maker: ast.Call) -> bool:
        """Whether the length of a schedule is worked out from that of a loader or of a data set."""
        if maker not in self.module.scope_of:
            return False
        return any(self._has_length(value) for value in [*maker.args, *(k.value for k in maker.keywords)])

    def _has_length(self, node: ast.AST) -> bool:
        """Whether `len()` is asked in an expression, or in what its names lead to."""
        waiting, seen = [node], set[ast.AST]()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            for part in ast.walk(current):
                if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "len":
                    return True
                if isinstance(part, ast.Name):
                    waiting += self._behind(part)
        return False

    def _behind(self, name: ast.Name) -> list[ast.AST]:
        """The function of the module that a name stands for, and the values that it may have."""
        function = self.module.definition(name)
        sources = [source.node for source in self.module.origins(name) if source.module is self.module]
        values = [value for value in (*sources, self.module.value(name)) if value is not name]
        return [function, *values] if isinstance(function, ast.FunctionDef) else [*values]
