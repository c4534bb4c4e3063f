"""The function for the Tuner where its trainer is fitted by itself as well: it builds another of the same (RM405)."""

import ast

from raymigrate.codemods.shared.tune_name import tune_name
from raymigrate.codemods.torch_trainer.storage import GONE, of_sync_config
from raymigrate.codemods.torch_trainer.train_v2_arguments import DELETED
from raymigrate.codemods.tuner.train_driver import TrainDriver
from raymigrate.codemods.tuner.train_driver_built import is_same_in
from raymigrate.codemods.tuner.tuner_config import FAIL_FAST, OF_THE_TRAINER, TunerRunConfig, run_config_in_force
from raymigrate.edits.plan import CallEdit, Code, Part
from raymigrate.facts.ray_tune.tuners import REPORT_TO_TUNE, TunerCall, config_names, made
from raymigrate.facts.values import is_none, keyword_argument

STORED = ("storage_path", "storage_filesystem")
NEW_NAMES = {"local_dir": "storage_path"}


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
        if (own := shared_run_config(self.tuner)) is not None:
            self._share(own, second)
        else:
            TunerRunConfig(self.context, self.tuner, self.before, second).split()
        self.context.plan.statement(self.module.statement(self.trainer)).before.extend(self.before)
        self._write_second(first, second)
        self._edit_tuner(second.values["scaling_config"].template)

    def _share(self, given: ast.expr, second: CallEdit) -> None:
        """Takes what the second trainer and the Tuner are to have out of the RunConfig of the first one."""
        config = made(self.module, given, *config_names("RunConfig"))
        assert config is not None
        asked = {NEW_NAMES.get(str(k.arg), str(k.arg)): k.value for k in config.keywords if not is_none(k.value)}
        given_names = [*asked, *(["name"] if config.args else [])]
        if (sync := asked.get("sync_config")) is not None and of_sync_config(self.context, config, sync) != GONE:
            given_names.append("storage_path")
        taken = [*given_names, *self.context.plan.call(config).values]
        of_tune = [argument for argument in ("name", *STORED) if argument in taken]
        of_train = [argument for argument in (*STORED, *OF_THE_TRAINER) if argument in taken]
        own = self._named_run_config(given) if of_tune or of_train else ""
        prefix = f"{{{own}.name}}" if "name" in given_names else "train"
        tune = tune_name(self.context, self.tuner.node.func)
        lines = [f'name=f"{prefix}-{{{tune}.get_context().get_trial_id()}}"']
        lines += [f"{argument}={own}.{argument}" for argument in of_train]
        body = "".join(f"            {line},\n" for line in [*lines, "callbacks=[TuneReportCallback()]"])
        second.set("run_config", f"ray.train.RunConfig(\n{body}        )")
        near = self.module.import_of(self.tuner.node.func)
        self.context.plan.need_import("ray.train", near=near)
        self.context.plan.need_import(REPORT_TO_TUNE.rpartition(".")[0], "TuneReportCallback", near=near)
        of_tuner = [f"{argument}={own}.{argument}" for argument in of_tune]
        moved = {name: self._moved(name, asked[name]) for name in sorted(DELETED["RunConfig"]) if name in asked}
        of_tuner += [f"{argument}=${argument}" for argument in moved]
        if (fail_fast := self._fail_fast(asked.get("failure_config"))) is not None:
            of_tuner.append(f"failure_config={tune}.FailureConfig({FAIL_FAST}=${FAIL_FAST})")
            moved[FAIL_FAST] = self._moved(FAIL_FAST, fail_fast)
        if of_tuner:
            given_to_tuner = f"{tune}.RunConfig({', '.join(of_tuner)})"
            self.context.plan.call(self.tuner.node).set("run_config", given_to_tuner, **moved)

    def _moved(self, argument: str, value: ast.expr) -> Part:
        """What only the Tuner takes, computed before the trainer unless it means the same at the Tuner."""
        if is_same_in(self.module, value, self.tuner.node):
            return value
        return self._hoist(argument, Code("$value", {"value": value}))

    def _fail_fast(self, given: ast.expr | None) -> ast.expr | None:
        """What a FailureConfig says of all trials, which a trainer of today refuses, and Tune takes."""
        failure = made(self.module, given, *config_names("FailureConfig"))
        asked = keyword_argument(failure, FAIL_FAST) if failure is not None else None
        return None if asked is None or self.module.constant(asked) is False else asked

    def _named_run_config(self, given: ast.expr) -> str:
        """The name of the RunConfig of the first trainer; it gets one, where it has none."""
        code = self.edit.values.get("run_config") or Code("$value", {"value": given})
        name = self._known(code) or self._hoist("run_config", code)
        self.edit.set("run_config", name)
        return name

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


def shared_run_config(tuner: TunerCall) -> ast.expr | None:
    """The RunConfig of a trainer that the Tuner over it had too, as it has none of its own."""
    in_force = run_config_in_force(tuner)
    return None if in_force is tuner.arguments.get("run_config") else in_force
