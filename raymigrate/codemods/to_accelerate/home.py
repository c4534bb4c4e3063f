"""Where the things that are trained are made: there the Accelerator prepares them."""

import ast
from collections.abc import Iterator, Sequence

from raymigrate.codemods.to_accelerate.objects import ObjectView, is_attribute
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.syntax.functions import by_name
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import own_lines
from raymigrate.facts.syntax.nodes import blocks, is_assignment, names_in
from raymigrate.facts.syntax.scopes import DEFINITIONS

Block = list[ast.stmt]

ONE_AT_A_TIME = "convert them one at a time: each in a file of its own, with what they share in a third"


def blocks_around(module: Module, node: ast.AST) -> Iterator[tuple[Block, int]]:
    """The blocks that a node is in, from the innermost one, each with the position of its statement there."""
    child = node
    for parent in module.ancestors(node):
        for block in blocks(parent):
            if child in block:
                yield block, block.index(child)
        child = parent


def position(module: Module, block: Block, node: ast.AST) -> int | None:
    """The position in a block of the statement that a node is in; None where it is in none of them."""
    return next((place for other, place in blocks_around(module, node) if other is block), None)


class Home(Side):
    """The block in which the optimizers are made and the training begins.

    Args:
        training: What is trained.

    Attributes:
        block: The statements.
        scope: Their scope.
        function: The function that the block is in; None in the module.
        is_constructor: Whether that makes the object that trains, so that the training begins after it.
        start: The position of the first statement that trains, or runs the models.
        setup: The position of the last one before it that makes or fills what is prepared.
        end: The position of the first statement after the training that makes something else of a model's name.
        early: The statements that run a model before all of it is there.

    Raises:
        Refusal: If there is no one block of that kind.
    """

    def __init__(self, training: Training) -> None:
        super().__init__(training)
        self.view = self.module if isinstance(self.module, ObjectView) else None
        optimizers = training.optimizers
        scopes = {optimizer.scope for optimizer in optimizers}
        if len(scopes) > 1:
            lines = own_lines(self.module, *map(training.made_at, optimizers))
            names = ", ".join(f"`{name}`" for name in self._shared_names())
            share = f" share {names}" if names else ""
            reason = f"two trainings in one script ({lines}){share}; {ONE_AT_A_TIME}"
            raise Refusal(training.made_at(optimizers[-1]), reason)
        self.scope = scopes.pop()
        self.is_constructor = False
        self.block, made = self._find_block()
        self.function = self.module.function(self.block[0])
        self.start = next((n for n, s in enumerate(self.block) if n > made and self._uses_models(s)), -1)
        if self.is_constructor and self.start < 0:
            self.start = len(self.block)
        if self.start < 0:
            raise Refusal(
                training.made_at(optimizers[0]), "what runs the model after its optimizer is made is not seen"
            )
        self._check_one_training()
        self.end = self._find_end()
        self.setup = self._last_setup()
        before = self.block[: self.setup + 1 if self.is_constructor else self.start]
        self.early = [statement for statement in before if self._uses_models(statement)]
        self._check_captured()
        self._check_early()

    def _shared_names(self) -> list[str]:
        """The names of models that optimizers of several functions train."""
        trained: dict[str, set[object]] = {model.name: set() for model in self.training.models}
        for optimizer in self.training.optimizers:
            for maker in self.variables.makers(optimizer):
                for part in ast.walk(maker):
                    for model in self.variables.of(part) if isinstance(part, ast.Name) else ():
                        trained.get(model.name, set()).add(optimizer.scope)
        return [name for name, scopes in trained.items() if len(scopes) > 1]

    def _find_block(self) -> tuple[Block, int]:
        bindings = [node for optimizer in self.training.optimizers for node in self.variables.bindings(optimizer)]
        of_object = all(is_attribute(optimizer.name) for optimizer in self.training.optimizers)
        around = self._blocks_of_object(bindings[0]) if of_object else blocks_around(self.module, bindings[0])
        for block, _ in around:
            if not of_object and self.module.scope_of[block[0]] is not self.scope:
                continue  # the optimizer has no name there
            places = [self.place(block, node) for node in bindings]
            if None in places:
                continue
            first, last = min(p for p in places if p is not None), max(p for p in places if p is not None)
            running = [n for n, statement in enumerate(block) if not isinstance(statement, DEFINITIONS)]
            trains = [n for n in running if n > first and self.training.trains(block[n])]
            if trains and trains[0] > last:
                return block, last
            if trains and trains[0] > first:
                reason = "two trainings in one script, one after the other, share an optimizer's name"
                raise Refusal(block[trains[0]], f"{reason}; {ONE_AT_A_TIME}")
            if self.view is not None and self.view.constructor is not None and block is self.view.constructor.body:
                self.is_constructor = True
                return block, last
        raise Refusal(bindings[0], "the optimizer is made in another place than the one where the training begins")

    def _blocks_of_object(self, node: ast.AST) -> Iterator[tuple[Block, int]]:
        """The blocks around what gives an attribute its value, in its method and around the only call of that."""
        seen: set[ast.AST] = set()
        while True:
            method = self.module.function(node)
            if method is None or method in seen:
                return
            seen.add(method)
            yield from (found for found in blocks_around(self.module, node) if self.module.inside(found[0][0], method))
            calls = self.module.calls_of(method)
            if len(calls) != 1 or not self.is_in_class(calls[0]):
                return
            node = calls[0]

    def is_in_class(self, node: ast.AST) -> bool:
        """Whether code stands in the class whose object trains."""
        return self.view is not None and self.module.inside(node, self.view.owner)

    def place(self, block: Block, node: ast.AST) -> int | None:
        """The position in a block of the statement that runs a node, perhaps in a method of the object that trains."""
        place = position(self.module, block, node)
        method = self.module.function(node)
        if place is not None and not isinstance(block[place], DEFINITIONS):
            return place
        if method is None or not self.is_in_class(node):
            return place
        calls = self.module.calls_of(method)
        is_inner = len(calls) == 1 and self.is_in_class(calls[0]) and self.module.function(calls[0]) is not method
        return self.place(block, calls[0]) if is_inner else None

    def _check_captured(self) -> None:
        """Refuses an object that keeps what is prepared only later."""
        if self.view is None or self.view.constructor is None or self.is_in_class(self.block[0]):
            return
        for call in self.module.calls_of(self.view.constructor):
            place = position(self.module, self.block, call)
            if place is not None and place <= self.setup:
                reason = f"`{self.view.instance}` is made before what it trains can be prepared"
                raise Refusal(call, f"{reason}; make its model, optimizer and data first")

    def _check_one_training(self) -> None:
        if self.is_constructor:
            return
        reached = set(self._reached(self.block[self.start :]))
        for call in self.training.backwards:
            if call not in reached:
                lines = own_lines(self.module, self.block[self.start], call)
                reason = f"two trainings in one script ({lines}); {ONE_AT_A_TIME}"
                raise Refusal(call, reason)

    def _check_early(self) -> None:
        """Refuses an evaluation before the training: its loader is prepared later, and its function works on that."""
        loops = {loop.node for loop in self.training.loops}
        for statement in self.early:
            for part in self._reached([statement]):
                if part in loops and self._uses_models(part):
                    raise Refusal(statement, "a model is evaluated before its optimizer is made")

    def _reached(self, statements: Sequence[ast.AST]) -> Iterator[ast.AST]:
        """What is in statements, and in the functions that they call."""
        functions: set[ast.AST] = set()
        waiting = list(statements)
        while waiting:
            for part in ast.walk(waiting.pop()):
                yield part
                function = self.variables.called(part) if isinstance(part, ast.Call) else None
                if function is not None and function not in functions:
                    functions.add(function)
                    waiting.append(function)

    def _uses_models(self, statement: ast.AST) -> bool:
        """Whether a statement trains or runs a model, or calls a function that does."""
        if isinstance(statement, DEFINITIONS):
            return False
        models = set(self.training.models)
        for part in self._reached([statement]):
            if part in self.training.backwards:
                return True
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and self.variables.of(part.func) & models:
                return True
        return False

    def _find_end(self) -> int:
        """Where the name of a model begins to stand for another one, such as one that is loaded again."""
        places = [
            place
            for model in self.training.models
            for node in self.variables.bindings(model)
            if (place := position(self.module, self.block, node)) is not None
            and place > self.start
            and is_assignment(self.block[place])
            and self.variables.kept_in(node) != {model}
        ]
        end = min(places, default=len(self.block))
        return len(self.block) if any(map(self.training.trains, self.block[end:])) else end

    def _last_setup(self) -> int:
        prepared = {*self.training.models, *self.training.optimizers, *self.training.schedulers}
        prepared |= self.training.loaders_of(*self.training.loops)
        last = 0
        for variable in prepared:
            if variable.scope is self.scope or is_attribute(variable.name):
                places = [self.place(self.block, node) for node in self.variables.bindings(variable)]
                last = max([last, *(place for place in places if place is not None and place < self.start)])
        for call in self.training.method_calls("load_state_dict"):
            if self.is_in_class(call) and not self.is_in_class(self.block[0]):
                continue  # an object that is given what is prepared loads into that: `trainer.resume(path)`
            function = self.module.function(call)
            sites = self.module.calls_of(function) if function and function is not self.function else [call]
            places = [self.place(self.block, site) for site in sites]
            last = max([last, *(place for place in places if place is not None and place < self.start)])
        return last

    # -- what is prepared here -----------------------------------------------------------------

    def local(self, variable: Variable) -> str | None:
        """The name of something here, if it has its value before the training begins: its own, or of a parameter."""
        if self.is_in_class(self.block[0]):
            return self._local_of_object(variable)
        if variable.scope is self.scope:
            return variable.name if self._is_bound_before(variable) else None
        function = self.scope.node
        if not isinstance(function, ast.FunctionDef):
            return None
        parameters = by_name(function)
        return next(
            (p.arg for p in parameters if self.variables.of_variable(Variable(self.scope, p.arg)) == {variable}), None
        )

    def _local_of_object(self, variable: Variable) -> str | None:
        """The name of something in a method of the object that trains."""
        if is_attribute(variable.name):
            return variable.name if self._is_bound_before(variable) else None
        if self.function is not None and variable.scope is self.module.scope(self.function):
            bound = self.variables.bindings(variable)
            aliases = self._attributes_of(variable)
            if aliases or any(isinstance(node, ast.arg) for node in bound):
                return aliases[0] if len(aliases) == 1 else None
            return variable.name if self._is_bound_before(variable) else None
        aliases = self._attributes_of(variable)
        return aliases[0] if len(aliases) == 1 else None

    def _attributes_of(self, variable: Variable) -> list[str]:
        """The attributes of the object that trains which hold something that is made outside of it."""
        scope = self.module.scope_of[self.module.tree]
        names = [name for name in scope.bindings if is_attribute(name)]
        found = [name for name in names if self.variables.of_variable(Variable(scope, name)) == {variable}]
        return [name for name in found if self._is_bound_before(Variable(scope, name))]

    def _is_bound_before(self, variable: Variable) -> bool:
        held = self.variables.of_variable(variable)  # of an attribute, perhaps what the object was given
        for node in self.variables.bindings(variable):
            place = self.place(self.block, node)
            if self.variables.kept_in(node) == held and self.module.start(node) > self._start_of(variable):
                continue  # what has it already, as in `model = train(model)`
            if place is not None and self.setup < place < self.end:
                return False
            if place is None and is_attribute(variable.name):
                if self.is_constructor or not self._is_in_constructor(node):
                    return False
            elif place is None and self.module.start(node) > self.module.start(self.block[0]):
                return False
        return True

    def made_anew(self, variable: Variable) -> ast.AST | None:
        """What lets a name stand for something else while the training may go on; None where nothing does."""
        for node in self.variables.bindings(variable):
            place = self.place(self.block, node)
            if place is not None and self.setup < place < self.end and self.variables.kept_in(node) != {variable}:
                return node
        return None

    def _start_of(self, variable: Variable) -> tuple[int, int]:
        return self.module.start(self.variables.bindings(variable)[0])

    def _is_in_constructor(self, node: ast.AST) -> bool:
        constructor = self.view.constructor if self.view is not None else None
        return constructor is not None and self.place(constructor.body, node) is not None

    def is_in_block(self, variable: Variable) -> bool:
        """Whether all that binds a variable is in the block itself."""
        return all(self.place(self.block, node) is not None for node in self.variables.bindings(variable))


def is_main_guard(node: ast.AST) -> bool:
    """Whether a statement is `if __name__ == "__main__"`."""
    return isinstance(node, ast.If) and "__name__" in names_in(node.test)
