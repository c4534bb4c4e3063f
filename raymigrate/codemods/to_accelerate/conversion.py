"""RM850: a native PyTorch training loop becomes one that accelerate runs."""

from __future__ import annotations

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.to_accelerate.access import Access
from raymigrate.codemods.to_accelerate.accumulation import Accumulation
from raymigrate.codemods.to_accelerate.changes import Changes, refuse
from raymigrate.codemods.to_accelerate.cleanup import Cleanup
from raymigrate.codemods.to_accelerate.devices import Devices
from raymigrate.codemods.to_accelerate.evaluation import Evaluation, Gathering
from raymigrate.codemods.to_accelerate.home import Home
from raymigrate.codemods.to_accelerate.obstacles import check, is_native
from raymigrate.codemods.to_accelerate.output import Output
from raymigrate.codemods.to_accelerate.precision import CLIPS, Precision
from raymigrate.codemods.to_accelerate.processes import Processes
from raymigrate.codemods.to_accelerate.rules import RM850, RM855, RM858, Refusal
from raymigrate.codemods.to_accelerate.schedules import Schedules
from raymigrate.codemods.to_accelerate.training import Loop, Training
from raymigrate.codemods.to_accelerate.variables import Variable

CLIPPING = {
    "clip_grad_norm_": "clip_grad_norm_",
    "clip_grad_norm": "clip_grad_norm_",
    "clip_grad_value_": "clip_grad_value_",
}


@codemod("backward", phase=Phase.LIBRARIES, option="to_accelerate")
def convert(context: Context) -> None:
    """Converts the training loop of a module, or says why it is left as it is."""
    training = Training(context.module)
    if not is_native(training):
        return
    try:
        check(training)
        Conversion(context, training).carry_out()
    except Refusal as refusal:
        refuse(context, refusal)


