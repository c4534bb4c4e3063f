"""RM714: datasets that a line which starts a script names without their namespace: `python train.py --dataset imdb`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.dataset_names import LOADERS, RAISES, RM714, advice_of, is_short
from raymigrate.codemods.to_ray.launches import Launch
from raymigrate.facts.values import argument, constants


def tell_given_datasets(context: Context, starts: Iterable[tuple[Launch, str]], script: str) -> None:
    """Tells of the names that loaders of datasets get from the command line.

    Args:
        context: The module.
        starts: The lines that start the script, each with its place as seen from it.
        script: The name of the script.
    """
    module = context.module
    lines = list(starts)
    for call in module.calls(*LOADERS) if lines else ():
        given = argument(call, 0, "path")
        option = given.attr if isinstance(given, ast.Attribute) else given.id if isinstance(given, ast.Name) else ""
        if given is None or not option or all(value is not ... for _, value in constants(module, given)):
            continue
        places: dict[str, list[str]] = {}
        for line, place in lines:
            name = line.options(script).get(option, "")
            if is_short(name):
                places.setdefault(name, []).append(place)
        for name, where in places.items():
            message = f'load_dataset({ast.unparse(given)}) {RAISES} where it gets "{name}", as {", ".join(where)} says.'
            context.manual(RM714, given, message, advice_of(name))
