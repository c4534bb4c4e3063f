"""The keys of a dict that a call unpacks: `kwargs = {...}`, `kwargs["key"] = ...`, `kwargs.update(...)`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from raymigrate.facts.syntax.functions import by_name
from raymigrate.facts.syntax.kept import kept
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import COMPREHENSIONS, Scope
from raymigrate.facts.values import Source, reaching, seen_entries, unpacked_dicts
from raymigrate.facts.values.arguments import is_call_by_name
from raymigrate.facts.values.dicts import held_at

READERS = ("get", "pop", "setdefault")
# Code inside these may not run, or not in its turn.
FIRST_PARTS = ("test", "iter", "subject")  # of `if` and `while`, of `for`, and of `match`
WITH_ARMS = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)
NOT_ALWAYS = (
    *WITH_ARMS,
    ast.BoolOp,
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *COMPREHENSIONS,
)


@dataclass
class Keys:
    """What is known of the keys of a dict.

    Args:
        strings: Strings, or names of them, that name a key where it gets a value.
        keywords: Keyword arguments that do, of dict() or update(), with their calls.
        reads: Strings, or names of them, that name a key where its value is read.
        read_in_text: Names of keys whose value is read in an f-string, where Python 3.11 does not say at which place.
        hidden: Whether there may be more keys.
    """

    strings: list[tuple[str, ast.expr]] = field(default_factory=list)
    keywords: list[tuple[ast.Call, ast.keyword]] = field(default_factory=list)
    reads: list[tuple[str, ast.expr]] = field(default_factory=list)
    read_in_text: set[str] = field(default_factory=set)
    hidden: bool = False

    @property
    def names(self) -> set[str]:
        """The keys that get a value."""
        return {name for name, _ in self.strings} | {str(keyword.arg) for _, keyword in self.keywords}


def keys_of(module: Module, node: ast.expr) -> Keys:
    """The keys of a dict: of the expression that makes it, and those that a name of it gets.

    What is unpacked does not have a key yet that it gets only below. Of a key that it has, all places that name it
    count, also those below.
    """
    keys = Keys()
    _add(module, _before_it_grows(module, node), keys)
    scope = module.bound_in(node)
    if scope is not None and isinstance(node, ast.Name):
        used = _of_uses(module, node.id, scope)
        written = [*used.strings, *((str(keyword.arg), keyword) for _, keyword in used.keywords)]
        outer = module.parent_of.get(node)
        # Another function may run again, when the key is there.
        is_once = isinstance(outer, ast.keyword) and outer.arg is None and module.scope_of[node] is scope
        in_time = {name for name, key in written if not (is_once and is_later(module, key, node))}
        late = used.names - in_time - keys.names
        keys.strings += [(name, key) for name, key in used.strings if name not in late]
        keys.keywords += [(call, keyword) for call, keyword in used.keywords if keyword.arg not in late]
        keys.reads += [(name, key) for name, key in used.reads if name not in late]
        keys.read_in_text |= used.read_in_text - late
        keys.hidden |= used.hidden
    return keys


def _before_it_grows(module: Module, node: ast.expr) -> ast.expr:
    """What a name holds at first, if nothing but `d |= more` binds it again; else the expression itself."""
    bindings = [binding.node for binding in module.bindings_of(node)] if isinstance(node, ast.Name) else []
    made = [bound for bound in bindings if not _grows(module.parent_of.get(bound))]
    value = module.assigned(made[0]) if len(made) == 1 and len(bindings) > 1 else None
    return node if value is None else value


def _grows(statement: ast.AST | None) -> TypeGuard[ast.AugAssign]:
    return isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.BitOr)


def known_keys(module: Module, node: ast.expr) -> set[str]:
    """The keys that a dict has or gets, as far as they are seen, whichever of several dicts it may be."""
    found = set[str]()
    for source in (Source(module, node), *module.origins(node)):
        found |= keys_of(source.module, source.node).names
        found |= seen_entries(source.module, source.node).keys()
    return found


def is_unpacked(module: Module, call: ast.Call, *names: str) -> bool | None:
    """Whether what a call unpacks with `**` gives it one of these arguments; None where it may or may not."""
    if unpacked_value(module, call, *names) is not None:
        return True
    may_have = any(_may_have(module, given, set(names)) for given in unpacked_dicts(call))
    return None if may_have else False


def unpacked_value(module: Module, call: ast.Call, *names: str) -> ast.expr | None:
    """What a dict that a call unpacks gives one of these arguments for sure."""
    for keyword in call.keywords:
        entries = seen_entries(module, keyword.value) if keyword.arg is None else {}
        for name in names:
            if name in entries and name not in taken_out(module, keyword.value):
                return entries[name]
    return None


def _may_have(module: Module, unpacked: ast.expr, names: set[str]) -> bool:
    """Whether a dict may have one of these keys."""
    if module.entries(unpacked) is not None:
        return False  # it was seen whole
    keys = keys_of(module, unpacked)
    dicts = [source.module.entries(source.node) for source in module.origins(unpacked)] if keys.hidden else []
    named = keys.names | {name for entries in dicts for name in entries or ()}
    return None in dicts or not names.isdisjoint(named) or any(module.stores(name) for name in names)


def taken_out(module: Module, unpacked: ast.expr) -> set[str]:
    """The keys that a dict has lost for sure when a call unpacks it.

    `f(epochs=d.pop("epochs"), **d)`: arguments are evaluated in their order. `def f(epochs, **d)` takes one, too.
    """
    return set(places_taken_out(module, unpacked))


def places_taken_out(module: Module, unpacked: ast.expr) -> dict[str, ast.AST]:
    """The keys of `taken_out`, with the place where each is taken out last."""
    taken = _taken_by_parameters(module, unpacked)
    return taken | {name: use for name, use in _takings(module, unpacked) if _runs_before(module, use, unpacked)}


def _taken_by_parameters(module: Module, unpacked: ast.expr) -> dict[str, ast.AST]:
    """The keys that other parameters take before a `**` parameter gets the rest, with the begin of the function."""
    bound = [binding.node for binding in reaching(module, unpacked)] if isinstance(unpacked, ast.Name) else []
    function = module.parent_of.get(module.parent_of[bound[0]]) if len(bound) == 1 else None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or function.args.kwarg is not bound[0]:
        return {}
    return {named.arg: function.body[0] for named in by_name(function)}


def perhaps_taken_out(module: Module, unpacked: ast.expr) -> dict[str, ast.expr]:
    """The keys that a dict may have lost when a call unpacks it, with the place that takes each out in some cases."""
    out = taken_out(module, unpacked)
    return {name: use for name, use in _takings(module, unpacked) if name not in out}


def _takings(module: Module, unpacked: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The keys that are taken out of a dict above the call that unpacks it, and where."""
    scope = module.bound_in(unpacked)
    for name, use in _all_takings(module, scope, unpacked.id) if isinstance(unpacked, ast.Name) and scope else ():
        if module.start(use) < module.start(unpacked):
            yield name, use


