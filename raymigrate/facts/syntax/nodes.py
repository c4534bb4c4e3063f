"""The nodes of a module: by their kind, by the names in them, by what stands around and below them.

Each index is made when it is first asked for.
"""

import ast
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TypeGuard, TypeVar

from raymigrate.facts.syntax.scopes import FUNCTIONS, Binding, FunctionNode, Scope, ScopeBuilder, children

ENDS = (ast.Return, ast.Continue, ast.Break)  # what leaves a block, and no error does
LEAVES = (*ENDS, ast.Raise)
Node = TypeVar("Node", bound=ast.AST)
Entries = TypeVar("Entries")
Numbered = dict[str, list[tuple[int, Node]]]  # by a name, each node with its number in source order
BLOCKS = ("body", "orelse", "finalbody")
SPELLED: dict[type, str] = {ast.Name: "id", ast.Attribute: "attr", ast.alias: "name", ast.Constant: "value"}


def blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements in a node, in source order; each handler of a `try` has a list of its own."""
    return [block for name in BLOCKS if isinstance(block := getattr(node, name, None), list)]


def before(parent: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """The statements that come before another one in a block of a node; none where it is in no block of it."""
    block = next((block for block in blocks(parent) if statement in block), [])
    return block[: block.index(statement)] if block else []


class FirstOfBlock:
    """The first statement of each block of which something holds: a block is looked through once.

    Args:
        holds: What is asked of a statement.
    """

    def __init__(self, holds: Callable[[ast.stmt], bool]) -> None:
        self._holds = holds
        self._found: dict[ast.stmt, int] = {}  # its place, by the first statement of the block

    def is_before(self, parent: ast.AST, statement: ast.AST) -> bool:
        """Whether one stands before a statement in a block of a node."""
        block = next((block for block in blocks(parent) if statement in block), [])
        if block and block[0] not in self._found:
            self._found[block[0]] = next((place for place, each in enumerate(block) if self._holds(each)), len(block))
        return bool(block) and block.index(statement) > self._found[block[0]]  # type: ignore[arg-type]


class Annotated(ast.AnnAssign):
    """`target: T = value`, for type checkers: any AnnAssign that has a value is one."""

    value: ast.expr


Assignment = ast.Assign | Annotated
BINDS = (ast.Assign, ast.AnnAssign, ast.NamedExpr)  # what gives a value a name


def is_assignment(node: ast.AST | None) -> TypeGuard[Assignment]:
    """Whether a node is `target = value` or `target: T = value`, which do the same; `target: T` binds nothing."""
    return isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None)


def targets_of(binding: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr | ast.For) -> list[ast.expr]:
    """What an assignment or a loop binds: `a` and `b` of `a = b = value`."""
    return binding.targets if isinstance(binding, ast.Assign) else [binding.target]


def only_target(statement: ast.AST | None) -> ast.expr | None:
    """What `target = value` or `target: T = value` binds; None of `a = b = value`, and of other statements."""
    targets = targets_of(statement) if is_assignment(statement) else []
    return targets[0] if len(targets) == 1 else None


def compared_with(compare: ast.Compare, value: ast.expr) -> list[ast.expr]:
    """What a value is compared with; of a list, a tuple or a set its items: `0` and `-1` of `rank in (0, -1)`."""
    others = [other for other in (compare.left, *compare.comparators) if other is not value]
    return [
        i for other in others for i in (other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other])
    ]


def names_in(node: ast.AST) -> set[str]:
    """The names that code reads or binds, wherever they stand in it."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def is_negation(node: ast.AST | None) -> TypeGuard[ast.UnaryOp]:
    """Whether a node is `not operand`."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def entries_of(index: Mapping[str, Entries], names: Collection[str]) -> list[Entries]:
    """What an index holds for each of some names: mostly nothing, and it is asked more often than anything else."""
    return [] if index.keys().isdisjoint(names) else [index[name] for name in index.keys() & names]


def in_order(index: Numbered[Node], names: Collection[str]) -> list[Node]:
    """What an index holds for some names, in source order."""
    found = entries_of(index, names)
    if not found:
        return []
    if len(found) == 1:
        return [node for _, node in found[0]]
    return [node for _, node in sorted(chain.from_iterable(found), key=itemgetter(0))]


def numbered(named: Iterable[tuple[str | None, Node]]) -> Numbered[Node]:
    """An index of nodes that are given in source order; those without a name are not in it."""
    index: Numbered[Node] = {}
    for number, (name, node) in enumerate(named):
        if name is not None:
            index.setdefault(name, []).append((number, node))
    return index


def _name_of(node: ast.AST | None) -> str | None:
    """The name that a node is, or that it defines."""
    if isinstance(node, ast.Name):
        return node.id
    return node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else None


def is_main_guard(node: ast.AST) -> TypeGuard[ast.If]:
    """Whether this is `if __name__ == "__main__":`, perhaps with an else."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = (node.test.left, *node.test.comparators)
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)


def is_elif(node: ast.stmt, parent: ast.AST) -> bool:
    """Whether an `if` stands for `elif`: one below `else:` is indented."""
    is_alone = isinstance(node, ast.If) and isinstance(parent, ast.If) and parent.orelse == [node]
    return is_alone and isinstance(parent, ast.If) and node.col_offset == parent.col_offset


