"""Loggers of Ray Tune that come from elsewhere: of other classes of an object, or of files that fill a list.

`RunConfig(callbacks=self.callbacks())` of a base class gets what its subclasses say, in whatever file they are, and
what the mixins beside it add. What one class gives by itself, perhaps nothing, is not all. Nor is the list of a file
that others import and fill: `from settings import CALLBACKS; CALLBACKS.append(...)`.
"""

import ast
from collections.abc import Iterator

from raymigrate.facts.projects.project_uses import importing_modules
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.values import Source

MOST_FILES = 60  # in which subclasses are looked for


def made_in_kin(module: Module, value: ast.expr) -> Iterator[Source]:
    """The calls in what `self.name` or `self.name()` is in the classes that an object may be of.

    Args:
        module: The module.
        value: Where it is asked for.
    """
    members = [(member, _class_of_self(module, member.value)) for member in _asked_of_self(module, value)]
    asked = [(member.attr, _name_of(module, home)) for member, home in members if home is not None]
    lines = list(_lines(module)) if asked else []
    for attribute, home in asked:
        kin = (line for line in lines if home in (_name_of(*one) for one in line))
        givers = {_name_of(*made): made for line in kin for made in _givers(line, attribute)}
        for other, made in givers.values():
            for given in _members(made, attribute):
                yield from (Source(other, node) for node in ast.walk(given) if isinstance(node, ast.Call))


def _givers(line: list[tuple[Module, ast.ClassDef]], name: str) -> Iterator[tuple[Module, ast.ClassDef]]:
    """The classes whose member of a name an object gets: the first that has it, and those that this asks in turn."""
    for module, made in line:
        found = list(_members(made, name))
        yield from [(module, made)] if found else []
        parts = (node for given in found for node in ast.walk(given))
        if found and not any(isinstance(node, ast.Attribute) and node.attr == name for node in parts):
            return


def put_in_elsewhere(module: Module, value: ast.expr) -> Iterator[Source]:
    """The calls in what other files put into a list of this one.

    Args:
        module: The module.
        value: The list, as a name of it.
    """
    if not isinstance(value, ast.Name):
        return
    for other in importing_modules(module, value.id):
        for call, method in other.method_calls("append", "extend", "insert"):
            found = other.elsewhere(method.value)
            if found is not None and found.name == value.id and _is_same(found.module, module):
                given = (node for argument in call.args for node in ast.walk(argument))
                yield from (Source(other, node) for node in given if isinstance(node, ast.Call))


def _is_same(module: Module, other: Module) -> bool:
    project = module.project
    return project is not None and project.real(module.path) == project.real(other.path)


def _asked_of_self(module: Module, value: ast.expr) -> Iterator[ast.Attribute]:
    """The attributes in an expression, and in what was assigned to the names in it."""
    waiting, seen = [value], set[ast.AST]()
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Attribute):
                yield node
            elif isinstance(node, ast.Name) and (name := module.definition(node)) is not None and name not in seen:
                seen.add(name)
                given = module.assigned(name)
                waiting += [given] if given is not None else []


def _class_of_self(module: Module, owner: ast.expr) -> ast.ClassDef | None:
    """The class whose method has a name for its object, or for the class of that."""
    parameter = module.definition(owner)
    function = module.function(owner)
    if not isinstance(parameter, ast.arg) or not isinstance(function, ast.FunctionDef):
        return None
    outer = module.parent_of[function]
    is_first = function.args.args[:1] == [parameter]
    return outer if is_first and isinstance(outer, ast.ClassDef) else None


def _name_of(module: Module, made: ast.ClassDef) -> tuple[str, str]:
    """A class, the same for each time that its file was read, also once that was converted."""
    return (module.project.real(module.path) if module.project is not None else "", made.name)


def _members(home: ast.ClassDef, name: str) -> Iterator[ast.AST]:
    """The methods of a name in a class, and what its body gives that name."""
    for statement in home.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            yield statement
        elif is_assignment(statement):
            targets = targets_of(statement)
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                yield statement.value


def _lines(module: Module) -> Iterator[list[tuple[Module, ast.ClassDef]]]:
    """Each class of a module, and of the files that get at it, with its base classes in the project."""
    for other in _with_importing(module):
        for made in other.of_type(ast.ClassDef):
            yield _line(other, made)


def _with_importing(module: Module) -> list[Module]:
    """A module, the files that import it, those that import these, and so on."""
    found = [module]
    for other in found:  # which grows meanwhile
        if len(found) > MOST_FILES:
            break
        known = {one.path for one in found}
        found += [one for one in importing_modules(other, "class ") if one.path not in known]
    return found


def _line(module: Module, made: ast.ClassDef) -> list[tuple[Module, ast.ClassDef]]:
    """A class, and its base classes in whatever file of the project."""
    line = [(module, made)]
    for home, child in line:  # which grows meanwhile
        for base in child.bases:
            here, there = home.definition(base), home.elsewhere(base)
            if isinstance(here, ast.ClassDef):
                parent = (home, here)
            elif there is not None and isinstance(there.node, ast.ClassDef):
                parent = (there.module, there.node)
            else:
                continue
            if parent not in line:
                line.append(parent)
    return line
