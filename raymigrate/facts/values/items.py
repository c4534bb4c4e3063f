"""Items of collections: which one a value is picked out of, and what its items come from.

`for one in found`, `found[0]`, `max(found, key=...)`, `[one for one in found]`, `for name, one in found.items()`,
`first, *others = found`. An item may be a pair or a dict, and the value a part of it: `for name, one in pairs`,
`found[0]["one"]`.
"""

import ast
import builtins
from collections.abc import Callable

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import ITERATIONS
from raymigrate.facts.syntax.threads import COMPLETED, gathered, given_by_task
from raymigrate.facts.values import Source, entry, fillings, free_name, is_method_call, is_none, reaching, seen_items
from raymigrate.facts.values.arguments import has_starred, is_call_by_name

# Functions that give one item of a collection, and those that give the items again, in whatever order.
PICKS = ("max", "min", "next")
COPIES = ("list", "tuple", "set", "sorted", "reversed", "iter", "filter")
# What a key function is given by, besides the functions above.
KEYED = ("sorted", "max", "min")
SHOWS = (ast.ListComp, ast.SetComp, ast.GeneratorExp)
GETTER = "operator.itemgetter"
DEEPEST = 5  # how far a value is followed through collections made of collections


def collections_of(source: Source) -> list[Source]:
    """The collections of which a value is one item; none where it is not seen to be picked out of any.

    Args:
        source: The value, which cannot be followed any further.
    """
    module, node = source.module, source.node
    picked: ast.expr | None = None
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        picked = node.value
    elif isinstance(node, ast.Call) and _builtin(module, node) in PICKS and node.args:
        picked = node.args[0]
    elif is_method_call(node, "get", "pop"):
        picked = node.func.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and len(node.args) == 1:
        picked = node.args[0] if module.qualified(node.func.func) == GETTER and len(node.func.args) == 1 else None
    elif isinstance(node, ast.Name):
        target = module.definition(node)
        apart = taken_apart(module, target)
        picked = _given_to_key(module, target) if isinstance(target, ast.arg) else apart or looped_over(module, target)
    return collected(Source(module, picked)) if picked is not None else []


def items_behind(source: Source, depth: int = 0) -> list[Source]:
    """What a value can be that is an item of a collection, or a part of such an item.

    Args:
        source: The value, which cannot be followed any further.
        depth: How many collections led here.
    """
    if depth >= DEEPEST:
        return []
    found = [item for collection in collections_of(source) for item in items_of(collection)]
    return found or _parts_of_items(source, depth)


def origins_of_items(source: Source) -> list[Source]:
    """What the items of those collections can come from that a value is taken out of; None is left out."""
    origins = (origin for item in items_behind(source) for origin in item.module.origins(item.node))
    return [origin for origin in origins if not is_none(origin.node)]


def is_item_of(
    source: Source, kind: Callable[[Module, ast.expr], bool], seen: frozenset[ast.AST] = frozenset()
) -> bool:
    """Whether a value is one of several, all of which are of a kind, or are such items themselves.

    Args:
        source: The value, which cannot be followed any further.
        kind: Whether a value, which cannot be followed any further either, is of the kind.
        seen: The values that led here: a list may be filled with items of its own.
    """
    origins = origins_of_items(source) if source.node not in seen and len(seen) <= DEEPEST else []
    seen |= {source.node}
    return bool(origins) and all(
        kind(origin.module, origin.node) or is_item_of(origin, kind, seen) for origin in origins
    )


def _parts_of_items(part: Source, depth: int) -> list[Source]:
    """What a value can be that is taken out of a pair, or of a dict, which is an item of a collection."""
    module, node = part.module, part.node
    target = module.definition(node)
    several = module.parent_of.get(target) if target is not None else None
    key: object = None
    whole: ast.expr | None = None
    items: list[Source] = []
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        key, whole = module.constant(node.slice), node.value
    elif isinstance(several, (ast.Tuple, ast.List)) and not has_starred(several.elts):
        key, outer = several.elts.index(target), module.parent_of[several]  # type: ignore[arg-type]
        whole = outer.value if isinstance(outer, ast.Assign) else None
        looped = looped_over(module, several)
        collections = collected(Source(module, looped)) if looped is not None else []
        items = [item for collection in collections for item in items_of(collection)]
    if whole is not None:
        items = [
            item for one in module.origins(whole) for item in items_behind(Source(one.module, one.node), depth + 1)
        ]
    if not isinstance(key, (str, int)):
        return []
    origins = [origin for item in items for origin in item.module.origins(item.node)]
    return [found for origin in origins for found in entry(origin, key).found]


def items_of(collection: Source, seen: frozenset[ast.AST] = frozenset()) -> list[Source]:
    """What the items of a collection come from, as far as its file shows it.

    Args:
        collection: The collection.
        seen: The collections that led here: in a loop `found = await asyncio.gather(*found)` is made of itself.
    """
    module, node = collection.module, collection.node
    if node in seen:
        return []
    seen |= {node}
    if isinstance(node, SHOWS):
        return [Source(module, node.elt)]
    if isinstance(node, ast.DictComp):
        return [Source(module, node.value)]
    if isinstance(node, ast.Attribute):
        return [Source(module, item) for item in seen_items(module, node)]
    if tasks := gathered(module, node):
        return [Source(one.module, given) for one in _tasks(module, tasks, seen) for given in given_by_task(*one)]
    if not isinstance(node, ast.Name):
        return [Source(module, item) for item in _written(node)]
    written = [item for target in _bound(module, node) for item in _given(module, target)]
    return [Source(module, item) for item in (*written, *_filled(module, node))]


