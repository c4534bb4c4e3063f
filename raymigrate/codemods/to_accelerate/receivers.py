"""Objects and exporters that get the model: an `EarlyStopping` that saves it, a `Saver`, `torch.onnx.export()`."""

import ast
from collections.abc import Iterator, Sequence

from raymigrate.codemods.to_accelerate.access import Access
from raymigrate.codemods.to_accelerate.changes import Changes
from raymigrate.codemods.to_accelerate.processes import Processes
from raymigrate.codemods.to_accelerate.reached import OF_WRAPPED
from raymigrate.codemods.to_accelerate.rules import RM857, RM858
from raymigrate.codemods.to_accelerate.saves import save_in_main
from raymigrate.codemods.to_accelerate.sides import Side
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.projects.callees import callees
from raymigrate.facts.projects.main_process import is_for_main
from raymigrate.facts.syntax.functions import is_static, parameter_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.torch.gradients import switches_gradients_off
from raymigrate.facts.values import called_name, method_of, methods_of_object
from raymigrate.facts.values.partials import PARTIAL

Method = tuple[Module, ast.FunctionDef | ast.Lambda]
SAVE = "accelerate.utils.save"  # as accelerator.save(), where no Accelerator is at hand
IN_METHOD = "if accelerate.PartialState().is_main_process"
MOVING = ("os.rename", "os.replace", "os.remove", "os.unlink", "shutil.move", "shutil.copy", "shutil.copyfile")
# What writes or translates a model as it is, its wrapper too.
EXPORTS = ("torch.onnx.export", "torch.jit.script", "torch.jit.trace", "torch.export.export", "torch.save")
NEXT_BATCH = ("next", "iter")


