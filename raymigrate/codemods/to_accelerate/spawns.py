"""RM856: processes that a script starts itself, `mp.spawn(main, args=(...), nprocs=n)`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variables
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import LOOPS
from raymigrate.facts.values import argument, called_name, has_starred

TORCH = "torch.multiprocessing"
SPAWN = tuple(f"{TORCH}.{name}" for name in ("spawn", "spawn.spawn", "start_processes", "spawn.start_processes"))
PROCESSES = (f"{TORCH}.Process", "multiprocessing.Process", "multiprocessing.context.Process")
# What gives an object with a Process of its own: `mp.get_context("spawn").Process(target=train)`.
CONTEXTS = (
    *(f"{TORCH}.get_context", "multiprocessing.get_context", "multiprocessing.context.get_context"),
    *(f"multiprocessing.context.{kind}Context" for kind in ("Spawn", "Fork", "ForkServer")),
)
SPAWNED = (
    "mp.spawn() started the processes: under python alone the script trains in one of them now; `accelerate launch`"
    " starts one for each GPU."
)
GROUP = "torch.distributed.init_process_group"
OF_MACHINES = (
    "Run accelerate launch on each machine, with --num_processes for all machines together, --num_machines,"
    " --machine_rank and --main_process_ip; or give Ray as many workers."
)
SIZES = ("world_size", "nprocs", "ngpus", "num_gpus")


@dataclass(frozen=True)
class Spawn:
    """A call that starts processes.

    Args:
        module: The module.
        call: The call.
        function: What each process runs: it gets its number, and what the call gives.
    """

    module: Module
    call: ast.Call
    function: ast.FunctionDef

    def values(self, variables: Variables, *, ends_group: bool) -> list[ast.expr]:
        """What each process gets beside its number.

        Args:
            variables: Those of the module.
            ends_group: Whether the processes end their group, after which accelerate cannot make another.

        Raises:
            Refusal: If that is not seen, or a call in this process does not mean the same.
        """
        given = argument(self.call, 1, "args")
        values = [] if given is None else given.elts if isinstance(given, (ast.Tuple, ast.List)) else None
        if values is None or has_starred(values):
            raise Refusal(self.call, "what mp.spawn() gives to the processes is not seen")
        if len(variables.module.uses_of(self.function)) != 1:
            raise Refusal(self.call, f"`{self.function.name}`, which mp.spawn() starts, is used in another way too")
        joins = argument(self.call, 3, "join")
        if not self.module.is_statement(self.call):
            raise Refusal(self.call, "what mp.spawn() returns is used")
        if joins is not None and self.module.constant(joins) is not True:
            raise Refusal(self.call, "mp.spawn() does not wait for the processes")
        if ends_group and any(isinstance(parent, LOOPS) for parent in self.module.ancestors(self.call)):
            raise Refusal(self.call, "mp.spawn() starts several trainings, each with a process group of its own")
        return values

    @property
    def message(self) -> str:
        """What becomes of the call, with the number of processes where accelerate would not take it by itself."""
        given = argument(self.call, 2, "nprocs")
        name = self.function.name
        if given is not None and self._counts_devices(given):
            there = f" {OF_MACHINES}" if self._is_on_machines else ""
            return f"{name}() is called: `accelerate launch`, or Ray, starts the processes.{there}"
        number = self.module.constant(given) if given is not None else 1
        count = (
            str(number)
            if isinstance(number, int) or given is None
            else f"`{self.module.source(self.module.value(given))}`"
        )
        if self._is_on_machines:
            first = f"{name}() is called: `accelerate launch`, or Ray, starts the processes."
            return f"{first} They were {count} on each machine. {OF_MACHINES}"
        return (
            f"{name}() is called: `accelerate launch`, or Ray, starts the processes. They were {count}: give the first"
            " that number as --num_processes, or Ray as many workers."
        )

    @property
    def _is_on_machines(self) -> bool:
        """Whether the script may run on several machines: a product gives the size of its group, or its rank there.

        `world_size = nodes * gpus`, `rank = node * gpus + gpu`. On one machine the total is the same.
        """
        calls = self.module.calls(GROUP)
        given = [k.value for call in calls for k in call.keywords if k.arg in ("rank", "world_size")]
        made = [source.node for value in given for source in self.module.origins(value)]
        stored = [node for node in self.module.of_type(ast.Attribute) if isinstance(node.ctx, ast.Store)]
        named = {value.attr for value in given if isinstance(value, ast.Attribute)}  # `args.world_size`
        made += [value for node in stored if node.attr in named and (value := self.module.assigned(node)) is not None]
        return any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult) for m in made for part in ast.walk(m))

    def is_size(self, value: ast.expr, name: str) -> bool:
        """Whether the processes are told how many they are.

        Args:
            value: What they are given.
            name: The parameter that gets it.
        """
        given = argument(self.call, 2, "nprocs")
        is_same = isinstance(given, ast.Name) and ast.dump(given) == ast.dump(value)
        return is_same or self._counts_devices(value) or name in SIZES

    def _counts_devices(self, node: ast.expr) -> bool:
        return called_name(self.module, self.module.value(node)) == "torch.cuda.device_count"


def check_processes(training: Training) -> None:
    """Looks for processes that the script starts one by one: each of those of accelerate would start as many.

    Raises:
        Refusal: If one of them trains.
    """
    module = training.module
    for call in _processes(module):
        target = argument(call, 1, "target")
        function = module.definition(target)
        if isinstance(function, ast.FunctionDef):
            run = list(_run_by(module, function))
            if any(module.inside(backward, each) for backward in training.backwards for each in run):
                raise Refusal(call, f"a Process of its own runs `{function.name}`, which trains")


def _processes(module: Module) -> Iterator[ast.Call]:
    """The calls that make a Process."""
    yield from module.calls(*PROCESSES)
    for call, method in module.method_calls("Process"):
        made = ((source.module, source.node) for source in module.origins(method.value))
        if any(called_name(home, node) in CONTEXTS for home, node in made):
            yield call


def _run_by(module: Module, function: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """A function with those of the module that it names, and that these name."""
    waiting, seen = [function], set[ast.FunctionDef]()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        yield current
        names = (node for node in ast.walk(current) if isinstance(node, ast.Name))
        found = (module.definition(name) for name in names)
        waiting += [each for each in found if isinstance(each, ast.FunctionDef)]