@kept  # one dict may be unpacked by many calls
def _all_takings(module: Module, scope: Scope, of: str) -> list[tuple[str, ast.expr]]:
    taken = ((module.constant(_key_taken_out(module, use)), use) for use in held_at(module, of, scope))
    return [(name, use) for name, use in taken if isinstance(name, str)]


def _key_taken_out(module: Module, use: ast.expr) -> ast.expr | None:
    """The key in `d.pop(key)` and `del d[key]`."""
    outer = module.parent_of[use]
    if isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Del):
        return outer.slice
    call = module.parent_of[outer]
    is_pop = isinstance(outer, ast.Attribute) and outer.attr == "pop" and isinstance(call, ast.Call)
    return call.args[0] if is_pop and isinstance(call, ast.Call) and call.args else None


def _runs_before(module: Module, earlier: ast.AST, later: ast.AST) -> bool:
    """Whether code that stands before other code has always run when that runs."""
    for outer in module.ancestors(earlier):
        if module.inside(later, outer):
            return not isinstance(outer, WITH_ARMS) or _follows(module, outer, earlier, later)
        if isinstance(outer, NOT_ALWAYS) and not module.inside(earlier, _first_part(outer)):
            return False
    return False


def _follows(module: Module, outer: ast.AST, earlier: ast.AST, later: ast.AST) -> bool:
    """Whether one part of a statement has always run when another one does: a condition, no arm before another arm."""
    first, second = _part_with(module, outer, earlier), _part_with(module, outer, later)
    if first == second:
        return first not in ("cases", "handlers")  # which are two of them: one would be the outer node itself
    return first in FIRST_PARTS or ((first, second) == ("body", "orelse") and isinstance(outer, ast.Try))


