"""Where imports stand: at the top of a file, which needs the library in any case, or in the functions that use it."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Scope, bound_by


def is_seen(module: Module, statement: ast.stmt, place: ast.stmt) -> bool:
    """Whether what an import binds can be seen from a place."""
    scope: Scope | None = module.scope_of[place]
    while scope is not None and scope is not module.scope_of[statement]:
        scope = scope.parent
    return scope is not None


def needs_at_once(module: Module, package: str) -> bool:
    """Whether a file imports from a package as soon as it is loaded."""
    bound = [binding for bindings in module.scope_of[module.tree].bindings.values() for binding in bindings]
    return any((binding.qualified or "").partition(".")[0] == package for binding in bound)


def is_bound_again(module: Module, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether a name is that of an import until something else takes it for good: `train = train.get_context()`.

    Every use is sure to mean either. An import that takes the place of this one, wherever it stands, is first too.
    """
    scope = module.scope_of[statement]
    first, *others = scope.lookup(bound_by(alias))
    by_others = bool(others) and all(binding.qualified is None for binding in others)
    in_order = module.parent_of[statement] is scope.node and not module.is_read_unclearly(alias)
    return first.node is alias and by_others and in_order


def is_replaced(module: Module, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether another import of the same block binds a name again for good, before anything reads it."""
    if module.references_by_binding.get(alias) or module.is_read_unclearly(alias):
        return False
    return any(is_before(module, statement, other) for other in _other_imports(module, statement, alias))


def is_last_import(module: Module, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether all that binds a name is imports of one block, and every read of it is sure to mean this one."""
    bindings = module.scope_of[statement].lookup(bound_by(alias))
    others = _other_imports(module, statement, alias)
    reads = bool(module.references_by_binding.get(alias)) and not module.is_read_unclearly(alias)
    return reads and len(others) == len(bindings) - 1 and all(is_before(module, other, statement) for other in others)


def is_before(module: Module, first: ast.stmt, second: ast.stmt) -> bool:
    """Whether a statement stands in the same block as another one, before it."""
    return module.parent_of[first] is module.parent_of[second] and first.lineno < second.lineno


def _other_imports(module: Module, statement: ast.stmt, alias: ast.alias) -> list[ast.stmt]:
    """The other statements that import the name which an import binds."""
    bindings = module.scope_of[statement].lookup(bound_by(alias))
    return [found.statement for found in bindings if found.node is not alias and found.statement is not None]
