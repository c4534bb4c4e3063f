"""Which expressions are Ray Datasets, or a worker's shard of one."""

import ast

from raymigrate.facts.module import Module
from raymigrate.facts.scopes import Scope

GET_SHARD = frozenset({"ray.air.session.get_dataset_shard", "ray.train.get_dataset_shard"})
MAKERS = ("ray.data.read_", "ray.data.from_", "ray.data.range")
# Methods of a Dataset that give a Dataset, in Ray 2.6.3 or today.
CHAINED = frozenset(
    [
        "add_column",
        "drop_columns",
        "filter",
        "flat_map",
        "fully_executed",
        "lazy",
        "limit",
        "map",
        "map_batches",
        "materialize",
        "random_sample",
        "random_shuffle",
        "randomize_block_order",
        "rename_columns",
        "repartition",
        "select_columns",
        "sort",
        "union",
        "zip",
    ]
)
PIPELINES = frozenset({"window", "repeat"})


def is_dataset(module: Module, node: ast.expr, assumed: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is a Ray Dataset for sure: made by ray.data, perhaps through methods and plain names.

    Args:
        module: The module.
        node: The expression.
        assumed: Names that are being looked at: `ds = ds.limit(5)` is a Dataset if the other values of `ds` are.
    """
    if not isinstance(node, ast.Name):
        return _is_dataset_call(module, node, assumed)
    if node.id in assumed:
        return True
    scope = module.scope_of[node].find(node.id)
    if scope is None:
        return False
    if assumed:
        return _binds_datasets(module, scope, node.id, assumed)
    if (scope, node.id) not in module.datasets:
        module.datasets[scope, node.id] = _binds_datasets(module, scope, node.id, assumed)
    return module.datasets[scope, node.id]


def _binds_datasets(module: Module, scope: Scope, name: str, assumed: frozenset[str]) -> bool:
    """Whether all that a name is bound to are Ray Datasets, assigned to it."""
    for binding in scope.bindings[name]:
        parent = module.parent_of.get(binding.node)
        if not isinstance(parent, ast.Assign) or binding.node not in parent.targets:
            return False
        if not _is_dataset_call(module, parent.value, assumed | {name}):
            return False
    return True


def _is_dataset_call(module: Module, value: ast.expr, assumed: frozenset[str]) -> bool:
    if isinstance(value, ast.Name):
        return is_dataset(module, value, assumed)
    if not isinstance(value, ast.Call):
        return False
    if (module.qualified(value.func) or "").startswith(MAKERS):
        return True
    method = value.func
    return (
        isinstance(method, ast.Attribute)
        and method.attr in CHAINED | PIPELINES
        and method not in module.reference_at
        and is_dataset(module, method.value, assumed)
    )


def is_shard(module: Module, node: ast.expr) -> bool:
    """Whether an expression is what get_dataset_shard gives."""
    value = module.value(node)
    return isinstance(value, ast.Call) and module.qualified(value.func) in GET_SHARD


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """An argument of a call, by name or position."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is not None and len(call.args) > position:
        given = call.args[position]
        return None if isinstance(given, ast.Starred) else given
    return None
