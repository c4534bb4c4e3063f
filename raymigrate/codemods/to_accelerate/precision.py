"""autocast() and GradScaler: the Accelerator's mixed precision."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.clipping import clips_gradients
from raymigrate.codemods.to_accelerate.evaluation import Evaluation
from raymigrate.codemods.to_accelerate.rules import RM852, RM858, Refusal, check_nothing_is_unpacked
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.gradients import switches_gradients_off

PLACES = ("torch.amp", "torch.cuda.amp", "torch.cpu.amp")
AUTOCASTS = ("torch.autocast", *(f"{p}{m}.autocast" for p in PLACES for m in ("", ".autocast_mode")))
# What they take, in order (torch/amp/autocast_mode.py, torch/cuda/amp/, torch/amp/grad_scaler.py).
BY_DEVICE, BY_NAME = ("device_type", "dtype", "enabled", "cache_enabled"), ("enabled", "dtype", "cache_enabled")
SCALING = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")  # as GradScalerKwargs does
PRECISIONS = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.half": "fp16"}
# What a GradScaler does that the Accelerator does itself.
SCALER_METHODS = ("scale", "unscale_", "step", "update")
# accelerate wraps forward() in convert_outputs_to_fp32; measured on an H100: losses of 1.23307 and 1.23261.
FLOAT32 = (
    "A prepared model returns float32: what the loop computes from its outputs, such as a loss of its own, is more"
    " exact on a GPU than under autocast alone, and losses differ from about the fourth digit on."
)
# prepare_model() puts autocast around forward() itself (accelerate/accelerator.py, 1.15).
EVALUATION = (
    "This ran in full precision; a prepared model computes in half precision wherever it is called, so that what the"
    " evaluation returns changes a little."
)


class Precision:
    """The half precision of a training.

    Args:
        training: What is trained.
        evaluation: Where its models run.
    """

    def __init__(self, training: Training, evaluation: Evaluation) -> None:
        self.training = training
        self.module = training.module
        self.evaluation = evaluation
        self.flag: ast.expr | None = None  # whether to use it, where that is a choice
        self.kind = ""
        self.scaling: dict[str, ast.expr] = {}  # what the GradScaler is given besides whether to use it
        self.parameters: dict[ast.FunctionDef, str] = {}  # functions that are given the scaler, and its name there

    def convert(self, changes: Changes) -> str:
        """Plans the edits.

        Returns:
            The `mixed_precision=` of the Accelerator; empty where it has none.
        """
        scalers = set(self.training.scalers)
        makers = {call: None for call in self.module.of_type(ast.Call) if self.training.is_scaler(call)}
        contexts = list(self.module.calls(*AUTOCASTS))
        if not makers and not contexts:
            return ""
        contexts = [call for call in contexts if not self._is_off(call)] or contexts  # it stays around other code
        self._choose_branches(changes, contexts)
        kinds = {self._kind(call, has_scaler=bool(makers)) for call in contexts}
        kinds = kinds or {"fp16"}
        if len(kinds) > 1:
            raise Refusal(contexts[-1], "autocast() is used with two types of half precision")
        self.kind = kinds.pop()
        self._find_flag([*makers, *(call for call in contexts if not changes.is_gone(call))])
        self._find_scaling(list(makers))
        for call in contexts:
            if not changes.is_gone(call):
                changes.converted(RM852, call, "autocast() becomes accelerator.autocast().")
                changes.replace(call, "accelerator.autocast()")
        for maker in makers:
            changes.converted(RM852, maker, "accelerator.backward() scales the loss: no GradScaler is needed.")
            changes.drop(self.module.statement(maker))
        self._calls(changes, scalers)
        changes.note(RM852, next(iter([*makers, *contexts])), FLOAT32)
        evaluated = next((call for call in self._evaluations(contexts) if not changes.is_gone(call)), None)
        if evaluated is not None:
            changes.note(RM852, evaluated, EVALUATION)
        changes.moved.update(self.scaling.values())
        if self.flag is not None:
            changes.moved.add(self.flag)
        return f'"{self.kind}"'

    def _evaluations(self, contexts: list[ast.Call]) -> Iterator[ast.Call]:
        """The calls of the models without gradients that no autocast() is around."""
        for call in sorted(self.evaluation.runs_models(self.module.tree), key=self.module.start):
            if any(map(switches_gradients_off, self.module.ancestors(call))) and not self._is_half(call, contexts):
                yield call

    def _is_half(self, node: ast.AST, contexts: list[ast.Call], *, looks_at_calls: bool = True) -> bool:
        """Whether autocast() is around a piece of code, or around a call of the function that it is in."""
        for outer in self.module.ancestors(node):
            if isinstance(outer, ast.With):
                values = [self.module.value(item.context_expr) for item in outer.items]
                if any(part in contexts for value in values for part in ast.walk(value)):
                    return True
            if isinstance(outer, ast.FunctionDef):
                if any("autocast" in ast.unparse(decorator) for decorator in outer.decorator_list):
                    return True
                uses = self.module.reads(outer.name) if looks_at_calls else []
                if any(self._is_half(use, contexts, looks_at_calls=False) for use in uses):
                    return True
        return False

    def _kind(self, call: ast.Call, *, has_scaler: bool) -> str:
        by_name = self._parameters(call) == BY_NAME
        given = self._given(call)
        if "dtype" in given:
            kind = PRECISIONS.get(self.module.qualified(self.module.value(given["dtype"])) or "")
            if kind is None:
                raise Refusal(call, "the type of half precision of autocast() cannot be seen")
            return kind
        name = self.module.qualified(call.func) or ""
        place = self.module.constant(given.get("device_type")) if not by_name else name.split(".")[1]
        if place == "cuda" or has_scaler:
            return "fp16"
        if place == "cpu":
            return "bf16"
        raise Refusal(call, "the type of half precision of autocast() depends on the device; give its dtype=")

    def _parameters(self, call: ast.Call) -> tuple[str, ...]:
        """What an autocast() or a GradScaler takes by position."""
        name = self.module.qualified(call.func) or ""
        by_name = name.startswith(("torch.cuda.", "torch.cpu."))
        if name.endswith("GradScaler"):
            return (*(() if by_name else ("device",)), *SCALING, "enabled")
        return BY_NAME if by_name else BY_DEVICE

    def _given(self, call: ast.Call) -> dict[str, ast.expr]:
        """What an autocast() or a GradScaler is given.

        Raises:
            Refusal: If something is unpacked in it.
        """
        check_nothing_is_unpacked(call, "enabled")
        by_position = dict(zip(self._parameters(call), call.args, strict=False))
        return by_position | {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}

    def _is_off(self, call: ast.Call) -> bool:
        flag = self._given(call).get("enabled")
        return isinstance(flag, ast.Constant) and flag.value is False

    def _find_flag(self, calls: list[ast.Call]) -> None:
        """Finds the one condition on which half precision is used: that of each call, or of a branch around it."""
        flags = {call: self._given(call).get("enabled") for call in calls}
        named = {"True" if flag is None else ast.unparse(flag): flag for flag in flags.values()}
        if self.flag is not None and set(named) <= {"True", ast.unparse(self.flag)}:
            return
        if len(named) > 1 or (named and self.flag is not None):
            raise Refusal(calls[-1], "autocast() and GradScaler are switched on by different conditions")
        flag = next(iter(named.values()), None)
        if isinstance(flag, ast.Constant):
            self.kind = self.kind if flag.value else "no"
        else:
            self.flag = flag

    def _find_scaling(self, makers: list[ast.Call]) -> None:
        """Finds what a GradScaler is given, for GradScalerKwargs; without float16 accelerate makes none."""
        given = [{name: self._given(maker)[name] for name in SCALING if name in self._given(maker)} for maker in makers]
        if len({tuple(map(ast.unparse, found.values())) for found in given}) > 1:
            raise Refusal(makers[-1], "the GradScalers are given different values")
        self.scaling = given[0] if given and self.kind == "fp16" else {}

    def _choose_branches(self, changes: Changes, contexts: list[ast.Call]) -> None:
        """Of `if use_amp: ... else: ...`, each with a backward(), the plain branch remains."""
        for branch in self.module.of_type(ast.If):
            if not branch.orelse or not all(
                any(self.module.inside(call, statement) for statement in block for call in self.training.backwards)
                for block in (branch.body, branch.orelse)
            ):
                continue
            half = [
                any(self.module.inside(c, s) for s in block for c in contexts) for block in (branch.body, branch.orelse)
            ]
            if half == [True, False]:
                self.flag = branch.test
                changes.converted(RM852, branch, "The branch without half precision remains: the Accelerator adds it.")
                changes.instead(branch, branch.orelse)

    def _calls(self, changes: Changes, scalers: set[Variable]) -> None:
        unscaled = False
        for call in self.training.method_calls(*SCALER_METHODS):
            assert isinstance(call.func, ast.Attribute)
            if not self.training.variables.of(call.func.value) & scalers:
                continue
            unscaled |= call.func.attr == "unscale_"
            if not changes.is_gone(call):
                self._call(changes, call, call.func.attr)
        self._check_others(changes, scalers)
        clips = [call for call in self.module.of_type(ast.Call) if clips_gradients(self.module, call)]
        if scalers and clips and not unscaled:
            changes.note(
                RM858,
                clips[0],
                "The gradients were clipped while they were still scaled, without scaler.unscale_(); "
                "accelerator.clip_grad_norm_() unscales them first, so that the limit now means what it says.",
            )

    def _call(self, changes: Changes, call: ast.Call, method: str) -> None:
        statement = self.module.statement(call)
        if method == "scale":
            outer = self.module.parent_of[self.module.parent_of[call]]
            if isinstance(outer, ast.Call) and outer in self.training.backwards and len(call.args) == 1:
                changes.converted(RM852, call, "scaler.scale(loss).backward() becomes accelerator.backward(loss).")
                rest = "".join(f", {self.module.source(keyword)}" for keyword in outer.keywords)
                changes.replace(outer, f"accelerator.backward($loss{rest})", loss=call.args[0])
                return
        elif isinstance(statement, ast.Expr) and statement.value is call:
            if method == "step" and len(call.args) == 1:
                changes.converted(RM852, call, "scaler.step(optimizer) becomes optimizer.step().")
                changes.replace(call, "$optimizer.step()", optimizer=call.args[0])
                return
            if method in ("unscale_", "update"):
                changes.drop(statement)
                return
        raise Refusal(call, f"scaler.{method}() is used in a way that accelerate has no equal for")

    def _check_others(self, changes: Changes, scalers: set[Variable]) -> None:
        """Refuses what else a script does with its scaler; handing it to its own functions is understood."""
        variables = self.training.variables
        for read in self.module.of_type(ast.Name):
            if not isinstance(read.ctx, ast.Load) or not variables.of(read) & scalers or changes.is_gone(read):
                continue
            parent = self.module.parent_of[read]
            call = self.module.parent_of[parent] if isinstance(parent, ast.keyword) else parent
            function = variables.called(call) if isinstance(call, ast.Call) and call.func is not read else None
            if function is None or not isinstance(call, ast.Call):
                raise Refusal(read, f"`{read.id}`, a GradScaler, is used for more than scaling the loss")
            named = [p.arg for p in [*function.args.args, *function.args.kwonlyargs]]
            given = [name for name in named if variables.argument_for(call, function, name) is read]
            if len(given) != 1:
                raise Refusal(read, f"what {function.name}() does with its GradScaler cannot be seen")
            self.parameters[function] = given[0]
