"""Learning rate schedulers: prepared or not, so that the schedule is the same under several processes."""

import ast
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeGuard

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.fixed_steps import fixed_steps
from raymigrate.codemods.to_accelerate.home import Home
from raymigrate.codemods.to_accelerate.rules import RM854, RM858, Refusal
from raymigrate.codemods.to_accelerate.samplers import SAMPLERS
from raymigrate.codemods.to_accelerate.training import PLATEAU, Training
from raymigrate.codemods.to_accelerate.variables import Variable, Variables
from raymigrate.facts.ray_train.trainers import library_bases
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.torch.optimizers import is_scheduler
from raymigrate.facts.torch.schedule_lengths import counts_rows, divided_counts, given_instead
from raymigrate.facts.values import argument, called_name, class_named

# AcceleratedScheduler.step() asks step_was_skipped of its optimizers (accelerate/scheduler.py, 1.15).
SKIPPED = (
    "`{}` took a step after each step of the optimizer, a skipped one too. A prepared one takes none where fp16"
    " overflows and the optimizer's step is skipped, as it often is for the first batches: the schedule is behind by"
    " as many steps from there on."
)
# A prepared scheduler takes a step for each process with each of the optimizer's (accelerate/scheduler.py, 1.15), on a
# length that is N times that of a loader with a DistributedSampler; one with total_steps has loaded the old number too.
OLD_STATE = (
    "In a file that the script saved before, `{}` has taken one step for each of the optimizer; now it takes N of them"
    " with N processes. A run that goes on from such a file is at 1/N of its place in the schedule. Files of the"
    " script as it is now fit."
)
WARM_UP = "num_warmup_steps"
ALL_WARM_UP = (
    "With N processes a prepared scheduler takes N steps at a time: its warm-up, a number of steps, is multiplied by N."
)
FIXED = (
    "With N processes `{}` takes N steps at a time, and its length grows with the batches that are counted for it: {}"
    " in it stays what it was, and is reached after 1/N of the optimizer's steps that it took before."
)
MULTIPLY = "Multiply each such number by accelerator.num_processes for the scheduler."
# prepare() wraps what is an LRScheduler of torch, and gives back all else as it is (accelerate/accelerator.py:1409).
OF_ANOTHER_KIND = (
    "`{}` counts the batches of one process alone, and its class is not made from LRScheduler: prepare() would leave it"
    " as it is. Under N processes it takes 1/N of its steps."
)
OF_UNKNOWN_KIND = (
    "If the class of `{}` is not made from LRScheduler, prepare() leaves it as it is: under N processes it takes 1/N"
    " of its steps."
)
NOT_OF_TORCH = ("timm.",)  # timm 1.0, scheduler/scheduler.py: its Scheduler is made from ABC alone
STEPS_OF_ALL = "Make the class from torch.optim.lr_scheduler.LRScheduler and prepare it, or divide its length by N."
# What a condition may be made of that is asked again, besides names that are bound once.
ASKED_AGAIN = (
    *(ast.Attribute, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp),
    *(ast.cmpop, ast.boolop, ast.unaryop, ast.expr_context),
)


