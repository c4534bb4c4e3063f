"""What is called when a value is called: functions, methods and objects, in whatever file of the project they are.

A trainer is handed the function that its workers run. It may be imported, wrapped in partial(), looked up in a dict, a
method or an object; what cannot be followed to a definition was not read, and nothing is known of what it does.
"""

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from raymigrate.facts.projects.handed_on import handed_on
from raymigrate.facts.projects.places import WRAPPERS
from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.syntax.functions import decorators_of
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.own_modules import LIBRARIES
from raymigrate.facts.syntax.scopes import FUNCTIONS, FunctionNode
from raymigrate.facts.values import (
    Source,
    argument,
    class_named,
    free_name,
    is_none,
    method_of,
    methods,
    methods_of_object,
    reaching,
)
from raymigrate.facts.values.items import items_behind

Found = TypeVar("Found")
DEEPEST = 6  # wrappers in wrappers, items of items


@dataclass(frozen=True)
class Callee:
    """One thing that a call can call.

    Args:
        module: The file that its definition is in; that of the expression where there is none.
        node: The expression that stands for it, which may be in another file than its definition.
        function: Its definition; None where the project does not show it.
    """

    module: Module
    node: ast.expr
    function: FunctionNode | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether it may be a function of the user's own that was not found: not one of Python or a known library."""
        if self.function is not None:
            return False
        if name := free_name(self.module, self.node):
            return not hasattr(builtins, name)
        return (self.module.qualified(self.node) or "").partition(".")[0] not in LIBRARIES


def callees(module: Module, called: ast.expr, depth: int = 0) -> Iterator[Callee]:
    """What a value that is called can be.

    Args:
        module: The module.
        called: The value.
        depth: How many wrappers and collections it was taken out of.
    """
    for source in module.origins(called):
        if not is_none(source.node):
            yield from _callees_of(source, depth)


def functions_run(module: Module, call: ast.Call) -> Iterator[tuple[Module, FunctionNode]]:
    """The functions of the project that a call carries out, each with its file; for a class its constructor."""
    yield from _functions_called(module, call)
    if (made := class_named(module, call.func)) is not None:
        yield from ((made[0], constructor) for constructor in method_of(*made, "__init__"))


def _functions_called(module: Module, call: ast.Call) -> Iterator[tuple[Module, FunctionNode]]:
    return ((callee.module, callee.function) for callee in callees(module, call.func) if callee.function is not None)


def functions_elsewhere(module: Module, call: ast.Call) -> Iterator[tuple[Module, FunctionNode]]:
    """Those that a call carries out in other files; see `functions_run`."""
    return ((home, function) for home, function in functions_run(module, call) if home is not module)


def _callees_of(source: Source, depth: int) -> Iterator[Callee]:
    module, node = source.module, source.node
    functions = list(_definitions(module, node))
    inner = [] if functions or depth >= DEEPEST else list(_inside(source))
    for home, function in functions:
        yield Callee(home, node, function)
    for other in inner:
        yield from callees(other.module, other.node, depth + 1)
    if not functions and not inner:
        yield Callee(module, node)


def _definitions(module: Module, node: ast.expr) -> Iterator[tuple[Module, FunctionNode]]:
    """The functions that an expression stands for by itself."""
    if isinstance(node, ast.Lambda):
        yield module, node
    elif (other := module.elsewhere(node)) is not None and isinstance(other.node, FUNCTIONS):
        yield other.module, other.node
    elif isinstance(node, ast.Name):
        bound = [(module, b.node) for b in reaching(module, node) if isinstance(b.node, FUNCTIONS)]
        parameter = module.definition(node)
        decorated = _decorated(module, parameter) if isinstance(parameter, ast.arg) else ()
        yield from bound or decorated or methods_of_object(module, node, "__call__") or ()
    elif isinstance(node, ast.Attribute):
        found = [(module, method) for method in methods(module, node)]
        yield from found or methods_of_object(module, node.value, node.attr) or ()
    elif isinstance(node, ast.Call):
        yield from methods_of_object(module, node, "__call__") or ()


@kept
def _decorated(module: Module, parameter: ast.arg) -> list[tuple[Module, FunctionNode]]:
    """The functions that a decorator gets, or one that a function makes: `@register`, `@register(key)`."""
    decorator = module.parent_of[module.parent_of[parameter]]
    if not isinstance(decorator, ast.FunctionDef) or decorator.args.args[:1] != [parameter]:
        return []
    makers = dict.fromkeys([decorator, module.function(decorator) or decorator])
    users = [module, *importing_modules(module)]
    return [(user, function) for user in users for maker in makers for function in _by_decorator(user).get(maker, ())]


