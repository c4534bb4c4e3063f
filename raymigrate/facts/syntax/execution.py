"""Names that are read before anything binds them, in the order in which a module runs.

A function's body runs when its name is first mentioned, a method's when its class is: no later than it can be called,
and by then all that it reads has to be bound. What only some branches bind is not bound after them.
"""

import ast
import builtins
from collections.abc import Collection, Iterable, Sequence

from raymigrate.facts.syntax.alternatives import EXITS
from raymigrate.facts.syntax.functions import DefinitionNode, parameters
from raymigrate.facts.syntax.known_tests import ways_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import LEAVES, is_main_guard
from raymigrate.facts.syntax.scopes import COMPREHENSIONS, DEFINITIONS, FIELDS, Binding, Scope, children

KNOWN = frozenset(dir(builtins)) | {
    *("__file__", "__name__", "__doc__", "__spec__", "__path__", "__package__", "__loader__", "__builtins__"),
    *("__class__", "__module__", "__qualname__", "__annotations__"),
    *("display", "get_ipython"),  # that IPython adds
}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# Expressions whose parts are not evaluated in the order in which they are written.
OUT_OF_ORDER = frozenset({ast.Lambda, *COMPREHENSIONS, ast.comprehension, ast.NamedExpr})
LAST_OF_EXITS = frozenset(name.rpartition(".")[2] for name in EXITS)
Change = tuple[bool, bool, Scope, str]  # whether a name was bound, whether it is now, where, and which
COLLECTIONS = (ast.List, ast.Tuple, ast.Set, ast.Dict)
PARTS = (ast.Name, *COLLECTIONS, ast.Constant, ast.Load)


def unbound_names(module: Module, own: Collection[str] = ()) -> list[ast.Name]:
    """The reads of names that nothing has bound by then.

    Names that nothing in the module binds at all are among them, unless a star import may bring them in.

    Args:
        module: The module.
        own: Names that the module bound itself before it was changed: no star import brings them in.
    """
    return _Run(module, own).unbound


def surely_unbound(module: Module, names: Iterable[str]) -> set[str]:
    """Those of some names that are read where nothing in the module ever binds them: `unbound_names` has them too."""
    sources = [node for node in module.imports if isinstance(node, ast.ImportFrom)]
    if any(node.module == "__future__" or node.names[0].name == "*" for node in sources):
        return set()
    unknown = (name for name in names if name not in KNOWN)
    return {name for name in unknown if any(module.scope_of[node].find(name) is None for node in module.reads(name))}


