"""Attributes that are asked for by their names, in texts: `getattr(one, "name")`, `attrgetter("name")`, `vars(one)`."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, argument
from raymigrate.facts.values.arguments import free_name, is_method_call
from raymigrate.facts.values.constants import constants
from raymigrate.facts.values.items import collected, items_of

WORDS = ("getattr", "attrgetter", "methodcaller", "vars", "__dict__", "case")
GETTERS = ("operator.attrgetter", "operator.methodcaller")
KEYED = ("sorted", "max", "min", "map")
ANYTHING = r"\w+"
RAISES, LOOKED_UP, NO_MATCH = "raises an AttributeError", "raises a KeyError", "is never matched"


class Asked(NamedTuple):
    """An attribute that is asked for by its name.

    Args:
        node: Where.
        owner: The object that is asked.
        names: The names that it can be asked for, as regular expressions; a dot leads to an attribute of an attribute.
        outcome: What comes of a name that is not there.
        cls: The class that the object has to be of, in a pattern.
        name: What gives the name, to getattr().
    """

    node: ast.AST
    owner: Source
    names: tuple[re.Pattern[str], ...]
    outcome: str = RAISES
    cls: ast.expr | None = None
    name: ast.expr | None = None

    def may_be(self, name: str) -> bool:
        """Whether the attribute that is asked for can have a name."""
        return any(pattern.fullmatch(name) for pattern in self.names)

    def is_sure_of(self, name: str) -> bool:
        """Whether the name is written out, in parts perhaps."""
        return any(pattern.fullmatch(name) and ANYTHING not in pattern.pattern for pattern in self.names)


def asked_names(module: Module) -> Iterator[Asked]:
    """The attributes that a module asks for by name; not those with a default, which covers their absence."""
    for call in module.of_type(ast.Call):
        if free_name(module, call.func) == "getattr" and len(call.args) == 2 and not call.keywords:
            yield Asked(call, Source(module, call.args[0]), _names(module, call.args[1]), name=call.args[1])
        elif module.qualified(call.func) in GETTERS:
            names = tuple(name for given in _given_names(module, call) for name in _names(module, given))
            yield from (Asked(call, owner, names) for owner in _owners(module, call))
    for read in module.of_type(ast.Subscript):
        if (owner := _owner_of_dict(module, read.value)) is not None and isinstance(read.ctx, ast.Load):
            yield Asked(read, Source(module, owner), _names(module, read.slice), LOOKED_UP)
    for case in module.of_type(ast.match_case):
        block = module.parent_of[case]
        assert isinstance(block, ast.Match)
        for pattern in patterns(case.pattern):
            if isinstance(pattern, ast.MatchClass):
                names = tuple(re.compile(re.escape(name)) for name in pattern.kwd_attrs)
                yield Asked(pattern, Source(module, block.subject), names, NO_MATCH, pattern.cls)


def _given_names(module: Module, call: ast.Call) -> list[ast.expr]:
    """The names that a getter of operator is given: all of attrgetter, the first of methodcaller."""
    return call.args if module.qualified(call.func) == GETTERS[0] else call.args[:1]


def _names(module: Module, node: ast.expr) -> tuple[re.Pattern[str], ...]:
    """The names that an expression can be; of an f-string the parts that are not known are anything."""
    found = list[str]()
    for source, text in constants(module, node):
        if isinstance(text, str):
            found.append(re.escape(text))
        elif isinstance(source.node, ast.JoinedStr):
            parts = [_part(source.module, part) for part in source.node.values]
            if any(len(part) > 1 and part != ANYTHING for part in parts):
                found.append("".join(parts))
    return tuple(map(re.compile, found))


def _part(module: Module, part: ast.expr) -> str:
    """A part of an f-string as a regular expression: what it says, one of the texts that it can be, or anything."""
    if not isinstance(part, ast.FormattedValue):
        return re.escape(str(module.constant(part)))
    texts = [text for _, text in constants(module, part.value)]
    is_seen = part.conversion == -1 and part.format_spec is None and all(isinstance(text, str) for text in texts)
    return f"(?:{'|'.join(re.escape(str(text)) for text in texts)})" if is_seen else ANYTHING


def _owners(module: Module, getter: ast.Call) -> Iterator[Source]:
    """What a getter is called with, at once or by a name of it, and the items that a function or method gives it.

    Such as `map(getter, items)`, and `items.sort(key=getter)`.
    """
    name = module.name_of(getter)
    for use in [getter] if name is None else module.uses_of(name) if module.is_bound_once(name) else []:
        outer = module.parent_of[use]
        call = module.parent_of[outer] if isinstance(outer, ast.keyword) and outer.arg == "key" else outer
        if not isinstance(call, ast.Call):
            continue
        if call.func is use and len(call.args) == 1:
            yield Source(module, call.args[0])
        elif free_name(module, call.func) in KEYED:
            items = call.args[1] if outer is call and len(call.args) > 1 else argument(call, 0, "iterable")
            if items is not None and (outer is not call or call.args[0] is use):
                yield from (item for one in collected(Source(module, items)) for item in items_of(one))
        elif is_method_call(call, "sort") and outer is not call:
            yield from (item for one in collected(Source(module, call.func.value)) for item in items_of(one))


def _owner_of_dict(module: Module, node: ast.expr) -> ast.expr | None:
    """The object whose attributes an expression is the dict of: `vars(one)`, `one.__dict__`."""
    value = module.value(node)
    if isinstance(value, ast.Attribute) and value.attr == "__dict__":
        return value.value
    is_vars = isinstance(value, ast.Call) and free_name(module, value.func) == "vars"
    return value.args[0] if is_vars and isinstance(value, ast.Call) and len(value.args) == 1 else None


def patterns(pattern: ast.pattern) -> Iterator[ast.pattern]:
    """The patterns, `Class(name=...)` or others, that all of what is matched has to fit, or one of several has."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        yield from patterns(pattern.pattern)
    elif isinstance(pattern, ast.MatchOr):
        for one in pattern.patterns:
            yield from patterns(one)
    else:
        yield pattern
