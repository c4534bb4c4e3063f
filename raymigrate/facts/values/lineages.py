"""Classes of a module and those that they come from."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

MOST_BASES = 8  # of a class, that are followed


def derived(module: Module) -> dict[ast.ClassDef, list[ast.ClassDef]]:
    """The classes of a module that have each class in their line."""
    found = module.asked.derived
    if not found:
        for child in module.of_type(ast.ClassDef):
            for line in lineage(module, child):
                found.setdefault(line, []).append(child)
    return found


def lineage(module: Module, home: ast.ClassDef) -> list[ast.ClassDef]:
    """A class and its base classes in the module, the nearest first; not those of very many."""
    found = [home]
    for line in found:  # which grows meanwhile
        if len(found) > MOST_BASES:
            break
        parents = [module.definition(base) for base in line.bases]
        found += [parent for parent in parents if isinstance(parent, ast.ClassDef) and parent not in found]
    return found
