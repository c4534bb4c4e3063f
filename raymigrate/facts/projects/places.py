# ruff: noqa: PTH100, PTH118, PTH120 - works on strings, as project.py does
"""Where a module's code runs: in the trials of a Tuner, or on the workers of a trainer."""

import ast
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import Enum
from functools import cached_property
from typing import TypeGuard

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.ray_tune.tuners import RESTORED, TUNERS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.packages import upwards
from raymigrate.facts.syntax.scopes import FUNCTIONS, Binding, FunctionNode
from raymigrate.facts.values import argument, called_name, method_of, methods, methods_of_object, reaching, sources
from raymigrate.facts.values.bindings import reaching_from

WRAPPERS = ("ray.tune.with_resources", "ray.tune.with_parameters", "functools.partial")
TAKE_TRAINABLES = (*TUNERS, "ray.tune.run", *WRAPPERS[:2])
TRAINABLE = ("trainable", "run_or_experiment")
OF_RESTORED = ("overwrite_trainable",)  # Tuner.restore() of Ray 2.3 and 2.4
# What a Tune function was decorated with, for a tracker of its own; gone, but it tells where the function runs.
MIXINS = frozenset(
    f"ray.tune.integration.{place}"
    for tracker in ("wandb", "mlflow")
    for place in (f"{tracker}.{tracker}_mixin", f"{tracker}_mixin")
)
SESSION = ("ray.air.session", "ray.train.report", "ray.train.get_checkpoint", "ray.train.get_context")
# What only the workers of a trainer have: in a trial legacy Ray raised a RuntimeError (2.7 train/_internal/session.py).
WORKERS_ONLY = (
    "get_world_rank",
    "get_world_size",
    "get_local_rank",
    "get_local_world_size",
    "get_node_rank",
    "get_dataset_shard",
)
TEST_FILE = lazy_regex(r"(?:^|[/\\])(?:test_[^/\\]*|[^/\\]*_test)\.py$")
TEST_PACKAGES = ("pytest", "unittest")
AROUND_TESTS = lazy_regex(r"setUp(?:Class)?|tearDown(?:Class)?|(?:setup|teardown)_(?:method|class|module|function)")
# By these names a test puts something in the place of what it calls.
PUTS_IN_PLACE = frozenset({"patch", "monkeypatch", "mocker", "Mock", "MagicMock"})
PUT_IN_TEXT = lazy_regex(rf"\b(?:{'|'.join(sorted(PUTS_IN_PLACE))})\b")
CONFTEST = "conftest.py"
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
        self._callees: dict[ast.Call, tuple[FunctionNode, ...]] = {}
        self._called_by: dict[ast.AST | None, set[ast.AST]] = {}
        self.trials = self._with_callees(self._trainables())
        self.workers = self._with_callees(self._training_functions())

    def of(self, node: ast.AST) -> Place:
        """Where the code runs that a node is part of."""
        for ancestor in self.module.ancestors(node):
            in_trial, on_worker = ancestor in self.trials, ancestor in self.workers
            if in_trial or on_worker:
                is_both = in_trial and (on_worker or ancestor in self.called_by_asking)
                return Place.BOTH if is_both else Place.TRIAL if in_trial else Place.WORKER
        return Place.UNKNOWN

    @cached_property
    def called_outside(self) -> set[ast.AST]:
        """Functions that the module calls, itself or through another function, and not a trainer or a Tuner."""
        return self.called_from([None])

    @cached_property
    def tested(self) -> set[ast.AST]:
        """The functions that pytest and unittest run, with those that they call.

        None where the file, or a conftest.py that holds for it, may put something else in the place of what they call.
        """
        module = self.module
        imported = (module.imported(statement, alias) for statement in module.imports for alias in statement.names)
        is_test = TEST_FILE.search(module.path) or any(name.partition(".")[0] in TEST_PACKAGES for name in imported)
        if not is_test or module.attributes(*PUTS_IN_PLACE) or any(map(module.reads, PUTS_IN_PLACE)):
            return set()
        if any(PUT_IN_TEXT.search(text) for text in _conftests(module)):
            return set()
        tests = {function for function in module.of_type(ast.FunctionDef) if self._is_test(function)}
        return tests | self.called_from(tests)

    def _is_test(self, function: ast.FunctionDef) -> bool:
        home = self.module.parent_of[function]
        if isinstance(home, ast.ClassDef):
            bases = [ast.unparse(base) for base in home.bases]
            if not home.name.startswith("Test") and not any(base.endswith("TestCase") for base in bases):
                return False
        elif home is not self.module.tree:
            return False
        is_fixture = any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list)
        return function.name.startswith("test_") or is_fixture or AROUND_TESTS.fullmatch(function.name) is not None

    def also_elsewhere(self, place_of: Callable[[ast.AST], Place]) -> set[ast.AST]:
        """Functions called from code that, as far as can be seen, neither a trainer nor a Tuner runs.

        Args:
            place_of: Where code runs that this module does not place: other files may.
        """
        in_functions = [calls for function, calls in self.module.calls_by_function.items() if function is not None]
        found = set[ast.AST]()
        for first, *others in (*in_functions, *([call] for call in self.module.calls_by_function.get(None, ()))):
            if self.of(first) is Place.UNKNOWN:  # and so are all of its function
                called = {function for call in (first, *others) for function in self._called(call)}
                found |= called if called and place_of(first) is Place.UNKNOWN else set()
        return found | self.called_from(found)

    def called_from(self, start: Iterable[ast.AST | None]) -> set[ast.AST]:
        """The functions that are called where some are run, those defined in them apart; None is the module."""
        found, todo = set[ast.AST](), list(start)
        while todo:
            called = self._called_in(todo.pop()) - found
            found |= called
            todo += called
        return found

    def _called_in(self, function: ast.AST | None) -> set[ast.AST]:
        if function not in self._called_by:
            calls = self.module.calls_by_function.get(function, ())
            self._called_by[function] = {called for call in calls for called in self._called(call)}
        return self._called_by[function]

    def reached_from(self, function: FunctionNode) -> set[ast.AST]:
        """A function with those of the module that it calls."""
        return self._with_callees(iter([function]))

    def _trainables(self) -> Iterator[FunctionNode]:
        for call in self.module.calls(*TAKE_TRAINABLES, *RESTORED):
            is_restored = self.module.qualified(call.func) in RESTORED
            trainable = argument(call, 1 if is_restored else 0, *TRAINABLE, *(OF_RESTORED if is_restored else ()))
            for source in sources(self.module, trainable):
                functions = list(_functions_of(self.module, source))
                self.unseen_trainables |= not functions and not self._is_known(source)
                yield from functions
        for call in self.module.calls("ray.tune.register_trainable"):
            yield from functions_behind(self.module, argument(call, 1, "trainable"))

        for function in self.module.of_type(ast.FunctionDef):
            if any(self.module.qualified(decorator) in MIXINS for decorator in function.decorator_list):
                yield function

    @cached_property
    def only_tuned(self) -> set[ast.AST]:
        """The functions with a report, or another call of a session, of a module that has Tuners and no trainer.

        Other files may hand them to a trainer all the same.
        """
        module = self.module
        has_trainer = any(r.qualified.rpartition(".")[2].endswith("Trainer") for r in module.references)
        if has_trainer or not any(module.calls(*TAKE_TRAINABLES, *RESTORED)):
            return set()
        around = (module.ancestors(reference.node) for reference in module.references_within(*SESSION))
        outermost = ([outer for outer in outers if isinstance(outer, FUNCTIONS)][-1:] for outers in around)
        return set[ast.AST]().union(*outermost) - self.called_outside - self.asking_for_workers

    @cached_property
    def asking_for_workers(self) -> set[ast.AST]:
        """Functions that ask a session for what no trial has, those around them, and those that only these call."""
        asking = self._asking | self.called_by_asking
        others = {f for kind in FUNCTIONS for f in self.module.of_type(kind) if asking.isdisjoint(self._with_outer(f))}
        return self._asking | (self.called_by_asking - self.called_from([None, *others]))

    @cached_property
    def called_by_asking(self) -> set[ast.AST]:
        """The functions called by those that ask for what no trial has and that no Tuner here is given."""
        return self.called_from(self._asking - self.trials) - self._asking

    @cached_property
    def _asking(self) -> set[ast.AST]:
        """Functions that ask a session for what no trial has, with those around them."""
        module = self.module
        names = {f"{session}.{name}" for session in ("ray.air.session", "ray.train") for name in WORKERS_ONLY}
        asking = [reference.node for reference in module.references_within(*names)]
        asking += [method for _, method in module.method_calls(*WORKERS_ONLY) if _is_context(module, method.value)]
        return self._functions_around(asking) - self._functions_around(module.calls(*TAKE_TRAINABLES))

    def _with_outer(self, function: ast.AST) -> Iterator[ast.AST]:
        """A function, and what is around it."""
        yield function
        yield from self.module.ancestors(function)

    def _functions_around(self, nodes: Iterable[ast.AST]) -> set[ast.AST]:
        return {outer for node in nodes for outer in self.module.ancestors(node) if isinstance(outer, FUNCTIONS)}

    def _training_functions(self) -> Iterator[FunctionNode]:
        for reference in self.module.references_within("ray.train"):
            call = self.module.calling(reference.node)
            if reference.qualified.endswith("Trainer") and call is not None:
                yield from functions_behind(self.module, argument(call, 0, *TRAINING_FUNCTION))

    def _called(self, call: ast.Call) -> tuple[FunctionNode, ...]:
        """What a call calls in the module; each question follows the calls anew, and they stay as they are."""
        if call not in self._callees:
            self._callees[call] = tuple(self._find_called(call))
        return self._callees[call]

    def _find_called(self, call: ast.Call) -> Iterator[FunctionNode]:
        """The functions of the module that a call calls, by name or as methods of an object; of a class __init__."""
        if isinstance(call.func, ast.Name) and not _is_of_others(self.module, call.func):
            found = list(functions_behind(self.module, call.func))
            yield from found or (b.node for b in self._bindings(call.func) if isinstance(b.node, FUNCTIONS))
            if isinstance(home := self.module.definition(call.func), ast.ClassDef):
                yield from method_of(self.module, home, "__init__")
        elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name | ast.Call):
            yield from methods(self.module, call.func)

    def _bindings(self, name: ast.Name) -> list[Binding]:
        """The bindings that the name of a function may have where it is called.

        A notebook defines `train()` and `step()`, calls `train()`, and then defines both anew: the first `train()`
        never sees the second `step()`.
        """
        module, outer = self.module, self.module.function(name)
        known = reaching(module, name)
        if len(known) < 2 or not isinstance(outer, ast.FunctionDef) or module.parent_of[outer] is not module.tree:
            return known
        last = module.scope_of[outer].bindings[outer.name][-1].node
        if last is outer or module.parent_of.get(last) is not module.tree:
            return known  # other files may call it after all
        reads = [read for read in module.reads(outer.name) if outer in {b.node for b in reaching(module, read)}]
        calls = [module.parent_of[read] for read in reads if module.function(read) is None]
        called = [call for call in calls if isinstance(call, ast.Call) and call.func in reads]
        if not called or len(called) < len(reads):
            return known
        return list({id(b): b for call in called for b in reaching_from(module, name, call)}.values())

    def _is_known(self, trainable: ast.expr) -> bool:
        """Whether an expression is visibly not a function: a class, a trainer, a string."""
        if isinstance(trainable, ast.Name):
            return isinstance(self.module.definition(trainable), (ast.ClassDef, ast.alias))
        if isinstance(trainable, ast.Attribute):  # of an object of this module, so perhaps a method
            return self.module.qualified(trainable) is not None
        if isinstance(trainable, ast.Call):  # of a class, as a trainer
            return self.module.qualified(trainable.func) is not None or self._is_known(trainable.func)
        return isinstance(trainable, ast.Constant)

    def _with_callees(self, functions: Iterator[FunctionNode]) -> set[ast.AST]:
        found = set[ast.AST]()
        todo = list(functions)
        while todo:
            function = todo.pop()
            if function not in found:
                found.add(function)
                calls = [node for node in self.module.below(function) if isinstance(node, ast.Call)]
                todo += [called for call in calls for called in self._called(call)]
        return found


