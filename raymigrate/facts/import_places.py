"""Where imports stand: at the top of a file, which needs the library in any case, or in the functions that use it."""

import ast

from raymigrate.facts.module import Module
from raymigrate.facts.scopes import Scope


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
    first, *others = scope.lookup(alias.asname or alias.name)
    by_others = bool(others) and all(binding.qualified is None for binding in others)
    in_order = module.parent_of[statement] is scope.node and not module.is_read_unclearly(alias)
    return first.node is alias and by_others and in_order
