"""What is found in a module once, however many rules ask for it, and kept as long as the module."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

Given = ParamSpec("Given")
Found = TypeVar("Found")


def kept(find: Callable[Concatenate[Module, Given], Found]) -> Callable[Concatenate[Module, Given], Found]:
    """Marks a function whose answer for a module stays as it is; its other arguments have to be hashable.

    A cache beside the function would keep the trees of files that are done.
    """

    @wraps(find)
    def asked(module: Module, /, *given: Given.args, **named: Given.kwargs) -> Found:
        key = (find, given, *named.items())
        if key not in module.kept:
            module.kept[key] = find(module, *given, **named)
        return module.kept[key]  # type: ignore[return-value]

    return asked


def forget(module: Module) -> None:
    """Drops all that was found in a module but its tree and scopes, to make room; it is found again if asked for."""
    for kind in type(module).__mro__:
        for name, value in vars(kind).items():
            if isinstance(value, cached_property):
                vars(module).pop(name, None)
    module.kept.clear()
    module.asked = type(module.asked)()
