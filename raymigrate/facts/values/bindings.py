"""Which bindings of a name reach a use of it, in the order in which Python runs the statements.

A use in a function that is called later may see every binding of the enclosing scope, unless the function is defined
behind them all. One in the same scope sees the last binding before it, and those of the branches and loops in between
that may have run.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from raymigrate.facts.syntax.known_tests import ways_of
from raymigrate.facts.syntax.nodes import LEAVES, blocks
from raymigrate.facts.syntax.scopes import COMPREHENSIONS, FUNCTIONS, LOOPS, Binding, Scope, children

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

Step = tuple[int, list[Binding], bool]  # position in a block, bindings of the statement, whether it always leaves one
TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))  # the second since Python 3.11


def reaching(module: Module, use: ast.Name) -> list[Binding]:
    """The bindings that a use of a name may see, in source order; all of them where the order is not known.

    Args:
        module: The module.
        use: A name that is read.
    """
    known = module.asked.reaching
    if (found := known.get(use)) is None:
        found = known[use] = _found(module, use)
    return found


def reaching_from(module: Module, use: ast.Name, call: ast.Call) -> list[Binding]:
    """The bindings that a use in a function may see where a call runs the function.

    Args:
        module: The module.
        use: A name that is read in a function.
        call: What calls the function.
    """
    return _found(module, use, call)


def _found(module: Module, use: ast.Name, call: ast.Call | None = None) -> list[Binding]:
    scope = module.bound_in(use)
    if scope is None or len(scope.bindings[use.id]) <= 1:
        return scope.bindings[use.id] if scope is not None else []
    searches = module.asked.searches
    if (scope, use.id) not in searches:
        searches[scope, use.id] = Search(module, scope, use.id)
    return searches[scope, use.id].reaching(call or use)


def _is_declaration(module: Module, node: ast.AST) -> bool:
    """Whether a binding gives no value: `name: str`."""
    parent = module.parent_of.get(node)
    return isinstance(parent, ast.AnnAssign) and parent.target is node and parent.value is None


def _runs_in(module: Module, node: ast.AST, scope: Scope) -> bool:
    inner: Scope | None = module.scope_of[node]
    while inner is not None and inner is not scope:
        if isinstance(inner.node, FUNCTIONS):
            return False
        inner = inner.parent
    return inner is scope


class Search:
    """Walks from uses of a name back to the bindings that reach them; a name may have thousands of both.

    Args:
        module: The module.
        scope: Where the name is bound.
        name: The name.
    """

    def __init__(self, module: Module, scope: Scope, name: str) -> None:
        self.module = module
        self.scope = scope
        every = scope.bindings[name]
        self.bindings = [binding for binding in every if not _is_declaration(module, binding.node)] or every
        self._order = {binding: number for number, binding in enumerate(self.bindings)}
        self._is_run_in_order = all(_runs_in(module, binding.node, scope) for binding in self.bindings)
        self._last_line = max((getattr(binding.node, "lineno", 0) for binding in self.bindings), default=0)
        self._steps_of: dict[int, list[Step]] = {}  # by the identity of the block
        self._within: dict[ast.AST, list[Binding]] = {}  # the bindings in a node, or that are it
        self._positions: dict[int, set[int]] = {}  # of the statements that bind the name, likewise
        for binding in self.bindings:
            self._within.setdefault(binding.node, []).append(binding)
            for child, parent in self._steps(binding.node, scope.node):
                self._within.setdefault(parent, []).append(binding)
                block, position = place_in_block(module, child, parent)
                if block is not None:
                    self._positions.setdefault(id(block), set()).add(position)

    def reaching(self, use: ast.expr) -> list[Binding]:
        """The bindings that a use may see, in source order; all of them where the order is not known."""
        if len(self.bindings) < 2 or not self._is_run_in_order:
            return self.bindings
        place = use if _runs_in(self.module, use, self.scope) else self._defined_behind(use)
        known = self._sorted(self._before(place)) if place is not None else []
        return known or self.bindings

    def _defined_behind(self, use: ast.expr) -> ast.AST | None:
        """The function with a use, where it is defined behind all bindings, and so sees what its definition would."""
        function: ast.AST | None = None
        for node in self.module.ancestors(use):
            if node is self.scope.node:
                break
            if isinstance(node, LOOPS) and function is not None:
                return None
            function = node if isinstance(node, FUNCTIONS) else function
        return function if function is not None and self._last_line < getattr(function, "lineno", 0) else None

    def _sorted(self, bindings: Iterable[Binding]) -> list[Binding]:
        return sorted(set(bindings), key=self._order.__getitem__)

    def _before(self, use: ast.AST) -> list[Binding]:
        found: list[Binding] = []
        for child, parent in self._steps(use, self.scope.node):
            bound, certain = self._between(child, parent)
            found += bound
            if certain:
                break
        return found

    def _steps(self, use: ast.AST, container: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        child = use
        for parent in self.module.ancestors(use):
            yield child, parent
            if parent is container:
                return
            child = parent

    def _between(self, child: ast.AST, parent: ast.AST) -> tuple[list[Binding], bool]:
        """Bindings of `parent` that are run before `child`, a part of it, and whether one of them always is."""
        block, position = place_in_block(self.module, child, parent)
        if block is None:
            return self._in_head(child, parent), False
        found, certain = self._block(block, position)
        if certain:
            return found, True
        if isinstance(parent, TRY) and block is not parent.body:
            more, certain = self._in_try(parent, block)
            return found + more, certain
        if isinstance(parent, LOOPS) and block is parent.orelse:
            return found + self._inside([parent]), False
        own = self._in_heads(parent)
        if own:  # the target of the loop, the name of the handler, the parameter of the function
            return found + own, True
        if isinstance(parent, (ast.For, ast.AsyncFor)):
            found += self._inside(parent.body)  # of the turn before
        asked = self._asked_before(parent)
        if any(map(self._is_sure, asked)):
            return found + asked, True
        if isinstance(parent, ast.While):
            found += self._inside(parent.body)
        return found + asked, False

    def _asked_before(self, parent: ast.AST) -> list[Binding]:
        """Bindings by `:=` in what a compound statement asks for before its body is run."""
        if isinstance(parent, (ast.If, ast.While)):
            return self._inside([parent.test])
        if isinstance(parent, (ast.For, ast.AsyncFor)):
            return self._inside([parent.iter])
        return self._inside([parent.guard]) if isinstance(parent, ast.match_case) and parent.guard is not None else []

    def _in_try(self, parent: ast.Try, block: list[ast.stmt]) -> tuple[list[Binding], bool]:
        """Bindings that `else` and `finally` see of the statement that they belong to."""
        if block is parent.orelse:
            return self._block(parent.body)
        return self._inside([*parent.body, *parent.handlers, *parent.orelse]), False

    def _in_head(self, child: ast.AST, parent: ast.AST) -> list[Binding]:
        """Bindings that a part of an expression, or of the head of a statement, sees within that.

        `f(x)` in `x = f(x)` and in `(x := f(x))` sees none. Of those by `:=` in other parts of the expression it is not
        asked which of them ran, nor which patterns of a `match` bound a name before they failed.
        """
        if isinstance(parent, ast.While):  # of the turn before
            return self._inside([parent.test, *parent.body])
        if isinstance(parent, TRY):  # what a handler catches was raised somewhere in the body
            return self._inside(parent.body)
        if isinstance(parent, ast.Match):
            before = takewhile(lambda case: case is not child, parent.cases if child is not parent.subject else ())
            return self._inside([parent.subject, *(case.pattern for case in before)])
        if isinstance(parent, (ast.With, ast.AsyncWith, ast.match_case)):  # an item behind others, a guard
            return [binding for binding in self._in_heads(parent) if not self.module.inside(binding.node, child)]
        return [] if isinstance(child, ast.stmt) or blocks(parent) else self._by_walrus(child, parent)

    def _by_walrus(self, child: ast.AST, parent: ast.AST) -> list[Binding]:
        """Bindings by `:=` in another part of an expression; those in the part itself were found where they stand."""
        found = [b for b in self._inside([parent]) if isinstance(self.module.parent_of.get(b.node), ast.NamedExpr)]
        if isinstance(parent, (ast.Lambda, *COMPREHENSIONS)):
            return found  # all parts may run again
        seen = self._within.get(child, ())
        return [b for b in found if b not in seen and self.module.parent_of[b.node] is not parent]

    def _in_heads(self, parent: ast.AST) -> list[Binding]:
        """Bindings in the head of a compound statement, which is run before its body."""
        if isinstance(parent, ast.ExceptHandler):
            return [binding for binding in self._inside([parent]) if binding.node is parent]
        if isinstance(parent, (ast.For, ast.AsyncFor)):
            return self._inside([parent.target])
        if isinstance(parent, (ast.With, ast.AsyncWith)):
            return self._inside(parent.items)
        if isinstance(parent, FUNCTIONS):
            return self._inside([parent.args])
        return self._inside([parent.pattern]) if isinstance(parent, ast.match_case) else []

    def _inside(self, nodes: Sequence[ast.AST]) -> list[Binding]:
        return self._sorted(binding for node in nodes for binding in self._within.get(node, ()))

    def _block(self, block: list[ast.stmt], stop: int | None = None) -> tuple[list[Binding], bool]:
        """Bindings that a block, up to a position, leaves behind, and whether it always leaves one."""
        if id(block) not in self._steps_of:
            self._steps_of[id(block)] = list(self._steps_in(block))
        steps = self._steps_of[id(block)]
        last = len(steps) if stop is None else bisect_left(steps, stop, key=_position)
        found: list[Binding] = []
        for number in range(last - 1, -1, -1):
            position, bound, certain = steps[number]
            if isinstance(block[position], LEAVES):
                return [], True  # what stands after the block is never reached from here
            found += bound
            if certain:
                return found, True
        return found, False

    def _steps_in(self, block: list[ast.stmt]) -> Iterator[Step]:
        """The statements of a block that bind the name or leave the block: a few of perhaps thousands."""
        bind = self._positions.get(id(block), set())
        for position in sorted(bind.union(_leaving_positions(self.module, block))):
            bound, certain = self._statement(block[position]) if position in bind else ([], True)
            yield position, bound, certain

    def _statement(self, statement: ast.AST) -> tuple[list[Binding], bool]:
        """Bindings that a statement with some of them leaves behind, and whether it always leaves one."""
        inside = self._inside([statement])
        if isinstance(statement, ast.If):
            ways = [self._block(block) for block in ways_of(statement)[0]]
            found = [binding for bound, _ in ways for binding in bound]
            tested = self._inside([statement.test])
            return [*found, *tested], all(certain for _, certain in ways) or any(map(self._is_sure, tested))
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            found, certain = self._block(statement.body)
            heads = self._in_heads(statement)
            return (found, True) if certain else (found + heads, bool(heads))
        if isinstance(statement, TRY):
            found, certain = self._block(statement.finalbody)
            if certain:
                return found, True
            ways = [self._block(statement.orelse)]
            if not ways[0][1]:
                ways = [self._block(statement.body)]
            ways += [self._block(handler.body) for handler in statement.handlers]
            return inside, all(certain for _, certain in ways)
        compound = isinstance(statement, (*LOOPS, ast.Match))
        return inside, not compound and any(map(self._is_sure, inside))

    def _is_sure(self, binding: Binding) -> bool:
        """Whether a statement, or the test of one, binds the name whenever it is run: not by `:=` behind `and`."""
        child = binding.node
        for parent in self.module.ancestors(binding.node):
            if isinstance(child, ast.stmt):
                break
            if child in _skipped(parent):
                return False
            child = parent
        return True


def place_in_block(module: Module, child: ast.AST, parent: ast.AST) -> tuple[list[ast.stmt] | None, int]:
    """The block of a statement that a part of it is in, and its position there; no block for a part of its head."""
    if isinstance(parent, ast.expr):
        return None, 0
    places = module.asked.places
    if parent not in places:
        places[parent] = {s: (block, number) for block in blocks(parent) for number, s in enumerate(block)}
    return places[parent].get(child, (None, 0))


def _leaving_positions(module: Module, block: list[ast.stmt]) -> list[int]:
    """The positions in a block of statements after which nothing there is reached; the same for every name."""
    known = module.asked.leaving
    if id(block) not in known:
        known[id(block)] = [number for number, statement in enumerate(block) if statement in module.leaving]
    return known[id(block)]


def _position(step: Step) -> int:
    return step[0]


def _skipped(node: ast.AST) -> list[ast.AST]:
    """The parts of an expression that may not be evaluated where it is: what is behind `and`, both ways of `a if b`."""
    if isinstance(node, ast.BoolOp):
        return [*node.values[1:]]
    if isinstance(node, ast.Compare):
        return [*node.comparators[1:]]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Assert) and node.msg is not None:
        return [node.msg]
    return [*children(node)] if isinstance(node, (ast.Lambda, *COMPREHENSIONS)) else []
