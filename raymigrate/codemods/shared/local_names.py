"""Names for variables of generated code in a function of the script."""

import ast
from collections.abc import Collection

from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.scopes import Scope


def local_name(context: Context, statement: ast.stmt, name: str, own: Collection[ast.Name] = ()) -> str:
    """A name for a new variable beside a statement: none that the function around it binds, or reads from outside.

    Args:
        context: The module.
        statement: The statement.
        name: What it should be.
        own: Bindings that go, so that their name is free.
    """
    module = context.module
    scope = module.scope_of[statement]

    def is_taken(candidate: str) -> bool:
        if any(binding.node not in own for binding in scope.bindings.get(candidate, [])):
            return True
        return any(_passes(module.scope_of[read], scope, candidate) for read in module.reads(candidate))

    while is_taken(name):
        name = f"new_{name}"
    return name


def _passes(reader: Scope, scope: Scope, name: str) -> bool:
    """Whether a read of a name looks through a scope for it, as that does not bind it."""
    target, current = reader.find(name), reader
    while current is not target:
        if current is scope:
            return True
        if current.parent is None:
            return False
        current = current.parent
    return False