class Receivers(Side):
    """What gets the models of a training, besides functions of its module.

    Args:
        training: What is trained.
        processes: Its processes.
    """

    def __init__(self, training: Training, processes: Processes) -> None:
        super().__init__(training)
        self.processes = processes

    def convert(self, changes: Changes, access: Access) -> None:
        """Gives them the model without its wrapper, and lets the main process alone write."""
        for read, call in self._given(access):
            if changes.is_gone(read):
                continue
            if self.module.qualified(call.func) in EXPORTS:
                changes.replace(read, "accelerator.unwrap_model($model)", model=self.module.source(read))
            elif self.variables.called(call) is None:
                self._hand(changes, call, read)
        self._export(changes, access)
        self._save(changes, access)
        self._tell_of_other_files(changes, access)

    def _given(self, access: Access) -> list[tuple[ast.Name, ast.Call]]:
        """Every prepared model that a call is given, perhaps in a dict that is saved."""
        models, found = set(self.training.models), []
        for read in self.module.of_type(ast.Name):
            if not self.variables.of(read) & models or not isinstance(read.ctx, ast.Load):
                continue
            parent = self.module.parent_of[read]
            while isinstance(parent, (ast.keyword, ast.Dict, ast.Tuple, ast.List)):
                parent = self.module.parent_of[parent]
            if isinstance(parent, ast.Call) and parent.func is not read and access.order.holds(read):
                found.append((read, parent))
        return found

    # -- objects -------------------------------------------------------------------------------

    def _hand(self, changes: Changes, call: ast.Call, model: ast.Name) -> None:
        """Hands an object the model without its wrapper, where it reaches into it and works out no gradients."""
        filled = _filled(self.module, call)
        uses = [
            (module, use)
            for module, method in self._methods(call)
            for use in _uses(module, method, parameter_for(method, call, model, filled + _is_bound(module, method)))
        ]
        if not any(_is_reached(module, use) for module, use in uses):
            return
        if any(_is_run(module, use) for module, use in uses):
            name = ast.unparse(call.func)
            changes.manual(
                RM858,
                call,
                f"{name}() runs the model, and uses attributes that its wrapper for several processes does not have.",
                f"Give it accelerator.unwrap_model({model.id}), unless gradients are worked out of what it returns.",
            )
            return
        changes.replace(model, "accelerator.unwrap_model($model)", model=self.module.source(model))

    def _methods(self, call: ast.Call) -> Sequence[Method]:
        """The methods that a call of a class, of an object or of its method runs, in other files too."""
        definition, module = self.module.definition(call.func), self.module
        if not isinstance(definition, ast.ClassDef) and (found := self.module.elsewhere(call.func)) is not None:
            definition, module = found.node, found.module
        if isinstance(definition, ast.ClassDef):
            return [(module, method) for method in method_of(module, definition, "__init__")]
        if isinstance(call.func, ast.Attribute):
            methods = methods_of_object(self.module, call.func.value, call.func.attr)
            if methods:
                return methods
        objects = methods_of_object(self.module, call.func, "__call__")
        return objects or [
            (callee.module, callee.function)
            for callee in callees(self.module, call.func)
            if isinstance(callee.function, (ast.FunctionDef, ast.Lambda)) and _is_made(callee.module, callee.function)
        ]

    def _save(self, changes: Changes, access: Access) -> None:
        """Lets the main process alone write what methods of other classes save, and move what was saved."""
        saves = list(self.module.calls("torch.save"))
        for call in saves:
            if self._is_in_method(call, access) and self._is_run_by_all(changes, call):
                if save_in_main(changes, self.module, call, SAVE, f"{IN_METHOD}:"):
                    changes.edits.append(lambda: changes.context.plan.need_import("accelerate"))
        for call in self.module.calls(*MOVING):
            saved = any(self.module.function(save) is self.module.function(call) for save in saves)
            in_method = self._is_in_method(call, access)
            if saved and (in_method or access.order.holds(call)) and self._is_run_by_all(changes, call):
                self._move(changes, call, f"{IN_METHOD}:" if in_method else "if accelerator.is_main_process:")

    def _is_run_by_all(self, changes: Changes, call: ast.Call) -> bool:
        return not changes.is_gone(call) and not self.processes.runs_in_main_only(call)

    def _move(self, changes: Changes, call: ast.Call, head: str) -> None:
        """Lets the main process alone move or delete a file that it alone has saved."""
        statement = self.module.statement(call)
        if self.module.is_statement(call):
            changes.converted(RM857, call, "The main process alone does this to what it alone saves.")
            changes.put_into([statement], head)
            if head.startswith(IN_METHOD):
                changes.edits.append(lambda: changes.context.plan.need_import("accelerate"))
            return
        changes.manual(
            RM857,
            call,
            "Every process of a distributed run does this to the one file that the main process saved.",
            f"Let it run under `{head}`.",
        )

    def _is_in_method(self, node: ast.AST, access: Access) -> bool:
        """Whether code stands in a method of a class other than the one that trains, or in what a function gives."""
        function = self.module.function(node)
        if function is None or access.home.is_in_class(node) or access.order.holds(node):
            return False
        return isinstance(self.module.parent_of[function], ast.ClassDef) or _is_made(self.module, function)

    def _tell_of_other_files(self, changes: Changes, access: Access) -> None:
        """Tells of functions and classes of other files that save: every process would."""
        for call in self.module.of_type(ast.Call):
            found = self.module.elsewhere(call.func)
            if found is None or not isinstance(found.node, (ast.FunctionDef, ast.ClassDef)):
                continue
            is_class = isinstance(found.node, ast.ClassDef)
            if not (is_class or access.order.holds(call)) or self.processes.runs_in_main_only(call):
                continue
            saves = [save for save in found.module.calls("torch.save") if found.module.inside(save, found.node)]
            if not all(is_for_main(found.module, save) for save in saves):
                changes.manual(
                    RM857,
                    call,
                    f"{found.name}, in {found.module.path}, saves with torch.save(): every process of a distributed run"
                    " writes that file.",
                    f"Let it save with {SAVE}(), which writes in the main process alone.",
                )

    # -- exporters -----------------------------------------------------------------------------

    def _export(self, changes: Changes, access: Access) -> None:
        """Lets the main process alone write a model that is exported."""
        for call in [*self.module.calls("torch.onnx.export", "torch.jit.save"), *self._scripted()]:
            statement = self.module.statement(call)
            if not access.order.holds(call) or changes.is_gone(statement) or self.processes.is_main_only(call):
                continue
            names = {ast.unparse(part.func) for part in ast.walk(call) if isinstance(part, ast.Call)}
            if not self.module.is_statement(call) or names & set(NEXT_BATCH):
                changes.manual(
                    RM857,
                    call,
                    "Every process of a distributed run writes this file.",
                    "Let it run under `if accelerator.is_main_process:`, without code in it that all processes run.",
                )
                continue
            changes.converted(RM857, call, "The main process alone exports the model, without its wrapper.")
            changes.put_into([statement], "if accelerator.is_main_process:")

    def _scripted(self) -> Iterator[ast.Call]:
        """`torch.jit.script(model).save(...)`, also by a name for what is saved."""
        for call in self.training.method_calls("save"):
            assert isinstance(call.func, ast.Attribute)
            made = [source.node for source in self.module.origins(call.func.value)]
            names = [self.module.qualified(node.func) for node in made if isinstance(node, ast.Call)]
            if names and all((name or "").startswith("torch.jit.") for name in names):
                yield call


