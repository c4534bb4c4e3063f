"""Where other files start what a function or class of a file does: by a call, a method, a subclass or another name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from raymigrate.facts.projects.project_uses import uses_of
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import last_name

# Calls that a function or class can be given without being called: `isinstance(job, Job)`, `@wraps(train)`.
ASKS = (
    *("isinstance", "issubclass", "callable", "hasattr", "type", "cast", "wraps", "help", "print", "repr", "str", "id"),
    *("signature", "getsource", "getdoc", "getfile", "get_type_hints"),
)
KEEPERS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.IfExp, ast.BoolOp, ast.Starred, ast.Await, ast.keyword)


def ways_in(definition: ast.FunctionDef | ast.ClassDef, module: Module, node: ast.AST) -> frozenset[str]:
    """The methods of a class that get to a node in it; none of a function, or where it takes an object only.

    Args:
        definition: The function or class.
        module: Its module.
        node: The node.
    """
    found = dict[str, None]()
    methods = [part for part in definition.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if isinstance(definition, ast.ClassDef):
        found.update((method.name, None) for method in methods if module.inside(node, method))
    known = 0
    while known != len(found):
        known = len(found)
        leading = [m for m in methods if any(getattr(part, "attr", None) in found for part in ast.walk(m))]
        found.update((method.name, None) for method in leading)
    return frozenset() if any(name.startswith("__") for name in found) else frozenset(found)


def starts_elsewhere(module: Module, definition: Definition, ways: frozenset[str]) -> list[tuple[Module, ast.expr]]:
    """Where other files of the project call a function or class, hand it on, or call a method of its objects.

    Args:
        module: The file of the function or class.
        definition: The function or class, there.
        ways: The methods that count; none where each call does.
    """
    if module.project is None:
        return []
    found, waiting, seen = dict[ast.expr, Module](), [definition], {definition.node}
    for each in waiting:  # which grows meanwhile
        for user, read in uses_of(module.project, each).reads:
            derived = user.parent_of[read]
            if isinstance(derived, ast.ClassDef) and read in derived.bases:
                if derived not in seen and not _is_replaced(derived, ways) and derived in user.tree.body:
                    seen.add(derived)
                    waiting.append(Definition(user, derived, derived.name))
            elif user is not module and is_started(user, read, ways):
                found[read] = user
    return [(user, read) for read, user in found.items()]


def _is_replaced(derived: ast.ClassDef, ways: frozenset[str]) -> bool:
    """Whether a class has methods of its own in place of these."""
    own = {part.name for part in derived.body if isinstance(part, ast.FunctionDef)}
    calls_them = any(isinstance(part, ast.Name) and part.id == "super" for part in ast.walk(derived))
    return bool(ways) and ways <= own and not calls_them


def is_started(module: Module, node: ast.expr, ways: frozenset[str] = frozenset()) -> bool:
    """Whether a function, a class or an object of it is called, or one of some methods; or handed on to what may do so.

    Args:
        module: The module.
        node: What stands for it.
        ways: The methods that count; none where each call does.
    """
    waiting, seen = list[ast.AST]([node]), set[ast.AST]()
    while waiting:
        part = waiting.pop()
        if part in seen:
            continue
        seen.add(part)
        outer = module.parent_of.get(part)
        if isinstance(outer, ast.Attribute):
            if outer.attr in ways:
                return True
        elif isinstance(outer, ast.Call) and outer.func is part:
            if not ways:
                return True
            waiting.append(outer)  # an object, which may only hold data
        elif isinstance(outer, ast.Call):
            if last_name(outer.func) not in ASKS:
                return True
        elif isinstance(outer, KEEPERS) or (isinstance(outer, ast.Subscript) and outer.value is part):
            waiting.append(outer)
        elif outer is not None:
            names = list(_names_of(outer, part))
            if not all(isinstance(name, ast.Name) for name in names):
                return True  # an attribute, which other code may read
            waiting += (use for name in names for use in _uses(module, name))
    return False


def _names_of(outer: ast.AST, value: ast.AST) -> Iterator[ast.AST]:
    """What a statement binds to a value, or to the items of one; the statement itself where it gives the value back."""
    if isinstance(outer, ast.Assign):
        yield from outer.targets
    elif isinstance(outer, (ast.AnnAssign, ast.NamedExpr, ast.For, ast.comprehension)):
        if value in (getattr(outer, "value", None), getattr(outer, "iter", None)):
            yield outer.target
    elif isinstance(outer, ast.withitem) and outer.optional_vars is not None:
        yield outer.optional_vars
    elif isinstance(outer, (ast.Return, ast.Yield, ast.ListComp, ast.GeneratorExp, ast.DictComp)):
        yield outer


def _uses(module: Module, name: ast.AST) -> list[ast.Name]:
    """The reads of a name that a value is given."""
    assert isinstance(name, ast.Name)
    scope = module.bound_in(name)
    return list(module.uses(name.id, scope)) if scope is not None else []
