"""RM858: scripts that train on the CPU whatever the machine has, and go on doing so."""

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from raymigrate.base.expressions import lazy_regex
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.devices import Devices, is_called_device
from raymigrate.codemods.to_accelerate.rules import RM856, RM858
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.projects.callees import functions_elsewhere
from raymigrate.facts.syntax.calls import calls_in
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import Source, argument, called_name, is_call_by_name, is_method_call, last_name

# What a script says that has to do with other devices than the CPU.
OTHER_DEVICES = lazy_regex(r"cuda|gpu|\bmps\b|\bxpu\b|\bnpu\b|nccl|device", re.IGNORECASE)
CPU = "cpu"
DEFINITIONS = (ast.ClassDef, ast.FunctionDef)
# Packages whose models stay where they are until they are moved.
MODELS_ON_CPU = ("torch.nn.", "torchvision.models.", "transformers.", "peft.", "timm.")
CHOOSING = ("torch.set_default", "torch.accelerator", "torch.cuda", "torch.backends.mps")
# What is for the GPUs that there are, and trains on none of them.
HARMLESS = frozenset(f"torch.cuda.{name}" for name in ("manual_seed", "manual_seed_all", "empty_cache", "synchronize"))
AVAILABLE = "torch.cuda.is_available"
COUNT = "torch.cuda.device_count"
GROUP = "torch.distributed.init_process_group"
SAYING = frozenset({"print", "debug", "info", "warning", "log", "write", "echo"})
OF_WRAPPER = frozenset({"device_ids", "output_device"})  # arguments of DistributedDataParallel


