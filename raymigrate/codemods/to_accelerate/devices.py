"""Devices: what the Accelerator moves itself need not be moved, and the rest goes to its device."""

import ast
from collections.abc import Mapping
from functools import cached_property

from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.device_branches import take_together
from raymigrate.codemods.to_accelerate.lasting import does_more
from raymigrate.codemods.to_accelerate.objects import OWN
from raymigrate.codemods.to_accelerate.order import Order
from raymigrate.codemods.to_accelerate.process_numbers import (
    DEVICE,
    LOCAL_RANK,
    MOVES,
    SIZE,
    device_named,
    is_counted,
    is_numbered_name,
    is_place,
    replace_number,
)
from raymigrate.codemods.to_accelerate.rules import RM858
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.codemods.to_accelerate.variables import Variable, in_order
from raymigrate.facts.syntax.functions import by_name, returned_values
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.syntax.scopes import Scope
from raymigrate.facts.torch.tensors import Kind, kinds_of
from raymigrate.facts.values import argument, keyword_named, named_arguments

NAMES = ("cuda", "cpu", "mps", "xpu", "npu")
MAKERS = ("torch.device", "torch.accelerator.current_accelerator")
NAMERS = ("peft.utils.infer_device", "peft.utils.other.infer_device")  # which give the name of the best device
# Arguments of to() and cuda() that only say how to copy.
HOW = frozenset({"non_blocking", "device"})


# What tensors have, and no settings with a `device` of their own.
OF_TENSORS = frozenset(
    {"cpu", "detach", "expand", "gather", "ndim", "numel", "permute", "shape", "squeeze", "unsqueeze"}
)
PARAMETERS = frozenset({"weight", "bias"})
OF_MODULE = frozenset({"next(self.parameters())", "next(self.buffers())"})
# Names that people give to devices.
CALLED = frozenset({"device", "dev", "gpu", "gpu_id", "device_id", "cuda", "rank", "local_rank", "cuda_device"})

GIVEN = "device"  # what a caller, or who starts the script, chooses; `gpu` and `rank` may be numbers


def is_called_device(name: str) -> bool:
    """Whether something is a device by its name, as `gpu_id` and `self.device` are."""
    return name.removeprefix(OWN).strip("_").lower() in CALLED


