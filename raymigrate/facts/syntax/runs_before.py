"""Whether the script itself runs some code before other code."""

import ast
from collections.abc import Iterator

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS, LOOPS

Position = tuple[int, int]


class RunsBefore:
    """Compares where code of a module runs: at its top, or in a function that the top calls.

    What only other processes run, or other files, runs nowhere here.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._callers: dict[ast.AST, list[ast.Call]] = {}
        for call in module.of_type(ast.Call):
            definition = module.definition(call.func)
            if isinstance(definition, FUNCTIONS):
                self._callers.setdefault(definition, []).append(call)

    def before(self, node: ast.AST, other: ast.AST) -> bool:
        """Whether a node runs before another one: of the same function, or as the script goes."""
        if self.module.function(node) is self.module.function(other):
            return self.module.start(node) < self.module.start(other)
        first, last = self._at_top(node), self._at_top(other)
        return bool(first) and (not last or min(first) < max(last))  # what other processes run is sent at the end

    def surely_before(self, node: ast.AST, other: ast.AST) -> bool:
        """Whether a node runs before another one does for the first time; not where either is not seen to run."""
        if self.module.function(node) is self.module.function(other):
            return self.module.start(node) < self.module.start(other)
        first, last = self._at_top(node), self._at_top(other)
        return bool(first and last) and min(first) < min(last)

    def _at_top(self, node: ast.AST) -> list[Position]:
        """Where the top of the script runs a node."""
        found, seen, waiting = list[Position](), set[ast.AST](), [node]
        for place in waiting:  # which grows meanwhile
            function = self.module.function(place)
            if function is None:
                found.append(self.module.start(place))
            elif function not in seen:
                seen.add(function)
                waiting += self._callers.get(function, ())
        return found


def methods_run_before(module: Module, node: ast.AST, other: ast.AST) -> bool:
    """Whether code of an object runs before other code of it, as the lines of a method tell, or of one that calls it.

    Args:
        module: The module.
        node: The code.
        other: The other code.
    """
    ways = list(_way(module, other))
    for place in _way(module, node):
        for there in ways:
            function = module.function(place)
            if function is module.function(there):
                both = set(module.ancestors(place)).intersection(module.ancestors(there))
                loops = [around for around in both if isinstance(around, LOOPS)]
                again = any(function is None or module.inside(loop, function) for loop in loops)
                return module.start(place) < module.start(there) and not again
    return False


def _way(module: Module, node: ast.AST) -> Iterator[ast.AST]:
    """A place in a method, the one call of this method in the module, and so on."""
    seen = set[ast.AST]()
    while True:
        yield node
        function = module.function(node)
        if not isinstance(function, ast.FunctionDef) or function in seen:
            return
        seen.add(function)
        uses = [use for use in module.attributes(function.name) if isinstance(use.ctx, ast.Load)]
        if not isinstance(module.parent_of[function], ast.ClassDef) or len(uses) != 1:
            return
        node = uses[0]
