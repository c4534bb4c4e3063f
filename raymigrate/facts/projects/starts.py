"""Where other files start what a function or class of a file does: by a call, a method, a subclass or another name."""

import ast
from collections.abc import Collection, Iterator

from raymigrate.facts.projects.project_uses import uses_of
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.functions import by_position, default_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import last_name

# Calls that a function or class can be given without being called: `isinstance(job, Job)`, `@wraps(train)`.
ASKS = (
    *("isinstance", "issubclass", "callable", "hasattr", "type", "cast", "wraps", "help", "print", "repr", "str", "id"),
    *("signature", "getsource", "getdoc", "getfile", "get_type_hints"),
)
HOLDERS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
KEEPERS = (*HOLDERS, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Starred, ast.Await, ast.keyword)
OF_HOLDERS = ("copy", "get", "items", "pop", "popitem", "setdefault", "values")  # which give what a dict or list holds


def ways_in(definition: ast.FunctionDef | ast.ClassDef, module: Module, node: ast.AST) -> frozenset[str]:
    """The methods of a class that get to a node in it; none of a function, or where it takes an object only.

    Args:
        definition: The function or class.
        module: Its module.
        node: The node.
    """
    if isinstance(definition, ast.FunctionDef):
        return frozenset()
    return _with_callers(definition, {method.name for method in _methods(definition) if module.inside(node, method)})


def _methods(definition: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [part for part in definition.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _with_callers(definition: ast.ClassDef, names: Collection[str]) -> frozenset[str]:
    """Some methods, with those of a class that lead to them; none where it takes an object only: `__init__` does."""
    named = {method.name: set(_named_by(definition, method)) for method in _methods(definition)}
    found, known = {*names}, 0
    while known != len(found):
        known = len(found)
        found |= {name for name, others in named.items() if not found.isdisjoint(others)}
    return frozenset() if any(name.startswith("__") for name in found) else frozenset(found)


def _named_by(definition: ast.ClassDef, method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The methods that one names of its own object or class: not `train` of `self.model.train()`."""
    own = {definition.name, *(parameter.arg for parameter in by_position(method)[:1])}
    for part in ast.walk(method):
        if isinstance(part, ast.Attribute):
            owner = part.value
            if isinstance(owner, ast.Call) or (isinstance(owner, ast.Name) and owner.id in own):
                yield part.attr


def starts_elsewhere(module: Module, definition: Definition, ways: frozenset[str]) -> list[tuple[Module, ast.expr]]:
    """Where other files of the project call a function or class, hand it on, or call a method of its objects.

    Args:
        module: The file of the function or class.
        definition: The function or class, there.
        ways: The methods that count; none where each call does.
    """
    if module.project is None:
        return []
    found, waiting, seen = dict[ast.expr, Module](), [(definition, ways)], {definition.node}
    for each, methods in waiting:  # which grows meanwhile
        for user, read in uses_of(module.project, each).reads:
            derived = user.parent_of[read]
            if isinstance(derived, ast.ClassDef) and read in derived.bases:
                if derived not in seen and not _is_replaced(derived, methods) and derived in user.tree.body:
                    seen.add(derived)
                    more = _with_callers(derived, methods) if methods else methods
                    waiting.append((Definition(user, derived, derived.name), more))
            elif user is not module and is_started(user, read, methods):
                found[read] = user
    return [(user, read) for read, user in found.items()]


def _is_replaced(derived: ast.ClassDef, ways: frozenset[str]) -> bool:
    """Whether a class has methods of its own in place of these."""
    own = {part.name for part in derived.body if isinstance(part, ast.FunctionDef)}
    return bool(ways) and ways <= own and "super" not in names_in(derived)


def is_started(module: Module, node: ast.expr, ways: frozenset[str] = frozenset()) -> bool:
    """Whether a function, a class or an object of it is called, or one of some methods; or handed on to what may do so.

    Args:
        module: The module.
        node: What stands for it.
        ways: The methods that count; none where each call does.
    """
    waiting, seen, held = list[ast.AST]([node]), set[ast.AST](), set[ast.AST]()
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        outer = module.parent_of.get(part)
        found: list[ast.AST] = []  # what stands for it, too
        if isinstance(outer, ast.Attribute):
            if outer.attr in ways:
                return True
            call = module.calling(outer)
            found += [call] if part in held and outer.attr in OF_HOLDERS and call is not None else []
        elif isinstance(outer, ast.Call) and outer.func is part:
            if not ways:
                return True
            found.append(outer)  # an object, which may only hold data
        elif isinstance(outer, ast.Call):
            if last_name(outer.func) not in ASKS:
                return True
        elif outer is not None:
            names = list(_names_of(outer, part))
            if not all(isinstance(name, (ast.Name, ast.arg)) for name in names):
                return True  # an attribute, which other code may read
            found += (use for name in names for use in _uses(module, name))
            if isinstance(outer, KEEPERS) or (isinstance(outer, ast.Subscript) and outer.value is part):
                found.append(outer)
        waiting += found
        if part in held or isinstance(outer, HOLDERS):
            held.update(found)
    return False


def _names_of(outer: ast.AST, value: ast.AST) -> Iterator[ast.AST]:
    """What a statement binds to a value, or to the items of one; the statement itself where it gives the value back."""
    if isinstance(outer, ast.Assign):
        yield from (name for target in outer.targets for name in _parts_of(target))
    elif isinstance(outer, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.comprehension)):
        if value in (getattr(outer, "value", None), getattr(outer, "iter", None)):
            yield from _parts_of(outer.target)
    elif isinstance(outer, ast.withitem) and outer.optional_vars is not None:
        yield outer.optional_vars
    elif isinstance(outer, ast.arguments):
        taking = [*outer.posonlyargs, *outer.args, *outer.kwonlyargs]
        yield from (parameter for parameter in taking if default_of(parameter, outer) is value)
    elif isinstance(outer, (ast.Return, ast.Yield, ast.Lambda)):
        yield outer


def _parts_of(target: ast.expr) -> list[ast.expr]:
    """The names that a target binds: both of `name, job`."""
    return [*target.elts] if isinstance(target, (ast.Tuple, ast.List)) else [target]


def _uses(module: Module, name: ast.AST) -> list[ast.Name]:
    """The reads of a name that a value is given, or of a parameter whose default it is."""
    if isinstance(name, ast.arg):
        function = next(outer for outer in module.ancestors(name) if isinstance(outer, FUNCTIONS))
        return module.uses(name.arg, module.scope(function))
    return module.uses_of(name)