class Schedules:
    """The schedulers of a training.

    Args:
        training: What is trained.
        home: Where it is made.
    """

    def __init__(self, training: Training, home: Home) -> None:
        self.training = training
        self.module = training.module
        self.variables = training.variables
        self.home = home
        self.chosen = _ChosenSchedules(training.variables, home)

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
            if any(called_name(self._home(maker), maker).endswith(PLATEAU) for maker in makers):
                message = "is not prepared: it acts on a number of epochs, and a prepared one would count faster."
            elif not all(self._is_per_batch(call) for call in steps):
                if any(self._is_per_batch(call) for call in steps):
                    raise Refusal(made, f"`{variable.name}` takes steps both for each batch and for each epoch")
                message = "is not prepared: it counts epochs, and a prepared one would count once for each process."
            elif not any(self._counts_batches(call) for call in (*makers, *self._calls_elsewhere(variable, makers))):
                message = "is not prepared: it counts optimizer steps, each of which sees the rows of all processes."
            elif any(self._is_divided(maker) for maker in makers):
                message = "is not prepared: its length is divided by the number of processes already."
            elif any(map(self._is_of_another_kind, makers)):
                changes.manual(RM854, made, OF_ANOTHER_KIND.format(variable.name), STEPS_OF_ALL)
                continue
            else:
                if self.home.local(variable) is None:
                    raise Refusal(made, f"`{variable.name}` is made in another place than the optimizer")
                found.append(variable)
                message = (
                    "is prepared: its length counts the batches of one process alone, and under several processes it"
                    " takes as many steps at a time."
                )
                self._note_given(variable, makers, changes)
                grown = self._warm_up(makers, changes)
                self._tell_fixed(variable, makers, grown, changes)
                if any(map(self._is_of_unknown_kind, makers)):
                    changes.note(RM854, made, OF_UNKNOWN_KIND.format(variable.name))
                self._tell_old_states(variable, changes)
            changes.converted(RM854, made, f"`{variable.name}` {message}")
        self.chosen.prepare(changes, found)
        return found

    def _warm_up(self, makers: list[ast.Call], changes: Changes) -> set[ast.AST]:
        """Keeps a warm-up that is a number of steps, where the script has a DistributedSampler.

        A prepared schedule takes N steps at a time. Its length counts batches, which are N times those of the sampler
        now. A number of steps stays what it was, and so would end N times too early.

        Returns:
            The warm-ups that are multiplied.
        """
        grown = set[ast.AST]()
        for maker in makers if any(self.module.calls(*SAMPLERS)) else ():
            name = called_name(self._home(maker), maker)
            steps = argument(maker, 2 if name.endswith(".get_scheduler") else 1, WARM_UP)
            is_known = steps is not None and self._home(maker) is self.module and name.startswith("transformers.")
            if steps is None or not is_known or self.module.constant(steps) == 0 or counts_rows(self.module, steps):
                continue
            changes.converted(RM854, steps, ALL_WARM_UP)
            changes.wrap(steps, "$part * accelerator.num_processes")
            grown.add(steps)
        return grown

    def _tell_fixed(
        self, variable: Variable, makers: list[ast.Call], grown: Collection[ast.AST], changes: Changes
    ) -> None:
        """Tells of the numbers of steps in a schedule that stay, where the script has a DistributedSampler.

        Args:
            variable: The scheduler.
            makers: What makes it.
            grown: The numbers that are multiplied.
            changes: The edits.
        """
        if not any(self.module.calls(*SAMPLERS)):
            return
        places = (place for maker in makers for place in fixed_steps(self._home(maker), maker))
        numbers = dict.fromkeys(f"`{ast.unparse(node)}`" for _, node in places if node not in grown)
        if numbers:
            message = FIXED.format(variable.name, " and ".join(numbers))
            changes.manual(RM854, self.training.made_at(variable), message, MULTIPLY)

    def _tell_old_states(self, variable: Variable, changes: Changes) -> None:
        """Tells where the state of a scheduler is loaded that a script with a DistributedSampler has saved."""
        for call in self.training.method_calls("load_state_dict") if any(self.module.calls(*SAMPLERS)) else ():
            if isinstance(call.func, ast.Attribute) and variable in self.training.variables.of(call.func.value):
                changes.note(RM854, call, OLD_STATE.format(variable.name.rpartition(".")[2]))

    def tell_skipped(self, changes: Changes, prepared: Iterable[Variable], half: str) -> None:
        """Tells of the steps that a prepared scheduler skips with its optimizer, and that the loop's took.

        Args:
            changes: The edits.
            prepared: The schedulers that are prepared.
            half: The kind of half precision.
        """
        for variable in prepared if half == "fp16" else ():
            changes.note(RM854, self.training.made_at(variable), SKIPPED.format(variable.name))

    def _is_of_another_kind(self, maker: ast.Call) -> bool:
        """Whether a class makes a schedule that is none of torch's, which prepare() leaves alone."""
        ends = self._home(maker).origins(maker.func)
        if any((end.module.qualified(end.node) or "").startswith(NOT_OF_TORCH) for end in ends):
            return True
        named = [class_named(end.module, end.node) for end in ends]
        return any(found is not None and not any(map(is_scheduler, library_bases(*found))) for found in named)

    def _is_of_unknown_kind(self, maker: ast.Call) -> bool:
        """Whether a class of a library that is not known here makes a schedule."""
        ends = self._home(maker).origins(maker.func)
        named = [end.module.qualified(end.node) or "" for end in ends if class_named(end.module, end.node) is None]
        return any(name.rpartition(".")[2][:1].isupper() and not is_scheduler(name) for name in named)

    def _is_per_batch(self, call: ast.Call) -> bool:
        """Whether a step is taken in a loop over batches."""
        return self.training.training_loop(call) is not None

    def _calls_elsewhere(self, variable: Variable, makers: list[ast.Call]) -> list[ast.Call]:
        """The calls that ask another file for a scheduler: what they give may be its length."""
        if all(self._home(maker) is self.module for maker in makers):
            return []
        values = map(self.module.assigned, self.training.variables.bindings(variable))
        return [value for value in values if isinstance(value, ast.Call)]

    def _counts_batches(self, maker: ast.Call) -> bool:
        """Whether the length of a schedule is worked out from that of a loader or of a data set."""
        return any(counts_rows(*place) for place in self._numbers(maker))

    def _is_divided(self, maker: ast.Call) -> bool:
        """Whether the length of a schedule is the share of one process: `len(rows) // (batch_size * world_size)`.

        The length of a loader with a DistributedSampler was such a share too; now it is that of all.
        """
        is_shared = any(self.module.calls(*SAMPLERS))
        shared = self.training.loaders_of(*self.training.loops) if is_shared else set()
        counts = (count for place in self._numbers(maker) for count in divided_counts(*place))
        return any(home is not self.module or not self.variables.of(count) & shared for home, count in counts)

    def _numbers(self, maker: ast.Call) -> list[tuple[Module, ast.expr]]:
        """What a maker is given but for what is trained: a model is made of many lengths, as `Net(len(words))`."""
        home, trained = self._home(maker), {*self.training.models, *self.training.optimizers}
        values = [*maker.args, *(word.value for word in maker.keywords if word.arg != "optimizer")]
        if home is not self.module:  # where the optimizer has another name; a schedule takes it first
            return [(home, value) for value in values if value not in maker.args[:1]]
        return [(home, value) for value in values if not self.training.variables.of(value) & trained]

    def _home(self, maker: ast.Call) -> Module:
        return self.training.variables.home_of(maker)

    def _note_given(self, variable: Variable, makers: list[ast.Call], changes: Changes) -> None:
        """Says of a prepared schedule whose length somebody may give instead: that counts other steps."""
        calls = [*makers, *self._calls_elsewhere(variable, makers)]
        lengths = [place for call in calls for place in self._numbers(call)]
        found = next((given for place in lengths if (given := given_instead(*place)) is not None), None)
        if found is not None:
            message = (
                f"Where `{ast.unparse(found)}` gives the number of steps, N processes are through the schedule after"
                " 1/N of them, unless it is multiplied by accelerator.num_processes for the scheduler."
            )
            changes.note(RM858, self.training.made_at(variable), message)


