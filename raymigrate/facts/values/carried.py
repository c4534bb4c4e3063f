"""The entries that a dict may carry to where it is unpacked or read, each with the place where its key is written.

`{...}`, `dict(...)`, `a | b`, copies and dicts unpacked in others; what a name or an attribute of a dict gets later, by
`d["key"] = value`, `d.update(...)`, `d.setdefault(...)` or `d |= ...`, in a branch or in a function that is given the
dict; what functions return, in other files too; the keywords of the callers of `def f(**options)`; and the fields of an
object that becomes a dict: `asdict(x)`, `vars(x)`, `x.model_dump()`.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from raymigrate.facts.syntax.functions import by_name, parameter_for
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FunctionNode, Scope
from raymigrate.facts.values import (
    Source,
    argument,
    constant,
    holds_items,
    key_name,
    keyword_argument,
    names_of,
    reaching,
    unpacked_dicts,
)
from raymigrate.facts.values.arguments import has_starred
from raymigrate.facts.values.calls import configuration_for
from raymigrate.facts.values.classes_of_objects import classes_of_object
from raymigrate.facts.values.dicts import held_at
from raymigrate.facts.values.keys import is_later, places_taken_out
from raymigrate.facts.values.lineages import lineage
from raymigrate.facts.values.members import methods
from raymigrate.facts.values.own_classes import COPIES

MAKERS = ("dict", "OrderedDict")
# What makes a dict of the fields of an object: functions, and methods of pydantic's models.
OF_FIELDS = ("dataclasses.asdict", "attr.asdict", "attrs.asdict")
MODEL_METHODS = ("dict", "model_dump")
DEEPEST = 12  # dicts made of others


@dataclass(frozen=True)
class Entry:
    """An entry that a dict may have.

    Args:
        module: The module in which it is written.
        name: The key.
        key: Where the key is written: a string or a name of one, a keyword argument, or the field of a class.
        value: The value; for a field its default, or else its name.
    """

    module: Module
    name: str
    key: ast.AST
    value: ast.expr


@dataclass(frozen=True)
class Carried:
    """What is known of the entries of a dict.

    Args:
        entries: Those that it may have.
        whole: Whether these are all.
        ends: Where it comes from, as far as that could be followed: what has the others, if that is known.
    """

    entries: tuple[Entry, ...] = ()
    whole: bool = True
    ends: tuple[Source, ...] = ()


UNSEEN = Carried(whole=False)


def carried(module: Module, node: ast.expr) -> Carried:
    """The entries that a dict may have where it stands.

    Args:
        module: The module.
        node: The dict.
    """
    return _carried(module, node, frozenset())


def gives_none(entry: Entry) -> bool:
    """Whether the value of a key is None where that is written; the field of an object may get another one."""
    return isinstance(entry.key, (ast.Constant, ast.keyword)) and constant(entry.module, entry.value) is None


def values_given(module: Module, call: ast.Call, name: str, position: int | None = None) -> list[Source]:
    """All that an argument of a call can be, given as it is or in a dict that is unpacked.

    Args:
        module: The module.
        call: The call.
        name: The argument.
        position: Its place; None where it has none.

    Returns:
        Where each value is written; nothing where the call gives none, or not all that it unpacks is seen.
    """
    given = keyword_argument(call, name) if position is None else argument(call, position, name)
    if given is not None:
        return [Source(module, given)]
    parts = [carried(module, unpacked) for unpacked in unpacked_dicts(call)]
    if has_starred(call.args) or not all(part.whole for part in parts):
        return []
    return [Source(entry.module, entry.value) for part in parts for entry in part.entries if entry.name == name]


def _carried(module: Module, node: ast.expr, above: frozenset[ast.AST]) -> Carried:
    if node in above:
        return Carried()  # a dict that is made of itself gets nothing by that
    if len(above) >= DEEPEST:
        return UNSEEN
    above |= {node}
    written = _written(module, node, above)
    if written is not None:
        return _joined(written)
    parts: list[Carried] = []
    for source in module.origins(node):
        is_end = source.node is node
        parts += _at_end(module, node, above) if is_end else [_carried(source.module, source.node, above)]
    for name in names_of(module, node):
        parts += _filled(module, name, above)
    if isinstance(node, ast.Attribute):
        parts += _filled_attribute(module, node, above)
    found, out = _joined(parts), places_taken_out(module, node)
    left = (entry for entry in found.entries if entry.name not in out or _is_put_back(module, entry, out[entry.name]))
    return Carried(tuple(left), found.whole, found.ends)


def _is_put_back(module: Module, entry: Entry, taken: ast.AST) -> bool:
    """Whether an entry is written after the key was taken out."""
    is_near = entry.module is module and module.function(entry.key) is module.function(taken)
    return is_near and module.start(entry.key) > module.start(taken)


def _joined(parts: Iterable[Carried]) -> Carried:
    several = list(parts)
    entries = dict.fromkeys(entry for part in several for entry in part.entries)
    ends = dict.fromkeys(end for part in several for end in part.ends)
    return Carried(tuple(entries), all(part.whole for part in several), tuple(ends))


def _written(module: Module, node: ast.expr, above: frozenset[ast.AST]) -> list[Carried] | None:
    """The parts of a dict that is written out; None of anything else."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return [_pair(module, key, value, above) for key, value in zip(keys, values, strict=True)]
        case ast.Constant(value=None):
            return []
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [_carried(module, left, above), _carried(module, right, above)]
        case ast.DictComp():
            return [_mapped(module, node, above)]
        case ast.Call(func=ast.Name(id=name)) if name in MAKERS:
            return _given(module, node, above)
        case ast.Call(func=ast.Attribute(value=whole, attr="copy"), args=[], keywords=[]):
            return [_carried(module, whole, above)]
        case ast.Call(args=[whole, *_]) if module.qualified(node.func) in COPIES:
            return [_carried(module, whole, above)]
    made = _made_dict(module, node)
    return [_fields(module, made)] if made is not None else None


