"""The code that a trainer has run on its workers: what its construction names, and what that names in its turn.

A training function may call a function or a method, make an object whose methods a library calls, or get either from
its trainer in train_loop_config: all of it is named on the way. So what is not named is run for other trainers only.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from raymigrate.facts.projects.places import TRAINABLE, TRAINING_FUNCTION, WRAPPERS
from raymigrate.facts.ray_train.results import fitted_trainers
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.syntax.scopes import FUNCTIONS, ITERATIONS
from raymigrate.facts.values import (
    Source,
    argument,
    class_named,
    fillings,
    has_unpacking,
    is_method_call,
    is_none,
    last_name,
    methods,
    reaching,
)
from raymigrate.knowledge.legacy import TRANSFORMERS_TRAINERS

# By these, code gets at what it does not name. Of those that Python has itself, a method is another one: model.eval().
BUILT_IN = frozenset({"__import__", "eval", "exec", "globals", "locals", "vars"})
BY_TEXT = BUILT_IN | {"import_module", "instantiate"}
MOST_FILES = 40  # that the code of a trainer is followed to: fewer than a project keeps parsed
ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)


@dataclass(eq=False)
class TrainingCode:
    """What some trainers have run.

    Args:
        homes: The files in which methods are looked for by their names alone.

    Attributes:
        nodes: The code: constructions of the trainers, functions, classes, values of variables.
        is_whole: Whether nothing else can be run.
        is_cut: Whether it goes on in more files than are followed.
        kept: What was found out about it.
    """

    homes: list[Module]
    nodes: set[ast.AST] = field(default_factory=set)
    is_whole: bool = True
    is_cut: bool = False
    kept: dict[object, object] = field(default_factory=dict)
    _waiting: list[Source] = field(default_factory=list)
    _attributes: set[str] = field(default_factory=set)
    _files: set[str] = field(default_factory=set)

    def add(self, module: Module, node: ast.AST | None) -> None:
        """Adds code, and all that it names."""
        self._put(module, node)
        while self._waiting:
            part = self._waiting.pop()
            named = _named_in(part.module, part.node)
            self.is_whole &= not named.by_text
            for found in named.parts:
                self._put(found.module, found.node)
            for name in named.attributes:  # in the order of the code: the files that it is followed to depend on it
                if name not in self._attributes:
                    self._members(name)

    def runs(self, module: Module, node: ast.AST) -> bool:
        """Whether a node is part of this code."""
        return any(outer in self.nodes for outer in module.ancestors(node))

    def may_run(self, module: Module, node: ast.AST) -> bool:
        """Whether a node is part of this code, or of what a decorator of the project may hand to it."""
        return self.runs(module, node) or _is_registered(module, node)

    def _put(self, module: Module, node: ast.AST | None) -> None:
        if node is None or node in self.nodes:
            return
        if module.path not in self._files and len(self._files) == MOST_FILES:
            self.is_whole, self.is_cut = False, True
        else:
            self._files.add(module.path)
            self.nodes.add(node)
            self._waiting.append(Source(module, node))  # type: ignore[arg-type]

    def _members(self, name: str) -> None:
        """Adds the methods of a name, and the values of attributes, of whatever class they are."""
        self._attributes.add(name)
        for home in self.homes:
            for function in home.functions(name):
                if isinstance(home.parent_of[function], ast.ClassDef):
                    self._put(home, function)
            for stored in home.stores(name):
                self._put(home, _value(home, stored))


@dataclass(frozen=True)
class Named:
    """What a part of the code names.

    Args:
        parts: What its names stand for.
        attributes: The attributes that it reads or sets, of objects of whatever class.
        by_text: Whether it gets at other code by a name that is made at run time.
    """

    parts: tuple[Source, ...]
    attributes: tuple[str, ...]
    by_text: bool


@kept
def _named_in(module: Module, part: ast.AST) -> Named:
    """What a part of the code names: most parts are run by many trainers."""
    nodes = [part, *module.below(part)]
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    read = [node for node in nodes if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)]
    return Named(
        tuple(dict.fromkeys(found for node in read for found in _meant(module, node))),
        tuple(dict.fromkeys(node.attr for node in attributes if not _is_of_library(module, node))),
        any(_is_by_text(module, node) for node in read),
    )


def _meant(module: Module, node: ast.Name | ast.Attribute) -> Iterator[Source]:
    """The code that a name or an attribute stands for, wherever it is."""
    if (other := module.elsewhere(node)) is not None:
        yield from _code(other.module, _value(other.module, other.node))
    elif isinstance(node, ast.Name):
        for binding in reaching(module, node):
            if isinstance(binding.node, ast.arg):
                yield from (source for source in module.origins(node) if source.node is not node)
                continue
            yield from _code(module, _value(module, binding.node))
            for filling in fillings(module, node):  # `CALLBACKS.append(Callback())`, wherever
                yield from _code(module, filling)


def _code(module: Module, node: ast.AST | None) -> list[Source]:
    return [Source(module, node)] if node is not None else []  # type: ignore[arg-type]


class TrainingCodes:
    """The code of trainers, each looked for once.

    Args:
        homes: The files that may have a part in it.
    """

    def __init__(self, homes: list[Module]) -> None:
        self.homes = homes
        self._of_trainers: dict[tuple[Source, ...], TrainingCode | None] = {}

    def of_results(self, results: Iterable[Source]) -> TrainingCode | None:
        """The code of the trainers whose fit() gave some results; None where that cannot be seen."""
        found = [fitted_trainers(result.module, result.node) for result in results]
        if not found or not all(found):
            return None
        return self.of_trainers(trainer for each in found for trainer in each or ())

    def of_trainers(self, made: Iterable[Source]) -> TrainingCode | None:
        """The code that some trainers run; None where that cannot be seen."""
        trainers = tuple(dict.fromkeys(made))
        if trainers not in self._of_trainers:
            self._of_trainers[trainers] = self._code(trainers)
        return self._of_trainers[trainers]

    def _code(self, trainers: Iterable[Source]) -> TrainingCode | None:
        code = TrainingCode(self.homes)
        for source in [made for trainer in trainers for made in _but_none(trainer.module, trainer.node)]:
            calls = list(_constructions(source))
            if not calls or not all(_is_seen(source.module, call) for call in calls):
                return None
            for call in calls:
                code.add(source.module, call)
        return code if code.nodes and code.is_whole else None

    @cached_property
    def of_loops(self) -> TrainingCode:
        """What the trainers of the files run that are given a training function, and not one that makes a Trainer."""
        code = TrainingCode(self.homes)
        for home in self.homes:
            for reference in home.references_within("ray.train"):
                made, call = reference.qualified.removesuffix(".restore"), home.calling(reference.node)
                has_loop = made.endswith("Trainer") and made not in TRANSFORMERS_TRAINERS
                if has_loop and call is not None:
                    code.add(home, argument(call, int(made != reference.qualified), *TRAINING_FUNCTION))
        return code


def _constructions(trainer: Source) -> Iterator[ast.Call]:
    """The calls by which a trainer is made; of one restored without its function, those of the same class."""
    module, node = trainer.module, trainer.node
    if not isinstance(node, ast.Call):
        return
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr != "restore" or argument(node, 1, *TRAINING_FUNCTION):
        yield node
    elif module.bound_in(owner := function.value) is not None:
        yield from module.calls_of(owner)
    else:
        yield from module.calls(module.qualified(owner) or "")


def _is_seen(module: Module, construction: ast.Call) -> bool:
    """Whether it is seen what a trainer runs: it is of a class of Ray, and the function that it is given is found."""
    makers = [source for source in module.origins(construction.func) if class_named(source.module, source.node)]
    restored = is_method_call(construction, "restore")
    given = argument(construction, int(restored), *TRAINING_FUNCTION)
    if makers or given is None:
        return not makers and not has_unpacking(construction)
    return _is_found(module, given)


def _is_found(module: Module, function: ast.expr) -> bool:
    """Whether a project shows the function that a value is, on every way to it."""
    sources = _but_none(module, function)
    return bool(sources) and all(_is_definition(source) for source in sources)


def _is_definition(source: Source) -> bool:
    module, node = source.module, source.node
    other = module.elsewhere(node)
    if isinstance(node, ast.Lambda) or (other is not None and isinstance(other.node, FUNCTIONS)):
        return True
    if isinstance(node, ast.Name):
        found = reaching(module, node)
        return bool(found) and all(isinstance(binding.node, FUNCTIONS) for binding in found)
    if isinstance(node, ast.Attribute):
        return bool(methods(module, node))
    if not isinstance(node, ast.Call):
        return False
    wrapped = argument(node, 0, "func", *TRAINABLE) if module.qualified(node.func) in WRAPPERS else None
    return _is_found(module, wrapped) if wrapped is not None else class_named(module, node.func) is not None


def _but_none(module: Module, node: ast.expr) -> list[Source]:
    return [source for source in module.origins(node) if not is_none(source.node)]


def _is_of_library(module: Module, node: ast.expr) -> bool:
    return (module.qualified(node) or "").partition(".")[0] in LIBRARIES


def _is_by_text(module: Module, node: ast.Name | ast.Attribute) -> bool:
    """Whether code gets at other code by a name that is made at run time: `getattr(module, name)`."""
    name = last_name(node)
    call = module.parent_of[node]
    if isinstance(node, ast.Attribute) and name in BUILT_IN and module.qualified(node) != f"builtins.{name}":
        return False
    if name != "getattr" or not isinstance(call, ast.Call) or call.func is not node:
        return name in BY_TEXT
    return not isinstance(module.constant(call.args[1] if len(call.args) > 1 else None), str)


def _value(module: Module, bound: ast.AST) -> ast.AST | None:
    """What a name gets where it is bound: a definition, or the value of the assignment or loop that binds it."""
    if not isinstance(bound, (ast.Name, ast.Attribute)):
        return bound if isinstance(bound, (*FUNCTIONS, ast.ClassDef)) else None
    outer = module.parent_of[bound]
    while isinstance(outer, (ast.Tuple, ast.List, ast.Starred)):
        outer = module.parent_of[outer]
    if isinstance(outer, ast.withitem):
        return outer.context_expr
    return outer.iter if isinstance(outer, ITERATIONS) else outer.value if isinstance(outer, ASSIGNMENTS) else None


def _is_registered(module: Module, node: ast.AST) -> bool:
    """Whether a node is part of what a decorator of the project may hand to others, which do not name it then."""
    definitions = (outer for outer in module.ancestors(node) if isinstance(outer, (ast.FunctionDef, ast.ClassDef)))
    decorators = [decorator for outer in definitions for decorator in outer.decorator_list]
    functions = [decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in decorators]
    return any(module.qualified(f) is None or module.elsewhere(f) is not None for f in functions)
