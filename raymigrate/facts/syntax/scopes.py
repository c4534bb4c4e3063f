"""Lexical scopes: which binding a name refers to, by Python's own rules."""

import ast
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from raymigrate.facts.syntax.functions import parameters

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ScopeNode = ast.Module | ast.ClassDef | FunctionNode | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
ITERATIONS = (ast.For, ast.AsyncFor, ast.comprehension)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SCOPED = frozenset({*FUNCTIONS, *COMPREHENSIONS, ast.comprehension, ast.ClassDef, ast.arguments, ast.arg})
BINDING = frozenset(
    {
        *(ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Name, ast.arg),
        *(ast.ExceptHandler, ast.MatchAs, ast.MatchStar),
    }
)
# Fields with `ast.Load()`, `ast.Add()`: one object each for a whole program, so they have no place in it.
SYMBOLS = frozenset({"ctx", "op", "ops"})
# Fields that hold no node in any type; `name` and `value` do in some.
NO_NODES = frozenset(
    {"id", "attr", "arg", "kind", "level", "module", "asname", "type_comment", "conversion", "simple", "kwd_attrs"}
)
LEAVES = frozenset({ast.Constant, ast.Global, ast.Nonlocal})  # their fields hold no nodes
WITH_GAPS = frozenset({"keys", "kw_defaults"})  # lists with None among the nodes


class Binding(NamedTuple):
    """One place where a name gets a value.

    Args:
        node: The node that binds: an `ast.alias`, a definition, an `ast.Name` that is stored to, an `ast.arg`, ...
        qualified: The dotted name that an import binds, with its dots in front where it is relative; else None.
        statement: The import statement, else None.
    """

    node: ast.AST
    qualified: str | None = None
    statement: ast.Import | ast.ImportFrom | None = None


@dataclass(frozen=True)
class Reference:
    """A use of an imported name, with the longest attribute chain on it: `air.session.report`.

    Args:
        node: The whole chain.
        root: The name the chain starts with.
        qualified: What the chain stands for, for example `ray.air.session.report`.
        binding: The import that binds the root name.
    """

    node: ast.Name | ast.Attribute
    root: ast.Name
    qualified: str
    binding: Binding

    def is_within(self, name: str) -> bool:
        """Whether the chain stands for what has this qualified name, or for something below it."""
        return self.qualified == name or self.qualified.startswith(f"{name}.")


@dataclass(eq=False)
class Scope:
    """A module, class, function or comprehension, and the names bound in it."""

    node: ScopeNode
    parent: "Scope | None"
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)  # names declared global or nonlocal

    def bind(self, name: str, binding: Binding) -> None:
        """Records that `name` is bound here, or where `global` and `nonlocal` send it."""
        scope = self
        if name in self.elsewhere and self.parent is not None:
            scope = self.parent.find(name) or self.module
        scope.bindings.setdefault(name, []).append(binding)

    @property
    def module(self) -> "Scope":
        """The module's scope."""
        return self if self.parent is None else self.parent.module

    @property
    def is_in_function(self) -> bool:
        """Whether this is a function, or something in one: what stands here is evaluated when that is called."""
        return isinstance(self.node, FUNCTIONS) or (self.parent is not None and self.parent.is_in_function)

    def find(self, name: str) -> "Scope | None":
        """The scope that a read of `name` in this scope looks into; None for builtins and unknown names."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bindings and name not in scope.elsewhere:  # first, as most scopes do not have it
                if scope is self or not isinstance(scope.node, ast.ClassDef):
                    return scope
            scope = scope.parent
        return None

    def lookup(self, name: str) -> list[Binding]:
        """All bindings that a read of `name` in this scope may see."""
        scope = self.find(name)
        return scope.bindings[name] if scope else []


def bound_by(alias: ast.alias) -> str:
    """The name that an import binds: `a` of `import a.b`."""
    return alias.asname or alias.name.partition(".")[0]


def import_bindings(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Binding]]:
    """The names that an import statement binds, with what they stand for: `.mod.f` where it is relative."""
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            name = bound_by(alias)
            yield name, Binding(alias, alias.name if alias.asname else name, statement)
        elif alias.name != "*":
            source = "." * statement.level + (f"{statement.module}." if statement.module else "")
            qualified = f"{source}{alias.name}"
            yield alias.asname or alias.name, Binding(alias, qualified, statement)


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each type of node that may hold nodes which stand in one place."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        names = () if kind in LEAVES else kind._fields
        self[kind] = tuple(name for name in names if name not in SYMBOLS | NO_NODES)
        return self[kind]


FIELDS = _Fields()


# The same for the types that most nodes with others in them are of: to ask for each field by its name takes longer.
OF_COMMON: dict[type[ast.AST], Callable[..., list[ast.AST]]] = {
    ast.Attribute: lambda node: [node.value],
    ast.Call: lambda node: [node.func, *node.args, *node.keywords],
    ast.keyword: lambda node: [node.value],
    ast.Expr: lambda node: [node.value],
    ast.Assign: lambda node: [*node.targets, node.value],
    ast.Subscript: lambda node: [node.value, node.slice],
}


def children(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives, less what is shared."""
    if (common := OF_COMMON.get(node.__class__)) is not None:
        return common(node)
    found: list[ast.AST] = []
    for name in FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if item is not None] if name in WITH_GAPS else value
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