class _Run:
    """Follows the statements of a module as Python would carry them out."""

    def __init__(self, module: Module, own: Collection[str] = ()) -> None:
        self.module = module
        self._own = own
        self.unbound: list[ast.Name] = []
        self.bound: dict[Scope, set[str]] = {}
        self._changes: list[Change] = []  # all that happened to `bound`, so that a branch can be taken back
        self._entered: set[ast.AST] = set()
        self._defined: dict[tuple[Scope, str], set[ast.AST]] = {}
        self._mentioned: set[tuple[Scope, str, int]] = set()
        self._of_tests: dict[tuple[Scope, str], set[tuple[Scope, str]]] = {}  # what `if` bound where it holds
        self._holding: list[set[tuple[Scope, str]]] = []
        self._waiting: list[Definition] = []
        self._drains = False
        imports = [node for node in module.imports if isinstance(node, ast.ImportFrom)]
        self._has_star = any(node.names[0].name == "*" for node in imports)
        self._late_annotations = any(node.module == "__future__" for node in imports)
        root = module.scope_of[module.tree]
        self.bound[root] = set()
        self._block(module.tree.body)
        self._enter_all(root)

    # -- names ---------------------------------------------------------------------------------

    def _read(self, node: ast.Name, *, may_call: bool = True) -> None:
        scope: Scope | None = self.module.scope_of[node]
        while scope is not None and (target := scope.find(node.id)) is not None:
            names = self.bound.get(target)
            if names is not None and (node.id in names or any((target, node.id) in held for held in self._holding)):
                if may_call:
                    self._mention(target, node.id)
                return
            # The first iterable of a comprehension and what a class body lacks come from outside.
            if names is not None and not isinstance(target.node, (ast.ClassDef, *COMPREHENSIONS)):
                self.unbound.append(node)
                return
            scope = target.parent
        if node.id not in KNOWN and (not self._has_star or node.id in self._own):
            self.unbound.append(node)

    def _mention(self, scope: Scope, name: str) -> None:
        """Runs the body of a definition: from here on it can be called. One that is yet to come runs later."""
        waiting = [(scope, name)]  # without recursion, however often a name was handed on
        while waiting:
            scope, name = waiting.pop()
            defined = self._defined.get((scope, name), set())
            mentioned = (scope, name, len(defined))
            if mentioned in self._mentioned:  # it may be mentioned and bound thousands of times
                continue
            self._mentioned.add(mentioned)
            for binding in scope.bindings[name]:
                if binding.node in defined or not isinstance(binding.node, DEFINITIONS):
                    waiting += self._follow(binding, scope)

    def _follow(self, binding: Binding, scope: Scope) -> list[tuple[Scope, str]]:
        """Runs the body of a definition that a name is bound to; returns the names that it is a second name of."""
        if isinstance(binding.node, DEFINITIONS):
            self._enter(binding.node, scope)
            return []
        held = _held_names(self.module.parent_of.get(binding.node))  # by it these are called
        targets = ((self.module.scope_of[name].find(name.id), name.id) for name in held)
        return [(target, name) for target, name in targets if target is not None]

    def _bind(self, node: ast.AST, name: str) -> None:
        target = self.module.scope_of[node].find(name)
        if isinstance(self.module.parent_of.get(node), ast.NamedExpr):
            while target is not None and isinstance(target.node, COMPREHENSIONS):
                target = target.parent.find(name) if target.parent is not None else None
        if target is not None:
            self._change(target, name, is_bound=True)

    def _change(self, scope: Scope, name: str, *, is_bound: bool) -> None:
        self._changes.append((name in self.bound.get(scope, ()), is_bound, scope, name))
        self._set(scope, name, is_bound=is_bound)

    def _set(self, scope: Scope, name: str, *, is_bound: bool) -> None:
        names = self.bound.setdefault(scope, set())
        (names.add if is_bound else names.discard)(name)

    # -- definitions ---------------------------------------------------------------------------

    def _enter(self, definition: Definition, scope: Scope) -> None:
        if definition in self._entered:
            return
        self._entered.add(definition)
        if scope.parent is not None:  # it may read what the function around it has bound so far
            self._run_definition(definition)
            return
        self._waiting.append(definition)
        if self._drains:
            return
        self._drains = True
        while self._waiting:
            self._run_definition(self._waiting.pop())
        self._drains = False

    def _run_definition(self, definition: Definition) -> None:
        if isinstance(definition, ast.ClassDef):
            self._enter_all(self.module.scope(definition))
            return
        scope = self.module.scope(definition)
        self._bind_parameters(definition, scope)
        self._block(definition.body)
        self._enter_all(scope)

    def _enter_all(self, scope: Scope) -> None:
        """Runs the definitions of a scope that nothing has mentioned: others may call them."""
        for bindings in list(scope.bindings.values()):
            for binding in bindings:
                for second in self._follow(binding, scope):
                    self._mention(*second)

    def _bind_parameters(self, function: DefinitionNode | ast.Lambda, scope: Scope) -> None:
        self.bound[scope] = {parameter.arg for parameter in parameters(function)}

    # -- expressions ---------------------------------------------------------------------------

    def _expressions(self, *nodes: ast.AST | None) -> None:
        """Evaluates expressions in their order; without recursion, however deep they are."""
        stack = [node for node in reversed(nodes) if node is not None]
        while stack:
            node = stack.pop()
            kind = node.__class__  # most of a module's nodes come by here
            if kind is ast.Name:
                self._name(node)  # type: ignore[arg-type]
            elif kind not in OUT_OF_ORDER:
                if FIELDS[kind]:
                    stack += reversed(children(node))
            elif isinstance(node, ast.Lambda):
                self._bind_parameters(node, self.module.scope(node))
                stack += [node.body, *reversed(_defaults(node.args))]
            elif isinstance(node, COMPREHENSIONS):
                self.bound[self.module.scope_of[node.generators[0]]] = set()
                values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                stack += [*reversed(values), *reversed(node.generators)]
            elif isinstance(node, ast.comprehension):
                stack += [*reversed(node.ifs), node.target, node.iter]
            elif isinstance(node, ast.NamedExpr):
                stack += [node.target, node.value]

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            outer = self.module.parent_of.get(node)
            sets = isinstance(outer, ast.Attribute) and isinstance(outer.ctx, ast.Store)  # `f.name = "f"` calls nothing
            self._read(node, may_call=not sets)
        elif isinstance(node.ctx, ast.Store):
            self._bind(node, node.id)
        elif (target := self.module.scope_of[node].find(node.id)) is not None:
            self._change(target, node.id, is_bound=False)

    # -- statements ----------------------------------------------------------------------------

    def _block(self, statements: Iterable[ast.stmt]) -> bool:
        """Carries out statements; whether they leave the block for good.

        What comes after the one that leaves is carried out too: the other cells of a notebook run although one ends
        with an error, and dead code shall not come out of a conversion with names that nothing binds.
        """
        leaves = False
        for statement in statements:
            leaves = self._statement(statement) or leaves
        return leaves

    def _statement(self, node: ast.stmt) -> bool:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                local = alias.asname or alias.name
                self._bind(node, local.partition(".")[0] if isinstance(node, ast.Import) else local)
        elif isinstance(node, DEFINITIONS):
            self._define(node)
        elif isinstance(node, ast.If):
            self._expressions(node.test)
            if is_main_guard(node):
                return self._block(node.body) and False
            taken, never = ways_of(node)
            for block in never:  # whose names are read too, and stay unbound
                start = len(self._changes)
                self._block(block)
                self._taken_back(start)
            return self._branches(*taken, test=None if never else self._constant(node.test))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._expressions(node.iter, node.target)
            self._loop(node.body, node.orelse)
        elif isinstance(node, ast.While):
            self._expressions(node.test)
            self._loop(node.body, node.orelse)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            self._expressions(*node.items)
            return self._block(node.body)
        elif isinstance(node, ast.Match):
            self._expressions(node.subject)
            rest: list[list[ast.stmt]] = [] if _is_irrefutable(node.cases[-1]) else [[]]
            return self._branches(*(case.body for case in node.cases), *rest, heads=node.cases)
        elif hasattr(node, "handlers"):  # Try, and TryStar of Python 3.11
            return self._try(node)  # type: ignore[arg-type]
        else:
            self._simple(node)
        return isinstance(node, LEAVES) or self._exits(node)

    def _exits(self, node: ast.stmt) -> bool:
        """Whether this is a call that ends the program."""
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            return False
        name = self.module.qualified(call.func)
        if name is None and getattr(call.func, "id", getattr(call.func, "attr", "")) in LAST_OF_EXITS:
            name = ast.unparse(call.func)
        return name in EXITS

    def _simple(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            for name in (held := _held_names(node)):
                self._read(name, may_call=False)
            self._expressions(None if held else node.value, *node.targets)
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name):
                read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
                self.module.scope_of.setdefault(read, self.module.scope_of[node.target])
                self._read(read)
            self._expressions(node.value, node.target)
        elif isinstance(node, ast.AnnAssign):
            annotation = None if self._late_annotations else node.annotation
            bare = node.value is None and isinstance(node.target, ast.Name)  # `x: int` binds nothing
            self._expressions(annotation, node.value, None if bare else node.target)
        else:
            self._expressions(node)

    def _define(self, node: Definition) -> None:
        self._expressions(*node.decorator_list)
        if isinstance(node, ast.ClassDef):
            self._expressions(*node.bases, *node.keywords)
            self.bound[self.module.scope(node)] = set()
            self._block(node.body)
        else:
            head: list[ast.expr | None] = [*_defaults(node.args)]
            if not self._late_annotations:
                head += [*(argument.annotation for argument in parameters(node)), node.returns]
            self._expressions(*head)
        self._bind(node, node.name)
        if (target := self.module.scope_of[node].find(node.name)) is not None:
            self._defined.setdefault((target, node.name), set()).add(node)

    def _loop(self, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """A loop counts as one that runs: what it binds is read after it too often."""
        self._block(body)
        self._block(orelse)

    def _try(self, node: ast.Try) -> bool:
        start = len(self._changes)
        leaves = self._block([*node.body, *node.orelse])
        outcomes = [(leaves, self._changes[start:])]
        for handler in node.handlers:
            self._expressions(handler.type)
            begin = len(self._changes)
            if handler.name:
                self._bind(handler, handler.name)
            leaves = self._block(handler.body)
            outcomes.append((leaves, self._taken_back(begin)))
        self._taken_back(start)
        leaves = self._join(outcomes)
        return self._block(node.finalbody) or leaves

    def _branches(
        self, *blocks: Sequence[ast.stmt], heads: Sequence[ast.match_case] = (), test: tuple[Scope, str] | None = None
    ) -> bool:
        """Carries out branches of which one runs.

        Args:
            heads: The patterns of `case`, one for each branch.
            test: What `if` asks, if it has the same answer each time: what bound a name once binds it again.
        """
        outcomes = []
        for number, block in enumerate(blocks):
            start = len(self._changes)
            if number < len(heads):
                self._case(heads[number])
            self._holding.append(self._of_tests.setdefault(test, set()) if test and number == 0 else set())
            leaves = self._block(block)
            changes = self._taken_back(start)
            self._holding.pop().update((scope, name) for _, is_bound, scope, name in changes if is_bound)
            outcomes.append((leaves, changes))
        return self._join(outcomes)

    def _constant(self, test: ast.expr) -> tuple[Scope, str] | None:
        """The variable that a test asks for, if nothing binds it a second time."""
        if not isinstance(test, ast.Name) or (scope := self.module.scope_of[test].find(test.id)) is None:
            return None
        return (scope, test.id) if len(scope.bindings[test.id]) == 1 else None

    def _case(self, case: ast.match_case) -> None:
        for node in ast.walk(case.pattern):
            if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
                self._bind(node, node.name)
            elif isinstance(node, ast.expr):
                self._expressions(node)
        self._expressions(case.guard)

    def _taken_back(self, start: int) -> list[Change]:
        """Takes back what happened since, and gives it."""
        changes = self._changes[start:]
        del self._changes[start:]
        for was_bound, _, scope, name in reversed(changes):
            self._set(scope, name, is_bound=was_bound)
        return changes

    def _join(self, outcomes: list[tuple[bool, list[Change]]]) -> bool:
        """Goes on behind branches with what all of them bind that come out there; whether none does."""
        live = [changes for leaves, changes in outcomes if not leaves] or [changes for _, changes in outcomes]
        ends = [{(scope, name): is_bound for _, is_bound, scope, name in changes} for changes in live]
        for scope, name in {key: None for end in ends for key in end}:
            is_bound = all(end.get((scope, name), name in self.bound.get(scope, ())) for end in ends)
            self._change(scope, name, is_bound=is_bound)
        return all(leaves for leaves, _ in outcomes)


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [*arguments.defaults, *(default for default in arguments.kw_defaults if default is not None)]


def _is_irrefutable(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None


def _held_names(node: ast.AST | None) -> list[ast.Name]:
    """The names to which a statement gives a second one, and does no more: `f` of `g = f`, of `g = {"f": f}`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, (ast.Name, *COLLECTIONS)):
        return []
    parts = list(ast.walk(node.value)) if isinstance(node.targets[0], ast.Name) else [node.value]
    only_holds = all(isinstance(part, PARTS) for part in parts)
    return [part for part in parts if isinstance(part, ast.Name)] if only_holds else []