class Nodes:
    """The nodes of a tree.

    Args:
        builder: The scopes of the tree.
    """

    def __init__(self, builder: ScopeBuilder) -> None:
        self._of_type = builder.of_type
        self.scopes = builder.scopes
        self.scope_of = builder.scope_of
        self.parent_of = builder.parent_of
        self.imports = builder.imports
        self.nodes = builder.order
        self.kept: dict[Hashable, object] = {}  # for `facts/syntax/kept.py`
        self._uses: dict[str, dict[Scope | None, list[ast.Name]]] = {}  # of the names that were asked for

    def of_type(self, kind: type[Node]) -> list[Node]:
        """Every node of exactly this type, in source order."""
        return self._of_type.get(kind, [])  # type: ignore[return-value]

    def reads(self, name: str) -> list[ast.Name]:
        """Every read of a name, in any scope."""
        return self._reads.get(name, [])

    @cached_property
    def _reads(self) -> dict[str, list[ast.Name]]:
        found: dict[str, list[ast.Name]] = {}
        for node in self.of_type(ast.Name):
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    def uses(self, name: str, scope: Scope) -> list[ast.Name]:
        """Every read of a name that is bound in `scope`."""
        if name not in self._uses:
            found: dict[Scope | None, list[ast.Name]] = {}
            for node in self.reads(name):
                found.setdefault(self.scope_of[node].find(name), []).append(node)
            self._uses[name] = found
        return [*self._uses[name].get(scope, ())]

    def bound_in(self, node: ast.AST | None) -> Scope | None:
        """The scope that binds a name, or that of a definition; None of other nodes, and where the file has none."""
        name = _name_of(node)
        return self.scope_of[node].find(name) if node is not None and name is not None else None

    def bindings_of(self, node: ast.AST | None) -> list[Binding]:
        """Every place that gives a value to the name, or to that of a definition; none where the file has none."""
        scope = self.bound_in(node)
        return [*scope.bindings[_name_of(node) or ""]] if scope is not None else []

    def uses_of(self, node: ast.AST | None) -> list[ast.Name]:
        """Every read of what a name or a definition stands for; none where the file does not bind it."""
        scope = self.bound_in(node)
        return self.uses(_name_of(node) or "", scope) if scope is not None else []

    def calling(self, node: ast.AST) -> ast.Call | None:
        """The call whose function a node is: `f(x)` of `f`; None where nothing calls it."""
        call = self.parent_of.get(node)
        return call if isinstance(call, ast.Call) and call.func is node else None

    def taking(self, node: ast.AST) -> ast.Call | None:
        """The call that a node is an argument of, by position or by name; None where it is none."""
        outer = self.parent_of.get(node)
        call = self.parent_of.get(outer) if isinstance(outer, ast.keyword) else outer
        return call if isinstance(call, ast.Call) and call.func is not node else None

    def calls_of(self, node: ast.AST | None) -> list[ast.Call]:
        """Every `f(...)` of what a name or a definition stands for; `mp.spawn(f)` is none."""
        return [call for use in self.uses_of(node) if (call := self.calling(use)) is not None]

    def is_bound_once(self, node: ast.AST | None) -> bool:
        """Whether a node is a name to which one place of the file alone gives a value."""
        return isinstance(node, ast.Name) and len(self.bindings_of(node)) == 1

    def name_of(self, value: ast.AST) -> ast.Name | None:
        """The one name that a value gets: `a` of `a = value`; None of `a = b = value`, and where it gets none."""
        target = only_target(self.parent_of[value])
        return target if isinstance(target, ast.Name) else None

    def named_calls(self, *names: str) -> Iterator[ast.Call]:
        """Every `name(...)` with one of these names, whatever that stands for; those of one name in source order."""
        for read in (read for name in names for read in self.reads(name)):
            if (call := self.calling(read)) is not None:
                yield call

    def spelling(self, word: str) -> list[ast.AST]:
        """Every name, attribute, imported name and string that spells a word, in source order."""
        return self._spellings.get(word, [])

    @cached_property
    def _spellings(self) -> dict[str, list[ast.AST]]:
        found: dict[str, list[ast.AST]] = {}
        for node in self.nodes:
            field = SPELLED.get(node.__class__)
            if field is not None and (word := getattr(node, field)).__class__ is str:
                found.setdefault(word, []).append(node)
        return found

    def texts(self, word: str) -> list[ast.Constant]:
        """Every string that is a word, in source order."""
        return [node for node in self.spelling(word) if isinstance(node, ast.Constant)]

    def attributes(self, *names: str) -> list[ast.Attribute]:
        """Every `owner.name` with one of these names, in source order."""
        return in_order(self._attributes, names)

    @cached_property
    def _attributes(self) -> Numbered[ast.Attribute]:
        return numbered((node.attr, node) for node in self.of_type(ast.Attribute))

    @cached_property
    def assigned_names(self) -> frozenset[str]:
        """The names that get a value, in any scope: of an assignment, a loop, a `with`."""
        return frozenset(node.id for node in self.of_type(ast.Name) if isinstance(node.ctx, ast.Store))

    def stores(self, attribute: str) -> list[ast.Attribute]:
        """Every place where an attribute of this name gets a value, of any object."""
        return self._stores.get(attribute, [])

    @cached_property
    def _stores(self) -> dict[str, list[ast.Attribute]]:
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.of_type(ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                found.setdefault(node.attr, []).append(node)
        return found

    def functions(self, name: str) -> list[ast.FunctionDef]:
        """Every function of this name, in any scope."""
        return in_order(self._functions, [name])

    @cached_property
    def _functions(self) -> Numbered[ast.FunctionDef]:
        return numbered((node.name, node) for node in self.of_type(ast.FunctionDef))

    def method_calls(self, *names: str) -> Iterator[tuple[ast.Call, ast.Attribute]]:
        """Every `owner.name(...)` with one of these names, in source order: the call, and what it calls."""
        for node in self.attributes(*names):
            if (call := self.calling(node)) is not None:
                yield call, node

    def keywords(self, *names: str) -> Iterator[tuple[ast.Call, ast.keyword]]:
        """Every argument that the file gives a call under one of these names, in source order, with the call."""
        for keyword in in_order(self._keywords, names):
            call = self.parent_of[keyword]
            if isinstance(call, ast.Call):  # and not the head of a class
                yield call, keyword

    @cached_property
    def _keywords(self) -> Numbered[ast.keyword]:
        return numbered((keyword.arg, keyword) for keyword in self.of_type(ast.keyword))

    @cached_property
    def returns_of(self) -> dict[ast.AST | None, list[ast.Return]]:
        """The return statements by the function that they end."""
        found: dict[ast.AST | None, list[ast.Return]] = {}
        for node in self.of_type(ast.Return):
            found.setdefault(self.function(node), []).append(node)
        return found

    @cached_property
    def leaving(self) -> set[ast.stmt]:
        """Statements after which nothing in their block is reached: those that leave it, an `if` that always does."""
        found: set[ast.stmt] = {statement for kind in LEAVES for statement in self.of_type(kind)}
        for branch in reversed(self.of_type(ast.If)):  # the inner ones first
            if all(any(statement in found for statement in way) for way in (branch.body, branch.orelse)):
                found.add(branch)
        return found

    @cached_property
    def previous(self) -> dict[ast.stmt, ast.stmt]:
        """The statement before each statement of its block."""
        found: dict[ast.stmt, ast.stmt] = {}
        for node in self.nodes:
            for block in blocks(node):
                found.update(zip(block[1:], block, strict=False))
        return found

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement around a node before which another statement can stand (so not an `elif`)."""
        for candidate in (node, *self.ancestors(node)):
            if isinstance(candidate, ast.stmt) and not is_elif(candidate, self.parent_of[candidate]):
                return candidate
        raise ValueError("the module itself has no statement around it")

    def is_statement(self, node: ast.AST) -> bool:
        """Whether an expression is a statement by itself, whose value nothing takes."""
        return isinstance(self.parent_of.get(node), ast.Expr)

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which one is."""
        return next(block for block in blocks(self.parent_of[statement]) if statement in block)

    def is_in_block_of(self, node: ast.AST, statement: ast.stmt) -> bool:
        """Whether a statement is in a block around a node: no branch or loop holds the statement without the node."""
        return not {node, *self.ancestors(node)}.isdisjoint(self.block_of(statement))

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parents of a node, from the nearest to the module."""
        while (parent := self.parent_of.get(node)) is not None:
            yield parent
            node = parent

    def below(self, container: ast.AST) -> Iterator[ast.AST]:
        """Every node that is in another, in source order."""
        waiting = children(container)[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(children(node))

    def inside(self, node: ast.AST, container: ast.AST | None) -> bool:
        """Whether a node is in another."""
        parent_of = self.parent_of
        outer = parent_of.get(node)
        while outer is not None and outer is not container:
            outer = parent_of.get(outer)
        return outer is not None

    def function(self, node: ast.AST) -> FunctionNode | None:
        """The innermost function around a node."""
        parent_of = self.parent_of
        outer = parent_of.get(node)
        while outer is not None and outer.__class__ not in FUNCTIONS:
            outer = parent_of.get(outer)
        return outer

    @cached_property
    def calls_by_function(self) -> dict[ast.AST | None, list[ast.Call]]:
        """The calls of the module by the innermost function that they are in; None stands for its top."""
        found: dict[ast.AST | None, list[ast.Call]] = {}
        for call in self.of_type(ast.Call):
            found.setdefault(self.function(call), []).append(call)
        return found

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around a node, also around the function that it is in."""
        return next((outer for outer in self.ancestors(node) if isinstance(outer, ast.ClassDef)), None)

    def scope(self, node: ast.AST) -> Scope:
        """The scope inside a module, class, function: where its own body binds names."""
        if isinstance(node, ast.Module):
            return self.scope_of[node]
        body = node.body  # type: ignore[attr-defined]
        return self.scope_of[body[0] if isinstance(body, list) else body]
