"""Where the Accelerator is made, and how the functions that need it get it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.cleanup import Cleanup
from raymigrate.codemods.to_accelerate.devices import DEVICE, Devices
from raymigrate.codemods.to_accelerate.home import Block, Home, blocks_around, position
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.facts.scopes import FUNCTIONS

NAME = "accelerator"
HARMLESS_DECORATORS = ("torch.no_grad", "torch.inference_mode", "torch.enable_grad")


class Access:
    """The Accelerator of a training.

    Args:
        training: What is trained.
        home: Where it is made.
        devices: Its devices.
        scaled: The functions that are given a GradScaler, each with its name for it.

    Attributes:
        block: The block in which the Accelerator is made.
        place: The position there of the statement before which that is.
    """

    def __init__(self, training: Training, home: Home, devices: Devices, scaled: dict[ast.FunctionDef, str]) -> None:
        self.training = training
        self.module = training.module
        self.variables = training.variables
        self.home = home
        self.devices = devices
        self.scaled = scaled
        self.given: dict[ast.FunctionDef, str] = {}  # functions that get it, and the parameter whose place it takes
        self.block: Block = home.top
        self.place = 0
        if NAME in self.module.names:
            raise Refusal(home.block[home.setup], f"the name `{NAME}` is used for something else")

    # -- where it is made ----------------------------------------------------------------------

    def settle(self, changes: Changes) -> None:
        """Finds where the Accelerator is made, and lets the functions have it that need it."""
        device = self._global_device()
        if device is not None:
            self.block, self.place = self.module.tree.body, self.module.tree.body.index(device)
        self._hand_on(changes)
        Cleanup(self.training, changes).clean()  # of the device that no function is given any more
        if device is None:
            self.place = self._first(changes)

    def _global_device(self) -> ast.stmt | None:
        """The statement that gives the device of all functions its name."""
        for variable in self.devices.held:
            if not isinstance(variable.scope.node, ast.Module):
                continue
            statement = self.module.statement(self.variables.bindings(variable)[0])
            if statement in self.module.tree.body and self.home.top is not self.module.tree.body:
                return statement
        return None

    @property
    def is_global(self) -> bool:
        """Whether every function of the module sees the Accelerator."""
        return self.block is self.module.tree.body

    def _first(self, changes: Changes) -> int:
        """The position of the first statement that needs the Accelerator, or begins to make what is prepared."""
        made = [*self.training.models, *self.training.optimizers, *self.devices.held]
        made += [v for loop in self.training.loops for loader, _ in loop.loaders for v in self.variables.of(loader)]
        nodes: list[ast.AST] = [node for v in made for node in self.variables.bindings(v) if v.scope is self.home.scope]
        nodes += [site for site in changes.sites if not changes.is_gone(site) or site in changes.expressions]
        nodes += [statement for statement in changes.dropped if isinstance(statement, ast.Expr)]
        nodes += [call for function in self.given for call in self.variables.calls_of(function)]
        places = [
            place
            for node in nodes
            if self._runs_here(node)
            and (place := position(self.module, self.block, node)) is not None
            and not isinstance(self.block[place], (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))
        ]
        return min(places, default=self.home.setup)

    def _runs_here(self, node: ast.AST) -> bool:
        return not any(
            isinstance(parent, (*FUNCTIONS, ast.ClassDef)) and not self._is_around_home(parent)
            for parent in self.module.ancestors(node)
        ) and not isinstance(node, FUNCTIONS)

    def _is_around_home(self, node: ast.AST) -> bool:
        return self.module.inside(self.home.block[0], node)

    def check_names(self, expressions: Iterable[ast.expr]) -> None:
        """Checks that what the arguments of the Accelerator are made of has its value where that is made.

        Raises:
            Refusal: If it has none.
        """
        for part in (part for expression in expressions for part in ast.walk(expression)):
            if not isinstance(part, ast.Name):
                continue
            homes = self.variables.of(part)
            home = next(iter(homes), None)
            if home is None:
                continue
            in_reach = isinstance(home.scope.node, ast.Module) or home.scope is self.home.scope
            if len(homes) > 1 or home.name != part.id or not in_reach or self._is_late(home):
                raise Refusal(part, f"`{part.id}` has no value yet where the Accelerator is made")

    def _is_late(self, variable: Variable) -> bool:
        for node in self.variables.bindings(variable):
            place = position(self.module, self.block, node)
            is_import = place is not None and isinstance(self.block[place], (ast.Import, ast.ImportFrom))
            if place is not None and place >= self.place and not is_import:
                return True
        return False

    # -- who gets it ---------------------------------------------------------------------------

    def _sees(self, node: ast.AST) -> ast.FunctionDef | None:
        """The function that has to be given the Accelerator for code in it; None where it is seen."""
        functions = [p for p in self.module.ancestors(node) if isinstance(p, FUNCTIONS)]
        if any(self._is_around_home(function) for function in functions):
            return None
        if any(isinstance(parent, ast.ClassDef) for parent in self.module.ancestors(node)):
            raise Refusal(node, "it is spread over the methods of a class, which are not followed")
        outermost = functions[-1] if functions else None
        if outermost is None:
            if self._top_level(node):
                return None
            raise Refusal(node, "this runs outside of the function that trains")
        if not isinstance(outermost, ast.FunctionDef):
            if self.is_global:
                return None
            raise Refusal(node, "the Accelerator cannot be given to it")
        if outermost in self.given:
            return None
        if self.is_global and not self._gets_things(outermost):
            return None
        return outermost

    def _top_level(self, node: ast.AST) -> bool:
        return (
            self.home.top is self.module.tree.body
            or any(block is self.home.top for block, _ in blocks_around(self.module, node))
            or self.is_global
        )

    def _gets_things(self, function: ast.FunctionDef) -> bool:
        """Whether a function is given what is trained, and not left to find it in the module."""
        things = {*self.training.models, *self.training.optimizers}
        scope = self.module.scope(function)
        return any(self.variables.of_variable(Variable(scope, p.arg)) & things for p in function.args.args)

    def _hand_on(self, changes: Changes) -> None:
        done = 0
        while done < len(changes.sites):
            node = changes.sites[done]
            done += 1
            if changes.is_gone(node) and node not in changes.expressions:
                continue
            if any(parent in changes.dropped for parent in (node, *self.module.ancestors(node))):
                continue
            function = self._sees(node)
            if function is not None:
                self._give(changes, function)

    def _give(self, changes: Changes, function: ast.FunctionDef) -> None:
        calls = self._all_calls(changes, function)
        parameter = self.scaled.get(function) or self._device_parameter(function, calls)
        self.given[function] = parameter
        if not parameter:
            has_defaults = bool(function.args.defaults or function.args.vararg or function.args.kwarg)
            added = f"*, {NAME}" if has_defaults and not function.args.kwonlyargs else NAME
            changes.edits.append(lambda: self._add_parameter(changes, function, added))
            for call in calls:
                changes.argument(call, NAME, NAME)
            return
        changes.edits.append(lambda: changes.context.plan.function(function).renamed.update({parameter: NAME}))
        for read in self.variables.reads(Variable(self.module.scope(function), parameter)):
            if not changes.is_gone(read) and function not in self.scaled:
                changes.replace(read, DEVICE)
        for call in calls:
            value = self.variables.argument_for(call, function, parameter)
            assert value is not None
            changes.replace(value, NAME)
            if any(keyword.arg == parameter for keyword in call.keywords):
                self._rename(changes, call, parameter)

    def _add_parameter(self, changes: Changes, function: ast.FunctionDef, added: str) -> None:
        changes.context.plan.function(function).added_parameter = added

    def _rename(self, changes: Changes, call: ast.Call, parameter: str) -> None:
        changes.edits.append(lambda: changes.context.plan.call(call).rename.update({parameter: NAME}))

    def _device_parameter(self, function: ast.FunctionDef, calls: list[ast.Call]) -> str:
        """The parameter of a function that gets the device; "" where there is none."""
        for parameter in [*function.args.args, *function.args.kwonlyargs]:
            values = [self.variables.argument_for(call, function, parameter.arg) for call in calls]
            named = [value for value in values if isinstance(value, (ast.Name, ast.Attribute))]
            if values and len(named) == len(values) and all(map(self.devices.is_device, named)):
                return parameter.arg
        return ""

    def _all_calls(self, changes: Changes, function: ast.FunctionDef) -> list[ast.Call]:
        calls = self.variables.calls_of(function)
        decorators = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
        if any(self.module.qualified(decorator) not in HARMLESS_DECORATORS for decorator in decorators):
            raise Refusal(function, f"{function.name}() has a decorator, which may call it in another way")
        if len(calls) != len(self.variables.uses_of(function)) or not calls:
            raise Refusal(function, f"not every call of {function.name}(), which needs the Accelerator, can be seen")
        if any(isinstance(given, ast.Starred) for call in calls for given in call.args) or any(
            keyword.arg is None for call in calls for keyword in call.keywords
        ):
            raise Refusal(calls[0], f"what {function.name}() is given cannot be seen")
        project = self.module.project
        if project is not None and changes.context.path and self._is_used_elsewhere(function):
            raise Refusal(function, f"{function.name}() needs the Accelerator, and another file uses it too")
        return calls

    def _is_used_elsewhere(self, function: ast.FunctionDef) -> bool:
        from raymigrate.facts.project import Definition  # noqa: PLC0415 - only in projects
        from raymigrate.facts.project_uses import uses_of  # noqa: PLC0415

        project = self.module.project
        assert project is not None
        found = uses_of(project, Definition(self.module, function, function.name))
        return any(user is not self.module for user, _ in found.reads)

    # -- what runs when ------------------------------------------------------------------------

    def holds(self, node: ast.AST) -> bool:
        """Whether code runs after the models were prepared."""
        block = self.home.block
        place = position(self.module, block, node)
        if place is not None:
            return place > self.home.setup
        if self._runs_here(node):
            return self.module.start(node) > self.module.start(block[self.home.setup])
        return self._is_called_later(node, frozenset())

    def _is_called_later(self, node: ast.AST, seen: frozenset[ast.AST]) -> bool:
        function = self.module.function(node)
        if not isinstance(function, ast.FunctionDef) or function in seen:
            return False
        calls = self.variables.calls_of(function)
        return any(
            self.holds(call) if self._runs_here(call) else self._is_called_later(call, seen | {function})
            for call in calls
        )

    def reaches(self, node: ast.AST) -> bool:
        """Whether the Accelerator is there when code runs, without being handed on for that alone."""
        functions = [parent for parent in self.module.ancestors(node) if isinstance(parent, ast.FunctionDef)]
        if functions and not self._is_around_home(functions[-1]):
            return functions[-1] in self.given
        place = position(self.module, self.block, node)
        if place is not None:
            return place >= self.place
        return (
            self.is_global
            and self._runs_here(node)
            and self.module.start(node) > self.module.start(self.block[self.place])
        )
