"""Whether the script itself runs some code before other code."""

import ast

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import FUNCTIONS

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
            assert isinstance(call, ast.Call)
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