def _part_with(module: Module, outer: ast.AST, node: ast.AST) -> str:
    """The field of a node in which another one is."""
    parts = ((name, value if isinstance(value, list) else [value]) for name, value in ast.iter_fields(outer))
    inside = (name for name, values in parts if any(_is_in(module, node, value) for value in values))
    return next(inside, "")


def _is_in(module: Module, node: ast.AST, part: object) -> bool:
    return isinstance(part, ast.AST) and module.inside(node, part)


def is_later(module: Module, use: ast.AST, until: ast.AST) -> bool:
    """Whether code runs after other code of the same function, and not before it in another round of a loop."""
    if module.start(use) < module.start(until) or module.function(use) is not module.function(until):
        return False
    loops = [outer for outer in module.ancestors(until) if isinstance(outer, (ast.For, ast.AsyncFor, ast.While))]
    return not any(module.inside(use, loop) for loop in loops)


def _first_part(node: ast.AST) -> ast.AST | None:
    """What always runs of code that may not run as a whole: the condition of `if`, what a loop goes through."""
    if isinstance(node, ast.BoolOp):
        return node.values[0]
    if isinstance(node, COMPREHENSIONS):
        return node.generators[0].iter
    return next((part for name in FIRST_PARTS if (part := getattr(node, name, None)) is not None), None)


@kept
def _of_uses(module: Module, name: str, scope: Scope) -> Keys:
    """The keys that the uses of a name tell of."""
    keys = Keys()
    for use in held_at(module, name, scope):
        known = len(keys.reads)
        _add_use(module, use, keys)
        if any(isinstance(outer, ast.JoinedStr) for outer in module.ancestors(use)):
            keys.read_in_text |= {name for name, _ in keys.reads[known:]}
    for binding in scope.bindings.get(name, ()):
        statement = module.parent_of.get(binding.node)
        if _grows(statement):  # d |= {...}
            _add(module, statement.value, keys)
    return keys


def _add(module: Module, node: ast.expr, keys: Keys, above: tuple[ast.expr, ...] = ()) -> None:
    """Adds the keys of `{...}` or `dict(...)`; hidden are those of one that is part of itself: `d = dict(d)`."""
    value = module.value(node)
    if value in above:
        keys.hidden = True
    elif isinstance(value, ast.Dict):
        for key, given in zip(value.keys, value.values, strict=True):
            if key is None and given is not node:
                _add(module, given, keys, (*above, value))
            else:
                _add_string(module, key, keys.strings, keys)
    elif is_call_by_name(value, "dict"):
        _add_call(module, value, keys, (*above, value))
    else:
        keys.hidden = True


def _add_call(module: Module, call: ast.Call, keys: Keys, above: tuple[ast.expr, ...] = ()) -> None:
    keys.keywords += [(call, keyword) for keyword in call.keywords if keyword.arg is not None]
    for given in (*call.args, *unpacked_dicts(call)):
        _add(module, given, keys, above)


def _add_string(module: Module, key: ast.expr | None, to: list[tuple[str, ast.expr]], keys: Keys) -> None:
    name = module.constant(key) if key is not None else ...
    if isinstance(name, str) and key is not None:
        to.append((name, key))
    else:
        keys.hidden = True


def _add_use(module: Module, use: ast.expr, keys: Keys) -> None:
    outer = module.parent_of[use]
    if isinstance(outer, ast.Subscript):  # its value: a dict is no key
        _add_string(module, outer.slice, keys.strings if isinstance(outer.ctx, ast.Store) else keys.reads, keys)
    elif (
        isinstance(outer, ast.Compare) and outer.comparators == [use] and isinstance(outer.ops[0], (ast.In, ast.NotIn))
    ):
        _add_string(module, outer.left, keys.reads, keys)
    elif isinstance(outer, ast.Attribute) and isinstance(call := module.parent_of[outer], ast.Call):
        if outer.attr == "update":
            _add_call(module, call, keys)
        elif outer.attr in READERS and call.args:
            _add_string(module, call.args[0], keys.strings if outer.attr == "setdefault" else keys.reads, keys)
