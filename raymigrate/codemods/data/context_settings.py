"""RM525: settings of Ray Data that are gone (docs/semantics/data.md#gone-settings)."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.values import called_name, every_origin

RM525 = Rule(
    "RM525",
    "a setting of Ray Data that is gone",
    "Setting an attribute of the DataContext that Ray no longer has raises nothing and changes nothing.",
    "Deleted where a constant is set and the file reads it nowhere. Where the value chose another way to run, look"
    " whether the script depends on that: Ray Data always streams, optimizes its plan and splits blocks.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.DataContext.html",
)
# Those of Ray 2.6.3 that 2.60 lacks (data/context.py).
GONE = (
    "block_splitting_enabled",
    "eager_free",
    "new_execution_backend",
    "optimize_fuse_read_stages",
    "optimize_fuse_shuffle_stages",
    "optimize_fuse_stages",
    "optimize_reorder_stages",
    "optimizer_enabled",
    "use_legacy_iter_batches",
    "use_streaming_executor",
)
CONTEXTS = frozenset(
    f"ray.data.{name}.get_current"
    for name in ("DataContext", "DatasetContext", "context.DataContext", "context.DatasetContext")
)


@codemod(*GONE)
def context_settings(context: Context) -> None:
    """Deletes `DataContext.get_current().use_streaming_executor = True`."""
    module = context.module
    found = list(module.attributes(*GONE))
    read = {node.attr for node in found if not isinstance(node.ctx, ast.Store)}
    for node in found:
        if not isinstance(node.ctx, ast.Store) or not every_origin(module, node.value, _is_context):
            continue
        message = f"{node.attr} is no setting of Ray Data any more: setting it changes nothing"
        statement = module.statement(node)
        value = statement.value if is_assignment(statement) else None
        if only_target(statement) is not node or not isinstance(value, ast.Constant) or node.attr in read:
            context.manual(RM525, node, f"{message}.", "Remove it.")
        elif context.converts(RM525, node, f"{message}; deleted."):
            context.plan.statement(statement).removed = True


def _is_context(module: Module, node: ast.expr) -> bool:
    return called_name(module, node) in CONTEXTS
