"""The project's own classes that are made from TrainingArguments, or from what libraries make of it, as trl does."""

import ast
from collections.abc import Collection, Iterator
from functools import cache

from raymigrate.facts.hugging_face.instances import TRAINING_ARGUMENTS
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values.constructors import Line, derived_calls, reaches
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS as OLD_TRAINING_ARGUMENTS
from raymigrate.knowledge.libraries import constructor, lineage, look_up


@cache
def is_training_arguments(name: str) -> bool:
    """Whether a class of a library, by its name, is TrainingArguments or made from it."""
    return TRAINING_ARGUMENTS in lineage(look_up(name).place)


def own_arguments(module: Module, old: Collection[str]) -> Iterator[tuple[ast.Call, Line]]:
    """The calls that make objects of such classes, and those by which these hand arguments on.

    Args:
        module: The module; the classes may be in other files.
        old: The arguments that TrainingArguments once took.

    Returns:
        The calls, each with the classes whose constructors it may run; see `constructors`.
    """
    return derived_calls(module, is_training_arguments, old, constructor(TRAINING_ARGUMENTS) or ())


def calls_without_own(module: Module, argument: str) -> list[ast.Call]:
    """The calls that make TrainingArguments, or what trl or the project makes of it, and leave it an argument.

    Args:
        module: The module; the classes may be in other files.
        argument: What reaches TrainingArguments, with nothing in the project's classes that speaks of it.

    Returns:
        The calls, in source order.
    """
    of_trl = {reference.qualified for reference in module.references_within("trl")}
    found = list(module.calls(*OLD_TRAINING_ARGUMENTS, *filter(is_training_arguments, of_trl)))
    for call, line in own_arguments(module, ()):
        if reaches(line, argument, is_training_arguments) and not names_it(line, argument):
            found.append(call)
    return sorted(found, key=module.start)


def names_it(line: Line, word: str) -> bool:
    """Whether some class of the project speaks of an argument: as a field, in its constructor or elsewhere.

    Args:
        line: The classes whose constructors a call runs.
        word: The argument.
    """
    classes = [found for found in line if not isinstance(found, str)]
    return any(module.inside(place, node) for module, node in classes for place in module.spelling(word))
