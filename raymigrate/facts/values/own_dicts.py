"""Dicts that are written out for one call alone, which unpacks them: their entries can stand in the call itself.

`f(**{"a": 1})`, and `options = dict(a=1)`, `options["b"] = 2`, `f(**options)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.nodes import BINDS, names_in, targets_of
from raymigrate.facts.syntax.scopes import LOOPS
from raymigrate.facts.values.arguments import called_name, free_name, has_starred, is_call_by_name

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module
    from raymigrate.facts.syntax.scopes import Scope

NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
# What stands in these may be evaluated never, or again and again.
ON_CONDITION = (ast.IfExp, ast.BoolOp, ast.Compare, ast.While, ast.Assert, ast.comprehension)

KNOWN = ("print", "len", "str", "int", "float", "dict", "list", "range")
SHOW = ("print", "str", "repr", "len", "bool", "isinstance", "hasattr")
OF_LIBRARIES = ("ray.", "datasets.", "logging.", "os.")

RUN_METHODS = (ast.With, ast.AsyncWith, ast.For, ast.AsyncFor)  # of an object, with no call in the text


@dataclass(frozen=True)
class Unpacked:
    """A dict of which one call alone makes use.

    Args:
        keyword: The `**` of the call.
        entries: Its keys with their values, in order.
        statements: Those that fill it, if it has a name.
    """

    keyword: ast.keyword
    entries: dict[str, ast.expr]
    statements: list[ast.stmt] = field(default_factory=list)


def unpacked_alone(module: Module, call: ast.Call) -> Unpacked | None:
    """The dict that a call unpacks, if its entries may as well stand in the call; None of any other.

    Args:
        module: The module.
        call: The call.
    """
    unpacked = [keyword for keyword in call.keywords if keyword.arg is None]
    if len(unpacked) != 1 or has_starred(call.args):
        return None
    given = unpacked[0].value
    found = _named(module, call, given) if isinstance(given, ast.Name) else None
    statements, pairs = found or ([], _pairs(module, given))
    names = [name for name, _ in pairs or ()]
    if not pairs or not all(name.isidentifier() and not iskeyword(name) for name in names):
        return None
    if statements and not _may_come_later(module, unpacked[0], [value for _, value in pairs]):
        return None
    if len({*names, *(keyword.arg for keyword in call.keywords)}) < len(names) + len(call.keywords):
        return None  # what is given twice: the last one counts, or it raises
    return Unpacked(unpacked[0], dict(pairs), statements)


def _named(
    module: Module, call: ast.Call, use: ast.Name
) -> tuple[list[ast.stmt], list[tuple[str, ast.expr]] | None] | None:
    """The statements that fill a dict with a name, and what they put there; None unless only they and a call use it."""
    target = module.definition(use)
    scope = module.bound_in(use)
    made = module.assigned(target) if isinstance(target, ast.Name) else None
    if made is None or scope is None or scope is not module.scope_of[call] or not module.is_bound_once(target):
        return None
    if isinstance(scope.node, ast.ClassDef):  # an attribute, which anybody may read
        return None
    first, last = module.statement(made), module.statement(call)
    uses = [other for other in module.uses(use.id, scope) if other is not use]
    statements = [first, *(module.statement(other) for other in uses)]
    block = module.block_of(last)
    if not isinstance(first, (ast.Assign, ast.AnnAssign)) or first.value is not made or len(targets_of(first)) > 1:
        return None
    if len({*statements}) < len(statements) or not all(statement in block for statement in statements):
        return None
    places = [block.index(statement) for statement in (*statements, last)]
    pairs = [_pairs(module, made), *(_added(module, other) for other in uses)]
    if places != sorted({*places}) or None in pairs:
        return None
    found = [pair for part in pairs for pair in part or ()]
    between = [other for other in block[places[0] : places[-1]] if other not in statements]
    is_same = _is_same_later(module, [value for _, value in found], between, call)
    return (statements, found) if is_same else None


def _pairs(module: Module, node: ast.expr) -> list[tuple[str, ast.expr]] | None:
    """The entries of `{...}` and `dict(...)`; None where not all of them are written out there."""
    if isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        return _if_text(keys, node.values)
    if not is_call_by_name(node, "dict") or node.args or module.scope_of[node].find("dict"):
        return None
    return _if_text([keyword.arg for keyword in node.keywords], [keyword.value for keyword in node.keywords])


def _if_text(keys: Sequence[object], values: Sequence[ast.expr]) -> list[tuple[str, ast.expr]] | None:
    pairs = [(key, value) for key, value in zip(keys, values, strict=True) if isinstance(key, str)]
    return pairs if len(pairs) == len(values) else None


def _added(module: Module, use: ast.Name) -> list[tuple[str, ast.expr]] | None:
    """What a statement puts into a dict that it names: `d["key"] = value`, `d.update(key=value)`; None of others."""
    match module.statement(use):
        case ast.Assign(targets=[ast.Subscript(value=owner, slice=ast.Constant(value=str(key)))], value=value):
            return [(key, value)] if owner is use else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="update")) as call) if owner is use:
            if call.args:
                return _pairs(module, call.args[0]) if len(call.args) == 1 and not call.keywords else None
            return _if_text([keyword.arg for keyword in call.keywords], [keyword.value for keyword in call.keywords])
    return None


def _may_come_later(module: Module, unpacked: ast.keyword, values: list[ast.expr]) -> bool:
    """Whether expressions may be evaluated where a call unpacks them, behind what its statement evaluates before."""
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(module.statement(unpacked))):
        return False
    before, is_asked = _evaluated_before(module, unpacked)
    if all(_is_plain(module, part) for value in values for part in ast.walk(value)):
        is_kept = _are_kept(module, values, [module.statement(unpacked)])
        return is_kept and not _may_be_changed(module, values, before, unpacked)
    if is_asked:
        return False
    found = [part for node in before for part in ast.walk(node)]
    if all(_is_plain(module, part) and not _reads_part(module, part) for part in found):
        return True  # which calls among the expressions do not change
    return not any(_has_effect(module, part) for node in (*before, *values) for part in ast.walk(node))


def _evaluated_before(module: Module, unpacked: ast.keyword) -> tuple[list[ast.AST], bool]:
    """What a statement evaluates before a dict that a call unpacks; and whether something decides that it does that."""
    before = list[ast.AST]()
    inner: ast.AST = unpacked
    is_asked = False
    while not isinstance(inner, ast.stmt):
        outer = module.parent_in_text(inner)
        is_asked = is_asked or isinstance(outer, ON_CONDITION)
        if not isinstance(outer, (ast.Assign, ast.AnnAssign)):  # whose targets are evaluated behind the value
            parts = list(ast.iter_child_nodes(outer))
            before += parts[1 if inner is unpacked else 0 : parts.index(inner)]  # not the function, which is a name
        inner = outer
    return before, is_asked


def _has_effect(module: Module, part: ast.AST) -> bool:
    """Whether a part of an expression may do something, besides giving a value."""
    return isinstance(part, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)) and not _is_plain(module, part)


def _may_be_changed(module: Module, values: list[ast.expr], code: Sequence[ast.AST], call: ast.AST) -> bool:
    """Whether code may change what some expressions read from, having got it earlier: `holder = Holder(args)`.

    Args:
        module: The module.
        values: The expressions.
        code: The code that runs between them and the call.
        call: What is in the call.
    """
    parts = [part for node in code for part in ast.walk(node)]
    runs_methods = any(isinstance(part, RUN_METHODS) for part in parts)
    if not runs_methods and not any(
        _sets_part(part) or (_has_effect(module, part) and not _is_known(module, part)) for part in parts
    ):
        return False
    is_repeated = any(isinstance(outer, LOOPS) for outer in module.ancestors(call))
    uses = [use for owner, scope in _owners(module, values) for use in module.uses(owner.id, scope)]
    earlier = (use for use in uses if is_repeated or module.start(use) < module.start(call))
    return any(not (_is_read_from(module, use) or _is_only_shown(module, use)) for use in earlier)


def _is_only_shown(module: Module, use: ast.Name) -> bool:
    """Whether nothing keeps what a name stands for: `print(vars(args))`, `f"{args}"`, `args.rate = 1`, `if args`."""
    inner: ast.AST = use
    outer = module.parent_of[use]
    if isinstance(outer, ast.Call) and free_name(module, outer.func) == "vars":
        inner, outer = outer, module.parent_of[outer]
    if isinstance(outer, (ast.Attribute, ast.Subscript)):
        return outer.value is inner and _sets_part(outer)
    if isinstance(outer, ast.Call):
        return free_name(module, outer.func) in SHOW or called_name(module, outer).startswith("logging.")
    return isinstance(outer, (ast.FormattedValue, ast.Assert, ast.If))


def _sets_part(part: ast.AST) -> bool:
    return isinstance(part, (ast.Attribute, ast.Subscript)) and not isinstance(part.ctx, ast.Load)


def _is_known(module: Module, part: ast.AST) -> bool:
    """Whether a call is one of Python or of Ray, which have nothing of the script's to change."""
    if not isinstance(part, ast.Call):
        return False
    return free_name(module, part.func) in KNOWN or called_name(module, part).startswith(OF_LIBRARIES)


