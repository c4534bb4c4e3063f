"""The training function where the init function is in another file of the project.

Where only one trainer uses the init function, it becomes the training function in its own file (inline form), and the
import of the driver follows. Where anything else uses it, it stays as it is, and the driver gets the adapter form.
"""

import ast
from dataclasses import dataclass, field
from functools import cached_property, partial

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.cpu_workers import train_together_on_cpu
from raymigrate.codemods.shared.import_cleanup import is_exported
from raymigrate.codemods.shared.loss_scale import keep_loss_scale
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.codemods.tracking.tracking import is_tracked
from raymigrate.codemods.transformers_trainer.guide_form import guide_form
from raymigrate.codemods.transformers_trainer.reports_to import (
    check_use_of_datasets,
    silence_loggers,
    tell_loader_processes,
)
from raymigrate.facts.projects.project_uses import answer
from raymigrate.facts.projects.requests import TrainingFunction
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.calls import calls_in
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.functions import has_inline_form
from raymigrate.facts.values import has_unpacking
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS

RM120 = Rule(
    "RM120",
    "an init function in another file than its trainer",
    "TorchTrainer calls a training function with the configuration alone, not an init function with two datasets.",
    "The init function becomes the training function in its own file where only this trainer uses it; else the"
    " trainer's file gets a training function that calls it.",
    "https://docs.ray.io/en/latest/train/getting-started-transformers.html#transformerstrainer-migration-guide",
)


def train_function(context: Context, call: TrainerCall, argument: str) -> TrainFunction:
    """The training function for a trainer call, in the form that fits."""
    found = _sole_user_of(context, call)
    exact = TrainFunction if found is None else partial(FunctionElsewhere, found=found)
    function = exact(context, call, argument)
    return guide_form(context, function) if context.options.guide else function


def _sole_user_of(context: Context, call: TrainerCall) -> Definition | None:
    """The init function in another file, if it may be converted there: nothing but this call uses it."""
    found, given, module = call.imported, call.arguments.get(call.first), context.module
    if found is None or found.function is None or found.re_exported or not isinstance(given, ast.Name):
        return None
    alias = module.definition(given)
    if (
        context.options.style == "adapter"
        or context.options.freeze_numerics
        or not context.may_ask(found.module.path)
        or not isinstance(alias, ast.alias)
        or alias.asname
        or not _has_visible_arguments(found)
        or is_tracked(context, call)
        or not isinstance(module.scope_of[_legacy_import(context, call)].node, ast.Module)
        or is_exported(found.module, found.name)
        or is_exported(module, found.name)
    ):
        return None
    assert module.project is not None
    # The one read is the one in this call.
    alone = answer(module.project, "read once", found, lambda u: len(u.imports) == len(u.reads) == 1 and not u.unclear)
    return found if alone else None


def _legacy_import(context: Context, call: TrainerCall) -> ast.AST:
    return context.module.reference_at[call.node.func].binding.statement or context.module.tree


def _has_visible_arguments(found: Definition) -> bool:
    """Whether the init function has the usual form, and makes its TrainingArguments in sight."""
    module, function = found.module, found.function
    assert function is not None
    if not has_inline_form(module, function) or not isinstance(module.parent_of[function], ast.Module):
        return False
    inside = calls_in(module, function, *TRAINING_ARGUMENTS)
    return bool(inside) and not any(has_unpacking(call) for call in inside)


class FunctionElsewhere(TrainFunction):
    """A training function that another file is asked to make of its init function."""

    def __init__(self, context: Context, call: TrainerCall, argument: str, found: Definition) -> None:
        super().__init__(context, call, argument)
        taken = found.module.names
        self.name = next(name for name in (self.name, *(f"train_func_{n}" for n in range(2, 99))) if name not in taken)
        self.found = found

    def emit(self) -> None:
        """Asks the other file, and imports the function by its new name."""
        path = self.found.module.path
        self.context.converts(RM120, self.call.node, f"{self.found.name} of {path} becomes {self.name}(config) there.")
        self.context.ask(TrainingFunction(path, self.found.name, self.name, self.call))
        alias = self.module.definition(self.given)
        assert isinstance(alias, ast.alias)
        self.context.plan.renamed_imports[alias] = self.name


@dataclass(frozen=True, eq=False)
class CallElsewhere(TrainerCall):
    """A trainer call of another file, for the module that has its init function.

    Args:
        init: The definition of the function.
    """

    init: ast.FunctionDef = field(kw_only=True)

    @cached_property
    def function(self) -> ast.AST | None:
        """The init function."""
        return self.init


class FunctionHere(TrainFunction):
    """The training function that an init function of this file becomes, for a trainer in another one."""

    def _can_inline(self) -> bool:
        return True

    def _visible_import(self) -> ast.stmt | None:
        return None


@codemod("TrainingArguments", "Seq2SeqTrainingArguments", phase=Phase.TRAINERS)
def convert_for_others(context: Context) -> None:
    """Makes training functions of the init functions whose trainers are in other files."""
    for request in context.requests:
        if not isinstance(request, TrainingFunction):
            continue
        bindings = context.module.scope_of[context.module.tree].bindings.get(request.name, [])
        init = bindings[0].node if len(bindings) == 1 else None
        if not isinstance(init, ast.FunctionDef):
            continue
        message = f"{request.name} becomes {request.new_name}(config), for the trainer in {request.call.module.path}."
        if not context.converts(RM120, init, message):
            continue
        call = CallElsewhere(request.call.module, request.call.node, request.call.first, init=init)
        function = FunctionHere(context, call, call.first)
        function.name = request.new_name
        check_use_of_datasets(context, function)
        silence_loggers(context, function)
        tell_loader_processes(context, function)
        train_together_on_cpu(context, call, function)
        keep_loss_scale(context, call, function)
        function.emit()
        context.done.append(request)
