"""What goes over the batches of a Dataset or a shard: what methods such as iter_batches() give, and where it is used.

Ray 2.6.3, data/iterator.py: each of these methods is a generator, so that its batches come once. Ray 2.7.2 and 2.60,
data/iterator.py, `_IterableFromIterator`: every loop starts anew, and next() is a TypeError.
"""

import ast
from collections.abc import Iterator

from raymigrate.facts.ray_data.datasets import GET_SHARD, is_dataset
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import names_in
from raymigrate.facts.syntax.scopes import FUNCTIONS, LOOPS
from raymigrate.facts.values import all_arguments
from raymigrate.facts.values.items import collections_of, items_of

OF_RAY = ("iter_torch_batches", "iter_tf_batches")  # only Ray's objects have these
METHODS = ("iter_batches", "iter_rows", *OF_RAY)
MAY_NOT_RUN = (ast.If, ast.IfExp, ast.Try, ast.Match)
# Functions that are given an iterator and do not go over it. What next() is given is a case of its own.
LOOK = frozenset({"print", "type", "isinstance", "id", "repr", "str", "hasattr"})


def batch_iterators(module: Module) -> list[ast.Call]:
    """The calls that give an object which goes over batches or rows of Ray Data, in source order."""
    return [call for call, method in module.method_calls(*METHODS) if _is_of_ray(module, method)]


def _is_of_ray(module: Module, method: ast.Attribute) -> bool:
    if method.attr in OF_RAY:
        return method not in module.reference_at
    owner = method.value
    if isinstance(made := module.value(owner), ast.Call) and isinstance(made.func, ast.Attribute):
        owner = made.func.value if made.func.attr == "iterator" else owner
    made_by = (source.node.func for source in module.origins(owner) if isinstance(source.node, ast.Call))
    return any(module.qualified(maker) in GET_SHARD for maker in made_by) or is_dataset(module, owner)


def called_next(module: Module) -> dict[ast.AST, ast.Call]:
    """What next() takes a batch of, by the expressions that it can come from; each with the call of next()."""
    found: dict[ast.AST, ast.Call] = {}
    for call in module.named_calls("next"):
        for source in module.origins(call.args[0]) if call.args else ():
            found.setdefault(source.node, call)
    return found


def later_passes(module: Module, made: list[ast.Call]) -> dict[ast.expr, ast.Call]:
    """Where the script iterates over the same object again: in a loop around that, or after another place that does.

    Args:
        module: The module.
        made: The calls that give the objects.

    Returns:
        The first such place for each object, with the call that gives it, or the first of those that may.
    """
    made = [call for call in made if getattr(module.parent_of[call], "iter", None) is not call]  # one loop has it alone
    places: dict[ast.AST, list[ast.expr]] = {call: [] for call in made}
    known: dict[ast.AST, set[ast.AST]] = {}  # one answer for all uses that see the same binding
    for place in _gone_over(module) if made else ():
        bound = module.definition(place) or place
        if bound not in known:
            known[bound] = _values(module, place) & places.keys()
        for value in known[bound]:
            places[value].append(place)
    later = ((_later(module, call, places[call]), call) for call in reversed(made))
    return {place: call for place, call in later if place is not None}


def _later(module: Module, made: ast.Call, passes: list[ast.expr]) -> ast.expr | None:
    for number, place in enumerate(passes):
        if _is_in_loop(module, place, made) or any(_comes_first(module, first, place) for first in passes[:number]):
            return place
    return None


def _values(module: Module, place: ast.expr) -> set[ast.AST]:
    """What an expression can be, also where it is an item of a dict or list."""
    found = module.origins(place)
    items = [item for source in found for collection in collections_of(source) for item in items_of(collection)]
    return {source.node for source in (*found, *items)}


def _gone_over(module: Module) -> Iterator[ast.expr]:
    """The names, attributes and items that loops go over, or that are given to functions, which may do so."""
    loops = [*module.of_type(ast.For), *module.of_type(ast.AsyncFor), *module.of_type(ast.comprehension)]
    values: list[ast.expr] = [loop.iter for loop in loops]  # type: ignore[attr-defined]
    for call in module.of_type(ast.Call):
        if not isinstance(call.func, ast.Name) or call.func.id not in LOOK:
            values += all_arguments(call)
    held = (value for value in values if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)))
    # Of a parameter the call that gives it counts.
    given = (value for value in held if not isinstance(module.definition(value), ast.arg))
    yield from sorted(given, key=module.start)


def _is_in_loop(module: Module, place: ast.expr, made: ast.Call) -> bool:
    """Whether a place runs several times for one run of a call: it, or a call of the function that it is in."""
    places: list[ast.AST] = [place]
    function = module.function(place)
    if function is not module.function(made) and isinstance(function, ast.FunctionDef):
        places += [*module.named_calls(function.name), *(call for call, _ in module.method_calls(function.name))]
    return any(_repeats(module, one, made) for one in places)


def _repeats(module: Module, place: ast.AST, made: ast.Call) -> bool:
    """Whether a loop runs a place again and again, but not a call, and leaves the names there what they are."""
    inner = place
    for outer in module.ancestors(place):
        if isinstance(outer, FUNCTIONS):
            return False
        runs_again = isinstance(outer, LOOPS) and inner is not getattr(outer, "iter", None)
        if runs_again and not module.inside(made, outer) and not _changes(outer, place):
            return True
        inner = outer
    return False


def _changes(loop: ast.AST, place: ast.AST) -> bool:
    """Whether a loop gives other values to what stands at a place in it: by its target, or in its body.

    The key of an item takes its values anew each time that another loop around is run.
    """
    holder = place.value if isinstance(place, ast.Subscript) else place
    target = getattr(loop, "target", None)
    by_target = target is not None and not names_in(place).isdisjoint(names_in(target))
    stored = {part.id for part in ast.walk(loop) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return by_target or not stored.isdisjoint(names_in(holder))


def _comes_first(module: Module, earlier: ast.expr, later: ast.expr) -> bool:
    """Whether all runs that get to a place in a function came by an earlier one."""
    if module.function(earlier) is not module.function(later):
        return False
    behind = {later, *module.ancestors(later)}
    inner: ast.AST = earlier
    for outer in module.ancestors(earlier):
        if isinstance(outer, MAY_NOT_RUN) and not _in_same_part(outer, inner, behind):
            return False
        inner = outer
    return True


def _in_same_part(outer: ast.AST, inner: ast.AST, nodes: set[ast.AST]) -> bool:
    """Whether one of some nodes is in the part of a branch that has another one: its body, its else."""
    parts = [part if isinstance(part, list) else [part] for _, part in ast.iter_fields(outer)]
    return any(inner in part and not nodes.isdisjoint(part) for part in parts)
