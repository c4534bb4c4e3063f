"""The plugins that a script makes itself for its Accelerator."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, called_name, keyword_argument
from raymigrate.facts.values.keys import unpacked_value

HOMES = ("accelerate", "accelerate.utils", "accelerate.utils.dataclasses")


def names_of(class_name: str) -> list[str]:
    """The qualified names of a plugin's class."""
    return [f"{package}.{class_name}" for package in HOMES]


def is_made(plugin: Source, class_name: str) -> bool:
    """Whether a value is a plugin that is constructed there."""
    return called_name(*plugin) in names_of(class_name)


def given_as(module: Module, call: ast.Call, *names: str) -> ast.expr | None:
    """What an argument is given, by one of its names or in a dict that is unpacked."""
    unpacked = (value for name in names if (value := unpacked_value(module, call, name)) is not None)
    return keyword_argument(call, *names) or next(unpacked, None)
