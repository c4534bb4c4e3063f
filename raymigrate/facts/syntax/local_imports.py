"""Imports in functions: the name that one binds is the function's own, and stands for nothing before the import."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from raymigrate.facts.values.bindings import place_in_block

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module


def is_imported_before(module: Module, node: ast.AST, name: str) -> bool:
    """Whether a name that imports bind is surely bound at a node.

    Imports of the module are; one in a function is if it stands in a block around the node, and before it.
    """
    scope = module.scope_of[node].find(name)
    if scope is None:
        return False
    return scope.parent is None or any(_comes_before(module, binding.node, node) for binding in scope.bindings[name])


def _comes_before(module: Module, binding: ast.AST, node: ast.AST) -> bool:
    """Whether the statement that binds a name was carried out whenever a node is."""
    statement = module.statement(binding)
    parent = module.parent_of[statement]
    child = next((part for part in (node, *module.ancestors(node)) if module.parent_of.get(part) is parent), None)
    if child is None:
        return False
    (block, position), (other, later) = (place_in_block(module, part, parent) for part in (statement, child))
    return block is other and position < later
