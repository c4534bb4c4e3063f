"""The function for the Tuner where its trainer is fitted by itself as well: it builds another of the same (RM405)."""

import ast

from raymigrate.codemods.tuner.train_driver import TrainDriver
from raymigrate.codemods.tuner.tuner_config import TunerRunConfig
from raymigrate.edits.plan import CallEdit, Code
from raymigrate.facts.values import is_none


class TrainDriverBeside(TrainDriver):
    """Leaves the trainer where it is; its arguments get names there, with which the function builds a second one."""

    @property
    def place(self) -> ast.stmt:
        """The statement before which the function stands."""
        return self.module.statement(self.tuner.node)

    def emit(self) -> None:
        """Adds the function to the plan, and hands it to the Tuner."""
        second = CallEdit()
        self.context.repeated[self.trainer] = self.name
        first = self._first()
        for name, code in self._given():
            second.set(name, self._named(name, code))
        if self.tuner.tuned_config_key in (self.tuner.param_space or {}):
            base = second.values.get("train_loop_config")
            second.set("train_loop_config", self._merged(base.template if base else None))
        TunerRunConfig(self.context, self.tuner, self.before, second).split()
        self.context.plan.statement(self.module.statement(self.trainer)).before.extend(self.before)
        self._write_second(first, second)
        self._edit_tuner(second.values["scaling_config"].template)

    def _first(self) -> str:
        """The function that a trainer was given by position; empty if it has a keyword."""
        if not self.trainer.args:
            return ""
        code = self.edit.first or Code("$value", {"value": self.trainer.args[0]})
        name = self._known(code) or self._hoist("train_loop_per_worker", code)
        self.edit.first = Code(name)
        return name

    def _given(self) -> list[tuple[str, Code]]:
        """The arguments that the trainer has in the end, by keyword, but for its RunConfig."""
        given = {
            self.edit.rename.get(name, name): Code("$value", {"value": value})
            for name, value in self.arguments.items()
            if not is_none(value)
        }
        given |= self.edit.values
        return [(name, code) for name, code in given.items() if name != "run_config"]

    def _named(self, name: str, code: Code) -> str:
        """The name of an argument's value; it gets one, where it has none, and the trainer is given that."""
        known = self._known(code)
        if known:
            return known
        variable = self._hoist(name, code)
        self.edit.set(name, variable)
        return variable

    def _known(self, code: Code) -> str | None:
        """The name that code is; None for any other code."""
        value = code.parts.get("value")
        if code.template == "$value" and isinstance(value, ast.Name):
            return value.id
        return code.template if code.template.isidentifier() else None

    def _write_second(self, first: str, second: CallEdit) -> None:
        function = self.edit.function
        called = function if isinstance(function, str) else self.module.source(self.trainer.func)
        parts = {part: value for code in second.values.values() for part, value in code.parts.items()}
        arguments = [*([first] if first else []), *(f"{name}={code.template}" for name, code in second.values.items())]
        lines = "".join(f"        {argument},\n" for argument in arguments)
        code = Code(self._function(f"{called}(\n{lines}    )"), parts)
        self.context.plan.statement(self.place).before.append(code)