def _is_same_later(module: Module, values: list[ast.expr], between: list[ast.stmt], call: ast.AST) -> bool:
    """Whether expressions give the same after some statements as before them, and no order of calls changes."""
    if not between:
        return True
    if not all(_is_plain(module, part) for value in values for part in ast.walk(value)):
        return False
    read = {name for value in values for name in names_in(value)}
    copied = {part.id for value in values for part in _copied(value)}
    if any(not copied.isdisjoint(names_in(statement)) for statement in between):
        return False
    if not _are_kept(module, values, between) or _may_be_changed(module, values, between, call):
        return False
    for owner, scope in _owners(module, values):
        if any(_has_another_name(module, use) for use in (owner, *module.uses(owner.id, scope))):
            return False
    declared = [node.names for node in module.of_type(ast.Global)]
    declared += [node.names for node in module.of_type(ast.Nonlocal)]
    elsewhere = {name for names in declared for name in names}
    return read.isdisjoint(_bound(between)) and read.isdisjoint(elsewhere)  # which a call may bind anew


def _copied(value: ast.expr) -> Iterator[ast.Name]:
    """The names whose entries an expression takes: `ScalingConfig(**scaling)`."""
    for part in ast.walk(value):
        if isinstance(part, ast.keyword) and part.arg is None:
            yield from (name for name in ast.walk(part.value) if isinstance(name, ast.Name))


