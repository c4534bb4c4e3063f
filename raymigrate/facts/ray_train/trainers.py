"""Calls of the legacy trainers, and the functions handed to them."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from raymigrate.facts.projects.places import functions_behind
from raymigrate.facts.ray_train.scaling import UNKNOWN, UseGpu, has_one_worker, same_gpus, use_gpu_of_call
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import (
    called_name,
    class_named,
    every_origin,
    free_name,
    has_unpacking,
    is_method_call,
    is_none,
    named_arguments,
    reaching,
)
from raymigrate.facts.values.nothing import is_none_in_some_case
from raymigrate.knowledge.legacy import (
    ACCELERATE_TRAINERS,
    HF_TRAINERS,
    TORCH_TRAINERS,
    TRAINERS,
    TRANSFORMERS_TRAINERS,
)
from raymigrate.knowledge.libraries import lineage

TRAIN_LOOP = "train_loop_per_worker"
# Classes that take a function for the workers, by the name of the parameter.
WITH_FUNCTION = {TRAIN_LOOP: ACCELERATE_TRAINERS | TORCH_TRAINERS, "trainer_init_per_worker": TRANSFORMERS_TRAINERS}
# What every trainer of Train V2 is made from, and every one from before it
# (docs/semantics/train-v2.md#trainers-before-train-v2).
OF_V2 = "ray.train.v2.api.data_parallel_trainer.DataParallelTrainer"
BEFORE_V2 = "ray.train.base_trainer.BaseTrainer"
# Displays and literals: a dict of the Trainer's arguments, a tuple of a Trainer and a tokenizer.
NO_OBJECTS = (ast.Constant, ast.Dict, ast.DictComp, ast.JoinedStr, ast.List, ast.ListComp, ast.Set, ast.Tuple)
# Libraries whose classes and functions give no Trainer, unless their names say so.
NO_TRAINERS = ("accelerate.", "datasets.", "evaluate.", "numpy.", "pandas.", "ray.", "torch.", "transformers.")


@dataclass(frozen=True)
class Datasets:
    """What is known of a `datasets=` argument.

    Args:
        node: The argument; None where there is none.
        keys: The dataset names with their expressions, where the argument leads to a dict display.
        may_be_none: Whether the argument may be None at run time.
    """

    node: ast.expr | None
    keys: dict[str, ast.expr] | None
    may_be_none: bool = False

    def may_have(self, key: str) -> bool:
        """Whether a dataset of this name can be among them."""
        return self.node is not None and (self.keys is None or key in self.keys)

    def has(self, key: str) -> bool:
        """Whether a dataset of this name is among them for sure."""
        return self.keys is not None and key in self.keys


@dataclass(frozen=True, eq=False)
class TrainerCall:
    """One construction of a trainer.

    Args:
        module: The module it is in.
        node: The call.
        first: Name of the parameter that may be given by position.
        other_workers: Whether what is asked about also runs on the workers of another trainer, which differ in GPUs.
    """

    module: Module
    node: ast.Call
    first: str
    other_workers: bool = False
    arguments: dict[str, ast.expr] = field(init=False)
    unpacked: bool = field(init=False)

    def __post_init__(self) -> None:
        arguments = named_arguments(self.node)
        if self.node.args and not isinstance(self.node.args[0], ast.Starred):
            arguments[self.first] = self.node.args[0]
        object.__setattr__(self, "arguments", arguments)
        object.__setattr__(self, "unpacked", has_unpacking(self.node))

    @cached_property
    def function(self) -> ast.AST | None:
        """The definition of the function handed over, if it is in this module and has no other binding."""
        given = self.arguments.get(self.first)
        return given if isinstance(given, ast.Lambda) else self.module.definition(given)

    @cached_property
    def functions(self) -> list[FunctionNode]:
        """The functions of this module that the one handed over can be: methods too, and those in functools.partial."""
        return list(functions_behind(self.module, self.arguments.get(self.first)))

    @cached_property
    def imported(self) -> Definition | None:
        """The definition of the function handed over, if it is in another file of the project."""
        given = self.arguments.get(self.first)
        return self.module.elsewhere(given) if given is not None else None

    @cached_property
    def datasets(self) -> Datasets:
        """The datasets handed over."""
        node = self.arguments.get("datasets")
        if node is None or is_none(node):
            return Datasets(None, {})
        keys = self.module.entries(node)
        return Datasets(node, keys, may_be_none=keys is None and is_none_in_some_case(self.module, node))

    @cached_property
    def gpus(self) -> UseGpu:
        """Whether the workers have a GPU: those of every trainer of the file with this training function."""
        own = use_gpu_of_call(self.module, self.node)
        shared = _gpus_by_function(self.module, self.first)
        same = all(same_gpus(own, shared.get(function, own)) for function in self.functions)
        return own if same and not self.other_workers else UNKNOWN

    @property
    def use_gpu(self) -> bool | None:
        """Whether the workers have a GPU; None where that is decided at run time."""
        return self.gpus.known

    @property
    def statement(self) -> ast.stmt:
        """The statement that the construction is part of."""
        return self.module.statement(self.node)


def trainer_base(place: str) -> str:
    """OF_V2 or BEFORE_V2, whichever a class of Ray is made from, by the place where it is defined; else empty."""
    return next((base for base in lineage(place) if base in (OF_V2, BEFORE_V2)), "")


def trainer_calls(module: Module, names: frozenset[str], first: str) -> Iterator[TrainerCall]:
    """Constructions of the classes with these qualified names, in source order."""
    for call in module.calls(*names):
        yield TrainerCall(module, call, first)


def trainers_with_function(module: Module) -> Iterator[TrainerCall]:
    """Constructions of trainers that take a function for the workers, those of one kind after those of the other."""
    for first, names in WITH_FUNCTION.items():
        yield from trainer_calls(module, names, first)


def train_on_one_worker(module: Module) -> bool:
    """Whether a module has trainers, and each of them one worker."""
    trainers = list(module.calls(*TRAINERS, *TORCH_TRAINERS))
    return bool(trainers) and all(has_one_worker(module, call) for call in trainers)


@kept
def _gpus_by_function(module: Module, first: str) -> dict[ast.AST, UseGpu]:
    """Whether the workers have a GPU, by the training function; several trainers may share one."""
    found: dict[ast.AST, UseGpu] = {}
    for call in trainer_calls(module, WITH_FUNCTION[first], first):
        own = use_gpu_of_call(module, call.node)
        for function in call.functions:
            found[function] = own if same_gpus(found.get(function, own), own) else UNKNOWN
    return found


def is_no_trainer(module: Module, node: ast.expr) -> bool:
    """Whether a value is known not to be a transformers.Trainer, under whatever name it is returned."""
    return every_origin(module, node, _is_no_trainer)


def _is_no_trainer(module: Module, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return isinstance(value, NO_OBJECTS)
    definition = module.definition(value.func)
    if isinstance(definition, ast.ClassDef):
        return not definition.bases
    if builtin := free_name(module, value.func):
        return hasattr(builtins, builtin)
    name = called_name(module, value)
    return name.startswith(NO_TRAINERS) and not any(part.endswith("Trainer") for part in name.split("."))


def is_transformers_trainer(module: Module, node: ast.ClassDef) -> bool:
    """Whether a class is a subclass of transformers.Trainer, directly or by classes of this project."""
    return any(map(is_named_as_trainer, library_bases(module, node)))


def is_named_as_trainer(name: str) -> bool:
    """Whether the name of a library's class is that of transformers.Trainer, or of a trainer of trl."""
    return name in HF_TRAINERS or (name.startswith("trl.") and name.endswith("Trainer"))


