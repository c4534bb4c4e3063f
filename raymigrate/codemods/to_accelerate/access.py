"""Where the Accelerator is made, and how the functions that need it get it."""

import ast
from collections.abc import Collection
from textwrap import shorten

from raymigrate.codemods.to_accelerate.changes import NAME, Changes
from raymigrate.codemods.to_accelerate.cleanup import Cleanup
from raymigrate.codemods.to_accelerate.device_texts import is_name_of_device, take_name
from raymigrate.codemods.to_accelerate.devices import Devices
from raymigrate.codemods.to_accelerate.gpu_tests import GpuTests
from raymigrate.codemods.to_accelerate.home import Block, Home, is_main_guard, position
from raymigrate.codemods.to_accelerate.lowered import is_read_above, lines_of_devices
from raymigrate.codemods.to_accelerate.objects import OWN, is_attribute
from raymigrate.codemods.to_accelerate.order import Order
from raymigrate.codemods.to_accelerate.own_imports import CLASS, is_annotated
from raymigrate.codemods.to_accelerate.process_numbers import number_given, replace_use
from raymigrate.codemods.to_accelerate.rules import Refusal
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.stores import stores_of
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.callers import reads_elsewhere
from raymigrate.facts.syntax.annotations import in_annotation
from raymigrate.facts.syntax.functions import decorators_of
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import has_unpacking, is_method_call

HARMLESS_DECORATORS = ("torch.no_grad", "torch.inference_mode", "torch.enable_grad")


