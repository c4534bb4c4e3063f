"""The variables that a training loop works with, from the place where they are made to the functions that get them."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from raymigrate.codemods.to_accelerate.objects import OWN
from raymigrate.facts.syntax.functions import by_position, returned_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, only_target
from raymigrate.facts.syntax.scopes import LOOPS, Scope
from raymigrate.facts.values import argument, is_method_call, is_none

# What gives the same object back, or wraps it: nn.Module.to() and cuda() return the model itself.
SAME = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "double", "module", "requires_grad_"})
WRAPPERS = frozenset(
    {
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
        "torch.nn.DataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
        "torch.compile",
    }
)


@dataclass(frozen=True)
class Variable:
    """A name in the scope that binds it."""

    scope: Scope
    name: str


def in_order(variables: Iterable[Variable]) -> list[Variable]:
    """Variables by their names, and then by where their scopes begin: a set has another order in each process."""
    return sorted(variables, key=lambda variable: (variable.name, getattr(variable.scope.node, "lineno", 0)))


class Variables:
    """Follows names of one module.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[Variable, frozenset[Variable]] = {}
        self._open: set[ast.AST] = set()  # functions whose results are being followed
        self._elsewhere: dict[ast.AST, Module] = {}  # what makers() found in other files

    def home_of(self, node: ast.AST) -> Module:
        """The module in which a maker stands."""
        return self._elsewhere.get(node, self.module)

    def spelled(self, node: ast.AST) -> Variable | None:
        """The variable that a name stands for where it is read or bound."""
        if not isinstance(node, ast.Name):
            return None
        scope = self.module.bound_in(node)
        return Variable(scope, node.id) if scope is not None else None

    def of(self, node: ast.AST | None) -> frozenset[Variable]:
        """The variables that hold a value: of a parameter those which the callers give, of a wrapped model its own."""
        if node is None:
            return frozenset()
        bare = self.bare(node)
        if isinstance(bare, ast.Call):
            return self._returned(bare, None)
        variable = self.spelled(bare)
        return self._homes(variable) if variable is not None else frozenset()

    def kept_in(self, binding: ast.AST) -> frozenset[Variable]:
        """The variables that hold what a binding gives a name; none where it makes something new, or is unknown."""
        value = self.module.assigned(binding)
        if value is not None:
            return self.of(value)
        parent = self.module.parent_of.get(binding)
        whole = self.module.parent_of.get(parent) if isinstance(parent, ast.Tuple) else None
        if isinstance(parent, ast.Tuple) and is_assignment(whole) and isinstance(whole.value, ast.Call):
            return self._returned(whole.value, parent.elts.index(binding))  # type: ignore[arg-type]
        given = [self.of(item) for item in self._items_given(binding)]
        return frozenset().union(*given) if all(given) else frozenset()  # one that a call makes is prepared behind it

    def _items_given(self, binding: ast.AST) -> list[ast.expr]:
        """What the calls give in a tuple of which a binding takes an item: `self.train, self.test = loaders`.

        The tuple has to stand in the call: one that has a name may hold what is not prepared yet.
        """
        parent = self.module.parent_of.get(binding)
        whole = self.module.parent_of.get(parent) if isinstance(parent, (ast.Tuple, ast.List)) else None
        if not isinstance(parent, (ast.Tuple, ast.List)) or not is_assignment(whole):
            return []
        named = whole.value if isinstance(whole.value, ast.Name) else None
        parameter = self.module.definition(named)
        given = self.given_by_all(parameter) if isinstance(parameter, ast.arg) else []
        items = [value.elts for value in given if isinstance(value, (ast.Tuple, ast.List))]
        if len(items) < len(given) or any(len(found) != len(parent.elts) for found in items):
            return []
        return [found[parent.elts.index(binding)] for found in items]  # type: ignore[arg-type]

    def _returned(self, call: ast.Call, item: int | None) -> frozenset[Variable]:
        """The variables that hold what a function of the module returns, or an item of the tuple that it returns."""
        function = self.called(call)
        if function is None or function in self._open:
            return frozenset()
        ends = returned_values(self.module, function)
        if item is not None:
            tuples = [end for end in ends if isinstance(end, ast.Tuple) and len(end.elts) > item]
            ends = [end.elts[item] for end in tuples] if len(tuples) == len(ends) else []
        self._open.add(function)
        found = [self.of(end) for end in ends]
        self._open.remove(function)
        homes = frozenset().union(*found) if found and all(found) else frozenset()
        makes_it = any(home.scope.node is function for home in homes)  # new with each call
        return frozenset() if makes_it else homes

    def of_variable(self, variable: Variable) -> frozenset[Variable]:
        """The variables that hold what a variable holds; see `of`."""
        return self._homes(variable)

    def bare(self, node: ast.AST) -> ast.AST:
        """A model or tensor less what moves or wraps it: `Net()` of `DDP(Net().to(device))`."""
        while True:
            if isinstance(node, ast.Call) and self.module.qualified(node.func) in WRAPPERS and node.args:
                node = node.args[0]
            elif is_method_call(node, *SAME):
                node = node.func.value
            elif isinstance(node, ast.Attribute) and node.attr == "module":
                node = node.value
            else:
                return node

    def leads_to(self, caller: ast.FunctionDef, function: ast.FunctionDef) -> bool:
        """Whether a function calls another one, perhaps through others."""
        seen: set[ast.AST] = set()
        waiting: list[ast.AST] = [caller]
        while waiting:
            for part in ast.walk(waiting.pop()):
                called = self.called(part) if isinstance(part, ast.Call) else None
                if called is function:
                    return True
                if called is not None and called not in seen:
                    seen.add(called)
                    waiting.append(called)
        return False

    def bindings(self, variable: Variable) -> list[ast.AST]:
        """The nodes that bind a variable, without those that delete its name."""
        nodes = (binding.node for binding in variable.scope.bindings.get(variable.name, ()))
        return [node for node in nodes if not isinstance(getattr(node, "ctx", None), ast.Del)]

    def reads(self, variable: Variable) -> list[ast.Name]:
        """Every read of a variable."""
        return self.module.uses(variable.name, variable.scope)

    def _homes(self, variable: Variable) -> frozenset[Variable]:
        if variable not in self._known:
            self._known[variable] = frozenset({variable})  # for one that leads back to itself
            self._known[variable] = self._look_up(variable)
        return self._known[variable]

    def _look_up(self, variable: Variable) -> frozenset[Variable]:
        bindings = self.bindings(variable)
        parameter = next((node for node in bindings if isinstance(node, ast.arg)), None)
        if parameter is not None and not self._is_text(parameter):
            given = list(self.given(parameter))
            homes = frozenset(home for value in given for home in self.of(value))
            return homes or self._attribute_of(variable) or frozenset({variable})
        values = [self.module.assigned(node) for node in bindings]
        others = {home for node in bindings for home in self.kept_in(node)} - {variable}
        values = [v for v, node in zip(values, bindings, strict=True) if v is not None or not self._items_given(node)]
        made = [v for v in values if v is None or (not self.of(v) and not isinstance(v, ast.Name))]
        if others and not made:  # another name of the same thing
            return frozenset(others)
        return frozenset({variable})

    def _attribute_of(self, parameter: Variable) -> frozenset[Variable]:
        """The attribute that keeps what an object is given: `Solver(Net())` with `self.model = model.to(device)`."""
        statements = [self.module.statement(read) for read in self.reads(parameter)]
        kept = [
            self.spelled(target)
            for statement in statements
            if is_assignment(statement)
            and (target := only_target(statement)) is not None
            and self.spelled(self.bare(statement.value)) == parameter
        ]
        return frozenset(found for found in kept if found is not None and found.name.startswith(OWN))

    def given(self, parameter: ast.arg) -> Iterator[ast.expr]:
        """What the calls in the module give for a parameter."""
        function = self.module.parent_of[self.module.parent_of[parameter]]
        for call in self.module.calls_of(function):
            if (value := self.argument_for(call, function, parameter.arg)) is not None:
                yield value

    def given_by_all(self, parameter: ast.arg) -> list[ast.expr]:
        """What the calls in the module give for a parameter; nothing where one leaves it out, or may not be seen."""
        function = self.module.parent_of[self.module.parent_of[parameter]]
        given = list(self.given(parameter))
        return given if len(given) == len(self.module.uses_of(function)) else []

    def loops_around(self, node: ast.AST, seen: frozenset[ast.AST] = frozenset()) -> Iterator[ast.AST]:
        """The loops around code, and around the calls of the function that it is in, from the inside.

        Args:
            node: The code.
            seen: The functions whose calls were followed.
        """
        yield from (parent for parent in self.module.ancestors(node) if isinstance(parent, LOOPS))
        function = self.module.function(node)
        if function is not None and function not in seen:
            for call in self.module.calls_of(function):
                yield from self.loops_around(call, seen | {function})

    def argument_for(self, call: ast.Call, function: ast.AST, name: str) -> ast.expr | None:
        """What a call of a function gives for one of its parameters; None where it gives nothing that is seen."""
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        positional = [parameter.arg for parameter in by_position(function)]
        position = positional.index(name) if name in positional else len(call.args)
        return argument(call, position, name)

    def called(self, call: ast.Call) -> ast.FunctionDef | None:
        """The function of the module that a call runs."""
        found = self.module.definition(call.func)
        return found if isinstance(found, ast.FunctionDef) else None

    def makers(self, variable: Variable) -> list[ast.expr]:
        """The expressions that make what a variable holds, in this file and in others of the project.

        `None` that only keeps a place is none of them, and nor is a text by which a function chooses what it makes.
        """
        found: dict[ast.expr, None] = {}
        values = [value for node in self.bindings(variable) if (value := self.module.assigned(node)) is not None]
        values += [value for node in self.bindings(variable) for value in self._items_given(node)]
        for value in values:
            found.update(dict.fromkeys(self._origins(value)))
        if not found and (reads := self.reads(variable)):
            found.update(dict.fromkeys(self._origins(reads[0])))
        texts = {node for value in values for node in self._texts_for(value)}
        made = [n for n in found if n not in texts and not is_none(n)]
        return made or list(found)

    def _texts_for(self, value: ast.expr) -> Iterator[ast.expr]:
        """The texts by which a function of the module chooses what it makes, in the name of its parameter for them."""
        call = self.bare(value)
        function = self.called(call) if isinstance(call, ast.Call) else None
        if function is None:
            return
        assert isinstance(call, ast.Call)
        for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
            if self._is_text(parameter):
                given = self.argument_for(call, function, parameter.arg)
                yield from function.args.defaults
                yield from (source.node for source in self.module.origins(given)) if given is not None else ()

    def _is_text(self, parameter: ast.arg) -> bool:
        """Whether a parameter says by a text what its name gets then: `if optimizer == "sgd": optimizer = SGD(...)`."""
        function = self.module.parent_of[self.module.parent_of[parameter]]
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        own = Variable(self.module.scope(function), parameter.arg)
        if len(self.bindings(own)) < 2:
            return False
        tests: list[ast.AST] = []
        for read in self.reads(own):
            test = self.module.parent_of[read]
            while isinstance(test, (ast.Attribute, ast.Call)):  # optimizer.lower()
                test = self.module.parent_of[test]
            tests.append(test)
        parts = [part for test in tests if isinstance(test, ast.Compare) for part in ast.walk(test)]
        parts += [case.pattern for test in tests if isinstance(test, ast.Match) for case in test.cases]
        parts = [part.value if isinstance(part, ast.MatchValue) else part for part in parts]
        return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)

    def _origins(self, value: ast.expr) -> Iterable[ast.expr]:
        bare = self.bare(value)
        assert isinstance(bare, ast.expr)
        for source in self.module.origins(bare):
            if source.module is not self.module:
                self._elsewhere[source.node] = source.module
            inner = self.bare(source.node) if source.module is self.module else source.node
            assert isinstance(inner, ast.expr)
            if inner is not source.node:
                yield from (other.node for other in self.module.origins(inner))
            else:
                yield from self._given_in_place(source.node) or [source.node]

    def _given_in_place(self, node: ast.expr) -> list[ast.expr]:
        """What calls in the module make for a parameter on the spot: `Solver(DataLoader(rows))`."""
        parameter = (
            self.module.definition(node) if isinstance(node, ast.Name) and node in self.module.scope_of else None
        )
        given = list(self.given(parameter)) if isinstance(parameter, ast.arg) else []
        return given if given and all(isinstance(value, ast.Call) for value in given) else []