@dataclass(frozen=True)
class _Choice:
    """Branches of an `if` that make a scheduler.

    Args:
        place: The `if`.
        tests: The conditions of which one has to hold; none where no such conditions say it.
    """

    place: ast.If
    tests: tuple[ast.expr, ...]


def _choice(first: ast.If, made: Collection[ast.stmt]) -> _Choice | None:
    """The branches of an `if` and its `elif` that hold some statements; None where one is in each of all that run."""
    branches, rest = [first], first.orelse
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        branches.append(rest[0])
        rest = rest[0].orelse
    holding = [any(statement in made for statement in branch.body) for branch in branches]
    in_rest = any(statement in made for statement in rest)
    if in_rest and all(holding):
        return None
    number = sum(holding)
    is_clear = all(holding[:number]) and not in_rest and (number == 1 or not any(map(_is_open, branches[:number])))
    return _Choice(first, tuple(branch.test for branch in branches[:number]) if is_clear else ())


def _is_open(branch: ast.If) -> bool:
    """Whether a test means something else in an `or`."""
    return isinstance(branch.test, (ast.IfExp, ast.Lambda, ast.NamedExpr))


class _ChosenSchedules:
    """The schedulers that have no value where a condition does not hold.

    Args:
        variables: The names of the module.
        home: Where the training is made.
    """

    def __init__(self, variables: Variables, home: Home) -> None:
        self.variables = variables
        self.module = variables.module
        self.home = home

    def condition(self, scheduler: Variable) -> _Choice | None:
        """The choice without which a scheduler is not made; None where it has a value in any case."""
        found: ast.If | None = None
        made: set[ast.stmt] = set()
        for binding in self.variables.bindings(scheduler):
            around = [parent for parent in self.module.ancestors(binding) if self._is_beside_training(parent)]
            above = self.module.statement(binding)
            inside = next((choice for choice in around if above in (*choice.body, *choice.orelse)), None)
            if inside is None or found not in (None, self._first(inside)):
                return None
            found = self._first(inside)
            made.add(above)
        return _choice(found, made) if found is not None else None

    def _first(self, choice: ast.If) -> ast.If:
        """The `if` that an `elif` belongs to."""
        while isinstance(outer := self.module.parent_of[choice], ast.If) and outer.orelse == [choice]:
            choice = outer
        return choice

    def _is_beside_training(self, node: ast.AST) -> TypeGuard[ast.If]:
        """Whether a condition is asked where the training is made, which does not depend on it as a whole."""
        if not isinstance(node, ast.If) or self.module.function(node) is not self.home.function:
            return False
        return not self.module.inside(self.home.block[0], node)

    def prepare(self, changes: Changes, schedulers: Iterable[Variable]) -> None:
        """Plans what prepares them, once the rest is prepared.

        Raises:
            Refusal: Where the condition cannot be asked again.
        """
        groups: dict[_Choice, list[Variable]] = {}
        for scheduler in schedulers:
            condition = self.condition(scheduler)
            if condition is not None:
                groups.setdefault(condition, []).append(scheduler)
        for choice, made in groups.items():
            names = ", ".join(name for variable in made if (name := self.home.local(variable)) is not None)
            is_here = choice.place in self.home.block and self.home.start < len(self.home.block)
            asked = [part for test in choice.tests for part in ast.walk(test)]
            if not is_here or not asked or not all(map(self._is_asked_again, asked)):
                reason = "is made under a condition which cannot be asked again where it is prepared"
                raise Refusal(choice.place, f"`{names}` {reason}; set it to None before")
            tests = " or ".join(map(self.module.source, choice.tests))
            line = f"if {tests}:\n    {names} = accelerator.prepare({names})"
            changes.before(self.home.block[self.home.start], line)

    def _is_asked_again(self, part: ast.AST) -> bool:
        """Whether a part of a condition has the same value later on."""
        if isinstance(part, ast.Name):
            return len(self.module.scope_of[part].lookup(part.id)) <= 1
        return isinstance(part, ASKED_AGAIN)
