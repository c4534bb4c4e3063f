"""What a result reads before anything binds it, while the text that it was made of did not."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.execution import surely_unbound, unbound_names
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.optional_imports import guarded_imports
from raymigrate.facts.syntax.scopes import DEFINITIONS, Binding, import_bindings


def newly_unbound(before: Module, after: Module) -> set[str]:
    """The names that a result reads before anything binds them, and that the text did not read so."""
    unbound = unbound_names(after, before.scope_of[before.tree].bindings)
    tried = _tried_again(before, after) if unbound else {}
    names = {node.id for node in unbound if not _is_tried_above(after, node, tried.get(node.id, []))}
    found = names - surely_unbound(before, names)  # mostly none is left, which saves following the old code
    if found:  # what an `if` bound may have been unbound before, and nothing may bind it now
        missed = {node.id for node in unbound_names(before)}
        found = surely_unbound(after, found) | (found - missed - _renamed(before, after, missed))
    return found


def _renamed(before: Module, after: Module, missed: set[str]) -> set[str]:
    """The new names of definitions that one branch alone made before too, under names that are read nowhere now."""
    kept = {node.id for node in after.of_type(ast.Name)}
    former = {place for name, place in _definitions_on_condition(before) if name in missed - kept}
    known = before.scope_of[before.tree].bindings
    return {name for name, place in _definitions_on_condition(after) if name not in known and place in former}


def _definitions_on_condition(module: Module) -> Iterator[tuple[str, str]]:
    """The functions and classes below an `if` at the top of a module, each with what that asks."""
    for branch in module.tree.body:
        if isinstance(branch, ast.If):
            for statement in (part for block in (branch.body, branch.orelse) for part in block):
                if isinstance(statement, DEFINITIONS):
                    yield statement.name, ast.unparse(branch.test)


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
