"""autocast() and GradScaler: the Accelerator's mixed precision."""

import ast
from collections.abc import Iterator

from raymigrate.codemods.to_accelerate.autocasts import Autocasts
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.conditions import ALWAYS, Condition, Conditions
from raymigrate.codemods.to_accelerate.evaluation import Evaluation
from raymigrate.codemods.to_accelerate.half_branches import HalfBranches
from raymigrate.codemods.to_accelerate.rules import RM852, RM858, Refusal, check_nothing_is_unpacked
from raymigrate.codemods.to_accelerate.scaler_states import ScalerStates
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.unscaling import Unscaling
from raymigrate.facts.syntax.functions import by_name
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import called_name, named_arguments

# What a GradScaler takes (torch/amp/grad_scaler.py), as GradScalerKwargs does.
SCALING = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
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

ANEW = (
    "The GradScaler was made anew in each round of a loop, and began with its first scale again; that of the"
    " Accelerator goes on with the scale that it has found, and steps that overflowed at the beginning of a round are"
    " taken."
)
ON_CPU = (
    'On a CPU this was bfloat16; there, the Accelerator\'s fp16 has no effect. Give it mixed_precision="bf16" to train'
    " on a CPU as before."
)

CLIPPED = (
    "The gradients were clipped while they were still scaled, without scaler.unscale_(); accelerator.clip_grad_norm_()"
    " unscales them first, so that the limit now means what it says."
)
# GradScaler.unscale_() raises where it was called since the last update (torch/amp/grad_scaler.py).
CLIPPED_OFTEN = (
    "The gradients are clipped while they are still scaled, as before: this runs in rounds without a step too, and"
    " accelerator.clip_grad_norm_(), which unscales them, may be called only once before each step."
)


