"""Where the Accelerator is made, and how the functions that need it get it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.cleanup import Cleanup
from raymigrate.codemods.to_accelerate.devices import DEVICE, Devices
from raymigrate.codemods.to_accelerate.home import Block, Home, is_main_guard, position
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
        owner: The function, or the module, in which the Accelerator is made.
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
        self.owner, self.block = self._find_block()
        self.place = 0
        if NAME in self.module.names:
            raise Refusal(home.block[home.setup], f"the name `{NAME}` is used for something else")

    # -- where it is made ----------------------------------------------------------------------

    def settle(self, changes: Changes, after: list[ast.Call]) -> None:
        """Finds where the Accelerator is made, and lets the functions have it that need it.

        Args:
            changes: The edits.
            after: Code before which it has to be made, where both stand in the same block.
        """
        self._hand_on(changes)
        Cleanup(self.training, changes).clean()  # of the device that no function is given any more
        self.place = self._first(changes, after)

    def _things(self) -> list[Variable]:
        """What needs the Accelerator, or what it has to come before."""
        loaders = [v for loop in self.training.loops for loader, _ in loop.loaders for v in self.variables.of(loader)]
        return [*self.training.models, *self.training.optimizers, *self.devices.held, *loaders]

    def _find_block(self) -> tuple[ast.AST, Block]:
        """The outermost function in which something is made that is trained or moved, or the module."""
        owners = {thing.scope.node for thing in self._things()}
        modules = [owner for owner in owners if isinstance(owner, ast.Module)]
        if not modules:
            functions = [owner for owner in owners if isinstance(owner, ast.FunctionDef)]
            outer = [f for f in functions if not any(self._calls(g, f) for g in functions if g is not f)]
            if len(outer) != 1 or len(functions) != len(owners):
                made = self.home.block[self.home.setup]
                raise Refusal(made, "what it trains is made in several functions, none of which calls the others")
            return outer[0], outer[0].body
        bound = [node for t in self._things() if t.scope.node is modules[0] for node in self.variables.bindings(t)]
        blocks = []
        for node in bound:
            guarded = [p for p in self.module.ancestors(node) if is_main_guard(p)]
            blocks.append(guarded[-1].body if guarded and isinstance(guarded[-1], ast.If) else self.module.tree.body)
        return modules[0], next((b for b in blocks if b is self.module.tree.body), blocks[0])

    def _calls(self, caller: ast.FunctionDef, function: ast.FunctionDef) -> bool:
        """Whether a function calls another one, perhaps through others."""
        seen: set[ast.AST] = set()
        waiting: list[ast.AST] = [caller]
        while waiting:
            for part in ast.walk(waiting.pop()):
                called = self.variables.called(part) if isinstance(part, ast.Call) else None
                if called is function:
                    return True
                if called is not None and called not in seen:
                    seen.add(called)
                    waiting.append(called)
        return False

    @property
    def is_global(self) -> bool:
        """Whether every function of the module sees the Accelerator."""
        return self.block is self.module.tree.body

    def _first(self, changes: Changes, after: list[ast.Call]) -> int:
        """The position of the first statement that needs the Accelerator, or begins to make what is prepared."""
        nodes: list[ast.AST] = [
            node
            for thing in self._things()
            if thing.scope.node is self.owner
            for node in self.variables.bindings(thing)
        ]
        nodes += [site for site in changes.sites if not changes.is_gone(site) or site in changes.expressions]
        nodes += [*after, *(statement for statement in changes.dropped if isinstance(statement, ast.Expr))]
        nodes += [call for function in self.given for call in self.variables.calls_of(function)]
        places = [
            place
            for node in nodes
            if self._runs_here(node)
            and (place := position(self.module, self.block, node)) is not None
            and not isinstance(self.block[place], (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))
        ]
        return min(places, default=0)

    def _runs_here(self, node: ast.AST) -> bool:
        """Whether code runs as part of the function, or the module, in which the Accelerator is made."""
        inner = (p for p in self.module.ancestors(node) if isinstance(p, (*FUNCTIONS, ast.ClassDef)))
        return next(inner, self.module.tree) is self.owner and not isinstance(node, FUNCTIONS)

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
            in_reach = isinstance(home.scope.node, ast.Module) or home.scope.node is self.owner
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
        if self.owner in functions or not functions:
            return None
        if any(isinstance(parent, ast.ClassDef) for parent in self.module.ancestors(node)):
            raise Refusal(node, "it is spread over the methods of a class, which are not followed")
        outermost = functions[-1]
        if not isinstance(outermost, ast.FunctionDef):
            if self.is_global:
                return None
            raise Refusal(node, "the Accelerator cannot be given to it")
        if outermost in self.given or (self.is_global and not self._gets_things(outermost)):
            return None
        return outermost

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
                self._add_argument(changes, call, in_order=added == NAME)
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

    def _add_argument(self, changes: Changes, call: ast.Call, *, in_order: bool) -> None:
        if not in_order or call.keywords or call.lineno != call.end_lineno:
            changes.argument(call, NAME, NAME)
            return
        parts = {f"argument_{number}": value for number, value in enumerate(call.args)}
        given = ", ".join([*(f"${name}" for name in parts), NAME])
        changes.replace(call, f"$function({given})", function=call.func, **parts)

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
        """Whether code runs after the models were prepared, and sees them so."""
        return self._is_later(node, frozenset())

    def _is_later(self, node: ast.AST, seen: frozenset[ast.AST]) -> bool:
        block, function = self.home.block, self.module.function(node)
        home = self.home.scope.node
        if function is (home if isinstance(home, FUNCTIONS) else None):
            place = position(self.module, block, node)
            if place is not None:
                return place > self.home.setup
            return self.module.start(node) > self.module.start(block[self.home.setup])
        if not isinstance(function, ast.FunctionDef) or function in seen:
            return False
        return any(self._is_later(call, seen | {function}) for call in self.variables.calls_of(function))

    def reaches(self, node: ast.AST) -> bool:
        """Whether the Accelerator is there when code runs, without being handed on for that alone."""
        functions = [parent for parent in self.module.ancestors(node) if isinstance(parent, ast.FunctionDef)]
        if functions and self.owner not in functions:
            return functions[-1] in self.given
        place = position(self.module, self.block, node)
        if place is not None:
            return place >= self.place
        return self.module.start(node) > self.module.start(self.block[self.place])
