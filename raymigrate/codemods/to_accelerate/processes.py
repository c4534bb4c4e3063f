"""Processes: what a script starts, wraps, splits and synchronizes by hand is the Accelerator's work."""

from __future__ import annotations

import ast
from functools import cached_property

from raymigrate.codemods.to_accelerate.cases import meaning
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.gathered_lists import GatheredLists
from raymigrate.codemods.to_accelerate.local_ranks import (
    local_rank_options,
    local_rank_reads,
    related,
    tell_of_local_ranks,
)
from raymigrate.codemods.to_accelerate.obstacles import check_only_called, not_converted
from raymigrate.codemods.to_accelerate.own_numbers import tell_of_own_numbers
from raymigrate.codemods.to_accelerate.process_numbers import LOCAL_RANK, MAIN, RANK, SIZE, replace_number, replace_use
from raymigrate.codemods.to_accelerate.reductions import OF_GATHERED, REDUCTIONS, Reductions
from raymigrate.codemods.to_accelerate.rules import RM856, RM858, Refusal, check_nothing_is_unpacked
from raymigrate.codemods.to_accelerate.samplers import SAMPLERS, Samplers
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.spawns import SPAWN, SPAWNED, Spawn, check_processes
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.codemods.to_accelerate.wrappers import DATA_PARALLEL, DDP, Wrappers
from raymigrate.facts.projects.environment import variable_read
from raymigrate.facts.projects.main_process import MainProcess
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import all_arguments, argument, called_name, is_call_by_name, is_method_call

DIST = "torch.distributed"
NUMBERS = {f"{DIST}.get_rank": RANK, f"{DIST}.get_world_size": SIZE, f"{DIST}.get_node_local_rank": LOCAL_RANK}
VARIABLES = {"RANK": RANK, "LOCAL_RANK": LOCAL_RANK, "WORLD_SIZE": SIZE}
# Statements that set up processes.
SET_UP = (f"{DIST}.init_process_group", "torch.cuda.set_device")
GROUP = {"rank": RANK, "world_size": SIZE, "num_replicas": SIZE}
THERE = ("is_initialized", "is_available")  # whether there are, or may be, several processes
TALKING = ("all_reduce", "all_gather", "all_gather_object")
# The second is the old name of the first, which torch still has.
OPERATIONS = tuple(f"{owner}.{name}" for owner in ("ReduceOp", "reduce_op") for name in (*REDUCTIONS, *OF_GATHERED))
# Names of backends, and questions after what torch was built with: they need no process group, and stay as they are.
OF_BACKENDS = (
    *("Backend", "Backend.GLOO", "Backend.MPI", "Backend.NCCL", "Backend.UCC", "Backend.XCCL"),
    *("is_gloo_available", "is_nccl_available"),
)
ADDRESSES = frozenset({"MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE"})