class Precision(Side):
    """The half precision of a training.

    Args:
        training: What is trained.
        evaluation: Where its models run.

    Attributes:
        kind: The `mixed_precision=` of the Accelerator; empty where it has none.
        condition: When that is used.
        scaling: What the GradScaler is given besides whether to use it.
        caching: What autocast() is given besides that, and how.
        parameters: The functions that are given the scaler, and its name there.
        is_unscaled: Whether code of the loop unscales the gradients.
    """

    def __init__(self, training: Training, evaluation: Evaluation) -> None:
        super().__init__(training)
        self.kind = ""
        self.condition = ALWAYS
        self.scaling: dict[str, ast.expr] = {}
        self.caching: dict[str, ast.expr] = {}
        self.parameters: dict[ast.FunctionDef, str] = {}
        self.is_unscaled = False
        self.makers = [call for call in self.module.of_type(ast.Call) if training.is_scaler(call)]
        self.conditions = Conditions(training)
        self.autocasts = Autocasts(training, self.conditions)
        self.models = sorted(evaluation.runs_models(self.module.tree), key=self.module.start)
        self.branches = HalfBranches(training, self.autocasts, self.models)

    def tell_of_switch(self, changes: Changes, test: ast.expr, choice: str) -> None:
        """Tells of a switch that is set behind the place where the Accelerator is made, and is read no more.

        Args:
            changes: What is planned.
            test: What asks for it.
            choice: What the Accelerator is given.
        """
        switch = ast.unparse(test)
        message = f"`{switch}` no longer switches half precision: the Accelerator is made before it is set, with"
        changes.note(RM852, test, f"{message} mixed_precision={choice}.")

    def convert(self, changes: Changes) -> None:
        """Plans the edits.

        Raises:
            Refusal: If it is not sure when, and for what, half precision is used.
        """
        contexts, makers = self.autocasts.calls, self.makers
        self.autocasts.check_names()
        if not makers and not any(map(self.autocasts.trains, contexts)):
            return  # what evaluates under autocast() does so as before
        if not contexts and not self._is_given_losses():
            return  # a GradScaler that nothing is given to does nothing
        if not contexts:
            raise Refusal(makers[0], "a GradScaler is used, and no autocast() can be seen in this file")
        branches = self.branches.choose(changes, self.conditions)
        kinds = {self.autocasts.kind(call, has_scaler=bool(makers)) for call in contexts}
        if len(kinds) > 1:
            raise Refusal(contexts[-1], "autocast() is used with two types of half precision")
        self.kind = kinds.pop()
        live = [call for call in contexts if not changes.is_gone(call)]
        self._find_condition(changes, branches, live)
        self._check_models(changes)
        self._find_scaling()
        self._find_caching()
        for call in live:
            changes.converted(RM852, call, "autocast() becomes accelerator.autocast().")
            self._replace(changes, call)
        for maker in makers:
            changes.converted(RM852, maker, "accelerator.backward() scales the loss: no GradScaler is needed.")
            changes.drop(self.module.statement(maker))
        if self.kind == "fp16" and (anew := next(self._made_anew(), None)) is not None:
            changes.note(RM852, anew, ANEW)
        self._calls(changes)
        changes.note(RM852, next(iter([*makers, *contexts])), FLOAT32)
        if self.kind == "fp16" and (there := [call for call in contexts if self.autocasts.depends_on_device(call)]):
            changes.note(RM852, there[0], ON_CPU)
        evaluated = next(self._in_full_precision(changes), None)
        if evaluated is not None:
            changes.note(RM852, evaluated, EVALUATION)
        changes.moved.update((*self.scaling.values(), *self.caching.values()))
        if self.condition.test is not None:
            changes.moved.add(self.condition.test)

    def _replace(self, changes: Changes, call: ast.Call) -> None:
        """Enters a new accelerator.autocast() each time: it is made by @contextmanager, and one is entered once only.

        Raises:
            Refusal: If one that has a name is used otherwise than in the head of a `with`.
        """
        whole, statement = self.autocasts.whole(call), self.module.statement(call)
        target = targets_of(statement)[0] if is_assignment(statement) and statement.value is whole else None
        entered = self.autocasts.entered(call)
        for head in entered:
            changes.replace(head, "accelerator.autocast()")
        reads = [read for read in self._reads(target) if read not in entered] if target is not None else []
        for read in reads:
            given_to = self.module.taking(read)
            if given_to is None or self.variables.called(given_to) is None:
                raise Refusal(read, f"`{ast.unparse(read)}` is autocast() by a name; write `with autocast(...):`")
        if target is not None and not reads:
            changes.drop(statement)
        else:
            changes.replace(whole, "accelerator.autocast()")

    def _reads(self, target: ast.expr) -> list[ast.expr]:
        """Where the name or attribute that is assigned is read."""
        if isinstance(target, ast.Name):
            return [use for use in self.module.uses_of(target) if use is not target]
        attributes = self.module.attributes(target.attr) if isinstance(target, ast.Attribute) else ()
        return [node for node in attributes if isinstance(node.ctx, ast.Load)]

    def _is_given_losses(self) -> bool:
        """Whether a loss is scaled."""
        scalers, variables = set(self.training.scalers), self.variables
        calls = self.training.method_calls("scale")
        return any(variables.of(call.func.value) & scalers for call in calls)  # type: ignore[attr-defined]

    def _made_anew(self) -> Iterator[ast.Call]:
        """The GradScalers that are made in each round of a loop which goes on with one optimizer."""
        variables = self.variables
        makers = [maker for optimizer in self.training.optimizers for maker in variables.makers(optimizer)]
        kept = [set(variables.loops_around(maker)) for maker in makers if maker in self.module.parent_of]
        for maker in self.makers:
            loops = set(variables.loops_around(maker))
            if kept and all(loops - others for others in kept):
                yield maker

    # -- where it is used ----------------------------------------------------------------------

    def _in_full_precision(self, changes: Changes) -> Iterator[ast.Call]:
        """The calls of the models that no autocast() is around."""
        for call in self.models:
            if not self.autocasts.covers(call) and not changes.is_gone(call):
                yield call

    def _check_models(self, changes: Changes) -> None:
        """Refuses models that train in half precision in one place, and in full precision in another one."""
        if self.condition == ALWAYS.opposite:
            return
        for call in self._in_full_precision(changes):
            if self.autocasts.trains_without(call):
                raise Refusal(
                    call,
                    "the model trains outside of autocast() here, and a prepared one computes in half precision"
                    " wherever it is called; put autocast() around it too",
                )
        for call in self.models:
            if not changes.is_gone(call) and self.autocasts.switches_off(call):
                raise Refusal(
                    call,
                    "the model runs in autocast(enabled=False) here, and a prepared one computes in half precision all"
                    " the same; take that autocast() away",
                )

    # -- what it is given ----------------------------------------------------------------------

    def _find_condition(
        self, changes: Changes, branches: list[tuple[ast.If, Condition]], contexts: list[ast.Call]
    ) -> None:
        """Finds the one condition on which half precision is used: that of each call, or of branches around it."""
        found: list[tuple[ast.AST, Condition]] = [*branches]
        found += [(call, self.autocasts.condition(call)) for call in contexts]
        uses_scaler = not all(map(changes.is_gone, self.branches.scaler_calls))
        for maker in self.makers:
            condition = self._of_maker(maker)
            if uses_scaler or condition != ALWAYS or not found:
                found.append((maker, condition))
        if len({self.conditions.key(condition) for _, condition in found}) > 1:
            first = self.conditions.key(found[0][1])
            other = next(node for node, condition in found if self.conditions.key(condition) != first)
            raise Refusal(other, "autocast() and GradScaler are switched on by different conditions")
        # That of a GradScaler comes last: it is made beside what is trained, where the Accelerator has to read it.
        self.condition = found[-1][1] if found else ALWAYS
        if self.condition == ALWAYS.opposite:
            self.kind = "no"

    def _of_maker(self, maker: ast.Call) -> Condition:
        """When a GradScaler is there and on."""
        flag = self._given(maker).get("enabled")
        enabled = self.conditions.of_test(flag) if flag is not None else ALWAYS
        there = {
            condition: None
            for variable in self.training.scalers
            if maker in self.variables.makers(variable)
            for condition in [self.conditions.of_scaler(variable)]
        }
        if not there or set(there) == {ALWAYS}:
            return enabled
        condition = next(iter(there))
        if enabled != ALWAYS and self.conditions.key(enabled) != self.conditions.key(condition):
            raise Refusal(maker, "the GradScaler is on by two conditions")
        return condition

    def _given(self, maker: ast.Call) -> dict[str, ast.expr]:
        """What a GradScaler is given."""
        check_nothing_is_unpacked(maker, "enabled")
        names_device = called_name(self.module, maker).startswith(("torch.cuda.", "torch.cpu."))
        return named_arguments(maker, (*(() if names_device else ("device",)), *SCALING, "enabled"))

    def _find_scaling(self) -> None:
        """Finds what a GradScaler is given, for GradScalerKwargs; without float16 accelerate makes none."""
        given = [{name: v for name, v in self._given(maker).items() if name in SCALING} for maker in self.makers]
        self._check_same(given, self.makers, "the GradScalers are given different values")
        if given and self.kind == "fp16":
            self.scaling = {name: given[0][name] for name in SCALING if name in given[0]}

    def _find_caching(self) -> None:
        """Finds the `cache_enabled=` of autocast(), for AutocastKwargs."""
        calls = self.autocasts.calls
        given = [{name: v for name, v in self.autocasts.given(c).items() if name == "cache_enabled"} for c in calls]
        self._check_same(given, calls, "autocast() is given different values for cache_enabled=")
        self.caching = given[0]

    def _check_same(self, given: list[dict[str, ast.expr]], calls: list[ast.Call], reason: str) -> None:
        for call, values in zip(calls[1:], given[1:], strict=True):
            if values.keys() != given[0].keys() or not all(
                self.conditions.same(value, given[0][name]) for name, value in values.items()
            ):
                raise Refusal(call, reason)

    # -- the scaler ----------------------------------------------------------------------------

    def _calls(self, changes: Changes) -> None:
        calls = self.branches.scaler_calls
        unscaling = Unscaling(self.training, calls)
        unscaling.check(changes)
        self.is_unscaled = unscaling.is_written
        self._check_backwards(changes)
        for call, method in calls.items():
            if not changes.is_gone(call):
                self._call(changes, call, method, unscaling)
        ScalerStates(self.training).convert(changes)
        self._check_others(changes)
        if self.makers and unscaling.clips and not unscaling.calls and (unscaling.clips_often or not self.is_unscaled):
            changes.note(RM858, unscaling.clips[0], CLIPPED_OFTEN if unscaling.clips_often else CLIPPED)

    def _check_backwards(self, changes: Changes) -> None:
        """Refuses a loss that is not scaled beside one that is: accelerator.backward() scales both."""
        live = [call for call in self.training.backwards if not changes.is_gone(call)]
        scaled = [call for call in live if self._scales(call)]
        plain = [call for call in live if call not in scaled and not self._is_chosen(call)]
        if scaled and plain:
            raise Refusal(plain[0], "a GradScaler scales one loss and not this one; accelerate scales all of them")

    def _is_chosen(self, node: ast.AST) -> bool:
        return any(outer in self.autocasts.chosen for outer in self.module.ancestors(node))

    def _scales(self, backward: ast.Call) -> bool:
        assert isinstance(backward.func, ast.Attribute)
        owner = backward.func.value
        return isinstance(owner, ast.Call) and self.branches.scaler_calls.get(owner) == "scale"

    def _call(self, changes: Changes, call: ast.Call, method: str, unscaling: Unscaling) -> None:
        statement = self.module.statement(call)
        if method == "scale":
            outer = self.module.parent_of[self.module.parent_of[call]]
            if isinstance(outer, ast.Call) and outer in self.training.backwards and len(call.args) == 1:
                changes.converted(RM852, call, "scaler.scale(loss).backward() becomes accelerator.backward(loss).")
                rest = "".join(f", {self.module.source(keyword)}" for keyword in outer.keywords)
                changes.replace(outer, f"accelerator.backward($loss{rest})", loss=call.args[0])
                return
        elif self.module.is_statement(call) and not call.keywords:
            if method == "step" and len(call.args) == 1:
                changes.converted(RM852, call, "scaler.step(optimizer) becomes optimizer.step().")
                changes.replace(call, "$optimizer.step()", optimizer=call.args[0])
                return
            if method == "unscale_" and len(call.args) == 1:
                unscaling.convert(changes, call)
                return
            if method == "update" and not call.args:
                changes.drop(statement)
                return
        raise Refusal(call, f"scaler.{method}() is used in a way that accelerate has no equal for")

    def _check_others(self, changes: Changes) -> None:
        """Refuses what else a script does with its scaler; handing it to its own functions is understood."""
        variables, scalers = self.variables, set(self.training.scalers)
        for read in self.module.of_type(ast.Name):
            if not isinstance(read.ctx, ast.Load) or not variables.of(read) & scalers or changes.is_gone(read):
                continue
            call = self.module.taking(read)
            function = variables.called(call) if call is not None else None
            if function is None or call is None:
                raise Refusal(read, f"`{read.id}`, a GradScaler, is used for more than scaling the loss")
            named = [p.arg for p in by_name(function)]
            given = [name for name in named if variables.argument_for(call, function, name) is read]
            if len(given) != 1:
                raise Refusal(read, f"what {function.name}() does with its GradScaler cannot be seen")
            self.parameters[function] = given[0]