class Devices(Side):
    """What a module says about devices.

    Args:
        training: What is trained.
        numbers: The variables that hold the number of a process, or of processes, with what says so now.
    """

    def __init__(self, training: Training, numbers: Mapping[Variable, str]) -> None:
        super().__init__(training)
        self.numbers = numbers
        self.ranks = frozenset(variable for variable, number in numbers.items() if number != SIZE)
        self.tells_of_choice = False  # that what somebody chose has no effect any more

    @cached_property
    def held(self) -> frozenset[Variable]:
        """The variables that hold a device of the training."""
        found: set[Variable] = set()
        for scope in self.module.scopes:
            if self._is_apart(scope):
                continue
            for name, bindings in scope.bindings.items():
                given = [binding.node for binding in bindings if isinstance(binding.node, ast.arg)]
                if given and name != GIVEN:
                    continue
                values = [self.module.assigned(binding.node) for binding in bindings if binding.node not in given]
                numbered = is_called_device(name)
                if values and all(value is not None and self._makes_device(value, numbered) for value in values):
                    found.add(Variable(scope, name))
        return frozenset(found)

    def _is_apart(self, scope: Scope) -> bool:
        """Whether a scope is of a function that others call, and does not train: `model_fn()` of SageMaker."""
        around = [scope.node, *self.module.ancestors(scope.node)]
        functions = [node for node in around if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        if not functions or any(isinstance(node, ast.ClassDef) for node in around):
            return False
        return not self.module.uses_of(functions[-1]) and self.training.training_functions.isdisjoint(functions)

    def _makes_device(self, value: ast.expr, numbered: bool = False) -> bool:
        if isinstance(value, (ast.BoolOp, ast.IfExp)):
            choices = value.values if isinstance(value, ast.BoolOp) else [value.body, value.orelse]
            made = [choice for choice in choices if self._makes_device(choice)]
            return bool(made) and all(choice in made or self._is_asked_for(choice) for choice in choices)
        if isinstance(value, ast.Constant):
            if isinstance(value.value, str):
                return value.value.partition(":")[0] in NAMES
            return numbered and type(value.value) is int
        if isinstance(value, ast.JoinedStr):
            first = value.values[0] if value.values else None
            return isinstance(first, ast.Constant) and str(first.value).startswith("cuda")
        if is_numbered_name(value):
            return True
        if isinstance(value, ast.Attribute) and value.attr == "type":  # device.type, its name without a number
            return self._makes_device(self.module.value(value.value))
        if not isinstance(value, ast.Call):
            return False
        if self.module.qualified(value.func) in (*MAKERS, *NAMERS):
            return True
        function = self.variables.called(value)
        if function is None:
            return False

        ends = returned_values(self.module, function)
        return bool(ends) and all(end is not None and self._makes_device(self.module.value(end)) for end in ends)

    def _is_asked_for(self, node: ast.expr) -> bool:
        """Whether a device comes from whoever calls or starts this: `device` of `device or torch.device("cuda")`."""
        if isinstance(node, ast.Attribute):
            return node.attr == GIVEN
        homes = self.variables.of(node) if isinstance(node, ast.Name) and node.id == GIVEN else frozenset()
        bound = [binding for home in homes for binding in self.variables.bindings(home)]
        return any(isinstance(binding, ast.arg) for binding in bound)

    def is_device(self, node: ast.expr | None) -> bool:
        """Whether an expression says where something shall be."""
        if node is None:
            return False
        if isinstance(node, ast.Name):
            homes = self.variables.of(node)
            known = self.held | self.ranks
            return bool(homes) and all(home in known or self._is_unknown_device(home) for home in homes)
        if isinstance(node, ast.Attribute):
            return node.attr in ("device", "local_rank", "gpu")
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int) or self._makes_device(node)
        return self._makes_device(node)

    def parameter_of(self, function: ast.FunctionDef, calls: list[ast.Call]) -> str:
        """The parameter of a function that gets the device; "" where there is none."""
        for parameter in by_name(function):
            values = [self.variables.argument_for(call, function, parameter.arg) for call in calls]
            named = [value for value in values if isinstance(value, (ast.Name, ast.Attribute))]
            if values and len(named) == len(values) and all(map(self.is_device, named)):
                return parameter.arg
        return ""

    def _is_unknown_device(self, variable: Variable) -> bool:
        """Whether something that comes from elsewhere is a device by its name."""
        makers = self.variables.makers(variable)
        unknown = [m for m in makers if not isinstance(m, (ast.Attribute, ast.Name, ast.Subscript))]
        return is_called_device(variable.name) and not unknown

    # -- moves ---------------------------------------------------------------------------------

    def moves(self) -> list[ast.Call]:
        """The calls that move something to a device."""
        return [call for call in self.training.method_calls(*MOVES) if self._moves(call)]

    def _moves(self, call: ast.Call) -> bool:
        assert isinstance(call.func, ast.Attribute)
        if self.module.qualified(call.func) is not None:
            return False
        if call.func.attr == "cuda":
            return True
        place = argument(call, 0, "device")
        return self.is_device(place) and not self._is_cpu(place)

    def _is_cpu(self, place: ast.expr | None) -> bool:
        """Whether something is wanted on the CPU whatever trains, as NumPy wants it."""
        if isinstance(place, ast.Call) and place.args:
            place = place.args[0]
        return isinstance(place, ast.Constant) and place.value == "cpu"

    def is_on_device(self, node: ast.expr, models: frozenset[Variable], loaders: frozenset[Variable]) -> bool:
        """Whether the Accelerator has put something on its device: a model, or a batch of a loader."""
        homes = self.variables.of(node)
        if homes and homes <= models:
            return True
        batch = self.training.batch_of(node)
        return bool(batch) and batch <= loaders

    def convert(
        self, changes: Changes, models: frozenset[Variable], loaders: frozenset[Variable], order: Order
    ) -> None:
        """Takes away what the Accelerator does, and moves the rest to its device.

        Args:
            changes: The edits.
            models: The models that need not be on a device before they are prepared.
            loaders: The loaders that are prepared.
            order: Says what code runs when they are.
        """
        for call in self.moves():
            if changes.is_gone(call) or self._stays_called(changes, argument(call, 0, "device")):
                continue
            assert isinstance(call.func, ast.Attribute)
            if order.is_past(call):
                self._move_to_accelerator(changes, call)
                continue
            makes_model = self._makes(call, models)
            is_moved = self.is_on_device(call.func.value, models, loaders if order.holds(call) else frozenset())
            chosen = argument(call, 0, "device")
            is_beside = self._is_of_tensor(chosen)
            if is_beside and not makes_model and not is_moved:
                continue  # where the tensor is, it goes
            if (
                isinstance(chosen, ast.Attribute)
                and chosen.attr == "device"
                and not is_beside
                and not self.tells_of_choice
            ):
                self.tells_of_choice = not self.variables.of(chosen.value) & set(self.training.models)
                if self.tells_of_choice:
                    message = (
                        f"The Accelerator chooses the device: `{ast.unparse(chosen)}` has no effect on it any more."
                    )
                    changes.note(RM858, chosen, message)
            if makes_model or is_moved:
                self._take_away(changes, call)
            elif call.func.attr == "cuda" or not self._is_variable(argument(call, 0, "device")):
                self._move_to_accelerator(changes, call)
        self._loads(changes)
        self._numbered(changes)
        self._counted(changes)
        self._definitions(changes)

    def _is_of_tensor(self, place: ast.expr | None) -> bool:
        """Whether a place is that of a tensor, `x.device` or a name for it, and no choice of the script."""
        if isinstance(place, ast.Name):
            own = self.variables.spelled(place)
            values = [self.module.assigned(node) for node in self.variables.bindings(own)] if own is not None else []
            return bool(values) and all(isinstance(v, ast.Attribute) and self._is_of_tensor(v) for v in values)
        if not isinstance(place, ast.Attribute) or place.attr != "device":
            return False
        if isinstance(place.value, ast.Attribute):
            return place.value.attr in PARAMETERS
        if isinstance(place.value, ast.Call):
            return ast.unparse(place.value) in OF_MODULE
        return isinstance(place.value, ast.Name) and self._is_tensor(place.value)

    def _is_tensor(self, name: ast.Name) -> bool:
        own = self.variables.spelled(name)
        bound = self.variables.bindings(own) if own is not None else []
        function = self.module.function(name)
        if isinstance(function, ast.FunctionDef) and function.name == "forward" and bound:
            if all(node in (*function.args.args[1:], *function.args.kwonlyargs) for node in bound):
                return True
        beside = [self.module.parent_of[read] for read in self.variables.reads(own)] if own is not None else []
        if any(isinstance(part, ast.Attribute) and part.attr in OF_TENSORS for part in beside):
            return True
        return kinds_of(self.module, name) <= {Kind.ONE, Kind.TENSOR}

    def _loads(self, changes: Changes) -> None:
        """Lets every process read states to the CPU, from where load_state_dict() copies them to its own device."""
        filled = [part for c in self.training.method_calls("load_state_dict") for v in c.args for part in ast.walk(v)]
        names = {self.variables.spelled(part) for part in filled} - {None}
        for call in self.module.calls("torch.load"):
            place = argument(call, 1, "map_location")
            statement = self.module.statement(call)
            given = {self.variables.spelled(t) for t in targets_of(statement)} if is_assignment(statement) else set()
            if place is not None and self._is_own(place) and (call in filled or given & names):
                changes.replace(place, '"cpu"')

    def _is_own(self, place: ast.expr) -> bool:
        """Whether a place is the device of a process: `device`, `f"cuda:{rank}"`, `{"cuda:0": ...}`."""
        if isinstance(place, ast.Dict):
            return True
        return self.is_device(place) and not self._is_cpu(place)

    def _is_variable(self, node: ast.expr | None) -> bool:
        return isinstance(node, ast.Name) and self.variables.of(node) <= self.held

    def _makes(self, call: ast.Call, models: frozenset[Variable]) -> bool:
        """Whether a call stands in the expression that gives a model its value."""
        node: ast.AST = call
        while not isinstance(node, ast.stmt):
            parent = self.module.parent_of[node]
            chain = isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is node)
            wraps = isinstance(parent, ast.Call) and self.variables.bare(parent) is not parent
            if is_assignment(parent):
                targets = [self.variables.spelled(target) for target in targets_of(parent)]
                return any(target is not None and target in models for target in targets)
            if not (chain or wraps):
                return False
            node = parent
        return False

    def _take_away(self, changes: Changes, call: ast.Call) -> None:
        assert isinstance(call.func, ast.Attribute)
        parts = self._kept_arguments(call)
        rest = [f"${name}" if name.startswith("kept_") else f"{name}=${name}" for name in parts]
        owner = call.func.value
        if rest:
            changes.replace(call, f"$owner.to({', '.join(rest)})", owner=owner, **parts)
        else:
            changes.replace(call, "$owner", owner=owner)

    def _kept_arguments(self, call: ast.Call) -> dict[str, ast.expr]:
        """The arguments that change more than the device: `torch.float` of `to(device, torch.float)`."""
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr == "cuda":
            return {}
        kept = {name: value for name, value in named_arguments(call).items() if name not in HOW}
        others = [value for value in call.args[1:] if not isinstance(value, ast.Constant)]
        return {**{f"kept_{number}": value for number, value in enumerate(others)}, **kept}

    def _move_to_accelerator(self, changes: Changes, call: ast.Call) -> None:
        assert isinstance(call.func, ast.Attribute)
        parts = self._kept_arguments(call)
        rest = "".join(f", ${name}" if name.startswith("kept_") else f", {name}=${name}" for name in parts)
        copying = keyword_named(call, "non_blocking")
        if copying is not None:
            parts, rest = {**parts, "copying": copying.value}, f"{rest}, non_blocking=$copying"
        changes.replace(call, f"$owner.to({DEVICE}{rest})", owner=call.func.value, **parts)

    # -- what a device is called ---------------------------------------------------------------

    def _numbered(self, changes: Changes) -> None:
        """Puts the Accelerator's device in the place of one that a rank numbers: `torch.device("cuda", rank)`."""
        moves = set(self.moves())
        for read in self.module.of_type(ast.Name) if self.ranks else ():
            whole = device_named(self.module, read)
            if whole is read or changes.is_gone(read) or self.module.parent_of[whole] in moves:
                continue
            if self.variables.of(read) & self.ranks and is_place(self.variables, read):
                changes.replace(whole, DEVICE)

    def _counted(self, changes: Changes) -> None:
        """Lets what is compared with numbers be one: `gpu = 0` becomes a device, of which `gpu == 0` would be false."""
        for read in self.module.of_type(ast.Name):
            is_read = is_called_device(read.id) and isinstance(read.ctx, ast.Load) and not changes.is_gone(read)
            homes = self.variables.of(read) if is_read and is_counted(self.variables, read) else frozenset()
            values = [self.module.assigned(node) for home in homes for node in self.variables.bindings(home)]
            if values and all(isinstance(v, ast.Constant) and type(v.value) is int for v in values):
                replace_number(changes, read, LOCAL_RANK)

    def _definitions(self, changes: Changes) -> None:
        """Lets the names of devices stand for that of the Accelerator; those that nothing reads any more go."""
        for variable in in_order(self.held):
            for node in self.variables.bindings(variable):
                value = self.module.assigned(node)
                statement = self.module.statement(node)
                if value is None or changes.is_gone(statement):
                    continue
                if self._stays_called(changes, value):
                    continue
                changes.replace(value, DEVICE)
                take_together(changes, statement, self.variables, self.held)
                if not self.tells_of_choice and (self._is_chosen(value) or self._is_parameter(variable)):
                    changes.note(
                        RM858,
                        statement,
                        "The Accelerator chooses the device; this choice has no effect on it any more.",
                    )
                    self.tells_of_choice = True

    def _stays_called(self, changes: Changes, value: ast.expr | None) -> bool:
        """Whether a function that gives a device does more, as to set a seed; it gives that of the Accelerator now."""
        function = self.variables.called(value) if isinstance(value, ast.Call) else None
        if function is None or not does_more(changes, function):
            return False
        for end in returned_values(self.module, function):
            if end is not None and not changes.is_gone(end) and self._makes_device(end):
                changes.replace(end, DEVICE)
        return True

    def _is_parameter(self, variable: Variable) -> bool:
        return any(isinstance(binding, ast.arg) for binding in self.variables.bindings(variable))

    def _is_chosen(self, value: ast.expr) -> bool:
        """Whether a user chooses the device, on the command line, in settings or by an argument."""
        names = [part for part in ast.walk(value) if isinstance(part, (ast.Attribute, ast.Name))]
        return any(self.module.qualified(name) is None and self._is_asked_for(name) for name in names)
