"""Functions that run where no worker of a trainer is: on the driver, or where Ray Data maps rows."""

import ast
from collections.abc import Iterator
from enum import Enum

from raymigrate.facts.module import Module
from raymigrate.facts.own_objects import is_sent_by_name
from raymigrate.facts.places import Places, functions_behind
from raymigrate.facts.project import Definition
from raymigrate.facts.project_uses import uses_of
from raymigrate.facts.ray_data import MAPPERS, is_dataset
from raymigrate.facts.values import argument, method_of

Users = dict[Module, tuple[Places, set[ast.AST]]]  # files, each with what Ray Data runs of them
METHODS = ("__init__", "__call__")  # that Ray Data calls of a class it is given
OF_RAY_DATA_ALONE = "map_batches"  # other libraries have map() and filter(), which run where they are called


class Outside(Enum):
    """What runs a function, at the end of a sentence about it."""

    DRIVER = "is called without a trainer too"
    RAY_DATA = "runs in processes of Ray Data, which are no workers of a trainer"


def outside(module: Module, places: Places, asked: set[ast.AST]) -> dict[ast.AST, Outside]:
    """Which of some functions run where no worker is, as far as the module and the other files of the project show it.

    Args:
        module: The module.
        places: Where its functions run.
        asked: The functions.
    """
    found = dict.fromkeys(_mapped(module, places) & asked, Outside.RAY_DATA)
    found |= dict.fromkeys(places.called_outside & asked, Outside.DRIVER)
    users: Users = {}
    for definition in module.tree.body if len(found) < len(asked) else ():
        if isinstance(definition, (ast.FunctionDef, ast.ClassDef)):
            run = _run_by(module, definition)
            reached = ({*run} | places.called_from(run)) & asked - found.keys()
            how = next(_elsewhere(module, definition, users), None) if reached else None
            found |= dict.fromkeys(reached, how) if how is not None else {}
    return found


def _run_by(module: Module, definition: ast.AST) -> set[ast.AST]:
    """The functions that run when a function or a class is called."""
    if isinstance(definition, ast.ClassDef):
        return {function for name in METHODS for function in method_of(module, definition, name)}
    return {definition}


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
    """The functions of the module that a call of map() or the like is given."""
    given = argument(call, 0, "fn")
    home = module.definition(given) if given is not None else None
    if isinstance(home, ast.ClassDef):
        yield from _run_by(module, home)
    elif isinstance(given, ast.Lambda):
        yield given
    else:
        yield from functions_behind(module, given)


def _elsewhere(module: Module, definition: ast.FunctionDef | ast.ClassDef, users: Users) -> Iterator[Outside]:
    """How other files run a function or class of the module where no worker is.

    Args:
        module: The module.
        definition: The function or class.
        users: The other files that were looked at; those that are looked at here are added.
    """
    if module.project is None or not module.path:
        return
    for user, read in uses_of(module.project, Definition(module, definition, definition.name)).reads:
        if user.path == module.path:
            continue
        if user not in users:
            users[user] = (places := Places(user)), _mapped(user, places)
        (places, mapped), function = users[user], user.function(read)
        call = user.parent_of[read]
        if isinstance(call, ast.keyword):
            call = user.parent_of[call]
        if any(argument(map_call, 0, "fn") is read for map_call, _ in _maps(user) if map_call is call):
            yield Outside.RAY_DATA
        elif isinstance(call, ast.Call) and call.func is read:
            if function in mapped:
                yield Outside.RAY_DATA
            elif not is_sent_by_name(user) and (function is None or function in places.called_outside):
                yield Outside.DRIVER