def _is_of_others(module: Module, function: ast.Name) -> bool:
    """Whether a name stands for what Python has, or what is imported."""
    return all(binding.statement is not None for binding in reaching(module, function))


def _conftests(module: Module) -> Iterator[str]:
    """The texts of the files with fixtures for a test file: in its folder, and in those above it in its project."""
    project = module.project
    if project is None or not module.path:
        return
    top = project.folder(module.path)
    for folder in upwards(os.path.dirname(os.path.abspath(module.path))):
        with suppress(OSError):
            yield project.read(os.path.join(folder, CONFTEST)).decode(errors="replace")
        if folder == top:
            return


def _is_context(module: Module, node: ast.expr) -> bool:
    """Whether a value is what get_context() of ray.train gives."""
    return called_name(module, module.value(node)) == "ray.train.get_context"


def functions_behind(module: Module, node: ast.expr | None) -> Iterator[FunctionNode]:
    """The functions of a module that an expression can stand for, out of their wrappers; of an object its __call__."""
    waiting, seen = sources(module, node), set[ast.expr]()
    while waiting:
        source = waiting.pop(0)
        if source in seen:
            continue  # `function = partial(function, 1)` in a loop
        seen.add(source)
        if _is_wrapper(source, module):
            waiting[:0] = sources(module, argument(source, 0, *TRAINABLE))
        else:
            yield from _functions_of(module, source)


def _is_wrapper(node: ast.expr, module: Module) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and module.qualified(node.func) in WRAPPERS


def _functions_of(module: Module, source: ast.expr) -> Iterator[FunctionNode]:
    found = module.definition(source) if isinstance(source, ast.Name) else source
    if isinstance(found, FUNCTIONS):
        yield found
    elif isinstance(source, ast.Attribute):
        yield from methods(module, source)
    elif _is_wrapper(source, module):
        yield from functions_behind(module, argument(source, 0, *TRAINABLE))
    elif isinstance(source, ast.Call) and isinstance(home := module.definition(source.func), ast.ClassDef):
        yield from method_of(module, home, "__call__")
    elif isinstance(source, ast.Name) and module.functions("__call__"):  # `self`, a parameter with its class
        found_methods = methods_of_object(module, source, "__call__", elsewhere=False)
        yield from (method for _, method in found_methods or ())