def _tasks(module: Module, written: list[ast.expr], seen: frozenset[ast.AST]) -> list[Source]:
    """Tasks as they are written, and those of `*tasks`."""
    found: list[Source] = []
    for task in written:
        several = task.value if isinstance(task, ast.Starred) else None
        collections = collected(Source(module, several)) if several is not None else []
        items = [item for collection in collections for item in items_of(collection, seen)]
        found += items if several is not None else [Source(module, task)]
    return found


def collected(collection: Source) -> list[Source]:
    """The collections that a value can be, without what only copies or sorts them."""
    found: dict[ast.AST, Source] = {}
    waiting, seen = [collection], set[ast.AST]()
    while waiting:
        source = waiting.pop()
        for origin in source.module.origins(source.node):
            inner = _copied(origin.module, origin.node)
            if inner is None:
                found[origin.node] = origin
            elif origin.node not in seen:  # `rows = sorted(rows)` in a loop
                seen.add(origin.node)
                waiting.append(Source(origin.module, inner))
    return list(found.values())


def _copied(module: Module, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if is_method_call(node, "values") and not node.args:
        return node.func.value
    if module.qualified(node.func) in COMPLETED and node.args:
        return node.args[0]
    return node.args[-1] if _builtin(module, node) in COPIES and node.args else None


def taken_apart(module: Module, target: ast.AST | None) -> ast.expr | None:
    """What is taken apart where a name is one of the targets of `a, b = value`."""
    several = module.parent_of.get(target) if target is not None else None
    whole = module.parent_of.get(several) if isinstance(several, (ast.Tuple, ast.List)) else None
    return whole.value if isinstance(whole, ast.Assign) and several in whole.targets else None


def looped_over(module: Module, target: ast.AST | None) -> ast.expr | None:
    """The collection that a loop takes a target's value from: of pairs, the part that has the item."""
    outer = module.parent_of.get(target) if target is not None else None
    if isinstance(outer, ITERATIONS) and outer.target is target:
        return outer.iter
    loop = module.parent_of.get(outer) if isinstance(outer, ast.Tuple) else None
    if not isinstance(outer, ast.Tuple) or not isinstance(loop, ITERATIONS) or loop.target is not outer:
        return None
    pairs, place = loop.iter, outer.elts.index(target)  # type: ignore[arg-type]
    if not isinstance(pairs, ast.Call):
        return None
    function = _builtin(module, pairs)
    if function == "zip" and not has_starred(pairs.args[: place + 1]):
        return pairs.args[place] if place < len(pairs.args) else None
    if function == "enumerate" and place == 1 and pairs.args:
        return pairs.args[0]
    return pairs.func.value if is_method_call(pairs, "items") and not pairs.args and place == 1 else None


def _given_to_key(module: Module, parameter: ast.arg) -> ast.expr | None:
    """The collection whose items `max(items, key=function)` or `filter(function, items)` gives to a parameter."""
    function = module.parent_of[module.parent_of[parameter]]
    uses: list[ast.expr] = [function] if isinstance(function, ast.Lambda) else []
    if isinstance(function, ast.FunctionDef):
        uses = [*module.uses_of(function)]
    for use in uses:
        outer = module.parent_of[use]
        call = module.parent_of[outer] if isinstance(outer, ast.keyword) and outer.arg == "key" else outer
        if isinstance(call, ast.Call) and call.args:
            name = _builtin(module, call)
            if name in KEYED and call is not outer:
                return call.args[0]
            if name in ("map", "filter") and call.args[0] is use and len(call.args) == 2:
                return call.args[1]
    return None


def _bound(module: Module, name: ast.Name) -> list[ast.AST]:
    """What gives a collection its items where it is read: also what `+=` adds to."""
    found: dict[ast.AST, None] = {}
    waiting = [name]
    while waiting:
        for binding in reaching(module, waiting.pop()):
            target = binding.node
            if target not in found and isinstance(target, ast.Name):
                waiting += [target] if isinstance(module.parent_of[target], ast.AugAssign) else []
            found[target] = None
    return list(found)


def _given(module: Module, target: ast.AST) -> list[ast.expr]:
    """The items with which a name of a collection is bound, or that are added by it: `a = [one]`, `a += [two]`."""
    outer = module.parent_of.get(target)
    made = outer.value if isinstance(outer, ast.AugAssign) else module.assigned(target)
    return _written(made) if made is not None else []


def _written(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [item for item in node.elts if not isinstance(item, ast.Starred)]
    if is_call_by_name(node, "dict"):
        return [keyword.value for keyword in node.keywords if keyword.arg is not None]
    return list(node.values) if isinstance(node, ast.Dict) else []


def _filled(module: Module, name: ast.Name) -> list[ast.expr]:
    """What is put into a list or dict later: `found.append(item)`, `found["name"] = item`."""
    items: list[ast.expr] = []
    for statement in fillings(module, name):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(statement, ast.Assign):
            items.append(statement.value)
        elif is_method_call(call, "append"):
            items += call.args[:1]
        elif is_method_call(call, "extend"):
            items += [item for given in call.args[:1] for item in _written(given)]
    return items


def _builtin(module: Module, call: ast.Call) -> str:
    """The function of Python itself that a call calls; empty for any other."""
    name = free_name(module, call.func)
    return name if hasattr(builtins, name) else ""
