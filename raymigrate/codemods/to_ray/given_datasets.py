"""RM714: datasets that a line which starts a script names without their namespace: `python train.py --dataset imdb`."""

import ast
from collections.abc import Iterable

from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.dataset_names import RAISES, RM714, advice_of, is_short
from raymigrate.codemods.libraries.settled_names import LOADERS
from raymigrate.codemods.to_ray.launch_line import Launch
from raymigrate.facts.projects.command_lines import MAY_READ, METHODS
from raymigrate.facts.values import Source, argument, constants, last_name


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
        if given is None or all(value is not ... for _, value in constants(module, given)):
            continue
        places: dict[str, list[str]] = {}
        for option in dict.fromkeys(filter(None, map(_option, module.origins(given)))):
            for line, place in lines:
                name = line.options(script).get(option, "")
                if is_short(name):
                    places.setdefault(name, []).append(place)
        for name, where in places.items():
            message = f'load_dataset({ast.unparse(given)}) {RAISES} where it gets "{name}", as {", ".join(where)} says.'
            context.manual(RM714, given, message, advice_of(name))


def _option(source: Source) -> str:
    """The option of the command line that a value is, `args.dataset`; empty where it is none."""
    node = source.node
    is_one = isinstance(node, ast.Attribute) and any(map(_may_be_arguments, source.module.origins(node.value)))
    return node.attr if isinstance(node, ast.Attribute) and is_one else ""


def _may_be_arguments(source: Source) -> bool:
    """Whether an object may be what a parser gives: `parse_args()`, or what comes from out of sight."""
    module, node = source.module, source.node
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        return name in METHODS or MAY_READ.fullmatch(name) is not None
    if not isinstance(node, ast.Name):
        return isinstance(node, (ast.Attribute, ast.Subscript))
    bound = module.definition(node)
    outer = module.parent_of.get(bound) if bound is not None else None
    return node.id != "self" and not isinstance(outer, (ast.For, ast.comprehension, ast.withitem))
