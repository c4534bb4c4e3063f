"""One step back from a value, towards where it comes from."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module
    from raymigrate.facts.syntax.scopes import Binding, Scope
    from raymigrate.facts.values.bindings import Search


class Source(NamedTuple):
    """An expression that a value can come from.

    Args:
        module: The module that it is in.
        node: The expression.
    """

    module: Module
    node: ast.expr


class Behind(NamedTuple):
    """What is one step behind an expression.

    Args:
        found: The expressions that it can come from.
        whole: Whether these are all.
    """

    found: Sequence[Source] = ()
    whole: bool = False


UNKNOWN = Behind()


@dataclass
class Asked:
    """What was asked of the values of a module.

    Args:
        open: Expressions whose origins are being looked for: what leads back to one of them is unknown.
        steps: How many expressions were asked about for the one that was asked first.
        cut: How often something was not followed.
        answers: The origins of expressions, with and without those in other files.
        reaching: The bindings that reach uses of names: rules ask for the same uses again and again.
        searches: For the bindings that reach uses of a name, by its scope.
        fillings: The statements that change what a list or dict holds by a name of it, by its scope.
        filled_attributes: The same for attributes, by their name.
        given_elsewhere: What other files give for parameters.
        reads: The reads that see each binding of a name, by its scope.
        places: The block of each statement in a compound one, and its position there.
        leaving: The positions of the statements that leave a block, by the identity of the block.
        derived: The classes that have each class in their line, once they were looked for.
    """

    open: set[ast.AST] = field(default_factory=set)
    steps: int = 0
    cut: int = 0
    answers: dict[tuple[ast.AST, bool], list[Source]] = field(default_factory=dict)
    reaching: dict[ast.Name, list[Binding]] = field(default_factory=dict)
    searches: dict[tuple[Scope, str], Search] = field(default_factory=dict)
    fillings: dict[tuple[Scope, str], list[ast.stmt]] = field(default_factory=dict)
    filled_attributes: dict[str, list[ast.stmt]] = field(default_factory=dict)
    given_elsewhere: dict[ast.arg, list[Source]] = field(default_factory=dict)
    reads: dict[tuple[Scope, str], dict[Binding, list[ast.Name]]] = field(default_factory=dict)
    places: dict[ast.AST, dict[ast.AST, tuple[list[ast.stmt], int]]] = field(default_factory=dict)
    leaving: dict[int, list[int]] = field(default_factory=dict)
    derived: dict[ast.ClassDef, list[ast.ClassDef]] = field(default_factory=dict)


def joined(parts: Sequence[Behind]) -> Behind:
    """What is behind an expression of which each of these parts says something."""
    found = [source for part in parts for source in part.found]
    return Behind(found, bool(parts) and all(part.whole for part in parts))
