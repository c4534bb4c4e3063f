"""Which expressions are Ray Datasets, or a worker's shard of one."""

import ast
from collections.abc import Iterable, Iterator

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


def is_dataset(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a Ray Dataset for sure: made by ray.data, perhaps through methods and plain names.

    Names that are being looked at count as Datasets: `ds = ds.limit(5)` is one if the other values of `ds` are. What is
    found of a name is kept, so that a chain of many is walked once.

    Args:
        module: The module.
        node: The expression.
    """
    pending: list[ast.expr] = [node]
    assumed: dict[tuple[Scope, str], bool] = {}
    asked = None
    while pending:
        source = _source(module, pending.pop())
        values: Iterable[ast.expr] | None = None
        if isinstance(source, ast.Name) and (scope := module.scope_of[source].find(source.id)) is not None:
            key = scope, source.id
            asked = asked or key
            if key in assumed or module.datasets.get(key):
                continue
            values = None if key in module.datasets else _assigned(module, scope, source.id)
            assumed[key] = True
        elif isinstance(source, ast.Call):
            values = ()
        if values is None:
            if asked is not None:
                module.datasets[asked] = False
            return False
        pending += values
    module.datasets.update(assumed)
    return True


def _source(module: Module, value: ast.expr) -> ast.expr | None:
    """What the methods of a chain start from: a name, or the call that makes a Dataset; None if neither."""
    while not isinstance(value, ast.Name):
        if not isinstance(value, ast.Call):
            return None
        if (module.qualified(value.func) or "").startswith(MAKERS):
            return value
        method = value.func
        if not isinstance(method, ast.Attribute) or method.attr not in CHAINED | PIPELINES:
            return None
        if method in module.reference_at:
            return None
        value = method.value
    return value


def _assigned(module: Module, scope: Scope, name: str) -> list[ast.expr] | None:
    """Everything that is assigned to a name; None if it is bound in another way too."""
    values = []
    for binding in scope.bindings[name]:
        parent = module.parent_of.get(binding.node)
        if not isinstance(parent, ast.Assign) or binding.node not in parent.targets:
            return None
        values.append(parent.value)
    return values


def is_shard(module: Module, node: ast.expr) -> bool:
    """Whether an expression is what get_dataset_shard gives."""
    value = module.value(node)
    return isinstance(value, ast.Call) and module.qualified(value.func) in GET_SHARD


def attributes_of_shards(module: Module) -> list[ast.Attribute]:
    """Every attribute of what get_dataset_shard gives, in source order.

    The shards of a file are few and its attributes many, so this starts from the shards: from what names they may have.
    """
    found: set[ast.AST] = set()
    names: set[str] = set()
    waiting: list[ast.expr] = list(module.calls(*GET_SHARD))
    while waiting:
        holder = waiting.pop()
        found.add(module.parent_of[holder])
        for name in set(_names_given(module, holder)) - names:
            names.add(name)
            waiting += module.reads(name)
    attributes = (node for node in module.of_type(ast.Attribute) if node in found) if found else ()
    return [node for node in attributes if node not in module.reference_at and is_shard(module, node.value)]


def _names_given(module: Module, value: ast.expr) -> Iterator[str]:
    """The names that may get a value: those in the targets of its assignment, by itself or in a row of several."""
    outer = module.parent_of[value]
    if isinstance(outer, (ast.Tuple, ast.List)):
        outer = module.parent_of[outer]
    if isinstance(outer, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
        yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """An argument of a call, by name or position."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is not None and len(call.args) > position:
        given = call.args[position]
        return None if isinstance(given, ast.Starred) else given
    return None