def _pair(module: Module, key: ast.expr | None, value: ast.expr, above: frozenset[ast.AST]) -> Carried:
    if key is None:
        return _carried(module, value, above)
    name = key_name(module, key)
    return UNSEEN if name is None else Carried((Entry(module, name, key, value),))


def _given(module: Module, call: ast.Call, above: frozenset[ast.AST]) -> list[Carried]:
    """What `dict(...)` and `update(...)` are given: dicts, pairs and keywords."""
    parts: list[Carried] = []
    for given in call.args:
        pairs = given.elts if isinstance(given, (ast.List, ast.Tuple)) else None
        if pairs is None:
            parts.append(_carried(module, given, above))
            continue
        for pair in pairs:
            key, *value = pair.elts if isinstance(pair, (ast.List, ast.Tuple)) and pair.elts else [pair]
            parts.append(_pair(module, key, value[0], above) if len(value) == 1 else UNSEEN)
    return [*parts, *_keywords(module, call.keywords, above)]


def _keywords(module: Module, keywords: Iterable[ast.keyword], above: frozenset[ast.AST]) -> Iterator[Carried]:
    for keyword in keywords:
        if keyword.arg is None:
            yield _carried(module, keyword.value, above)
        else:
            yield Carried((Entry(module, keyword.arg, keyword, keyword.value),))


def _mapped(module: Module, node: ast.DictComp, above: frozenset[ast.AST]) -> Carried:
    """The entries of `{name: f(value) for name, value in dict.items()}`, unless it chooses among the names."""
    loop = node.generators[0]
    items = loop.iter.func if isinstance(loop.iter, ast.Call) and not loop.iter.args else None
    target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
    if len(node.generators) != 1 or not isinstance(items, ast.Attribute) or items.attr != "items":
        return UNSEEN
    if not isinstance(target, ast.Name) or not isinstance(node.key, ast.Name) or node.key.id != target.id:
        return UNSEEN
    asked = (part for test in loop.ifs for part in ast.walk(test))
    if any(isinstance(part, ast.Name) and part.id == target.id for part in asked):
        return UNSEEN
    found = _carried(module, items.value, above)
    if isinstance(node.value, ast.Name) and ast.unparse(node.value) == ast.unparse(loop.target.elts[-1]):  # type: ignore[attr-defined]
        return found
    made = (replace(entry, value=node.value) if entry.module is module else entry for entry in found.entries)
    return replace(found, entries=tuple(made))


def _at_end(module: Module, node: ast.expr, above: frozenset[ast.AST]) -> Iterator[Carried]:
    """What a value that cannot be followed any further is seen to be: a dict that is filled later, or a parameter."""
    unseen = Carried(whole=False, ends=(Source(module, node),))
    if not isinstance(node, ast.Name):
        yield unseen
        return
    if isinstance(node.ctx, ast.Store):  # the name in another file, of a dict that is filled there
        given = module.assigned(node)
        yield _carried(module, given, above) if given is not None else unseen
        return
    bindings = [binding.node for binding in reaching(module, node)]
    if not bindings:
        yield unseen
    for bound in bindings:
        given, statement = module.assigned(bound), module.parent_of.get(bound)
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.BitOr):
            yield from _merged(module, node, above)
        elif isinstance(bound, ast.arg):
            called = _of_callers(module, bound, above)
            yield called if called.whole or called.ends else replace(unseen, entries=called.entries)
        elif given is None:
            yield unseen
        elif holds_items(given):  # others were followed
            yield _carried(module, given, above)


def _merged(module: Module, node: ast.Name, above: frozenset[ast.AST]) -> Iterator[Carried]:
    """The parts of a dict that grows by `d |= more`, whichever of these statements run."""
    for binding in module.bindings_of(node):
        statement = module.parent_of.get(binding.node)
        given = statement.value if isinstance(statement, ast.AugAssign) else module.assigned(binding.node)
        yield _carried(module, given, above) if given is not None else UNSEEN


