"""RM850: a native PyTorch training loop becomes one that accelerate runs."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.to_accelerate.access import Access
from raymigrate.codemods.to_accelerate.accumulation import Accumulation
from raymigrate.codemods.to_accelerate.batch_means import tell_batch_means
from raymigrate.codemods.to_accelerate.changes import Changes, refuse
from raymigrate.codemods.to_accelerate.choices import tell_choices
from raymigrate.codemods.to_accelerate.cleanup import Cleanup
from raymigrate.codemods.to_accelerate.clipping import clip_gradients
from raymigrate.codemods.to_accelerate.cpu import Cpu
from raymigrate.codemods.to_accelerate.device_texts import convert_texts
from raymigrate.codemods.to_accelerate.devices import Devices
from raymigrate.codemods.to_accelerate.draws import tell_draws
from raymigrate.codemods.to_accelerate.early_iterators import check_iterators
from raymigrate.codemods.to_accelerate.evaluation import Evaluation
from raymigrate.codemods.to_accelerate.fixed_rows import tell_fixed_rows
from raymigrate.codemods.to_accelerate.gathering import Gatherer, Gathering
from raymigrate.codemods.to_accelerate.home import Home
from raymigrate.codemods.to_accelerate.hosts import Hosts
from raymigrate.codemods.to_accelerate.log_lines import tell_logged
from raymigrate.codemods.to_accelerate.made_folders import make_folders
from raymigrate.codemods.to_accelerate.objects import view_of
from raymigrate.codemods.to_accelerate.obstacles import check, drawn_one_by_one, gone_over, is_native, without_name
from raymigrate.codemods.to_accelerate.one_process import OneProcess
from raymigrate.codemods.to_accelerate.other_helpers import tell_helpers
from raymigrate.codemods.to_accelerate.other_names import bound_again
from raymigrate.codemods.to_accelerate.output import Output
from raymigrate.codemods.to_accelerate.own_decisions import OwnDecisions
from raymigrate.codemods.to_accelerate.own_imports import import_place
from raymigrate.codemods.to_accelerate.own_shares import check_shares
from raymigrate.codemods.to_accelerate.packed import Packed
from raymigrate.codemods.to_accelerate.phases import Phases
from raymigrate.codemods.to_accelerate.precision import Precision
from raymigrate.codemods.to_accelerate.prepared_attributes import PreparedAttributes
from raymigrate.codemods.to_accelerate.process_numbers import SIZE
from raymigrate.codemods.to_accelerate.processes import Processes
from raymigrate.codemods.to_accelerate.receivers import Receivers
from raymigrate.codemods.to_accelerate.rounds import tell_rounds
from raymigrate.codemods.to_accelerate.rules import RM850, RM855, RM858, Refusal
from raymigrate.codemods.to_accelerate.schedules import Schedules
from raymigrate.codemods.to_accelerate.shares import Shares
from raymigrate.codemods.to_accelerate.trackers import Trackers
from raymigrate.codemods.to_accelerate.training import Loop, Training
from raymigrate.codemods.to_accelerate.unnamed_objects import name_object
from raymigrate.codemods.to_accelerate.variables import WRAPPERS, Variable, in_order
from raymigrate.facts.syntax.named_lines import own_lines
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.torch.schedule_lengths import reached
from raymigrate.facts.values import argument

GATHERED = "The rows that all processes evaluate are gathered and counted."
NATIVE = "A native training loop: an Accelerator prepares what it trains. A batch is that of one process"
GROWS = "N of them take N times the rows in each step and 1/N of the steps, at the same learning rate"
OF_SIZE = "the script works its size out of their number, and both say how many rows a step has"


@codemod("backward", phase=Phase.POSITIONS, option="to_accelerate")
def convert(context: Context) -> None:
    """Converts the training loop of a module, or says why it is left as it is."""
    if not is_native(Training(context.module)):
        return
    try:
        training = Training(view_of(context.module))
        check(training)
        Conversion(context, training).carry_out()
        context.joins_accelerate = True
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
        self.module = training.module
        self.training = training
        self.variables = training.variables
        self.changes = Changes(context, self.module)
        self.processes = Processes(training)
        self.devices = Devices(training, self.processes.numbers)
        self.home = Home(training)
        self.evaluation = Evaluation(training)
        self.gatherings: list[Gathering] = []
        self.own_counts: set[ast.For] = set()  # loops whose counts the script adds up itself

    def carry_out(self) -> None:
        """Plans the conversion.

        Raises:
            Refusal: If a part of it is not sure.
        """
        changes, training = self.changes, self.training
        first_loop = self._training_loops()[0]
        self.processes.convert(changes)
        loaders = self._loaders()
        changes.converted(RM850, first_loop.node, f"{NATIVE}: {OF_SIZE if self._shares_batch() else GROWS}.")
        check_shares(training, self.processes, loaders)
        schedules = Schedules(training, self.home)
        schedulers = schedules.prepared(changes)
        steps = Accumulation(training).convert(changes, frozenset(schedulers))
        half = Precision(training, self.evaluation)
        half.convert(changes)
        schedules.tell_skipped(changes, schedulers, half.kind)
        self.access = access = Access(training, self.home, self.devices, half.parameters)
        changes.names = access.name_at
        self._gradients()
        clip_gradients(self.module, changes, scales=half.kind == "fp16", is_unscaled=half.is_unscaled)
        for gathering in self.gatherings:
            changes.converted(RM855, gathering.loop.node, GATHERED)
            Gatherer(self.module).convert(changes, gathering)
        models = frozenset(model for model in training.models if self._is_left_to_prepare(model))
        self.devices.convert(changes, models, frozenset(loaders), access.order)
        tell_choices(changes, self.devices)
        convert_texts(changes, self.devices)
        hosts = Hosts(training, self.devices, self.gatherings)
        hosts.convert(changes, access.order, frozenset(loaders))
        Packed(hosts, access.order, frozenset(loaders)).convert(changes)
        PreparedAttributes(training, access.order).convert(changes, loaders, schedulers)
        output = Output(training, self.processes)
        output.unwrap(changes, access)
        output.save(changes, access)
        Receivers(training, self.processes).convert(changes, access)
        self._prepare(loaders, [s for s in schedulers if schedules.chosen.condition(s) is None])
        Cleanup(training, changes).clean()
        phases = Phases(training, self.evaluation)
        self.counted = [loop for loop in self._training_loops() if phases.convert(changes, loop)]
        trackers = Trackers(training, self.processes)
        access.settle(changes, trackers.logs(), [half.condition.test, steps])
        output.save_others(changes, access)
        output.show(changes, access)
        tell_logged(changes, self.processes)
        trackers.convert(changes, access)
        understood = {loop.node for loop in (*self._training_loops(), *(g.loop for g in self.gatherings))}
        Shares(training, access.order, loaders, understood | self.own_counts).tell(changes)
        self._tell(loaders)
        on_cpu = Cpu(training, self.devices).keep(changes, first_loop.node)
        self._make(access, steps, half, on_cpu=on_cpu)
        for function, names in self.processes.removed.items():
            changes.edits.append(lambda f=function, n=names: self.context.plan.function(f).without.update(n))  # type: ignore[misc]
        changes.need_import("accelerate", "Accelerator", import_place(self.module, access.owner))
        name_object(changes, access)
        changes.carry_out(first_loop.node)

    def _tell(self, loaders: list[Variable]) -> None:
        """Tells what several processes, or one, do otherwise."""
        tell_fixed_rows(self.changes, self.module, self.gatherings)
        tell_batch_means(self.changes, self.module, self.gatherings)
        tell_helpers(self.changes, self.module)
        make_folders(self.changes, self.processes)
        tell_rounds(self.changes, self.training, self.access)
        tell_draws(self.changes, self.training, loaders, self._training_loops())
        sums = OneProcess(self.training, self._training_loops())
        sums.tell(self.changes, self.counted)
        OwnDecisions(self.training, self._training_loops(), sums).tell(self.changes)

    # -- loops and loaders ---------------------------------------------------------------------

    def _training_loops(self) -> list[Loop]:
        found: dict[int, Loop] = {}
        for call in self.training.backwards:
            loop = self.training.training_loop(call)
            if loop is None:
                if (made := without_name(self.training, call)) is not None:
                    raise Refusal(made, "its DataLoader is made in the head of the loop; give it a name before")
                drawn = drawn_one_by_one(self.training, call)
                reason, remedy = "its batches do not come from a DataLoader that can be seen", ""
                if drawn is not None:
                    line, remedy = own_lines(self.module, drawn), gone_over(self.training, drawn)
                    reason = f"it draws its batches by next() in {line}, and goes over no loader"
                raise Refusal(call, f"{reason}: every process would train on the same rows{remedy}")
            found[id(loop.node)] = loop
        return list(found.values())

    def _loaders(self) -> list[Variable]:
        """The loaders to prepare: those that are trained on, and those of evaluations that can be gathered."""
        loops = self._training_loops()
        used = self.training.loaders_of(*loops)
        trained = dict.fromkeys(sorted(used, key=lambda loader: self.module.start(self.training.made_at(loader))))
        evaluations = [
            loop
            for loop in self.training.loops
            if loop.node not in {other.node for other in loops}
            and not self.training.trains(loop.node)
            and self.evaluation.evaluates(loop.node)
        ]
        seen = self.training.loaders_of(*evaluations)
        split = {loader for loader in seen if self.processes.samplers.is_sampled(loader)}
        for loop in evaluations:
            if split.intersection(self.training.loaders_of(loop)) and self.processes.runs_in_main_only(loop.node):
                reason = "the main process alone evaluates, with a loader that may give each process a part of the rows"
                raise Refusal(loop.node, f"{reason}: prepared, it would wait for the others")
        trained.update(dict.fromkeys(in_order(split)))
        self.own_counts = {loop.node for loop in evaluations if self._counts_itself(loop, split)}
        for loop in (each for each in evaluations if each.node in self.own_counts):
            self.processes.samplers.tell_of_filled(self.changes, loop.node, self.training.loaders_of(loop))
        evaluations = [loop for loop in evaluations if loop.node not in self.own_counts]
        understood = {loop.node: self._gathering(loop) for loop in evaluations}
        left: set[Variable] = set()
        for loop in evaluations:
            if understood[loop.node] is None:
                left |= self.training.loaders_of(loop)
        for loop in evaluations:
            homes = self.training.loaders_of(loop)
            gathering = understood[loop.node]
            if homes & left and homes & trained.keys():
                raise Refusal(loop.node, "it evaluates on the training data in a way whose results cannot be gathered")
            if homes & left or gathering is None:
                left |= homes
                self.changes.note(
                    RM858,
                    loop.node,
                    "The rows of this loop are not split, and every process that runs it evaluates all of them: it"
                    " cannot be seen how its results are counted, or the script adds them up itself.",
                )
            else:
                self.gatherings.append(gathering)
                trained.update(dict.fromkeys(in_order(homes)))
        return list(trained)

    def _shares_batch(self) -> bool:
        """Whether the batch that is trained on is worked out of the number of processes: `args.batch // world_size`."""
        loaders = self.training.loaders_of(*self._training_loops())
        makers = [maker for loader in loaders for maker in self.variables.makers(loader)]
        places = [(self.variables.home_of(m), argument(m, 1, "batch_size")) for m in makers if isinstance(m, ast.Call)]
        return any(self._is_size(p) for home, size in places if size is not None for _, p in reached(home, size))

    def _is_size(self, part: ast.AST) -> bool:
        if not isinstance(part, ast.expr):
            return False
        held = self.variables.of(part) if isinstance(part, ast.Name) and part in self.module.scope_of else frozenset()
        return self.processes.number(part) == SIZE or any(self.processes.numbers.get(v) == SIZE for v in held)

    def _counts_itself(self, loop: Loop, split: set[Variable]) -> bool:
        """Whether each process had a part of the rows before, whose counts the script adds up as it did."""
        homes = self.training.loaders_of(loop)
        return homes <= split and (self.processes.reduces or self.evaluation.gathering(loop) is None)

    def _gathering(self, loop: Loop) -> Gathering | None:
        """How a loop that all processes run gathers its rows, where the script does not add them up itself."""
        if self.processes.reduces or self.processes.runs_in_main_only(loop.node):
            return None
        return self.evaluation.gathering(loop)

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

    def _is_left_to_prepare(self, model: Variable) -> bool:
        """Whether nothing needs a model on its device before it is prepared."""
        is_here = model.scope is self.home.scope and self.home.is_in_block(model) and not self._is_copied(model)
        if not is_here or not self.home.early:
            return is_here
        moves = [call for call in self.devices.moves() if self.variables.of(call.func.value) == {model}]  # type: ignore[attr-defined]
        first_run = self.module.start(self.home.early[0])
        made = self.module.statement(self.training.made_at(model))
        is_moved = any(self.module.inside(call, made) for call in self.devices.moves())
        return not is_moved and all(self.module.start(call) > first_run for call in moves)

    def _is_copied(self, model: Variable) -> bool:
        """Whether an object is made of a model, such as a copy or an average of it, which stays where the model was."""
        for call in self.module.of_type(ast.Call):
            name = self.module.naming(call.func)
            copies = name in ("copy.deepcopy", "copy.copy") or name.rpartition(".")[2][:1].isupper()
            if copies and name not in WRAPPERS and not self.access.order.holds(call):
                if any(isinstance(value, ast.Name) and self.variables.of(value) == {model} for value in call.args):
                    return True
        return False

    # -- prepare -------------------------------------------------------------------------------

    def _prepare(self, loaders: list[Variable], schedulers: list[Variable]) -> None:
        home = self.home
        check_iterators(self.training, self.access.order, loaders)
        for model in self.training.models:
            if home.local(model) is None:
                raise Refusal(*self._missing(model))
        dicts = [loader for loader in loaders if self.training.holds_loaders(loader)]
        alone = [loader for loader in loaders if loader not in dicts]
        things = [*self.training.models, *self.training.optimizers, *alone, *schedulers]
        target = ", ".join(name for thing in things if (name := home.local(thing)) is not None)
        setup = home.block[home.setup]
        line = self.changes.spelled(setup, f"{target} = accelerator.prepare({target})")
        if self.changes.wide(setup, line):
            line = f"{target} = accelerator.prepare(\n    {target}\n)"
        self.changes.after(setup, line)
        for thing in (thing for thing in things if home.local(thing) is not None):
            for other in bound_again(self.changes, home, thing):
                self.changes.after(setup, self.changes.spelled(setup, f"{other} = {home.local(thing)}"))
        for loader in alone:
            if home.local(loader) is None:
                self._prepare_alone(loader)
        for loader in dicts:
            self._prepare_each(loader)

    def _missing(self, model: Variable) -> tuple[ast.AST, str]:
        """Where and why a model cannot be prepared beside its optimizer."""
        bindings = self.variables.bindings(model)
        others = [node for node in bindings[1:] if self.variables.kept_in(node) != {model}]
        again = self.home.made_anew(model) or next(iter(others), None)
        if again is None:
            reason = f"`{model.name}` does not come to the place where its optimizer is made by a name of its own"
            return self.training.made_at(model), reason
        line = own_lines(self.module, again)
        reason = f"`{model.name}` becomes another model in {line}, and what runs after it may mean either"
        return again, f"{reason}; give that one a name of its own"

    def _prepare_each(self, loaders: Variable) -> None:
        """Prepares the loaders of a dict."""
        bindings = self.variables.bindings(loaders)
        statement = self.module.statement(bindings[0])
        if len(bindings) != 1 or only_target(statement) is not bindings[0]:
            raise Refusal(bindings[0], f"`{loaders.name}` is made in a place where its loaders cannot be prepared")
        if self.home.local(loaders) is not None:  # beside the others: a schedule may count its batches before
            statement = self.home.block[self.home.setup]
        key, loader = self.changes.context.fresh("phase", "split"), self.changes.context.fresh("loader", "dataloader")
        each = f"{key}: accelerator.prepare({loader}) for {key}, {loader} in {loaders.name}.items()"
        line = self.changes.spelled(statement, f"{loaders.name} = {{{each}}}")
        if self.changes.wide(statement, line):
            line = f"{loaders.name} = {{\n    {each}\n}}"
        self.changes.after(statement, line)

    def _prepare_alone(self, loader: Variable) -> None:
        bindings = self.variables.bindings(loader)
        statement = self.module.statement(bindings[-1])
        if (
            len(bindings) != 1
            or not is_assignment(statement)
            or statement.value is not self.module.assigned(bindings[0])
        ):
            if isinstance(bindings[-1], ast.arg):
                reason = f"`{loader.name}` is a DataLoader that is made in the call; give it a name before"
                raise Refusal(bindings[-1], reason)
            raise Refusal(bindings[-1], f"`{loader.name}` is made in a place where it cannot be prepared")
        self.changes.after(statement, f"{loader.name} = accelerator.prepare({loader.name})")

    # -- the Accelerator -----------------------------------------------------------------------

    def _make(self, access: Access, steps: ast.expr | None, half: Precision, *, on_cpu: bool) -> None:
        arguments = ["cpu=True"] if on_cpu else []
        if half.kind:
            kinds = [f'"{half.kind}"', '"no"'] if half.condition.holds else ['"no"', f'"{half.kind}"']
            test = half.condition.test
            access.gpu_tests.asks_for_any, access.gpu_tests.holds = half.kind == "fp16", half.condition.holds
            asked = access.argument(test) if test is not None else str(half.condition.holds)
            access.gpu_tests.tell(self.changes)
            is_known = asked in ("True", "False")
            choice = kinds[asked == "False"] if is_known else f"{kinds[0]} if {asked} else {kinds[1]}"
            arguments.append(f"mixed_precision={choice}")
            if test is not None and is_known:
                half.tell_of_switch(self.changes, test, choice)
        if steps is not None:
            arguments.append(f"gradient_accumulation_steps={access.argument(steps)}")
        settings = {
            "InitProcessGroupKwargs": self.processes.grouping,
            "DistributedDataParallelKwargs": self.processes.wrappers.given,
            "GradScalerKwargs": half.scaling,
            "AutocastKwargs": half.caching,
        }
        handlers = []
        for handler, given in settings.items():
            if given:
                values = ", ".join(f"{name}={access.argument(value)}" for name, value in given.items())
                handlers.append(f"{handler}({values})")
                self.changes.need_import("accelerate", handler, import_place(self.module, access.owner))
        if handlers:
            arguments.append(f"kwargs_handlers=[{', '.join(handlers)}]")
        statement = access.block[access.place]
        self.changes.before(statement, f"accelerator = Accelerator({', '.join(arguments)})")
        for line, device in access.lowered.items():
            self.changes.drop(line)
            self.changes.before(statement, f"{device.name} = accelerator.device")