class Processes(Side):
    """The processes of a training.

    Args:
        training: What is trained.
    """

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self.wrappers = Wrappers(training)
        self.samplers = Samplers(training)
        self.grouping: dict[str, ast.expr] = {}  # arguments for InitProcessGroupKwargs
        self.removed: dict[ast.FunctionDef, set[str]] = {}  # parameters of functions that go
        self.main = MainProcess(is_number=self._is_number)

    @cached_property
    def numbers(self) -> dict[Variable, str]:
        """The variables that hold the number of a process, or of processes, with what says so now."""
        found: dict[Variable, str] = {}
        for scope in self.module.scopes:
            for name, bindings in scope.bindings.items():
                values = [self.module.assigned(binding.node) for binding in bindings]
                numbers = {self.number(value) if value is not None else None for value in values}
                if len(numbers) == 1 and (number := numbers.pop()) is not None:
                    found[Variable(scope, name)] = number
        for _, function in self._spawned():
            first = function.args.args[0]
            found[Variable(self.module.scope(function), first.arg)] = RANK
        return {**self._of_group(), **found}

    def _of_group(self) -> dict[Variable, str]:
        """The numbers that make a process group: `init_process_group("nccl", rank=rank, world_size=size)`.

        What the callers of a helper give counts too: `setup(rank, size)`, whatever launcher says their numbers.
        """
        named = self._given_to_group
        found = [(variable, number) for node, number in named for variable in self.variables.of(node)]
        spelled = [(self.variables.spelled(node), number) for node, number in named]
        return dict([*found, *((variable, number) for variable, number in spelled if variable is not None)])

    @cached_property
    def _given_to_group(self) -> list[tuple[ast.expr, str]]:
        """What a process group and the samplers are given as numbers of processes, with what says them now."""
        calls = self.module.calls(SET_UP[0], *SAMPLERS)
        keywords = [keyword for call in calls for keyword in call.keywords if keyword.arg in GROUP]
        return [(keyword.value, GROUP[keyword.arg or ""]) for keyword in keywords]

    @cached_property
    def _variables_read(self) -> dict[str | None, str]:
        """The environment variables with such numbers: torchrun's, and those of SLURM or MPI that make the group."""
        found: dict[str | None, str] = {}
        for given, number in self._given_to_group:
            for end in self.module.origins(given):
                found[variable_read(end.module, _without_int(end.node))] = number
        found.pop(None, None)
        return found | VARIABLES

    def number(self, node: ast.expr) -> str | None:
        """What says the number that an expression gets: a rank, or the number of processes."""
        value = _without_int(node)
        return NUMBERS.get(called_name(self.module, value)) or self._variables_read.get(
            variable_read(self.module, value)
        )

    @property
    def ranks(self) -> frozenset[Variable]:
        """The variables that hold the number of a process."""
        return frozenset(variable for variable, number in self.numbers.items() if number != SIZE)

    def _spawned(self) -> list[tuple[ast.Call, ast.FunctionDef]]:
        found = []
        for call in self.module.calls(*SPAWN):
            given = argument(call, 0, "fn")
            function = self.module.definition(given)
            if not isinstance(function, ast.FunctionDef) or not function.args.args or function.args.posonlyargs:
                raise Refusal(call, "the function that mp.spawn() starts is not seen")
            found.append((call, function))
        return found

    # -- edits ---------------------------------------------------------------------------------

    def convert(self, changes: Changes) -> None:
        """Plans the edits."""
        self._refuse_others()
        check_processes(self.training)
        self._start(changes)
        self.wrappers.convert(changes)
        self.samplers.convert(changes)
        self._talking(changes)
        self._numbers(changes)

    def _refuse_others(self) -> None:
        known = {
            *NUMBERS,
            *SET_UP,
            *(
                f"{DIST}.{name}"
                for name in ("barrier", "destroy_process_group", "ReduceOp", *OF_BACKENDS, *THERE, *TALKING)
            ),
        }
        for reference in self.module.references_within(DIST):
            name = reference.qualified
            bare = name.removeprefix(f"{DIST}.distributed_c10d.")
            inside = any(name == f"{DIST}.{known_name}" for known_name in OPERATIONS)
            if name in known or bare in known or inside or name == DIST or ".elastic." in name:
                continue
            raise Refusal(reference.node, not_converted(name))
        functions = (f"{DIST}.{name}" for name in ("init_process_group", "barrier", *THERE, *TALKING))
        check_only_called(self.module, *SAMPLERS, *DDP, *DATA_PARALLEL, *functions)

    def _start(self, changes: Changes) -> None:
        timeouts = []
        for call in self.module.calls(*SET_UP):
            if self.module.qualified(call.func) == SET_UP[0]:
                changes.converted(RM856, call, "accelerate makes the process group.")
                check_nothing_is_unpacked(call, "timeout")
                timeout = argument(call, 2, "timeout")
                timeouts.append(meaning(self.module, timeout) if timeout is not None else None)
                if timeouts[-1] != timeouts[0]:
                    reason = "several init_process_group() are given different timeout=, and accelerate makes one group"
                    raise Refusal(call, f"{reason}; give them the same one")
                if timeout is not None:
                    self.grouping = self.grouping or {"timeout": timeout}
                    changes.moved.add(timeout)
            changes.drop_whole(call)
        if not self._spawned():
            tell_of_own_numbers(changes, self.module.calls(SET_UP[0]))
        for call in self.module.calls(f"{DIST}.destroy_process_group"):
            changes.converted(RM856, call, "accelerator.end_training() ends the process group.")
            changes.replace(call, "accelerator.end_training()")
        for node in self.module.of_type(ast.Subscript):
            is_set = isinstance(node.ctx, ast.Store) and self.module.qualified(node.value) == "os.environ"
            if is_set and self.module.constant(node.slice) in ADDRESSES:
                changes.drop_whole(node)
        for call, function in self._spawned():
            self._spawn(changes, Spawn(self.module, call, function))
        for call in local_rank_options(self.module):
            changes.drop_whole(call)
        if any(map(local_rank_options, related(self.module))):
            for read in local_rank_reads(self.module):
                replace_number(changes, read, LOCAL_RANK)
        tell_of_local_ranks(changes, self.module, self.training.backwards[0])

    def _spawn(self, changes: Changes, spawn: Spawn) -> None:
        function = spawn.function
        values = spawn.values(self.variables, ends_group=any(self.module.calls(f"{DIST}.destroy_process_group")))
        changes.converted(RM856, spawn.call, spawn.message)
        changes.note(RM858, spawn.call, SPAWNED)
        parameters = [parameter.arg for parameter in function.args.args]
        self.removed.setdefault(function, set()).add(parameters[0])
        kept = []
        for name, value in zip(parameters[1:], values, strict=False):
            if spawn.is_size(value, name):
                self.removed[function].add(name)
                self.numbers[Variable(self.module.scope(function), name)] = SIZE
            else:
                kept.append(value)
        parts = {f"part_{number}": value for number, value in enumerate(kept)}
        changes.replace(spawn.call, f"{function.name}({', '.join(f'${name}' for name in parts)})", **parts)

    # -- what processes tell each other --------------------------------------------------------

    def _talking(self, changes: Changes) -> None:
        for call in self.module.calls(f"{DIST}.barrier"):
            changes.replace(call, "accelerator.wait_for_everyone()")
        for call in self.module.calls(f"{DIST}.{THERE[0]}"):
            self._asks_for_group(changes, call)
        Reductions(self.training).convert(changes)
        GatheredLists(self.training).convert(changes)

    def _asks_for_group(self, changes: Changes, call: ast.Call) -> None:
        """Lets the Accelerator say whether there are processes: `not is_initialized() or get_rank() == 0`."""
        test, statement = self.module.parent_of[call], self.module.statement(call)
        around = self.module.parent_of[test]
        if isinstance(statement, ast.If) and not statement.orelse and changes.dropped.issuperset(statement.body):
            changes.drop(statement)  # it made the group
            return
        if isinstance(test, ast.UnaryOp) and isinstance(around, ast.BoolOp) and isinstance(around.op, ast.Or):
            others = [value for value in around.values if value is not test]
            number = self._compared_number(others[0]) if len(others) == 1 else None
            if number is not None:
                changes.replace(around, MAIN[number])
                return
        if isinstance(test, ast.IfExp) and test.test is call and (number := self.number(test.body)) is not None:
            if self.module.constant(test.orelse) == (1 if number == SIZE else 0):
                changes.replace(test, number)
                return
        changes.replace(call, "accelerator.use_distributed")

    def _numbers(self, changes: Changes) -> None:
        """Lets the Accelerator say which process this is, and how many there are."""
        for variable in self.numbers:
            for read in self.variables.reads(variable):
                if not changes.is_gone(read):
                    replace_use(changes, self.variables, read, self.numbers[variable])
        for node in [*self.module.of_type(ast.Call), *self.module.of_type(ast.Subscript)]:
            number = self.number(node) if isinstance(getattr(node, "ctx", ast.Load()), ast.Load) else None
            if number is not None and not changes.is_gone(node):
                statement = self.module.statement(node)
                if not self._only_names(statement):
                    replace_number(changes, node, number)

    def _only_names(self, statement: ast.stmt) -> bool:
        """Whether a statement only gives a number a name that is read, and whose reads say it themselves now."""
        target = only_target(statement)
        variable = self.variables.spelled(target) if target is not None else None
        return variable is not None and variable in self.numbers and bool(self.variables.reads(variable))

    def is_main_only(self, node: ast.AST) -> bool:
        """Whether code runs in the main process alone, by an `if` on its number around it, or by one that leaves."""
        return self.main.is_alone(self.module, node)

    def are_chosen(self, node: ast.AST) -> bool:
        """Whether the script chooses who runs code: the main process alone, or others, which Accelerator's own leave.

        accelerator.print() and accelerator.save() do nothing in the last process, which `if rank == size - 1` chooses.
        """
        return self.is_main_only(node) or self.main.may_pass_by(self.module, node)

    def is_named_in(self, call: ast.Call) -> bool:
        """Whether a call is given the number of its process, or a text with it: each process says something else."""
        given = [part for value in all_arguments(call) for part in ast.walk(value)]
        texts = [self.module.value(part) for part in given if isinstance(part, ast.Name)]
        given += [part for text in texts if _is_filled_in(text) for part in ast.walk(text)]
        return any(isinstance(part, ast.expr) and self._is_number(self.module, part) for part in given)

    @property
    def reduces(self) -> bool:
        """Whether the script adds up values of all processes itself."""
        return any(self.module.calls(*(f"{DIST}.{name}" for name in TALKING)))

    def runs_in_main_only(self, node: ast.AST) -> bool:
        """Whether code runs in the main process alone, perhaps in a function that is called there."""
        if self.is_main_only(node):
            return True
        function = self.module.function(node)
        calls = self.module.calls_of(function) if function is not None else []
        return any(self.is_main_only(call) for call in calls)

    def _compared_number(self, test: ast.expr) -> str | None:
        """Which number of a process a test compares with 0: the one of all machines, or of this one."""
        if not self.main.asks(self.module, test) or not isinstance(test, (ast.Compare, ast.UnaryOp)):
            return None
        sides = [test.left, test.comparators[0]] if isinstance(test, ast.Compare) else [test.operand]
        found: set[str] = set()
        for side in sides:
            if isinstance(side, ast.Attribute) and side.attr == "local_rank":
                found.add(LOCAL_RANK)
            elif (number := self.number(side)) is not None:
                found.add(number)
            found |= {number for v in self.variables.of(side) if (number := self.numbers.get(v)) is not None}
        return found.pop() if len(found) == 1 and found <= MAIN.keys() else None

    def _is_number(self, module: Module, node: ast.expr) -> bool:
        """Whether an expression of the script is known to be the number of a process, which its name need not say."""
        return module is self.module and (
            self.number(node) in MAIN or any(variable in self.ranks for variable in self.variables.of(node))
        )


def _without_int(node: ast.expr) -> ast.expr:
    """What `int()` is given, where that makes the number of a text; else the expression itself."""
    return node.args[0] if is_call_by_name(node, "int") and node.args else node


def _is_filled_in(text: ast.expr) -> bool:
    """Whether values are put into a text: `f"rank {rank}"`, `"rank {}".format(rank)`, `"rank %d" % rank`."""
    is_formatted = isinstance(text, ast.BinOp) and isinstance(text.op, ast.Mod) and isinstance(text.left, ast.Constant)
    return isinstance(text, ast.JoinedStr) or is_formatted or is_method_call(text, "format")
