"""What a value is: which expressions it can come from. Every rule that looks at a value asks here.

A rule gets one expression, several of which each may be the value, or an expression that cannot be followed any
further: a parameter without callers, an attribute of something unknown, an option of the command line. That last one is
unknown, and no rule takes it for a default.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from raymigrate.facts.values.arguments import (
    all_arguments,
    argument,
    called_name,
    free_name,
    has_starred,
    has_unpacking,
    is_call_by_name,
    is_method_call,
    keyword_argument,
    keyword_named,
    last_name,
    named_arguments,
    unpacked_dicts,
)
from raymigrate.facts.values.behind import UNKNOWN, Asked, Behind, Source
from raymigrate.facts.values.bindings import reaching
from raymigrate.facts.values.calls import given_to, returned
from raymigrate.facts.values.constants import (
    constant,
    constants,
    head,
    is_none,
    known_text,
    leading_text,
    trailing_text,
    written,
)
from raymigrate.facts.values.dicts import (
    WELL_KNOWN_KEYS,
    all_items,
    entries,
    fillings,
    given_by_name,
    holds_items,
    imported_value,
    key_name,
    seen_entries,
    seen_items,
)
from raymigrate.facts.values.fixtures import of_conftest
from raymigrate.facts.values.lineages import lineage
from raymigrate.facts.values.members import (
    attribute,
    class_named,
    entry,
    item,
    method_of,
    methods,
    methods_of_object,
    read_by_method,
    returned_by_method,
    unpacked,
)
from raymigrate.facts.values.own_classes import class_of_cls

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module
    from raymigrate.facts.syntax.scopes import Binding

__all__ = [
    "WELL_KNOWN_KEYS",
    "Asked",
    "Source",
    "all_arguments",
    "all_items",
    "argument",
    "assigned",
    "called_name",
    "class_named",
    "class_of_cls",
    "constant",
    "constants",
    "definition",
    "entries",
    "entry",
    "every_origin",
    "fillings",
    "free_name",
    "given_by_name",
    "has_starred",
    "has_unpacking",
    "head",
    "holds_items",
    "is_call_by_name",
    "is_method_call",
    "is_none",
    "key_name",
    "keyword_argument",
    "keyword_named",
    "known_text",
    "last_name",
    "leading_text",
    "lineage",
    "method_of",
    "methods",
    "methods_of_object",
    "named_arguments",
    "names_of",
    "origins",
    "reaching",
    "reads",
    "seen_entries",
    "seen_items",
    "sources",
    "sources_here",
    "trailing_text",
    "unpacked_dicts",
    "value",
    "written",
]

FOLLOWED = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Call)  # see `_behind`
DEEPEST = 12  # attributes of items of results of calls
MOST_STEPS = 300  # for one value: methods that call each other could be followed in endlessly many ways


def definition(module: Module, node: ast.AST | None) -> ast.AST | None:
    """What a name was bound to, where one binding reaches it: a definition, an alias, an argument, a target."""
    if not isinstance(node, ast.Name):
        return None
    if (bindings := module.asked.reaching.get(node)) is None:  # no other question is as frequent
        bindings = reaching(module, node)
    return bindings[0].node if len(bindings) == 1 else None


def reads(module: Module, node: ast.Name) -> list[ast.Name] | None:
    """Every read that sees the value which a name has at one use of it.

    Args:
        module: The module.
        node: The use.

    Returns:
        The reads, with this one; None where several bindings may reach this use or another one that sees the value.
    """
    scope, seen = module.bound_in(node), reaching(module, node)
    if scope is None or len(seen) != 1:
        return None
    known = module.asked.reads
    if (scope, node.id) not in known:
        known[scope, node.id] = _reads_of_each(module, module.uses(node.id, scope))
    return known[scope, node.id].get(seen[0])


def _reads_of_each(module: Module, uses: list[ast.Name]) -> dict[Binding, list[ast.Name]]:
    """The reads that see each binding of a name, of those bindings that none sees together with another one."""
    found: dict[Binding, list[ast.Name]] = {}
    shared: set[Binding] = set()
    for use in uses:
        bindings = reaching(module, use)
        for binding in bindings:
            found.setdefault(binding, []).append(use)
        if len(bindings) > 1:
            shared.update(bindings)
    return {binding: reads for binding, reads in found.items() if binding not in shared}


def value(module: Module, node: ast.expr) -> ast.expr:
    """Follows a name to the one expression assigned to it; any other expression stands for itself."""
    seen = set[ast.AST]()
    while isinstance(node, ast.Name) and node not in seen:
        seen.add(node)
        target = definition(module, node)
        node = (assigned(module, target) if target is not None else None) or node
    return node


def names_of(module: Module, node: ast.expr) -> list[ast.Name]:
    """The names through which a value reaches its place, the last one first: of `a = f()`, `b = a`, `g(b)`."""
    names = list[ast.Name]()
    while isinstance(node, ast.Name) and node not in names:
        names.append(node)
        target = definition(module, node)
        node = (assigned(module, target) if target is not None else None) or node
    return names


def assigned(module: Module, target: ast.AST) -> ast.expr | None:
    """The expression that an assignment gives to a target; None where it is bound in another way."""
    parent = module.parent_of.get(target)
    if isinstance(target, (ast.MatchAs, ast.MatchMapping)):
        return _matched(module, target)
    if isinstance(parent, ast.Assign):
        return parent.value if target in parent.targets else None
    if isinstance(parent, (ast.AnnAssign, ast.NamedExpr)):
        return parent.value if parent.target is target else None
    if not isinstance(parent, (ast.Tuple, ast.List)):
        return None
    whole = module.parent_of[parent]
    given = whole.value if isinstance(whole, ast.Assign) and parent in whole.targets else None
    if not isinstance(given, (ast.Tuple, ast.List)) or len(given.elts) != len(parent.elts):
        return None
    if has_starred((*given.elts, *parent.elts)):
        return None
    return given.elts[parent.elts.index(target)]  # type: ignore[arg-type]


def _matched(module: Module, pattern: ast.pattern) -> ast.expr | None:
    """What `case name:` or `case Class() as name:` gives a name: all that is matched."""
    case = module.parent_of.get(pattern)
    block = module.parent_of.get(case) if isinstance(case, ast.match_case) else None
    return block.subject if isinstance(block, ast.Match) else None


def origins(module: Module, node: ast.expr | None, *, elsewhere: bool = True) -> list[Source]:
    """The expressions that a value can come from; what cannot be followed stands for itself.

    Names lead to what is assigned to them, parameters to what the callers give, calls to what the function returns,
    attributes and items to what is stored in them, in this file and in others of the project.

    Args:
        module: The module.
        node: The value; None comes from nothing.
        elsewhere: Whether to look into other files.
    """
    if not isinstance(node, FOLLOWED):
        return [Source(module, node)] if node is not None else []
    asked, elsewhere = module.asked, elsewhere and bool(module.names_of_files)
    if (known := asked.answers.get((node, elsewhere))) is not None:
        return known
    if not asked.open:
        asked.steps = 0
    asked.steps += 1
    if node in asked.open or len(asked.open) >= DEEPEST or asked.steps > MOST_STEPS:
        asked.cut += 1
        return [Source(module, node)]
    cut = asked.cut
    asked.open.add(node)
    found = _followed(Source(module, node), elsewhere=elsewhere)
    asked.open.remove(node)
    if cut == asked.cut or not asked.open:  # else it may be found to come from more when asked by itself
        asked.answers[node, elsewhere] = found
    return found


def _followed(start: Source, *, elsewhere: bool) -> list[Source]:
    first = _behind(*start, elsewhere=elsewhere)
    if not first.found:
        return [start]
    found: list[Source] = []
    waiting = [*((other, False) for other in first.found), *(() if first.whole else [(start, True)])]
    seen: set[ast.AST] = {start.node}
    while waiting:
        source, is_end = waiting.pop(0)
        if is_end:
            found.append(source)
        elif source.node not in seen:
            seen.add(source.node)
            behind = _behind(source.module, source.node, elsewhere=elsewhere)
            ends = [] if behind.whole else [(source, True)]
            waiting = [*((other, False) for other in behind.found), *ends, *waiting]
    return found or [start]  # a value that comes from itself is unknown


def sources(module: Module, node: ast.expr | None) -> list[ast.expr]:
    """`origins` within the module."""
    return [source.node for source in origins(module, node, elsewhere=False)]


def sources_here(module: Module, node: ast.expr | None) -> list[ast.expr]:
    """Those of `origins` that stand in the module, without what comes from other files."""
    return [source.node for source in origins(module, node) if source.module is module]


def every_origin(module: Module, node: ast.expr | None, holds: Callable[[Module, ast.expr], bool]) -> bool:
    """Whether something holds of all that a value can come from, and it comes from something."""
    found = origins(module, node)
    return bool(found) and all(holds(source.module, source.node) for source in found)


def _behind(module: Module, node: ast.expr, *, elsewhere: bool) -> Behind:
    if isinstance(node, ast.Name):
        return _behind_name(module, node, elsewhere=elsewhere)
    if isinstance(node, ast.Attribute):
        return attribute(module, node, elsewhere=elsewhere)
    if isinstance(node, ast.Subscript):
        return item(module, node, elsewhere=elsewhere)
    if isinstance(node, ast.IfExp):
        return Behind([Source(module, node.body), Source(module, node.orelse)], whole=True)
    if isinstance(node, ast.BoolOp):
        return Behind([Source(module, operand) for operand in node.values], whole=True)
    if isinstance(node, ast.NamedExpr):
        return Behind([Source(module, node.value)], whole=True)
    if isinstance(node, ast.Call):
        read = returned_by_method(module, node, elsewhere=elsewhere)  # also of a class with a get() of its own
        read = read or read_by_method(module, node, elsewhere=elsewhere)
        return read if read is not None else returned(module, node, elsewhere=elsewhere)
    return UNKNOWN


def _behind_name(module: Module, node: ast.Name, *, elsewhere: bool) -> Behind:
    bindings = reaching(module, node)
    found: list[Source] = []
    whole = bool(bindings)
    for binding in bindings:
        given = assigned(module, binding.node)
        if isinstance(binding.node, ast.arg):
            behind = given_to(module, binding.node)
            if elsewhere and not behind.found:
                behind = of_conftest(module, binding.node)
            found += behind.found
            whole &= behind.whole
        elif (items := _looped_over(module, binding.node)) is not None:
            found += [Source(module, item) for item in items]
        elif given is None:
            behind = unpacked(module, binding.node, elsewhere=elsewhere)
            found += behind.found
            whole &= behind.whole
        elif holds_items(given) and fillings(module, node):
            whole = False
        else:
            found.append(Source(module, given))
    other = module.elsewhere(node) if not found and elsewhere else None
    made = imported_value(other) if other is not None else None
    if other is not None and made is not None:
        return Behind([Source(other.module, made)], whole=True)
    return Behind(found, whole)


def _looped_over(module: Module, target: ast.AST) -> list[ast.expr] | None:
    """The items of the list or tuple that a loop gives to a name one by one; None where they are not written out.

    Where the loop takes them apart, `for name, value in pairs`, it is the parts of the items that the name is given.
    """
    loop = module.parent_of.get(target)
    several = loop if isinstance(loop, (ast.Tuple, ast.List)) else None
    if several is not None:
        loop = module.parent_of[several]
    if not isinstance(loop, (ast.For, ast.comprehension)) or loop.target is not (several or target):
        return None
    items = value(module, loop.iter)
    if not isinstance(items, (ast.List, ast.Tuple, ast.Set)) or has_starred(items.elts):
        return None
    filled = isinstance(loop.iter, ast.Name) and fillings(module, loop.iter)
    if filled or not items.elts:
        return None
    return items.elts if several is None else _parts(items.elts, several, target)


def _parts(items: list[ast.expr], several: ast.Tuple | ast.List, target: ast.AST) -> list[ast.expr] | None:
    """The part of each item that one of several targets is given; None where an item is not written out."""
    parts: list[ast.expr] = []
    for one in items:
        elements = one.elts if isinstance(one, (ast.Tuple, ast.List)) else []
        if len(elements) != len(several.elts) or has_starred((*elements, *several.elts)):
            return None
        parts.append(elements[several.elts.index(target)])  # type: ignore[arg-type]
    return parts
