"""What an expression is in one case of an `if`: of `not distributed`, where `distributed` is false."""

import ast
from collections.abc import Callable, Hashable, Iterator, Sequence

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_negation
from raymigrate.facts.values import reaching

Branch = tuple[ast.expr, bool]  # a test, and what it gives
Meaning = tuple[object, ...]


def meaning(module: Module, node: ast.expr) -> Meaning:
    """What two expressions of a module have in common only if they give the same.

    Args:
        module: The module.
        node: An expression: its value where that is known, else its code and what its names are bound by.
    """
    value = module.constant(node)
    return ("value", repr(value)) if value is not ... else _spelled(module, node)


def _spelled(module: Module, node: ast.expr) -> Meaning:
    def of_name(name: ast.Name) -> Meaning:
        return (name.id, *(reaching(module, name) if name in module.scope_of else ()))

    attributes = (part for part in ast.walk(node) if isinstance(part, ast.Attribute) and part in module.scope_of)
    stored = (tuple(_stored_before(module, part)) for part in attributes)
    return ("code", spelled(node, of_name), *stored)


def spelled(node: ast.AST, of_name: Callable[[ast.Name], Hashable]) -> Hashable:
    """What two pieces of code have in common that are written alike, with names that stand for the same.

    Args:
        node: The code.
        of_name: What a name in it stands for.
    """
    if isinstance(node, ast.Name):
        return of_name(node)
    parts: list[Hashable] = [type(node).__name__]
    for name, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                parts.append(None if isinstance(part, ast.expr_context) else spelled(part, of_name))
            else:
                parts.append((name, type(part).__name__, part))
    return tuple(parts)


def _stored_before(module: Module, node: ast.Attribute) -> Iterator[ast.Attribute]:
    """Where attributes of the name of one are set above it: `args.amp` means another then."""
    return (store for store in module.stores(node.attr) if module.start(store) < module.start(node))


def branches(module: Module, node: ast.AST) -> list[Branch]:
    """The tests in its function that lead to a node, each with what it gives there; the innermost comes first."""
    found: list[Branch] = []
    child = node
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
        if isinstance(parent, ast.If) and child is not parent.test:
            found.append((parent.test, child in parent.body))
        elif isinstance(parent, ast.IfExp) and child is not parent.test:
            found.append((parent.test, child is parent.body))
        child = parent
    return found


class Case:
    """One case: what some tests give in it.

    Args:
        module: The module.
        tests: The tests.
    """

    def __init__(self, module: Module, tests: Sequence[Branch]) -> None:
        self.module = module
        self._known: dict[Meaning, bool] = {}
        self._open: set[ast.AST] = set()  # values that are being followed: one may be made of itself
        for test, result in tests:
            self._known.update(self._learned(test, result))

    def _learned(self, test: ast.expr, result: bool) -> Iterator[tuple[Meaning, bool]]:
        bare, is_same = _bare(test)
        result = result is is_same
        yield _spelled(self.module, bare), result
        if isinstance(bare, ast.BoolOp) and isinstance(bare.op, ast.And) is result:
            for part in bare.values:
                yield from self._learned(part, result)

    def _contradicts(self, tests: Sequence[Branch]) -> bool:
        learned = (fact for test, result in tests for fact in self._learned(test, result))
        return any(self._known.get(fact, result) is not result for fact, result in learned)

    def of(self, node: ast.expr) -> ast.expr | bool:
        """Whether an expression is true in this case; what is left of it where that cannot be seen."""
        bare, is_same = _bare(node)
        found = self._known.get(_spelled(self.module, bare), self._inside(bare))
        if isinstance(found, bool):
            return found is is_same
        return found if is_same else node

    def _inside(self, node: ast.expr) -> ast.expr | bool:
        if isinstance(node, ast.BoolOp):
            return self._of_operands(node)
        if isinstance(node, ast.IfExp) and isinstance(test := self.of(node.test), bool):
            return self.of(node.body if test else node.orelse)
        if isinstance(node, ast.Name):
            given = self._given(node)
            if given is not None and given not in self._open:
                self._open.add(given)
                found = self.of(given)
                self._open.remove(given)
                return found
        value = self.module.constant(node)
        return bool(value) if value is not ... else node

    def _of_operands(self, node: ast.BoolOp) -> ast.expr | bool:
        is_and = isinstance(node.op, ast.And)
        parts = [self.of(value) for value in node.values]
        if (not is_and) in parts:
            return not is_and
        left = [part for part in parts if not isinstance(part, bool)]
        return is_and if not left else left[0] if len(left) == 1 else node

    def _given(self, name: ast.Name) -> ast.expr | None:
        """The one value that a name may have in this case; None where it is not one, or is unknown."""
        bound = [binding.node for binding in reaching(self.module, name)]
        certain = [node for node in bound if not self._contradicts(branches(self.module, node))]
        return self.module.assigned(certain[0]) if len(certain) == 1 and len(bound) > 1 else None


def _bare(test: ast.expr) -> tuple[ast.expr, bool]:
    """A test less what turns it round, and whether it gives the same: `x is None` and False of `x is not None`."""
    is_same = True
    while is_negation(test):
        test, is_same = test.operand, not is_same
    turned: dict[type[ast.cmpop], ast.cmpop] = {ast.IsNot: ast.Is(), ast.NotEq: ast.Eq()}
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in turned:
        return ast.Compare(test.left, [turned[type(test.ops[0])]], test.comparators), not is_same
    return test, is_same
