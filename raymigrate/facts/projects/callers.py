"""Where a function runs that its own file neither calls nor hands to a trainer: what other files do with it."""

import ast

from raymigrate.facts.projects.places import TAKE_TRAINABLES, TRAINABLE, TRAINING_FUNCTION, WRAPPERS, Place, Places
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.project_uses import Uses, uses_of
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import only_target
from raymigrate.facts.values import called_name

MOST_FOLLOWED = 30  # functions and classes by which one is used: of a library it would be most of what it has


def place_by_callers(project: Project, module: Module, node: ast.AST) -> Place:
    """Where the code runs that a node is part of, as far as the files of the project show who calls it.

    Args:
        project: The files.
        module: The module that the node is in.
        node: Part of a function that is placed by nothing in its module.
    """
    definition = _owner(module, node)
    if definition is None:
        return Place.UNKNOWN
    key = _key(project, definition)
    if key not in project.places:  # also for the check of the result, whose lines are not those of the file
        project.places[key] = _joined(_places(project, definition))
    return project.places[key]


def called_elsewhere(project: Project, module: Module, function: ast.AST | None) -> bool:
    """Whether another file calls a function where nothing says that a trainer or a Tuner runs it.

    Args:
        project: The files.
        module: The module that the function is in.
        function: The function; None, or one inside of another, no other file calls.
    """
    if not isinstance(function, ast.FunctionDef) or module.parent_of[function] is not module.tree:
        return False
    for user, read in uses_of(project, Definition(module, function, function.name)).reads:
        is_called = user.path != module.path and user.calling(read) is not None
        if is_called and _places_in(user).of(read) is Place.UNKNOWN:
            if place_by_callers(project, user, read) is Place.UNKNOWN:
                return True
    return False


def _places(project: Project, definition: Definition) -> set[Place]:
    """The places of those by which a function is used; none where they are too many to be looked at."""
    found, seen = set[Place](), set[tuple[str, str]]()
    todo = [start := _key(project, definition)]
    while todo:
        key = todo.pop()
        if key in seen:
            continue
        if len(seen) == MOST_FOLLOWED:
            return set()
        seen.add(key)
        if key not in project.callers:
            project.callers[key] = _callers(project, definition if key == start else _at_top(project, key))
        places, callers = project.callers[key]
        found |= places
        todo += callers
    return found


def _callers(project: Project, called: Definition | None) -> tuple[set[Place], list[tuple[str, str]]]:
    """Where a function is run as far as its uses say so, and the functions by which it is used otherwise.

    It is found once: a file has many functions whose callers are the same, and the files of those are parsed for it.
    """
    places, callers = set[Place](), list[tuple[str, str]]()
    for user, read in uses_of(project, called).reads if called is not None else ():
        if called is not None and called.node in user.ancestors(read):
            continue  # what calls itself does not tell where it runs
        place = handed_to(user, read) or _places_in(user).of(read)
        if place is not Place.UNKNOWN:
            places.add(place)
        elif (caller := _owner(user, read)) is not None:
            callers.append(_key(project, caller))
    return places, callers


def _key(project: Project, definition: Definition) -> tuple[str, str]:
    return project.real(definition.module.path), definition.name


def _at_top(project: Project, key: tuple[str, str]) -> Definition | None:
    """The function or class of a name at the top of a file."""
    path, name = key
    module = project.module(path)
    found = (_owner(module, node) for node in module.tree.body) if module is not None else ()
    return next((one for one in found if one is not None and one.name == name), None)


@kept
def _places_in(module: Module) -> Places:
    """The places of a module, which are asked for each function of the files that it uses."""
    return Places(module)


def _joined(found: set[Place]) -> Place:
    if not found:
        return Place.UNKNOWN
    return found.pop() if len(found) == 1 else Place.BOTH


def _owner(module: Module, node: ast.AST) -> Definition | None:
    """The function or class at the top of a module that a node is part of."""
    around = [node, *module.ancestors(node)]
    top = around[-2] if len(around) > 1 else None
    if isinstance(top, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return Definition(module, top, top.name)
    return None


def handed_to(module: Module, read: ast.expr) -> Place | None:
    """Where a function runs that an expression, or a method of it, hands to a Tuner or a trainer; None if neither."""
    seen, waiting, found = {read}, [read], set[Place]()
    while waiting:
        taken = _taken_by(module, waiting.pop())
        if isinstance(taken, Place):
            found.add(taken)
            continue
        new = [use for use in taken if use not in seen]  # a name may stand for itself: step = jit(step)
        seen.update(new)
        waiting += new
    return _joined(found) if found else None


def _taken_by(module: Module, read: ast.expr) -> Place | list[ast.expr]:
    """Where the function of an expression runs by what takes it; else the expressions that have it from there."""
    parent = module.parent_of[read]
    while isinstance(parent, ast.Attribute):
        read, parent = parent, module.parent_of[parent]
    name = parent.arg if isinstance(parent, ast.keyword) else None
    call = module.parent_of[parent] if isinstance(parent, ast.keyword) else parent
    if isinstance(target := only_target(call), ast.Name):
        return list(module.uses_of(target))
    if not isinstance(call, ast.Call) or call.func is read:
        return []
    callee = called_name(module, call)
    first = name is None and call.args[:1] == [read]
    if callee in WRAPPERS and (first or name in TRAINABLE):
        return [call]
    if callee in TAKE_TRAINABLES and (first or name in TRAINABLE):
        return Place.TRIAL
    if callee.startswith("ray.train.") and callee.endswith("Trainer") and (first or name in TRAINING_FUNCTION):
        return Place.WORKER
    return []


def is_used_elsewhere(module: Module, node: ast.AST, *, surely: bool = False) -> bool:
    """Whether other files of the project use the function or class that a node is part of.

    Args:
        module: The module.
        node: The node.
        surely: Whether that has to be seen; else it is enough that they may, by a text that holds the name.
    """
    uses = _uses(module, node)
    return uses is not None and ((bool(uses.unclear) and not surely) or bool(_others(module, uses)))


def is_taken_elsewhere(module: Module, node: ast.AST) -> bool:
    """Whether other files of the project use the function or class that a node is part of, or name it by its module.

    A text that holds its name alone does not: a function is often called as an argument of Ray's is.
    """
    uses = _uses(module, node)
    return uses is not None and (bool(uses.named) or bool(_others(module, uses)))


def reads_elsewhere(module: Module, definition: ast.FunctionDef | ast.ClassDef) -> list[tuple[Module, ast.expr]]:
    """Where other files of the project read a function or class of a module, each with its file."""
    if module.project is None or not module.path:
        return []
    uses = uses_of(module.project, Definition(module, definition, definition.name))
    return [(user, read) for user, read in uses.reads if user.path != module.path]


def users_of(module: Module, node: ast.AST) -> list[Module]:
    """The other files that use the function or class that a node is part of; none where some may do so unseen."""
    uses = _uses(module, node)
    return _others(module, uses) if uses is not None and not uses.unclear else []


def _uses(module: Module, node: ast.AST) -> Uses | None:
    """What the project does with the function or class that a node is part of; None where there is none of either."""
    definition = _owner(module, node)
    if definition is None or module.project is None or not module.path:
        return None
    return uses_of(module.project, definition)


def _others(module: Module, uses: Uses) -> list[Module]:
    return list({user.path: user for user, _ in uses.reads if user is not module}.values())