class Cpu(Side):
    """What a script says that trains on the CPU.

    Args:
        training: What is trained.
        devices: Its devices.
    """

    def __init__(self, training: Training, devices: Devices) -> None:
        super().__init__(training)
        self.devices = devices

    def keep(self, changes: Changes, loop: ast.AST) -> bool:
        """Whether the Accelerator gets `cpu=True`; it is told, and that a script which says nothing may go to a GPU.

        Args:
            changes: The edits.
            loop: The first loop that trains.
        """
        if changes.context.options.gpu is True:
            return False
        if self._speaks_of_others():
            self._tell_of_groups(changes, loop)
            return False
        if all(map(self._is_made_on_cpu, self._made())):
            changes.note(
                RM858,
                loop,
                "This script trains on the CPU, and cpu=True keeps it there: without it the Accelerator takes the GPUs"
                " that there are, where what the model returns needs .cpu() before .numpy().",
            )
            if self._backends:
                changes.note(
                    RM856, loop, "Several processes on CPUs are started with torchrun: `accelerate launch` starts one."
                )
            return True
        self._tell_of_groups(changes, loop)
        changes.note(
            RM858,
            loop,
            "Nothing here says on which device this trains: the Accelerator takes the GPUs that there are, where what"
            " the model returns needs .cpu() before .numpy(). Accelerator(cpu=True) stays on the CPU.",
        )
        return False

    @cached_property
    def _backends(self) -> list[str]:
        """The backends of the process groups that a script makes, as far as they are known; "" of one that is not."""
        own = [(self.module, call) for call in self.module.calls(GROUP)]
        given = [(module, argument(call, 0, "backend")) for module, call in own + self._made_elsewhere]
        values = [module.constant(backend) for module, backend in given]
        return [value.lower() if isinstance(value, str) else "" for value in values]

    @cached_property
    def _made_elsewhere(self) -> list[tuple[Module, ast.Call]]:
        """The process groups that functions of other files make, which this one calls: `device = setup()`."""
        calls = self.module.of_type(ast.Call) if self.module.names_of_files else []
        found = {function: home for call in calls for home, function in functions_elsewhere(self.module, call)}
        return [(home, call) for function, home in found.items() for call in calls_in(home, function, GROUP)]

    def _tell_of_groups(self, changes: Changes, loop: ast.AST) -> None:
        """Tells that processes which trained together on CPUs too would not do so any more."""
        makers = {self.module, *(module for module, _ in self._made_elsewhere)}
        constants = [node for module in makers for node in module.of_type(ast.Constant)]
        texts = {node.value for node in constants if isinstance(node.value, str)}
        knows_cpus = any(text == CPU or "gloo" in text for text in texts)
        is_nccl = all(backend == "nccl" for backend in self._backends)
        if is_nccl or not knows_cpus or any(map(self._needs_gpu, self.devices.moves())):
            return
        changes.manual(
            RM858,
            loop,
            "Where there is no GPU, the processes that torchrun starts would no longer be a group: an Accelerator that"
            " is not told of the CPU lets each of them train a model of its own, on all rows.",
            "Start it there with ACCELERATE_USE_CPU=true before torchrun, or write Accelerator(cpu=True).",
        )

    def _needs_gpu(self, call: ast.Call) -> bool:
        """Whether a call moves something to a GPU in any case: `.cuda()`, `.to(rank)`."""
        assert isinstance(call.func, ast.Attribute)
        place = argument(call, 0, "device")
        is_gpu = call.func.attr == "cuda" or (place is not None and self.variables.of(place) & self.devices.ranks)
        return bool(is_gpu) and not any(isinstance(p, (ast.If, ast.IfExp)) for p in self.module.ancestors(call))

    def _speaks_of_others(self) -> bool:
        """Whether something may put the training on another device."""
        choosing = (reference for reference in self.module.references if reference.qualified.startswith(CHOOSING))
        if any(reference.node not in self._harmless for reference in choosing):
            return True
        is_distributed = any(self.module.references_within("torch.distributed"))
        if is_distributed and (not self._backends or any(backend != "gloo" for backend in self._backends)):
            return True
        if any(not self._goes_to_cpu(call) for call in self.devices.moves()):
            return True
        return any(OTHER_DEVICES.search(word) for word in self._words())

    @cached_property
    def _harmless(self) -> frozenset[ast.AST]:
        """The code that names functions for GPUs and chooses none to train on: `torch.cuda.manual_seed_all(seed)`."""
        found = [reference.node for reference in self.module.references if self._is_harmless(reference)]
        return frozenset(part for node in found for part in ast.walk(node))

    def _is_harmless(self, reference: Reference) -> bool:
        asked = self.module.calling(reference.node)
        if reference.qualified == COUNT:
            return bool(self._backends) and asked is not None and self._only_counts(asked)
        if reference.qualified != AVAILABLE:
            return reference.qualified in HARMLESS
        condition = self.module.parent_of[asked] if asked is not None else None
        if not isinstance(condition, ast.If):
            return False
        steps = [step.value for step in condition.body if isinstance(step, ast.Expr)]
        is_plain = len(steps) == len(condition.body) and not condition.orelse
        return is_plain and all(called_name(self.module, step) in HARMLESS for step in steps)

    def _only_counts(self, count: ast.Call) -> bool:
        """Whether a number of GPUs is that of the processes, and numbers no GPU: `rank % count`, `range(count)`."""
        name = self.module.name_of(count)
        uses = [count] if name is None else self.module.uses_of(name)
        around = [self.module.parent_of[use] for use in uses]
        return not any(isinstance(outer, ast.BinOp) or is_call_by_name(outer, "range") for outer in around)

    def _words(self) -> Iterator[str]:
        """The names and texts in which a script would speak of a device, less those that stand for the CPU."""
        for name in self.module.of_type(ast.Name):
            if name not in self._harmless and not (is_called_device(name.id) and self._is_cpu(name)):
                yield name.id
        for attribute in self.module.of_type(ast.Attribute):
            if attribute not in self._harmless and self.module.qualified(attribute) != "torch.device":
                yield attribute.attr
        for parameter in self.module.of_type(ast.arg):
            if not self._gets_cpu(parameter):
                yield parameter.arg
        for keyword in self.module.of_type(ast.keyword):
            is_none = keyword.arg in OF_WRAPPER and self.module.constant(keyword.value) is None
            if keyword.arg is not None and not is_none and not self._is_cpu(keyword.value):
                yield keyword.arg
        for constant in self.module.of_type(ast.Constant):
            if isinstance(constant.value, str) and not self.module.is_statement(constant):
                if not self._is_said(constant):
                    yield constant.value

    def _is_said(self, text: ast.AST) -> bool:
        """Whether a text is for a reader alone: `print("Using device:", device)`."""
        for call in (parent for parent in self.module.ancestors(text) if isinstance(parent, ast.Call)):
            name = last_name(call.func)
            if self.module.is_statement(call):
                return name in SAYING
            if name != "format":
                return False
        return False

    def _goes_to_cpu(self, call: ast.Call) -> bool:
        return is_method_call(call, "to") and self._is_cpu(argument(call, 0, "device"))

    def _is_cpu(self, node: ast.expr | None) -> bool:
        """Whether something is the CPU in every way that it can come about."""
        if isinstance(node, ast.Call) and self.module.qualified(node.func) == "torch.device":
            return self._is_cpu(argument(node, 0, "type", "device"))
        if isinstance(node, ast.Constant):
            return node.value == CPU
        if not isinstance(node, ast.Name) or node not in self.module.scope_of:
            return False
        homes = self.variables.of(node)
        bound = [binding for home in homes for binding in self.variables.bindings(home)]
        values = [self.module.assigned(binding) for binding in bound]
        return bool(values) and all(
            value is not None and not isinstance(value, ast.Name) and self._is_cpu(value) for value in values
        )

    def _gets_cpu(self, parameter: ast.arg) -> bool:
        given = list(self.variables.given(parameter)) if is_called_device(parameter.arg) else []
        return bool(given) and all(map(self._is_cpu, given))

    def _made(self) -> Iterator[Source]:
        """The expressions that make the models, each with the file it is in."""
        for model in self.training.models:
            values = [self.module.assigned(binding) for binding in self.variables.bindings(model)]
            for value in values:
                bare = self.variables.bare(value) if value is not None else None
                yield from self.module.origins(bare) if isinstance(bare, ast.expr) else ()

    def _is_made_on_cpu(self, made: Source) -> bool:
        """Whether it is seen that a model is made on the CPU, and computes there."""
        module = made.module
        call = self.variables.bare(made.node) if module is self.module else made.node
        if not isinstance(call, ast.Call):
            return False
        if module is not self.module and OTHER_DEVICES.search(module.text):
            return False
        if called_name(module, call).startswith(MODELS_ON_CPU):
            return True
        if isinstance(module.definition(call.func), DEFINITIONS):
            return True
        definition = module.elsewhere(call.func)
        return definition is not None and not OTHER_DEVICES.search(definition.module.text)