@kept
def _by_decorator(module: Module) -> dict[ast.AST, list[ast.FunctionDef]]:
    """The functions of a module with decorators, by what these are, or are made by."""
    found: dict[ast.AST, list[ast.FunctionDef]] = {}
    for function in module.of_type(ast.FunctionDef):
        calls = decorators_of(function)
        for maker in dict.fromkeys(maker for each in calls for maker in _makers(module, each)):
            found.setdefault(maker, []).append(function)
    return found


def _makers(module: Module, node: ast.expr) -> list[ast.AST]:
    """What a name or a method stands for, in whatever file of the project."""
    found, other = module.definition(node), module.elsewhere(node)
    if other is not None and not isinstance(found, FUNCTIONS):
        return [other.node]
    if isinstance(node, ast.Attribute):
        return [method for _, method in methods_of_object(module, node.value, node.attr) or ()]
    return [found] if found is not None else []


def _inside(source: Source) -> Iterator[Source]:
    """What a wrapper, a dict, a list or another file hands on."""
    module, node = source.module, source.node
    if isinstance(node, ast.Call) and module.qualified(node.func) in WRAPPERS:
        wrapped = argument(node, 0, "func", "trainable")
        yield from [Source(module, wrapped)] if wrapped is not None else []
    yield from items_behind(source)
    if isinstance(node, ast.Name):
        yield from handed_on(module, node)


def reached_elsewhere(module: Module, calls: Iterable[ast.Call]) -> Iterator[tuple[Module, ast.AST]]:
    """The functions and classes of other files that some calls of a module call, and those that these call.

    Of a class that objects are made of it is what runs by itself; other methods count where something calls them.
    """
    waiting = [place for call in calls for place in _called(module, call)] if module.project is not None else []
    seen = set[ast.AST]()
    while waiting:
        home, code = waiting.pop()
        if home is not module and code not in seen:
            seen.add(code)
            yield home, code
            waiting += _called_in(home, code)


def lead_to(
    module: Module, calls: Sequence[ast.Call], find: Callable[[Module, ast.AST], Found | None]
) -> Iterator[tuple[ast.Call, Module, Found]]:
    """The calls by which a module comes to something in code of other files; each function is looked at once.

    Args:
        module: The module.
        calls: Calls of it.
        find: What is looked for in a function or class of a file.

    Returns:
        Each call that leads to one, with the file and with what is found there.
    """
    reached, callers = list(reached_elsewhere(module, calls)), dict[ast.AST, list[ast.AST]]()
    found = {code: (home, what) for home, code in reached if (what := find(home, code)) is not None}
    for home, code in reached if found else ():
        for _, inner in _called_in(home, code):
            callers.setdefault(inner, []).append(code)
    waiting = list(found)
    for inner in waiting:  # it grows
        above = [code for code in dict.fromkeys(callers.get(inner, ())) if code not in found]
        found |= dict.fromkeys(above, found[inner])
        waiting += above
    for call in calls if found else ():
        for end in [found[code] for home, code in _called(module, call) if home is not module and code in found][:1]:
            yield call, *end


@kept
def _called_in(module: Module, code: ast.AST) -> list[tuple[Module, ast.AST]]:
    """The functions and classes that some code of a file calls."""
    return [place for call in calls_within(code) for place in _called(module, call)]


def _called(module: Module, call: ast.Call) -> Iterator[tuple[Module, ast.AST]]:
    """The function of the project that a call calls, or what runs of the class that it makes an object of."""
    yield from _functions_called(module, call)
    if (made := class_named(module, call.func)) is not None:
        yield from _run_unasked(*made)


@kept
def _run_unasked(module: Module, made: ast.ClassDef) -> list[tuple[Module, ast.AST]]:
    """What runs of a class without a call that is seen: `__init__` and its like, also those of its bases.

    All of it where a base is no class of the project, as a library may call any method: `class Net(nn.Module)`.
    """
    bases = [class_named(module, base) for base in made.bases if free_name(module, base) != "object"]
    if None in bases:
        return [(module, made)]
    own = [(module, part) for part in made.body if isinstance(part, FUNCTIONS) and part.name.startswith("__")]
    above = [place for found in bases if found is not None for place in _run_unasked(*found)]
    is_of_library = any(isinstance(node, ast.ClassDef) for _, node in above)
    return [*above, *([(module, made)] if is_of_library else own)]


def calls_within(code: ast.AST) -> list[ast.Call]:
    """The calls in some code."""
    return [node for node in ast.walk(code) if isinstance(node, ast.Call)]