class ScopeBuilder:
    """Builds the scopes of a tree in two walks without recursion, so that deep expressions cannot break it.

    Args:
        tree: The tree.
        is_own: Whether a name before the first dot of an import is a file beside this one: it counts as relative.

    Attributes:
        scope_of: The scope that each node is evaluated in.
        parent_of: The parent of each node.
        imports: Every import statement, in source order.
        order: Every node in source order, without those that are shared (SYMBOLS).
        of_type: The same by their type.
        scopes: Every scope, the outer before the inner ones.
    """

    def __init__(self, tree: ast.Module, is_own: Callable[[str], bool] = lambda name: False) -> None:
        self._is_own = is_own
        self.scope_of: dict[ast.AST, Scope] = {}
        self.parent_of: dict[ast.AST, ast.AST] = {}
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.order: list[ast.AST] = []
        self.of_type: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        binding: list[ast.AST] = []
        scope_of, parent_of, order, of_type = self.scope_of, self.parent_of, self.order, self.of_type
        stack: list[ast.AST] = [tree]
        scope_of[tree] = Scope(tree, None)
        self.scopes = [scope_of[tree]]
        while stack:  # the hottest loop of a run, so types are compared by identity
            node = stack.pop()
            kind = node.__class__
            order.append(node)
            of_type[kind].append(node)
            if kind in BINDING and not (kind is ast.Name and node.ctx.__class__ is ast.Load):  # type: ignore[attr-defined]
                binding.append(node)
            if not FIELDS[kind]:
                continue
            scope, below = scope_of[node], children(node)
            inner, outside = self._inside(node, scope) if kind in SCOPED else (scope, ())
            for child in below:
                parent_of[child] = node
                scope_of[child] = scope if child in outside else inner
            below.reverse()
            stack += below
        for node in self.of_type[ast.Global] + self.of_type[ast.Nonlocal]:
            self.scope_of[node].elsewhere.update(node.names)  # type: ignore[attr-defined]
        for node in binding:
            self._bind(node, self.scope_of[node])
        for node in self.of_type[ast.Name] if ast.ClassDef in self.of_type else ():
            scope = self.scope_of[node]
            if scope.node.__class__ is ast.ClassDef and scope.parent is not None and self._is_yet_to_bind(node, scope):
                self.scope_of[node] = scope.module  # also in a function, whose names are not looked at

    def _is_yet_to_bind(self, read: ast.AST, scope: Scope) -> bool:
        """Whether a class body reads a name that it binds in that statement or below: `X = X()` reads the X outside."""
        assert isinstance(read, ast.Name)
        if not isinstance(read.ctx, ast.Load) or read.id not in scope.bindings:
            return False
        part: ast.AST = read
        while not isinstance(part, ast.stmt):
            outer = self.parent_of[part]
            if isinstance(outer, ast.AnnAssign) and part is outer.annotation:
                return False  # evaluated behind the value
            part = outer
        first = scope.bindings[read.id][0].node
        is_below = (first.lineno, first.col_offset) >= (part.lineno, part.col_offset)  # type: ignore[attr-defined]
        return is_below and self.parent_of[part] is scope.node and not isinstance(self.parent_of[first], ast.NamedExpr)

    def _inside(self, node: ast.AST, scope: Scope) -> tuple[Scope, Collection[ast.AST]]:
        """The scope in which the children of a node are evaluated, and those of them that belong outside of it."""
        if isinstance(node, ast.comprehension):  # the first iterable is evaluated around it: `[a for a in a]`
            is_first = self.parent_of[node].generators[0] is node  # type: ignore[attr-defined]
            return (scope.parent, {node.target, *node.ifs}) if is_first and scope.parent else (scope, ())
        if isinstance(node, (ast.arguments, ast.arg)):  # defaults and annotations are evaluated around the function
            return scope.parent or scope, {*parameters(self.parent_of[node])} if isinstance(node, ast.arguments) else ()  # type: ignore[arg-type]
        outside: set[ast.AST] = set() if isinstance(node, (ast.Lambda, *COMPREHENSIONS)) else {*node.decorator_list}  # type: ignore[attr-defined]
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            outside.add(node.returns)
        if isinstance(node, ast.ClassDef):
            outside |= {*node.bases, *node.keywords}
        self.scopes.append(Scope(node, scope))  # type: ignore[arg-type]
        return self.scopes[-1], outside

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imports.append(node)
            for name, binding in import_bindings(node):
                qualified = binding.qualified or ""
                if self._is_own(qualified.partition(".")[0]):
                    binding = binding._replace(qualified=f".{qualified}")
                scope.bind(name, binding)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            scope.bind(node.name, Binding(node))
        elif isinstance(node, ast.Name):
            target = scope
            if isinstance(self.parent_of.get(node), ast.NamedExpr):  # a walrus binds outside its comprehension
                while isinstance(target.node, COMPREHENSIONS) and target.parent:
                    target = target.parent
            target.bind(node.id, Binding(node))
        elif isinstance(node, ast.arg):
            scope.bind(node.arg, Binding(node))
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (
            isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
        ):
            scope.bind(node.name, Binding(node))


def import_before(use: ast.Name, bindings: list[Binding]) -> Binding:
    """The last of some imports that stands above a use, or the first one."""
    return bindings[max(0, bisect(bindings, use.lineno, key=_line_of_import) - 1)]


def _line_of_import(binding: Binding) -> int:
    return binding.statement.lineno if binding.statement is not None else 0
