"""How generated code calls `ray.tune`."""

import ast

from raymigrate.codemods.context import Context


def tune_name(context: Context, near: ast.AST) -> str:
    """How generated code beside a node, the whole name of a reference, calls `ray.tune`."""
    bindings = context.module.scope_of[near].lookup("tune")
    if bindings and all(binding.qualified == "ray.tune" for binding in bindings):
        return "tune"
    context.plan.need_import("ray.tune", near=context.module.reference_at[near].binding.statement)
    return "ray.tune"
