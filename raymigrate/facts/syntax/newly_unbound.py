"""What a result reads before anything binds it, while the text that it was made of did not."""

import ast

from raymigrate.facts.syntax.execution import surely_unbound, unbound_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.optional_imports import guarded_imports
from raymigrate.facts.syntax.scopes import Binding, import_bindings


def newly_unbound(before: Module, after: Module) -> set[str]:
    """The names that a result reads before anything binds them, and that the text did not read so."""
    unbound = unbound_names(after, before.scope_of[before.tree].bindings)
    tried = _tried_again(before, after) if unbound else {}
    names = {node.id for node in unbound if not _is_tried_above(after, node, tried.get(node.id, []))}
    found = names - surely_unbound(before, names)  # mostly none is left, which saves following the old code
    if found:  # what an `if` bound may have been unbound before, and nothing may bind it now
        found = surely_unbound(after, found) | (found - {node.id for node in unbound_names(before)})
    return found


def _tried_again(before: Module, after: Module) -> dict[str, list[ast.stmt]]:
    """By name, the tried imports of a result from packages whose imports were tried before too: they may fail."""
    tried = {_package(binding) for statement in guarded_imports(before) for _, binding in import_bindings(statement)}
    found: dict[str, list[ast.stmt]] = {}
    for statement in guarded_imports(after) if tried else ():
        for name, binding in import_bindings(statement):
            if _package(binding) in tried:
                found.setdefault(name, []).append(statement)
    return found


def _is_tried_above(module: Module, read: ast.Name, imports: list[ast.stmt]) -> bool:
    scope = module.bound_in(read)
    return any(module.scope_of[statement] is scope and statement.lineno < read.lineno for statement in imports)


def _package(binding: Binding) -> str:
    return (binding.qualified or "").partition(".")[0]