def _of_callers(module: Module, parameter: ast.arg, above: frozenset[ast.AST]) -> Carried:
    """What the calls of a function give for its `**` parameter; unseen where it is another one, or not all are seen."""
    function = module.parent_of[module.parent_of[parameter]]
    if not isinstance(function, ast.FunctionDef) or function.args.kwarg is not parameter:
        return UNSEEN
    is_method = isinstance(module.parent_of[function], ast.ClassDef)
    names = () if is_method else module.uses_of(function)
    uses = [*names, *_reads_of_methods(module, function.name if is_method else "").get(function, ())]
    named = {one.arg for one in by_name(function)}
    parts = [UNSEEN] if is_method else []  # other files may call it on an object that they are given
    for use in uses:
        call = module.parent_of[use]
        if is_method and (config := configuration_for(module, use)) is not None:
            parts.append(_carried(module, config, above))
            continue
        if not isinstance(call, ast.Call) or call.func is not use:
            return UNSEEN
        parts += _keywords(module, (keyword for keyword in call.keywords if keyword.arg not in named), above)
    return _joined(parts) if uses else UNSEEN


@kept
def _reads_of_methods(module: Module, name: str) -> dict[ast.FunctionDef, list[ast.Attribute]]:
    """Where a module reads what has a name of objects, for each method of its classes that this may be."""
    found: dict[ast.FunctionDef, list[ast.Attribute]] = {}
    for read in module.attributes(name):
        for function in methods(module, read):
            found.setdefault(function, []).append(read)
    return found


def _filled(module: Module, name: ast.Name, above: frozenset[ast.AST]) -> Iterator[Carried]:
    """What a dict gets by a name of it before this use; in all, where this is the name that is assigned to."""
    scope = module.bound_in(name)
    for use in _not_unpacked(module, scope, name.id) if scope is not None else ():
        if use is not name and (isinstance(name.ctx, ast.Store) or not is_later(module, use, name)):
            yield from _by_use(module, use, above)


@kept  # one dict may be unpacked by many calls
def _not_unpacked(module: Module, scope: Scope, name: str) -> list[ast.expr]:
    """The uses of a name that may put something into the dict."""
    uses = ((use, module.parent_of[use]) for use in held_at(module, name, scope))
    return [use for use, outer in uses if not (isinstance(outer, ast.keyword) and outer.arg is None)]


def _filled_attribute(module: Module, node: ast.Attribute, above: frozenset[ast.AST]) -> Iterator[Carried]:
    """What a dict gets by an attribute that holds it, of the same object as far as the file shows it."""
    home, owner = module.class_around(node), ast.unparse(node.value)
    for use in module.attributes(node.attr):
        if use is not node and ast.unparse(use.value) == owner and module.class_around(use) is home:
            yield from _by_use(module, use, above)


def _by_use(module: Module, use: ast.expr, above: frozenset[ast.AST]) -> Iterator[Carried]:
    """What one use of a dict puts into it."""
    outer = module.parent_of[use]
    call = module.parent_of.get(outer) if isinstance(outer, (ast.Attribute, ast.keyword)) else outer
    if isinstance(outer, ast.Subscript) and outer.value is use and isinstance(outer.ctx, ast.Store):
        yield _pair(module, outer.slice, module.assigned(outer) or outer, above)
    elif not isinstance(call, ast.Call):
        return
    elif isinstance(outer, ast.Attribute) and call.func is outer:
        if outer.attr == "update":
            yield from _given(module, call, above)
        elif outer.attr == "setdefault" and call.args:
            yield _pair(module, call.args[0], call.args[-1], above)
    elif use not in above and len(above) < DEEPEST and (taken := _taker(module, call, use)) is not None:
        home, function, parameter = taken
        for inner in home.uses(parameter, home.scope(function)):
            yield from _by_use(home, inner, above | {use})


def _taker(module: Module, call: ast.Call, given: ast.expr) -> tuple[Module, FunctionNode, str] | None:
    """The function of the project that a call gives an argument, and the parameter that takes it."""
    found, home = module.definition(call.func), module
    other = module.elsewhere(call.func) if not isinstance(found, ast.FunctionDef) else None
    if other is not None:
        found, home = other.node, other.module
    if not isinstance(found, ast.FunctionDef):
        return None
    parameter = parameter_for(found, call, given)
    return (home, found, parameter) if parameter else None


def _made_dict(module: Module, node: ast.expr) -> ast.expr | None:
    """The object whose fields an expression makes a dict of; None where it makes none."""
    match node:
        case ast.Call(func=ast.Attribute(value=made, attr=method), args=[]) if method in MODEL_METHODS:
            return made
        case ast.Call(func=ast.Name(id="vars"), args=[made]) | ast.Attribute(value=made, attr="__dict__"):
            return made
        case ast.Call(args=[made, *_]) if module.qualified(node.func) in OF_FIELDS:
            return made
    return None


def _fields(module: Module, made: ast.expr) -> Carried:
    """The fields of an object, as its class declares them; others may be set later, as those of `vars(args)`."""
    homes = list(dict.fromkeys(classes_of_object(module, made, {})))
    entries = [
        Entry(home, field.target.id, field.target, field.value or field.target)
        for home, node in homes
        for line in lineage(home, node)
        for field in line.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    ]
    return Carried(tuple(entries), whole=bool(homes))
