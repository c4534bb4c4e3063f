"""The pairs in a result's best_checkpoints: a checkpoint, and the metrics that were reported with it.

`best[0][1]`, `max(best, key=...)[0]`, `checkpoint, metrics = best[0]`, `for checkpoint, metrics in best`,
`checkpoints, metrics = zip(*best)`.
"""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source
from raymigrate.facts.values.items import DEEPEST, collected, collections_of, items_of, looped_over

CHECKPOINT, METRICS = 0, 1  # the places in a pair
PAIR = 2
SEVERAL = (ast.Tuple, ast.List)


def results_of_part(part: Source, place: int, depth: int = 0, seen: set[ast.AST] | None = None) -> list[Source]:
    """The results in whose best_checkpoints a value is one part of a pair.

    Args:
        part: The value, which cannot be followed any further.
        place: Which part: CHECKPOINT or METRICS.
        depth: How many collections led here.
        seen: The values that were asked about before: lists may be filled with items of their own.

    Returns:
        The values whose `best_checkpoints` is read; none where the value is not seen to come from such a pair.
    """
    seen = set() if seen is None else seen
    if part.node in seen:
        return []
    seen.add(part.node)
    found = _of_unpacked(part, place, depth)
    for collection in [] if found or depth >= DEEPEST else collections_of(part):
        items = [origin for item in items_of(collection) for origin in item.module.origins(item.node)]
        found += [result for item in items for result in results_of_part(item, place, depth + 1, seen)]
        found += _of_transposed(collection, place, depth + 1)
    return found


def _of_unpacked(part: Source, place: int, depth: int) -> list[Source]:
    """The results of a part that is taken out of its pair: by its index, or with a name for each part."""
    module, node = part.module, part.node
    if isinstance(node, ast.Subscript):
        is_part = _index(module, node) in (place, place - PAIR)
        return _of_pair(Source(module, node.value), depth) if is_part else []
    pair = _targets(module, node, place)
    if pair is None:
        return []
    collection = looped_over(module, pair)
    if collection is not None:
        return _of_collection(Source(module, collection), depth)
    outer = module.parent_of[pair]
    if isinstance(outer, ast.Assign):
        return _of_pair(Source(module, outer.value), depth)
    whole = module.parent_of[outer] if isinstance(outer, SEVERAL) else None  # `(checkpoint, metrics), *others = best`
    return _of_collection(Source(module, whole.value), depth) if isinstance(whole, ast.Assign) else []


def _targets(module: Module, node: ast.expr, place: int) -> ast.Tuple | ast.List | None:
    """The two targets `checkpoint, metrics` of which a name is the one at a place."""
    target = module.definition(node)
    pair = module.parent_of.get(target) if target is not None else None
    if not isinstance(pair, SEVERAL) or len(pair.elts) != PAIR:
        return None
    return pair if pair.elts[place] is target else None


def _of_transposed(parts: Source, place: int, depth: int) -> list[Source]:
    """The results of the parts at one place that `zip(*best)` puts together."""
    module, node = parts.module, parts.node
    turned: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        turned = node.value if _index(module, node) in (place, place - PAIR) else None
    elif (pair := _targets(module, node, place)) is not None:
        assigned = module.parent_of[pair]
        turned = assigned.value if isinstance(assigned, ast.Assign) else None
    found: list[Source] = []
    for whole in collected(Source(module, turned)) if turned is not None else ():
        call = whole.node
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "zip" and len(call.args) == 1:
            if isinstance(pairs := call.args[0], ast.Starred):
                found += _of_collection(Source(whole.module, pairs.value), depth)
    return found


def _index(module: Module, node: ast.Subscript) -> object:
    return None if isinstance(node.slice, ast.Slice) else module.constant(node.slice)


def _of_pair(pair: Source, depth: int) -> list[Source]:
    """The results that a value is a pair of."""
    origins = pair.module.origins(pair.node)
    return [found for one in origins for whole in collections_of(one) for found in _of_pairs(whole, depth)]


def _of_collection(collection: Source, depth: int) -> list[Source]:
    """The results whose pairs a collection holds, all or some of them."""
    return [found for whole in collected(collection) for found in _of_pairs(whole, depth)]


def _of_pairs(collection: Source, depth: int) -> list[Source]:
    node = collection.node
    if isinstance(node, ast.Attribute):
        return [Source(collection.module, node.value)] if node.attr == "best_checkpoints" else []
    return [found for item in items_of(collection) if depth < DEEPEST for found in _of_pair(item, depth + 1)]
