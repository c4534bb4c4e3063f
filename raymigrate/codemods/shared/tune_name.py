"""How generated code calls `ray.tune`."""

import ast

from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.local_imports import is_imported_before


def tune_name(context: Context, near: ast.AST) -> str:
    """How generated code beside a node, the whole name of a reference, calls `ray.tune`."""
    module = context.module
    bindings = module.scope_of[near].lookup("tune")
    is_tune = bindings and all(binding.qualified == "ray.tune" for binding in bindings)
    beside = module.import_of(near)
    if is_tune and is_imported_before(module, near, "tune"):
        if not any(module.start(binding.node) < module.start(near) for binding in bindings):  # a later cell has it
            context.plan.need_import("ray", "tune", near=beside)
        return "tune"
    context.plan.need_import("ray.tune", near=beside)
    return "ray.tune"
