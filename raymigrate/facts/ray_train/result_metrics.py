"""The metrics of a trainer's result: the last ones, those beside each of its best checkpoints, and the table of all."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from raymigrate.facts.ray_train.best_checkpoints import METRICS, results_of_part
from raymigrate.facts.ray_train.results import trainers_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, called_name
from raymigrate.facts.values.dicts import dicts_in
from raymigrate.facts.values.items import DEEPEST, collected, items_behind, items_of

LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)


class Metrics(Enum):
    """Where metrics are read from, with the beginning of a sentence that says what they lack."""

    LAST = "result.metrics has no {keys}"
    OF_CHECKPOINT = "The metrics of a checkpoint have no {keys}"
    TABLE = "result.metrics_dataframe has no column{s} {keys}"


@dataclass(frozen=True)
class Found:
    """Metrics that a value is, or is made of.

    Args:
        kind: Which.
        results: The results that they are read from.
        in_table: Whether the value is a table of them, or some rows or columns of one.
    """

    kind: Metrics
    results: tuple[Source, ...]
    in_table: bool = False


def metrics_behind(module: Module, node: ast.expr) -> Found | None:
    """Which metrics a value is, or a copy of them, or a table that is made of them; None for any other value."""
    as_dict = _in_any(module, node, 0)
    table = _in_table(module, node, 0) if as_dict is None else None
    return replace(table, in_table=True) if table is not None else as_dict


def _in_any(module: Module, node: ast.expr, depth: int) -> Found | None:
    """Which metrics a value can be, as a dict."""
    sources = module.origins(node) if depth < DEEPEST else []
    return _joined(_in_source(source, depth) for source in sources)


def _in_source(source: Source, depth: int) -> Found | None:
    module, node = source.module, source.node
    if isinstance(node, ast.Attribute) and node.attr == "metrics" and _is_of_trainer(module, node.value):
        return Found(Metrics.LAST, (Source(module, node.value),))
    results = results_of_part(source, METRICS)
    if any(_is_of_trainer(result.module, result.node) for result in results):
        return Found(Metrics.OF_CHECKPOINT, tuple(results))
    parts = [Source(module, part) for part in (*dicts_in(module, node), *_changed_later(module, node))]
    parts += [*(Source(module, whole) for whole in _gone_through(node)), *items_behind(source)]
    return _joined(_in_any(part.module, part.node, depth + 1) for part in parts)


def _changed_later(module: Module, node: ast.expr) -> list[ast.expr]:
    """What a name is given, where that gets other entries later, so that it is not followed."""
    target = module.definition(node)
    given = module.assigned(target) if target is not None else None
    return [given] if given is not None else []


def _joined(parts: Iterator[Found | None]) -> Found | None:
    """What the parts of a value say of it: the kind of the first, and the results of all."""
    found = [part for part in parts if part is not None]
    results = tuple(result for part in found for result in part.results)
    return replace(found[0], results=results) if found else None


def _is_of_trainer(module: Module, result: ast.expr) -> bool:
    return bool(trainers_of(module, result) - {None})


def _gone_through(node: ast.expr) -> list[ast.expr]:
    """The dict of which `{key: round(value) for key, value in metrics.items()}` has keys."""
    match node:
        case ast.DictComp(
            key=kept,
            generators=[
                ast.comprehension(
                    target=ast.Tuple(elts=[key, _]), iter=ast.Call(func=ast.Attribute(value=whole, attr="items"))
                )
            ],
        ):
            return [whole] if ast.unparse(key) == ast.unparse(kept) else []
    return []


def _in_table(module: Module, node: ast.expr, depth: int) -> Found | None:
    """Of which metrics a value is a table, or some rows or columns of one."""
    sources = module.origins(node) if depth < DEEPEST else []
    return _joined(_in_part_of_table(source.module, source.node, depth + 1) for source in sources)


def _in_part_of_table(module: Module, node: ast.expr, depth: int) -> Found | None:
    if isinstance(node, ast.Attribute) and node.attr == "metrics_dataframe" and _is_of_trainer(module, node.value):
        return Found(Metrics.TABLE, (Source(module, node.value),))
    inner = _inner(module, node)
    found = _in_table(module, inner, depth) if inner is not None else None
    return found or _joined(_in_any(module, row, depth) or _in_table(module, row, depth) for row in _rows(module, node))


def _inner(module: Module, node: ast.expr) -> ast.expr | None:
    """What a part of a table is taken from: of `df[...]`, of `row` in `for _, row in df.iterrows()`."""
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return node.value
    if isinstance(node, ast.Call):
        return node.func.value if isinstance(node.func, ast.Attribute) and not module.qualified(node.func) else None
    if given := _changed_later(module, node):
        return given[0]
    target: ast.AST | None = module.definition(node)
    if isinstance(target, ast.arg):  # `df.apply(lambda row: ..., axis=1)`
        function = module.parent_of[module.parent_of[target]]
        call = module.parent_of[function]
        is_given = isinstance(function, ast.Lambda) and isinstance(call, ast.Call) and function in call.args
        return call.func if is_given and isinstance(call, ast.Call) else None
    while isinstance(module.parent_of.get(target) if target else None, ast.Tuple):
        target = module.parent_of[target]  # type: ignore[index]
    loop = module.parent_of.get(target) if target is not None else None
    return loop.iter if isinstance(loop, LOOPS) and loop.target is target else None


def _rows(module: Module, node: ast.expr) -> list[ast.expr]:
    """What pandas makes a table of: `pd.DataFrame([metrics])`, `pd.concat([df, more])`."""
    if not isinstance(node, ast.Call) or not called_name(module, node).startswith("pandas.") or not node.args:
        return []
    given = Source(module, node.args[0])
    items = [item for whole in collected(given) for item in items_of(whole)]
    return [given.node, *(item.node for item in items if item.module is module)]