def _are_kept(module: Module, values: list[ast.expr], between: list[ast.stmt]) -> bool:
    """Whether `args.rate` and `config["rate"]` among some expressions give the same after some statements.

    These may read from what the name stands for, and so may functions that they call, but not hand it on.
    """
    for owner, scope in _owners(module, values):
        for use in module.uses(owner.id, scope):
            is_near = module.scope_of[use] is module.scope_of[owner]
            if is_near and not any(module.inside(use, statement) for statement in between):
                continue
            if not _is_read_from(module, use):
                return False
    return True


def _owners(module: Module, values: list[ast.expr]) -> list[tuple[ast.Name, Scope]]:
    """The names of whose attributes and entries some expressions read, each once, with the scopes that bind them."""
    read = [part for value in values for part in ast.walk(value) if _reads_part(module, part)]
    found = {part.value.id: part.value for part in read if isinstance(part.value, ast.Name)}  # type: ignore[attr-defined]
    return [(owner, scope) for owner in found.values() if (scope := module.bound_in(owner)) is not None]


def _reads_part(module: Module, part: ast.AST) -> bool:
    """Whether a part of an expression reads `args.rate` or `config["rate"]`, of what no import names."""
    return isinstance(part, (ast.Attribute, ast.Subscript)) and module.qualified(part) is None


def _has_another_name(module: Module, use: ast.Name) -> bool:
    """Whether what a name stands for has another one as well, by which it may be changed: `self.args = args`."""
    outer = module.parent_of[use]
    definition = module.definition(use)
    given = module.assigned(definition) if definition is not None else None
    return isinstance(given, (ast.Name, ast.Attribute)) or (isinstance(outer, BINDS) and outer.value is use)


def _is_read_from(module: Module, use: ast.Name) -> bool:
    """Whether an attribute or an entry is read from what a name stands for, and no method called but get()."""
    outer = module.parent_of[use]
    reads = isinstance(outer, (ast.Attribute, ast.Subscript)) and outer.value is use and isinstance(outer.ctx, ast.Load)
    return reads and (module.calling(outer) is None or (isinstance(outer, ast.Attribute) and outer.attr == "get"))


def _is_plain(module: Module, part: ast.AST) -> bool:
    """Whether a part of an expression reads nothing that changes, and does nothing: configurations of Ray are such."""
    if isinstance(part, ast.Call):
        if free_name(module, part.func) == "dict":  # `dict(a=1)` is `{"a": 1}`
            return not part.args and all(keyword.arg is not None for keyword in part.keywords)
        return called_name(module, part).startswith("ray.") and ast.unparse(part.func).endswith("Config")
    if isinstance(part, ast.Attribute):
        return module.qualified(part) is not None or isinstance(part.value, ast.Name)
    if isinstance(part, ast.Subscript):
        return isinstance(part.value, ast.Name) and isinstance(part.slice, ast.Constant)
    if isinstance(part, ast.Dict):
        return None not in part.keys  # `{**options}` copies what is in another one
    return isinstance(part, (ast.Name, ast.Constant, ast.List, ast.Tuple, ast.keyword, ast.expr_context))


def _bound(statements: list[ast.stmt]) -> Iterator[str]:
    """The names that statements may bind."""
    for part in (part for statement in statements for part in ast.walk(statement)):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, NAMED):
            yield part.name or ""
        elif isinstance(part, ast.MatchMapping) and part.rest is not None:
            yield part.rest
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