class Conversion:
    """The conversion of one module.

    Args:
        context: The module.
        training: What it trains.
    """

    def __init__(self, context: Context, training: Training) -> None:
        self.context = context
        self.module = context.module
        self.training = training
        self.variables = training.variables
        self.changes = Changes(context)
        self.processes = Processes(training)
        self.devices = Devices(training, self.processes.ranks)
        self.home = Home(training)
        self.evaluation = Evaluation(training)
        self.gatherings: list[Gathering] = []

    def carry_out(self) -> None:
        """Plans the conversion.

        Raises:
            Refusal: If a part of it is not sure.
        """
        changes, training = self.changes, self.training
        first_loop = self._training_loops()[0]
        changes.converted(RM850, first_loop.node, "A native training loop: an Accelerator prepares what it trains.")
        self.processes.convert(changes)
        loaders = self._loaders()
        schedulers = Schedules(training, self.home).prepared(changes)
        steps = Accumulation(training).convert(changes, frozenset(schedulers))
        half = Precision(training, self.devices)
        precision = half.convert(changes)
        self.access = access = Access(training, self.home, self.devices, half.parameters)
        self._gradients()
        for gathering in self.gatherings:
            changes.converted(
                RM855, gathering.loop.node, "The rows that all processes evaluate are gathered and counted."
            )
            self.evaluation.convert(changes, gathering)
        models = frozenset(model for model in training.models if self._is_left_to_prepare(model))
        self.devices.convert(changes, models, frozenset(loaders))
        output = Output(training, self.processes)
        output.unwrap(changes, access)
        output.save(changes, access)
        self._prepare(loaders, schedulers)
        Cleanup(training, changes).clean()
        access.settle(changes)
        access.check_names([*([half.flag] if half.flag else []), *([steps] if steps else [])])
        output.show(changes, access)
        self._running_values()
        self._make(access, steps, precision)
        for function, names in self.processes.removed.items():
            changes.edits.append(lambda f=function, n=names: self.context.plan.function(f).without.update(n))  # type: ignore[misc]
        self.context.plan.need_import("accelerate", "Accelerator")
        changes.carry_out(first_loop.node)

    # -- loops and loaders ---------------------------------------------------------------------

    def _training_loops(self) -> list[Loop]:
        found: dict[int, Loop] = {}
        for call in self.training.backwards:
            loop = self.training.training_loop(call)
            if loop is None:
                reason = "its batches do not come from a DataLoader that can be seen"
                raise Refusal(call, f"{reason}: every process would train on the same rows")
            found[id(loop.node)] = loop
        return list(found.values())

    def _loaders(self) -> list[Variable]:
        """The loaders to prepare: those that are trained on, and those of evaluations that can be gathered."""
        loops = self._training_loops()
        trained = {v: None for loop in loops for loader, _ in loop.loaders for v in self.variables.of(loader)}
        evaluations = [
            loop
            for loop in self.training.loops
            if loop.node not in {other.node for other in loops}
            and not self.training.trains(loop.node)
            and self.evaluation.runs_models(loop.node)
        ]
        understood = {loop.node: self.evaluation.gathering(loop) for loop in evaluations}
        left: set[Variable] = set()
        for loop in evaluations:
            if understood[loop.node] is None:
                left |= {v for loader, _ in loop.loaders for v in self.variables.of(loader)}
        for loop in evaluations:
            homes = {v for loader, _ in loop.loaders for v in self.variables.of(loader)}
            gathering = understood[loop.node]
            if homes & left and homes & trained.keys():
                raise Refusal(loop.node, "it evaluates on the training data in a way whose results cannot be gathered")
            if homes & left or gathering is None:
                left |= homes
                self.changes.note(
                    RM858,
                    loop.node,
                    "This loop is left as it is, as it cannot be seen how its results are counted: every process"
                    " evaluates all rows.",
                )
            else:
                self.gatherings.append(gathering)
                trained.update(dict.fromkeys(sorted(homes, key=lambda home: home.name)))
        return list(trained)

    def _gradients(self) -> None:
        for call in self.training.backwards:
            if self.changes.is_gone(call):
                continue
            assert isinstance(call.func, ast.Attribute)
            names = [*("gradient" for _ in call.args[:1]), *(k.arg for k in call.keywords)]
            values = [*call.args[:1], *(k.value for k in call.keywords)]
            parts = {f"value_{number}": value for number, value in enumerate(values)}
            rest = "".join(f", {name}=${part}" for name, part in zip(names, parts, strict=True))
            self.changes.replace(call, f"accelerator.backward($loss{rest})", loss=call.func.value, **parts)
        for call in self.module.of_type(ast.Call):
            name = self.module.qualified(call.func) or ""
            method = CLIPPING.get(name.rpartition(".")[2]) if name.startswith(CLIPS) else None
            if method is not None and not self.changes.is_gone(call):
                self.changes.replace(call.func, f"accelerator.{method}")

    def _is_left_to_prepare(self, model: Variable) -> bool:
        """Whether nothing needs a model on its device before it is prepared."""
        return self.home.holds(model) and self.home.is_in_block(model) and not self.home.runs_early

    # -- prepare -------------------------------------------------------------------------------

    def _prepare(self, loaders: list[Variable], schedulers: list[Variable]) -> None:
        for model in self.training.models:
            if not self.home.holds(model):
                raise Refusal(
                    self.training.made_at(model), f"`{model.name}` is made in another place than its optimizer"
                )
        here = [loader for loader in loaders if self.home.holds(loader)]
        names = [v.name for v in (*self.training.models, *self.training.optimizers, *here, *schedulers)]
        target = ", ".join(names)
        if self.home.runs_early:
            raise Refusal(self.home.block[self.home.start], "a model runs before its optimizer is made")
        setup = self.home.block[self.home.setup]
        line = f"{target} = accelerator.prepare({target})"
        if self.changes.wide(setup, line):
            line = f"{target} = accelerator.prepare(\n    {target}\n)"
        self.changes.after(setup, line)
        for loader in loaders:
            if loader not in here:
                self._prepare_alone(loader)

    def _prepare_alone(self, loader: Variable) -> None:
        bindings = self.variables.bindings(loader)
        statement = self.module.statement(bindings[-1])
        if len(bindings) != 1 or not isinstance(statement, ast.Assign):
            raise Refusal(bindings[-1], f"`{loader.name}` is made in a place where it cannot be prepared")
        self.changes.after(statement, f"{loader.name} = accelerator.prepare({loader.name})")

    # -- the Accelerator -----------------------------------------------------------------------

    def _make(self, access: Access, steps: ast.expr | None, precision: str) -> None:
        arguments = []
        if precision:
            arguments.append(f"mixed_precision={precision}")
        if steps is not None:
            arguments.append(f"gradient_accumulation_steps={self.module.source(steps)}")
        if self.processes.kwargs:
            arguments.append(f"kwargs_handlers=[DistributedDataParallelKwargs({self.processes.kwargs})]")
            self.context.plan.need_import("accelerate", "DistributedDataParallelKwargs")
        statement = access.block[access.place]
        self.changes.before(statement, f"accelerator = Accelerator({', '.join(arguments)})")

    def _running_values(self) -> None:
        """Says which sums of a training loop are those of one process."""
        for loop in self._training_loops():
            for node in self.module.of_type(ast.AugAssign):
                if not self.module.inside(node, loop.node) or not isinstance(node.op, ast.Add):
                    continue
                reads = [p for p in ast.walk(node.value) if isinstance(p, ast.Attribute) and p.attr in ("item", "size")]
                if reads:
                    self.changes.note(
                        RM858,
                        node,
                        f"With several processes `{ast.unparse(node.target)}` counts the batches of one of them, a"
                        " part of the rows.",
                    )
                    break
