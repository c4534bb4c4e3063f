"""Takes away the imports that nothing uses any more once a plan is carried out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from raymigrate.facts.legacy import GONE_MODULES
from raymigrate.facts.module import Module

if TYPE_CHECKING:
    from raymigrate.context import Context


def drop_unused_imports(context: Context) -> None:
    """Drops imports whose every use the plan rewrites, and those of modules that are gone.

    Only imports that the plan touches, or that would fail, are dropped: other unused imports are the user's business.
    """
    module = context.module
    context.settle_removed_arguments()
    for statement in module.imports:
        for alias in statement.names:
            if alias in context.plan.dropped_imports or alias.name == "*":
                continue
            uses = [reference for reference in module.references if reference.binding.node is alias]
            if isinstance(statement, ast.Import) and not alias.asname:
                _drop_plain_import(context, statement, alias)
            elif (
                uses
                and all(use.root in context.rewritten for use in uses)
                and not is_exported(module, alias.asname or alias.name)
            ):
                context.plan.drop_import(alias, statement)


def _drop_plain_import(context: Context, statement: ast.Import, alias: ast.alias) -> None:
    """`import ray.air` binds `ray`, which other imports may bind as well."""
    if not alias.name.startswith(("ray.air", *GONE_MODULES)):
        return
    root = alias.name.partition(".")[0]
    references = [r for r in context.module.references if r.root.id == root and r.binding.qualified == root]
    below = [r for r in references if f"{r.qualified}.".startswith(f"{alias.name}.")]
    if all(reference.root in context.rewritten for reference in below) and below:
        context.plan.drop_import(alias, statement)
        if any(reference.root not in context.rewritten for reference in references):
            context.plan.need_import(root, near=statement)


def is_exported(module: Module, name: str) -> bool:
    """Whether `__all__` names something, so that other files may import it from here."""
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            listed = module.constant(node.value)
            return isinstance(listed, (list, tuple)) and name in listed
    return False