class Access(Side):
    """The Accelerator of a training.

    Args:
        training: What is trained.
        home: Where it is made.
        devices: Its devices.
        scaled: The functions that are given a GradScaler, each with its name for it.

    Attributes:
        order: What runs before, while and after it trains.
        owner: The function, or the module, in which the Accelerator is made.
        block: The block in which the Accelerator is made.
        place: The position there of the statement before which that is.
        lowered: The lines of devices that go below it, each with its name.
    """

    def __init__(self, training: Training, home: Home, devices: Devices, scaled: dict[ast.FunctionDef, str]) -> None:
        super().__init__(training)
        self.home = home
        self.devices = devices
        self.scaled = scaled
        self.order = Order(training, home)
        self.view = self.order.view
        self.given: dict[ast.FunctionDef, str] = {}  # functions that get it, and the parameter whose place it takes
        self.gpu_tests = GpuTests(self.module, devices)
        self.owner, self.block = self._find_block()
        self.place = 0
        self.lowered: dict[ast.stmt, Variable] = {}
        if {NAME, f"{OWN}{NAME}"} & self.module.names:
            raise Refusal(home.block[home.setup], f"the name `{NAME}` is used for something else")

    # -- where it is made ----------------------------------------------------------------------

    def settle(self, changes: Changes, after: list[ast.Call], given: list[ast.expr | None]) -> None:
        """Finds where the Accelerator is made, and lets the functions have it that need it.

        Args:
            changes: The edits.
            after: Code before which it has to be made, where both stand in the same block.
            given: What it is made with; where that has no value yet, the line of a device that goes does not matter.
        """
        self._hand_on(changes)
        Cleanup(self.training, changes).clean()  # of the device that no function is given any more
        first = self.place = self._first(changes, after)
        late = [each for each in given if each is not None and self._lacks(each)]
        if late:
            self.place = self._first(changes, after, but=changes.dropped)
        if any(map(self._lacks, late)) and not self._lower_lines(changes, after, late, first):
            self.place = first

    def _lower_lines(self, changes: Changes, after: list[ast.Call], late: list[ast.expr], first: int) -> bool:
        """Whether the Accelerator can be made below what it is made with, and the lines of devices below that."""
        self.lowered = lines = lines_of_devices(self.devices, changes, self.block)
        for place in range(first + 1, self._first(changes, after, but={*changes.dropped, *lines}) + 1):
            self.place = place
            if any(map(self._lacks, late)) or any(map(self._changes_later, late)):
                continue
            above = {line: device for line, device in lines.items() if self.block.index(line) < self.place}
            read = (is_read_above(self.devices, changes, v, self.block, self.place) for v in above.values())
            self.lowered = {} if any(read) else above
            return bool(self.lowered)
        self.lowered = {}
        return False

    def _things(self) -> list[Variable]:
        """What needs the Accelerator, or what it has to come before."""
        loaders = [v for loop in self.training.loops for loader, _ in loop.loaders for v in self.variables.of(loader)]
        return [*self.training.models, *self.training.optimizers, *self.devices.held, *loaders]

    def _find_block(self) -> tuple[ast.AST, Block]:
        """The outermost function in which something is made that is trained or moved, or the module."""
        owners = {thing.scope.node for thing in self._things() if not self._is_of_object(thing)}
        if not owners:
            return self._in_constructor()
        modules = [owner for owner in owners if isinstance(owner, ast.Module)]
        if not modules:
            functions = [owner for owner in owners if isinstance(owner, ast.FunctionDef)]
            outer = [f for f in functions if not any(self.variables.leads_to(g, f) for g in functions if g is not f)]
            if len(outer) != 1 or len(functions) != len(owners):
                made = self.home.block[self.home.setup]
                raise Refusal(made, "what it trains is made in several functions, none of which calls the others")
            return outer[0], outer[0].body
        outside = [t for t in self._things() if t.scope.node is modules[0] and not self._is_of_object(t)]
        bound = [node for thing in outside for node in self.variables.bindings(thing)]
        blocks = []
        for node in bound:
            guarded = [p for p in self.module.ancestors(node) if is_main_guard(p)]
            blocks.append(guarded[-1].body if guarded and isinstance(guarded[-1], ast.If) else self.module.tree.body)
        return modules[0], next((b for b in blocks if b is self.module.tree.body), blocks[0])

    def _is_of_object(self, thing: Variable) -> bool:
        """Whether something is an attribute of the object that trains, or a variable of its methods."""
        return is_attribute(thing.name) or (self.view is not None and self.home.is_in_class(thing.scope.node))

    def _in_constructor(self) -> tuple[ast.AST, Block]:
        assert self.view is not None
        constructor = self.view.constructor
        if constructor is None:
            raise Refusal(self.view.owner, f"`{self.view.owner.name}`, a class that trains, has no __init__()")
        return constructor, constructor.body

    def name_at(self, node: ast.AST) -> str:
        """The name of the Accelerator in the code around a node."""
        if self.home.is_in_class(node):
            return f"{OWN}{NAME}"
        if self.view is not None and self.owner is self.view.constructor:
            if not self.view.instance:
                raise Refusal(node, f"this needs the Accelerator of a `{self.view.owner.name}` that has no name here")
            if self.order.is_beside_instance(node):
                return f"{self.view.instance}.{NAME}"
        return NAME

    @property
    def is_global(self) -> bool:
        """Whether every function of the module sees the Accelerator."""
        return self.block is self.module.tree.body

    def _first(self, changes: Changes, after: list[ast.Call], but: Collection[ast.AST] = ()) -> int:
        """The position of the first statement that needs the Accelerator, or begins to make what is prepared."""
        nodes: list[ast.AST] = [
            node
            for thing in self._things()
            if thing.scope.node is self.owner or is_attribute(thing.name)
            for node in self.variables.bindings(thing)
        ]
        nodes += [site for site in changes.sites if not changes.leaves_nothing(site)]
        nodes += [*after, *(s for s in changes.dropped if isinstance(s, ast.Expr) and not _is_option(s))]
        nodes += [call for function in self.given for call in self.module.calls_of(function)]
        if self.is_global or (self.view is not None and self.owner is self.view.constructor):
            nodes += [call for node in nodes for call in self.order.calls_to(node, self.owner)]
        places = [
            place
            for node in nodes
            if self._runs_here(node)
            and self.module.statement(node) not in but
            and (place := position(self.module, self.block, node)) is not None
            and not isinstance(self.block[place], (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))
        ]
        return min(places, default=0)

    def _runs_here(self, node: ast.AST) -> bool:
        """Whether code runs as part of the function, or the module, in which the Accelerator is made."""
        inner = (p for p in self.module.ancestors(node) if isinstance(p, (*FUNCTIONS, ast.ClassDef)))
        return next(inner, self.module.tree) is self.owner and not isinstance(node, FUNCTIONS)

    def argument(self, expression: ast.expr) -> str:
        """The code for an argument of the Accelerator, where that is made.

        Raises:
            Refusal: If something that it is made of has no value there.
        """
        late = [name for name in self.gpu_tests.names(expression) if not self._has_value(name)]
        given = self._given_here(expression) if late else expression
        if given is None:
            made = shorten(ast.unparse(self.block[min(self.place, len(self.block) - 1)]), 60, placeholder="...")
            raise Refusal(late[0], f"`{late[0].id}` has no value yet where the Accelerator is made, at `{made}`")
        if (later := self._changes_later(given)) is not None:
            read, store = later
            reason = "gets another value here, after the place where the Accelerator is made with it; set it before"
            raise Refusal(store, f"`{ast.unparse(read)}` {reason}")
        return self.gpu_tests.source(given)

    def _changes_later(self, given: ast.expr) -> tuple[ast.expr, ast.AST] | None:
        """What the Accelerator is made with and gets another value later, with where it does."""
        found = stores_of(self.variables, given)
        return next(((read, store) for read, store in found if self._runs_later(store)), None)

    def _lacks(self, expression: ast.expr) -> bool:
        """Whether something that the Accelerator is made with has no value where it is made."""
        is_late = not all(map(self._has_value, self.gpu_tests.names(expression)))
        return is_late and self._given_here(expression) is None

    def _runs_later(self, node: ast.AST) -> bool:
        """Whether code may run after the Accelerator is made: directly, or in a function that is called there."""
        nodes = [part for part in (node, *self.order.calls_to(node, self.owner)) if self._runs_here(part)]
        places = [place for part in nodes if (place := self.home.place(self.block, part)) is not None]
        return not places or max(places) >= self.place

    def _given_here(self, expression: ast.expr) -> ast.expr | None:
        """What a name stands for, in terms of what has its value where the Accelerator is made."""
        variable = self.variables.spelled(expression)
        for _ in range(4):
            if variable is None or len(bindings := self.variables.bindings(variable)) != 1:
                return None
            if isinstance(bindings[0], ast.arg):
                given = {ast.unparse(value): value for value in self.variables.given_by_all(bindings[0])}
                value = next(iter(given.values())) if len(given) == 1 else None
            else:
                value = self.module.assigned(bindings[0])
            if value is None:
                return None
            if self._stands_in_owner(value) and all(map(self._has_value, self.gpu_tests.names(value))):
                return value
            variable = self.variables.spelled(value)
        return None

    def _stands_in_owner(self, value: ast.expr) -> bool:
        function = self.module.function(value)
        return function is (self.owner if isinstance(self.owner, ast.FunctionDef) else None)

    def _has_value(self, name: ast.Name) -> bool:
        """Whether a name has its value where the Accelerator is made, and the same one."""
        homes = self.variables.of(name)
        home = next(iter(homes), None)
        own = self.variables.spelled(name)
        if home is None or own is None:
            return True
        bound = self.variables.bindings(own)
        if own.scope.node is self.owner and [isinstance(node, ast.arg) for node in bound] == [True]:
            return True
        in_reach = isinstance(home.scope.node, ast.Module) or home.scope.node is self.owner
        if is_attribute(home.name) and not self.home.is_in_class(self.block[0]):
            return False
        return len(homes) == 1 and home.name == name.id and in_reach and not self._is_late(home)

    def _is_late(self, variable: Variable) -> bool:
        for node in self.variables.bindings(variable):
            place = self.home.place(self.block, node)
            if self.module.statement(node) in self.lowered or (place is None and is_attribute(variable.name)):
                return True
            is_import = place is not None and isinstance(self.block[place], (ast.Import, ast.ImportFrom))
            if place is not None and place >= self.place and not is_import:
                return True
        return False

    # -- who gets it ---------------------------------------------------------------------------

    def _sees(self, node: ast.AST) -> ast.FunctionDef | None:
        """The function that has to be given the Accelerator for code in it; None where it is seen."""
        functions = [p for p in self.module.ancestors(node) if isinstance(p, FUNCTIONS)]
        if self.view is not None and self.home.is_in_class(node):
            constructor = self._in_constructor()[0]
            assert isinstance(constructor, ast.FunctionDef)
            return None if self.owner is constructor or constructor in self.given else constructor
        if self.view is not None and self.owner is self.view.constructor and self.order.is_beside_instance(node):
            if self.order.comes_first(node):
                made = f"`{self.view.owner.name}`, whose object makes it,"
                raise Refusal(node, f"this needs the Accelerator before {made} is called")
            return None
        if not functions:
            if isinstance(self.owner, ast.FunctionDef) and self.view is None:
                where = f"{self.owner.name}(), where the Accelerator is made"
                raise Refusal(node, f"this needs the Accelerator too, outside of {where}")
            return None
        if self.owner in functions:
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
            if changes.leaves_nothing(node):
                continue
            if any(parent in changes.dropped for parent in (node, *self.module.ancestors(node))):
                continue
            function = self._sees(node)
            if function is not None:
                self._give(changes, function)

    def _give(self, changes: Changes, function: ast.FunctionDef) -> None:
        calls = self._all_calls(changes, function)
        parameter = self.scaled.get(function) or self.devices.parameter_of(function, calls)
        self.given[function] = parameter
        if self.view is not None and function is self.view.constructor:
            start = Code(f"{OWN}{NAME} = {NAME}")
            changes.edits.append(lambda: changes.context.plan.function(function).body_start.append(start))
        if not parameter:
            given = function.args
            has_defaults = bool(given.defaults or given.vararg or given.kwonlyargs or given.kwarg)
            named = f"{NAME}: {CLASS}" if is_annotated(self.module, function, self.owner) else NAME
            added = f"*, {named}" if has_defaults else named
            changes.edits.append(lambda: self._add_parameter(changes, function, added))
            for call in calls:
                self._add_argument(changes, call, in_order=not has_defaults)
            return
        changes.edits.append(lambda: self._rename_parameter(changes, function, parameter))
        values = {call: self.variables.argument_for(call, function, parameter) for call in calls}
        number = number_given(self.variables, self.devices.numbers, filter(None, values.values()))
        for read in self.variables.reads(Variable(self.module.scope(function), parameter)):
            if not changes.is_gone(read) and function not in self.scaled:
                is_name = number is None and is_name_of_device(changes, self.devices, read)
                replace_use(changes, self.variables, read, number)
                if is_name:
                    take_name(changes, read)
        for call, value in values.items():
            if value is None:
                raise Refusal(call, f"the call of {function.name}() gives no {parameter}")
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

    def _rename_parameter(self, changes: Changes, function: ast.FunctionDef, parameter: str) -> None:
        edit = changes.context.plan.function(function)
        edit.renamed[parameter] = NAME
        edit.unannotated.add(parameter)  # it said what a device is
        if is_annotated(self.module, function, self.owner):
            edit.annotated[parameter] = CLASS

    def _rename(self, changes: Changes, call: ast.Call, parameter: str) -> None:
        changes.edits.append(lambda: changes.context.plan.call(call).rename.update({parameter: NAME}))

    def _all_calls(self, changes: Changes, function: ast.FunctionDef) -> list[ast.Call]:
        calls = self.module.calls_of(function)
        if any(self.module.qualified(decorator) not in HARMLESS_DECORATORS for decorator in decorators_of(function)):
            raise Refusal(function, f"{function.name}() has a decorator, which may call it in another way")
        if len(calls) != sum(not in_annotation(self.module, use) for use in self.module.uses_of(function)) or not calls:
            raise Refusal(function, f"not every call of {function.name}(), which needs the Accelerator, can be seen")
        if any(map(has_unpacking, calls)):
            raise Refusal(calls[0], f"what {function.name}() is given cannot be seen")
        if reads_elsewhere(self.module, function):
            raise Refusal(function, f"{function.name}() needs the Accelerator, and another file uses it too")
        return calls

    # -- where it is there ---------------------------------------------------------------------

    def reaches(self, node: ast.AST) -> bool:
        """Whether the Accelerator is there when code runs, without being handed on for that alone."""
        functions = [parent for parent in self.module.ancestors(node) if isinstance(parent, ast.FunctionDef)]
        if self.view is not None and self.home.is_in_class(node):
            constructor = self.view.constructor
            if self.owner is not constructor:
                return constructor in self.given
            if self.module.function(node) is not constructor:
                return True
        elif self.view is not None and self.owner is self.view.constructor:
            return self.order.follows_instance(node)
        if functions and self.owner not in functions:
            return functions[-1] in self.given or self.home.block[self.home.setup] in functions[-1].body
        if isinstance(self.owner, ast.FunctionDef) and not functions:
            return False  # the name is one of a function
        place = position(self.module, self.block, node)
        if place is not None:
            return place >= self.place
        return self.module.start(node) > self.module.start(self.block[self.place])


def _is_option(statement: ast.Expr) -> bool:
    """Whether a statement only adds an option to a parser, as `--local_rank`."""
    return is_method_call(statement.value, "add_argument")
