"""What is found once, however many rules ask for it, and kept as long as what it was found in: a module, a project."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module


class Keeper(Protocol):
    """What keeps the answers of functions that were asked about it, by function and arguments."""

    kept: dict[object, object]


Asked = TypeVar("Asked", bound=Keeper)
Given = ParamSpec("Given")
Found = TypeVar("Found")
UNKNOWN = object()


def kept(find: Callable[Concatenate[Asked, Given], Found]) -> Callable[Concatenate[Asked, Given], Found]:
    """Marks a function whose answer for a module, or a project, stays as it is; its other arguments are hashable.

    A cache beside the function would keep the trees of files that are done, and what files held in an earlier run.
    """

    @wraps(find)
    def asked(about: Asked, /, *given: Given.args, **named: Given.kwargs) -> Found:
        key = (find, given, *named.items())
        found = about.kept.get(key, UNKNOWN)
        if found is UNKNOWN:
            found = about.kept[key] = find(about, *given, **named)
        return found  # type: ignore[return-value]

    return asked


def forget(module: Module) -> None:
    """Drops all that was found in a module but its tree and scopes, to make room; it is found again if asked for."""
    for kind in type(module).__mro__:
        for name, value in vars(kind).items():
            if isinstance(value, cached_property):
                vars(module).pop(name, None)
    module.kept.clear()
    module.asked = type(module.asked)()
