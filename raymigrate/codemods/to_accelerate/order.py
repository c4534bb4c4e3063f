"""What runs before, while and after a training: code of its block by its place, functions by where they are called."""

import ast
from functools import cached_property

from raymigrate.codemods.to_accelerate.home import Home, position
from raymigrate.codemods.to_accelerate.objects import ObjectView
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.syntax.scopes import FUNCTIONS


class Order:
    """The order in which a script runs, seen from its training.

    Args:
        training: What is trained.
        home: Where that is done.

    Attributes:
        view: The module, if the object of a class trains; else None.
    """

    def __init__(self, training: Training, home: Home) -> None:
        self.module = training.module
        self.variables = training.variables
        self.home = home
        self.view = self.module if isinstance(self.module, ObjectView) else None

    def holds(self, node: ast.AST) -> bool:
        """Whether code runs after the models were prepared, and sees them so."""
        if self.view is not None or self.module.function(node) is self.home.function:
            return self._is_later(node, frozenset())
        return self.module.function(node) in self._held

    @cached_property
    def _held(self) -> set[ast.AST | None]:
        """The functions that such code calls, and those that these call."""
        callees: dict[ast.AST | None, list[ast.AST]] = {}
        waiting: list[ast.AST] = []
        for function in self.module.of_type(ast.FunctionDef):
            for call in self.module.calls_of(function):
                caller = self.module.function(call)
                callees.setdefault(caller, []).append(function)
                if caller is self.home.function and self._is_later(call, frozenset()):
                    waiting.append(function)
        held: set[ast.AST | None] = {self.home.function}  # whose own code is asked for its place
        while waiting:
            callee = waiting.pop()
            if callee not in held:
                held.add(callee)
                waiting += callees.get(callee, [])
        return held

    def is_past(self, node: ast.AST) -> bool:
        """Whether code runs after the training, where the name of a model has come to stand for another one."""
        place = position(self.module, self.home.block, node)
        return place is not None and place >= self.home.end

    def calls_to(self, node: ast.AST, owner: ast.AST) -> list[ast.Call]:
        """The calls of the function that a node is in, of those that call it, and so on up to the owner."""
        found: dict[ast.Call, None] = {}
        waiting = [node]
        while waiting:
            function = self.module.function(waiting.pop())
            calls = self.module.calls_of(function) if function not in (None, owner) else []
            waiting += [call for call in calls if call not in found]
            found.update(dict.fromkeys(calls))
        return list(found)

    def _is_later(self, node: ast.AST, seen: frozenset[ast.AST]) -> bool:
        block, function = self.home.block, self.module.function(node)
        if self.view is not None and self.home.is_constructor and function is not self.home.function:
            return self._is_after_construction(node, seen)
        if function is self.home.function:
            place = position(self.module, block, node)
            if place is not None:
                return self.home.setup < place <= self.home.end
            return self.module.start(node) > self.module.start(block[self.home.setup])
        if not isinstance(function, ast.FunctionDef) or function in seen:
            return False
        return any(self._is_later(call, seen | {function}) for call in self.module.calls_of(function))

    def _is_after_construction(self, node: ast.AST, seen: frozenset[ast.AST]) -> bool:
        """Whether code runs when the object that trains is there."""
        if not self.home.is_in_class(node):
            return self.follows_instance(node)
        function = self.module.function(node)
        calls = self.module.calls_of(function) if function is not None and function not in seen else []
        inner = [call for call in calls if self.home.is_in_class(call)]
        return len(inner) < len(calls) or not calls or any(self._is_later(c, seen | {function}) for c in inner)  # type: ignore[arg-type]

    def is_beside_instance(self, node: ast.AST) -> bool:
        """Whether code sees the name of the object that trains as its own: it stands in the function that makes that.

        Other functions are given the Accelerator, also those that see a name of the module: the object may call them
        before it has got that name.
        """
        made = self._made_instance()
        around = self.module.function(made) if made is not None else None
        functions = [parent for parent in self.module.ancestors(node) if isinstance(parent, FUNCTIONS)]
        return around in functions if around is not None else not functions

    def comes_first(self, node: ast.AST) -> bool:
        """Whether code in the function that makes the object that trains runs before that is there."""
        made = self._made_instance()
        is_same = made is not None and self.module.function(node) is self.module.function(made)
        return is_same and not self.follows_instance(node)

    def follows_instance(self, node: ast.AST) -> bool:
        """Whether code outside of the class that trains stands where its object has been made."""
        made = self._made_instance()
        around = self.module.function(made) if made is not None else None
        if made is None or around not in (*(p for p in self.module.ancestors(node) if isinstance(p, FUNCTIONS)), None):
            return False
        if around is None and self.module.function(node) is not None:
            return False
        return self.module.start(node) > self.module.end(self.module.statement(made))

    def _made_instance(self) -> ast.Call | None:
        """The first call that makes the object that trains."""
        assert self.view is not None and self.view.constructor is not None
        return next(iter(self.module.calls_of(self.view.constructor)), None)