def _is_made(module: Module, function: ast.AST) -> bool:
    """Whether another function makes this one, and may give it back: `save` of `save, load = make_savers(path)`."""
    return module.function(function) is not None


def _filled(module: Module, call: ast.Call) -> int:
    """How many arguments by position what is called has from functools.partial."""
    made = [source.node for source in module.origins(call.func) if called_name(source.module, source.node) == PARTIAL]
    return max((len(partial.args) - 1 for partial in made if isinstance(partial, ast.Call)), default=0)


def _is_bound(module: Module, function: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether a function gets its object in front of what it is called with."""
    if not isinstance(function, ast.FunctionDef):
        return False
    return isinstance(module.parent_of[function], ast.ClassDef) and not is_static(function)


def _uses(module: Module, function: ast.FunctionDef | ast.Lambda, parameter: str) -> list[ast.expr]:
    """Where a class uses what one of its methods gets: in that, in others that it hands it to, as an attribute."""
    owner = module.parent_of[function]
    found: dict[ast.expr, None] = {}
    seen: set[tuple[ast.AST, str]] = set()
    waiting: list[tuple[ast.AST, str]] = [(function, parameter)]
    while waiting:
        place, name = waiting.pop()
        if (place, name) in seen or not name:
            continue
        seen.add((place, name))
        for node in ast.walk(place):
            if not isinstance(node, (ast.Name, ast.Attribute)) or ast.unparse(node) != name:
                continue
            if not isinstance(node.ctx, ast.Load):
                continue
            found[node] = None
            parent = module.parent_of[node]
            call = module.parent_of[parent] if isinstance(parent, ast.keyword) else parent
            if is_assignment(parent) and isinstance(target := targets_of(parent)[0], ast.Attribute):
                waiting.append((owner, ast.unparse(target)))
            elif (
                isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and isinstance(owner, ast.ClassDef)
            ):
                if isinstance(call.func.value, ast.Name) and call.func.value.id in ("self", "cls", owner.name):
                    for method in method_of(module, owner, call.func.attr):
                        waiting.append((method, parameter_for(method, call, node, not is_static(method))))
            elif isinstance(call, ast.Call) and isinstance(other := module.definition(call.func), ast.FunctionDef):
                waiting.append((other, parameter_for(other, call, node)))
    return list(found)


def _is_reached(module: Module, use: ast.expr) -> bool:
    """Whether an attribute of a model is used that its wrapper does not have, or another with its wrapper in it."""
    parent = module.parent_of[use]
    is_saved = called_name(module, parent) in (*EXPORTS, "pickle.dump", "joblib.dump")
    return is_saved or (isinstance(parent, ast.Attribute) and parent.value is use and parent.attr not in OF_WRAPPED)


def _is_run(module: Module, use: ast.expr) -> bool:
    """Whether a model is run with gradients."""
    return module.calling(use) is not None and not any(map(switches_gradients_off, module.ancestors(use)))
