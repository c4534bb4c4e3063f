"""Where a module's code runs: in the trials of a Tuner, or on the workers of a trainer."""

import ast
from collections.abc import Iterator
from enum import Enum
from functools import cached_property

from raymigrate.facts.module import Module
from raymigrate.facts.scopes import FUNCTIONS, FunctionNode
from raymigrate.facts.tuners import TUNERS

WRAPPERS = ("ray.tune.with_resources", "ray.tune.with_parameters", "functools.partial")
TAKE_TRAINABLES = (*TUNERS, "ray.tune.run", *WRAPPERS[:2])
TRAINABLE = ("trainable", "run_or_experiment")
TRAINING_FUNCTION = ("train_loop_per_worker", "trainer_init_per_worker")


class Place(Enum):
    """A kind of process that runs code of the module."""

    TRIAL = "trial"
    WORKER = "worker"
    BOTH = "both"
    UNKNOWN = "unknown"


class Places:
    """Tells where the functions of a module run.

    A function is known by being handed to a Tuner or a trainer of this module, or by being called from such a function.

    Args:
        module: The module.

    Attributes:
        unseen_trainables: Whether a Tuner is given something of which this module does not show what it is.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.unseen_trainables = False
        self.trials = self._with_callees(self._trainables())
        self.workers = self._with_callees(self._training_functions())

    def of(self, node: ast.AST) -> Place:
        """Where the code runs that a node is part of."""
        for ancestor in self.module.ancestors(node):
            in_trial, on_worker = ancestor in self.trials, ancestor in self.workers
            if in_trial or on_worker:
                return Place.BOTH if in_trial and on_worker else Place.TRIAL if in_trial else Place.WORKER
        return Place.UNKNOWN

    @cached_property
    def called_outside(self) -> set[ast.AST]:
        """Functions that the module itself calls, or a function that it calls: neither a trainer nor a Tuner does."""
        calls: dict[ast.AST | None, list[ast.Call]] = {}
        for call in self.module.of_type(ast.Call):
            calls.setdefault(self.module.function(call), []).append(call)
        found = set[ast.AST]()
        todo: list[ast.AST | None] = [None]
        while todo:
            called = {f for call in calls.get(todo.pop(), ()) for f in self._functions(call.func)} - found
            found |= called
            todo += called
        return found

    def reached_from(self, function: FunctionNode) -> set[ast.AST]:
        """A function with those of the module that it calls."""
        return self._with_callees(iter([function]))

    def _trainables(self) -> Iterator[FunctionNode]:
        for call in self.module.calls(*TAKE_TRAINABLES):
            trainable = _argument(call, 0, *TRAINABLE)
            functions = list(self._functions(trainable))
            self.unseen_trainables |= not functions and not self._is_known(trainable)
            yield from functions
        for call in self.module.calls("ray.tune.register_trainable"):
            yield from self._functions(_argument(call, 1, "trainable"))

    def _training_functions(self) -> Iterator[FunctionNode]:
        for node in self.module.of_type(ast.Call):
            name = self.module.qualified(node.func) or ""
            if name.startswith("ray.train.") and name.endswith("Trainer"):
                yield from self._functions(_argument(node, 0, *TRAINING_FUNCTION))

    def _functions(self, node: ast.expr | None) -> Iterator[FunctionNode]:
        """The functions that an expression can stand for, out of their wrappers."""
        while node is not None:
            value = self.module.value(node)
            if not (isinstance(value, ast.Call) and self.module.qualified(value.func) in WRAPPERS):
                break
            node = _argument(value, 0, *TRAINABLE)
        else:
            return
        found = self.module.definition(value) if isinstance(value, ast.Name) else value
        loop = self.module.parent_of.get(found) if found is not None else None
        if isinstance(found, FUNCTIONS):
            yield found
        elif isinstance(loop, ast.For) and found is loop.target and isinstance(loop.iter, (ast.Tuple, ast.List)):
            for item in loop.iter.elts:
                yield from self._functions(item)

    def _is_known(self, trainable: ast.expr | None) -> bool:
        """Whether an expression that is no function of this module is seen to be none: a class, a trainer, a string."""
        if isinstance(trainable, ast.Attribute):  # of an object of this module, so perhaps a method
            return self.module.qualified(trainable) is not None
        if not isinstance(trainable, ast.Name):
            return True
        found = self.module.definition(trainable)
        return isinstance(found, (ast.ClassDef, ast.alias)) or not isinstance(self.module.value(trainable), ast.Name)

    def _with_callees(self, functions: Iterator[FunctionNode]) -> set[ast.AST]:
        found = set[ast.AST]()
        todo = list(functions)
        while todo:
            function = todo.pop()
            if function not in found:
                found.add(function)
                calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
                todo += [called for call in calls for called in self._functions(call.func)]
        return found


def _argument(call: ast.Call, position: int, *names: str) -> ast.expr | None:
    """An argument that may be given by position or by any of these names."""
    if len(call.args) > position:
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg in names), None)
