"""Takes away the imports that nothing uses any more once a plan is carried out."""

from __future__ import annotations

import ast
from functools import cache, partial
from typing import TYPE_CHECKING

from raymigrate.facts.projects.takers import takers
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.quoted import quoted_names
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.knowledge.legacy import GONE_MODULES

if TYPE_CHECKING:
    from raymigrate.codemods.context import Context

AIR = "ray.air"  # which current Ray still has, so that a name in quotes may go on to stand for it


def drop_unused_imports(context: Context) -> None:
    """Drops imports whose every use the plan rewrites, and those of modules that are gone.

    Only imports that the plan touches, or that would fail, are dropped: other unused imports are the user's business.
    """
    module = context.module
    context.settle_removed_arguments()
    plain_uses = cache(partial(_plain_uses, context))
    for statement in module.imports:
        for alias in statement.names:
            if alias in context.plan.dropped_imports or alias.name == "*":
                continue
            if isinstance(statement, ast.Import) and not alias.asname:
                goes, root_stays = plain_uses(alias.name)
                if goes:
                    context.plan.drop_import(alias, statement)
                if goes and root_stays:
                    context.plan.need_import(alias.name.partition(".")[0], near=statement)
            elif goes_with_uses(context, statement, alias):
                context.plan.drop_import(alias, statement)


def goes_with_uses(context: Context, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether the plan rewrites every use of what is imported, so that the import goes too."""
    module = context.module
    uses = module.references_by_binding.get(alias) or _uses_of_double(module, statement, alias)
    return (
        bool(uses)
        and all(use.root in context.rewritten for use in uses)
        and not module.is_read_unclearly(alias)
        and not is_passed_on(module, alias.asname or alias.name)
        and not is_attribute(module, statement)
        and not (module.imported(statement, alias) == AIR and (alias.asname or alias.name) in quoted_names(module))
    )


def _uses_of_double(module: Module, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> list[Reference]:
    """The uses of a name that is imported again below, in the same way: they are uses of either import."""
    bindings = module.scope_of[statement].bindings.get(alias.asname or alias.name, [])
    if len(bindings) < 2 or len({binding.qualified for binding in bindings}) > 1:
        return []
    return [use for binding in bindings for use in module.references_by_binding.get(binding.node, ())]


def _plain_uses(context: Context, name: str) -> tuple[bool, bool]:
    """What becomes of `import ray.air`, which binds `ray`, as other imports may.

    Returns:
        Whether it goes, as the plan rewrites all that is below the module, and whether `ray` is used besides.
    """
    if not name.startswith(("ray.air", *GONE_MODULES)):
        return False, False
    root = name.partition(".")[0]
    references = [r for r in context.module.references if r.root.id == root and r.binding.qualified == root]
    below = [r for r in references if f"{r.qualified}.".startswith(f"{name}.")]
    goes = bool(below) and all(reference.root in context.rewritten for reference in below)
    return goes, any(reference.root not in context.rewritten for reference in references)


def is_passed_on(module: Module, name: str) -> bool:
    """Whether other files may, or do, take what is imported here from here."""
    return is_exported(module, name) or any(True for _ in takers(module, name))


def is_attribute(module: Module, statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import stands in the body of a class, which has what it brings in as an attribute."""
    return isinstance(module.scope_of[statement].node, ast.ClassDef)


def is_exported(module: Module, name: str) -> bool:
    """Whether `__all__` names something, so that other files may import it from here."""
    return name in module.exported
