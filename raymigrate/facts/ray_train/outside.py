"""Functions that run where no worker of a trainer is: on the driver, or where Ray Data maps rows."""

import ast
from collections.abc import Iterator
from enum import Enum

from raymigrate.facts.projects.callers import reads_elsewhere
from raymigrate.facts.projects.places import Places, functions_behind
from raymigrate.facts.ray_data.datasets import MAPPERS, is_dataset
from raymigrate.facts.ray_train.own_objects import is_sent_by_name
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument, method_of, methods_of_object

Users = dict[Module, tuple[Places, set[ast.AST]]]  # files, each with what Ray Data runs of them
MADE, CALLED = "__init__", "__call__"  # what runs where an object is made, and where it is called
OF_RAY_DATA_ALONE = "map_batches"  # other libraries have map() and filter(), which run where they are called


class Outside(Enum):
    """What runs a function, at the end of a sentence about it."""

    DRIVER = "is called without a trainer too"
    TEST = "is run by a test, without a trainer"
    RAY_DATA = "runs in processes of Ray Data, which are not workers of a trainer"


def outside(module: Module, places: Places, asked: set[ast.AST]) -> dict[ast.AST, Outside]:
    """Which of some functions run where no worker is, as far as the module and the other files of the project show it.

    Args:
        module: The module.
        places: Where its functions run.
        asked: The functions.
    """
    if not asked:
        return {}
    found = dict.fromkeys(_mapped(module, places) & asked, Outside.RAY_DATA)
    found |= dict.fromkeys(places.tested & asked, Outside.TEST)
    found |= dict.fromkeys(places.called_outside & asked, Outside.DRIVER)
    users: Users = {}
    for definition, run in _run_by_each(module, places) if len(found) < len(asked) else ():
        reached = run & asked - found.keys()
        for how in dict.fromkeys(_elsewhere(module, definition, users)) if reached else ():
            ran = run if how is Outside.RAY_DATA else _when_made(module, places, definition)
            found |= dict.fromkeys(ran & reached - found.keys(), how)
        if isinstance(definition, ast.ClassDef) and len(found) < len(asked):
            for method, how in _methods_elsewhere(module, definition, users):
                reached = ({method} | places.called_from([method])) & asked - found.keys()
                found |= dict.fromkeys(reached, how)
    return found


@kept
def _run_by_each(module: Module, places: Places) -> list[tuple[ast.FunctionDef | ast.ClassDef, set[ast.AST]]]:
    """The functions and classes at the top of a module, each with what runs when Ray Data is given it."""
    definitions = [part for part in module.tree.body if isinstance(part, (ast.FunctionDef, ast.ClassDef))]
    runs = [_run_by(module, definition) for definition in definitions]
    return [(definition, run | places.called_from(run)) for definition, run in zip(definitions, runs, strict=True)]


def _run_by(module: Module, definition: ast.AST, *names: str) -> set[ast.AST]:
    """The functions that run when Ray Data is given a function or a class.

    Args:
        names: The methods of a class that run; without any, both that Ray Data calls.
    """
    if isinstance(definition, ast.ClassDef):
        return {function for name in names or (MADE, CALLED) for function in method_of(module, definition, name)}
    return {definition}


def _when_made(module: Module, places: Places, definition: ast.AST) -> set[ast.AST]:
    """The functions that run where a function is called, or an object of a class is made, which does not call it."""
    run = _run_by(module, definition, MADE)
    return run | places.called_from(run)


@kept
def _mapped(module: Module, places: Places) -> set[ast.AST]:
    """The functions of a module that Ray Data runs, with those that they call."""
    start = {function for call, _ in _maps(module) for function in _given(module, call)}
    return start | places.called_from(start)


def _maps(module: Module) -> Iterator[tuple[ast.Call, ast.Attribute]]:
    for name in MAPPERS:
        for call, method in module.method_calls(name):
            if name == OF_RAY_DATA_ALONE or is_dataset(module, method.value):
                yield call, method


def _given(module: Module, call: ast.Call) -> Iterator[ast.AST]:
    """The functions of the module that a call such as map() is given."""
    given = argument(call, 0, "fn")
    home = module.definition(given)
    if isinstance(home, ast.ClassDef):
        yield from _run_by(module, home)
    elif isinstance(given, ast.Lambda):
        yield given
    else:
        yield from functions_behind(module, given)


def _elsewhere(module: Module, definition: ast.FunctionDef | ast.ClassDef, users: Users) -> Iterator[Outside]:
    """How other files run a function or class of the module where no worker is.

    Args:
        users: The other files that were looked at; those that are looked at here are added.
    """
    for user, read in reads_elsewhere(module, definition):
        call = user.parent_of[read]
        given: ast.AST = read
        if isinstance(call, ast.Call) and call.func is read:
            given = call
            if (how := _how(user, call, users)) is not None:
                yield how
        call = user.parent_of[given]
        if isinstance(call, ast.keyword):
            call = user.parent_of[call]
        if any(argument(map_call, 0, "fn") is given for map_call, _ in _maps(user) if map_call is call):
            yield Outside.RAY_DATA


def _methods_elsewhere(module: Module, home: ast.ClassDef, users: Users) -> Iterator[tuple[ast.FunctionDef, Outside]]:
    """The methods of a class that other files call where no worker is, of the class or of an object of it.

    Args:
        users: The other files that were looked at; those that are looked at here are added.
    """
    methods = {(part.name, part.lineno): part for part in home.body if isinstance(part, ast.FunctionDef)}
    for user in {user.path: user for user, _ in reads_elsewhere(module, home)}.values():
        for name in dict.fromkeys(name for name, _ in methods):
            for call, owner in _calls_of(user, name):
                called = methods_of_object(user, owner, name) or ()
                found = [methods.get((f.name, f.lineno)) for other, f in called if other.path == module.path]
                how = _how(user, call, users) if found else None
                yield from ((function, how) for function in found if function is not None and how is not None)


def _calls_of(user: Module, name: str) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The calls of methods with a name, each with what it is called of; `loop(config)` calls `__call__`."""
    yield from ((call, method.value) for call, method in user.method_calls(name))
    if name == CALLED:
        for call in user.of_type(ast.Call):
            if any(isinstance(source.node, ast.Call) for source in user.origins(call.func)):  # not a class or function
                yield call, call.func


def _how(user: Module, call: ast.Call, users: Users) -> Outside | None:
    """What runs a call in a file where no worker is; None if nothing is seen to do so."""
    if user not in users:
        users[user] = (places := Places(user)), _mapped(user, places)
    (places, mapped), function = users[user], user.function(call)
    if function in mapped:
        return Outside.RAY_DATA
    if function in places.tested:
        return Outside.TEST
    is_run = function is None or function in places.called_outside
    return Outside.DRIVER if is_run and not is_sent_by_name(user) else None