def library_bases(module: Module, node: ast.ClassDef) -> Iterator[str]:
    """The classes of libraries that a class is made from, directly or by classes of this project; by their names."""
    waiting, seen = [(module, node)], set[ast.ClassDef]()
    while waiting:
        home, current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for base in current.bases:
            if (name := home.qualified(base)) is not None:
                yield name
            for found in classes_behind(home, base):
                if not isinstance(found, str):
                    waiting.append(found)
                elif found != name:
                    yield found


def classes_behind(module: Module, node: ast.expr) -> Iterator[str | tuple[Module, ast.ClassDef]]:
    """The classes that an expression may name: those of libraries by their names, the project's with their modules.

    There are several where the script chooses: `try: from trl import SFTTrainer as T`, `T = Mine if own else Trainer`.

    Args:
        module: The module.
        node: The expression.
    """
    yield from _classes_behind(module, node, set())


def _classes_behind(module: Module, node: ast.expr, seen: set[ast.expr]) -> Iterator[str | tuple[Module, ast.ClassDef]]:
    if node in seen:
        return  # `TABLE = {"fast": TABLE["own"]}` is made of itself
    seen.add(node)
    known = class_named(module, node) or module.qualified(node)
    if known is not None:
        yield known
        return
    for source in module.origins(node):
        end = source.node
        if end is not node:
            yield from _classes_behind(source.module, end, seen)
        elif isinstance(end, ast.Name):
            yield from _classes_bound(module, end)
        elif (table := _table_of(end)) is not None:
            for held in module.origins(table):
                for entry in (held.module.entries(held.node) or {}).values():
                    yield from _classes_behind(held.module, entry, seen)


def _table_of(node: ast.expr) -> ast.expr | None:
    """What an entry is taken from by a key: `TRAINERS` of `TRAINERS[kind]` and of `TRAINERS.get(kind)`."""
    if isinstance(node, ast.Subscript):
        return node.value
    return node.func.value if is_method_call(node, "get") else None


def _classes_bound(module: Module, node: ast.Name) -> Iterator[str | tuple[Module, ast.ClassDef]]:
    """The classes that a name stands for by its imports and definitions, of which several may reach it."""
    for binding in reaching(module, node):
        if isinstance(binding.node, ast.ClassDef):
            yield module, binding.node
            continue
        imported = binding.statement is not None and module.project is not None
        found = module.project.imported(module, binding) if imported else None  # type: ignore[union-attr]
        if found is not None and isinstance(found.node, ast.ClassDef):
            yield found.module, found.node
        elif binding.qualified is not None:
            yield binding.qualified
