"""Dicts that more than one call unpacks: `TrainingArguments(**common)` and `Own(**common)`.

A key that is changed for one of them is changed for all; a class of the project may take it, or ask what it holds.
"""

import ast
from collections.abc import Iterator, Set

from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES
from raymigrate.facts.hugging_face.own_arguments import is_training_arguments, own_arguments
from raymigrate.facts.syntax.functions import by_name
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.carried import MAKERS, carried
from raymigrate.facts.values.constructors import reaches
from raymigrate.facts.values.partials import function_of
from raymigrate.knowledge.libraries import look_up, parameters, takes


def others_get_key(module: Module, key: ast.AST, old: str, new: str | None, of: ast.Call | None = None) -> bool:
    """Whether a call that unpacks a dict may need a key under its old name.

    Args:
        module: The module.
        key: Where the key is written.
        old: What it is.
        new: What it is called today.
        of: The call for which it is changed, if one is.
    """
    return any(not _takes_only(module, call, old, new) for call in _others(module, key, {old, new}, of))


def others_get_value(module: Module, key: ast.AST, name: str, of: ast.Call) -> bool:
    """Whether a dict is unpacked by a call too that makes no TrainingArguments.

    Args:
        module: The module.
        key: Where the key is written.
        name: What it is.
        of: The call for which its value is changed.
    """
    return any(not _makes_arguments(module, call, name) for call in _others(module, key, {name}, of))


def _others(module: Module, key: ast.AST, names: Set[str | None], of: ast.Call | None) -> Iterator[ast.Call]:
    """The calls that get a key by `**`, but those that hand it on, as what they give it to is found by itself."""
    for call in _unpackings(module).get(key, ()):
        if call is not of and not _makes_dict(call) and not _hands_on(module, call, names):
            yield call


@kept  # each key of a dict is asked for
def _unpackings(module: Module) -> dict[ast.AST, list[ast.Call]]:
    """The calls that unpack a dict, by the places where its keys are written."""
    found: dict[ast.AST, list[ast.Call]] = {}
    for call in module.of_type(ast.Call):
        for keyword in call.keywords:
            for entry in carried(module, keyword.value).entries if keyword.arg is None else ():
                found.setdefault(entry.key, []).append(call)
    return found


def _makes_dict(call: ast.Call) -> bool:
    """Whether a call makes or fills a dict, `dict(**common)` or `settings.update(**common)`."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr == "update"
    return isinstance(function, ast.Name) and function.id in MAKERS


def _hands_on(module: Module, call: ast.Call, names: Set[str | None]) -> bool:
    """Whether a function of the module takes keywords with its `**` parameter, and does nothing but unpack that."""
    function = module.definition(call.func)
    if not isinstance(function, ast.FunctionDef) or (rest := function.args.kwarg) is None:
        return False
    if not names.isdisjoint(one.arg for one in by_name(function)):
        return False
    outer = [module.parent_of[use] for use in module.uses(rest.arg, module.scope(function))]
    return all(isinstance(one, ast.Dict) or (isinstance(one, ast.keyword) and one.arg is None) for one in outer)


def _classes(module: Module, call: ast.Call) -> list[str]:
    """The classes and functions of libraries that a call may call; empty strings for others."""
    return [source.module.qualified(source.node) or "" for source in module.origins(function_of(module, call))]


def _makes_arguments(module: Module, call: ast.Call, name: str) -> bool:
    """Whether a call makes TrainingArguments, and gives them an argument."""
    if all(map(is_training_arguments, _classes(module, call))):
        return True
    own = own_arguments(module, TRAINING_ARGUMENTS_CHANGES)
    return any(made is call and reaches(line, name, is_training_arguments) for made, line in own)


def _takes_only(module: Module, call: ast.Call, old: str, new: str | None) -> bool:
    """Whether a call takes an argument under its new name alone, so that it gets the same change."""
    if _makes_arguments(module, call, old):
        return True
    known = [parameters(look_up(name)) for name in _classes(module, call)]
    return all(each is not None and new is not None and takes(each, new) and not takes(each, old) for each in known)
