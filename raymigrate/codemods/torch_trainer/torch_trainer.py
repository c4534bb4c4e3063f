"""RM104, RM110 and RM203 for scripts that came to TorchTrainer by hand, while their libraries were still the old ones.

Such a script trained on CPU workers together, and with the loss of transformers 4: see `cpu_workers` and `loss_scale`.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.accelerate_trainer.accelerate_settings import RM203
from raymigrate.codemods.accelerate_trainer.loop_elsewhere import report_loss_scale
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRAINER_CHANGES, TRAINING_ARGUMENTS_CHANGES
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.shared.cpu_workers import VARIABLE, is_told, set_cpu, set_use_cpu
from raymigrate.codemods.shared.loss_scale import ARGUMENT, average_on_each_worker, report_accumulation
from raymigrate.facts.legacy import ACCELERATORS, HF_TRAINERS, TORCH_TRAINERS, TRAINING_ARGUMENTS
from raymigrate.facts.scaling import has_one_worker
from raymigrate.facts.scopes import FUNCTIONS
from raymigrate.facts.trainers import TrainerCall, trainer_calls

FIRST = "train_loop_per_worker"


@codemod("TorchTrainer", phase=Phase.TRAINERS)
def torch_trainers(context: Context) -> None:
    """Keeps CPU workers together and the loss what it was, in training functions for older libraries."""
    if not context.is_legacy_script and not _is_for_old_transformers(context):
        return
    for call in trainer_calls(context.module, TORCH_TRAINERS, FIRST):
        function = call.function
        if isinstance(function, FUNCTIONS) and not has_one_worker(context.module, call.arguments.get("scaling_config")):
            run = context.places.reached_from(function)
            _join_accelerators(context, call, run)
            if _trains(run):
                _join_trainers(context, call, run)
                _keep_loss_scale(context, run)
        elif call.imported is not None and context.is_legacy_script:
            report_loss_scale(context, call)


def _is_for_old_transformers(context: Context) -> bool:
    """Whether TrainingArguments or a Trainer have arguments that transformers 5 no longer takes."""
    return any(
        keyword.arg in changes
        for names, changes in ((TRAINING_ARGUMENTS, TRAINING_ARGUMENTS_CHANGES), (HF_TRAINERS, TRAINER_CHANGES))
        for call in context.module.calls(*names)
        for keyword in call.keywords
    )


def _made_in(context: Context, names: frozenset[str], functions: set[ast.AST]) -> list[ast.Call]:
    """The calls of these classes in functions that a worker runs."""
    return [call for call in context.module.calls(*names) if not functions.isdisjoint(context.module.ancestors(call))]


def _trains(functions: set[ast.AST]) -> bool:
    """Whether functions that a worker runs call train() on something, as on a Trainer made with TrainingArguments."""
    calls = (call for function in functions for call in ast.walk(function) if isinstance(call, ast.Call))
    return any(isinstance(call.func, ast.Attribute) and call.func.attr == "train" for call in calls)


def _is_told_by_variable(context: Context) -> bool:
    return any(node.value == VARIABLE for node in context.module.of_type(ast.Constant))


def _join_trainers(context: Context, call: TrainerCall, functions: set[ast.AST]) -> None:
    if call.use_gpu is not True and not _is_told_by_variable(context):
        for arguments in _made_in(context, TRAINING_ARGUMENTS, functions):
            set_use_cpu(context, call, arguments)


def _join_accelerators(context: Context, call: TrainerCall, functions: set[ast.AST]) -> None:
    if not _is_told_by_variable(context):
        for accelerator in _made_in(context, ACCELERATORS, functions):
            if not is_told(context, call, accelerator, "cpu"):
                set_cpu(context, RM203, call, accelerator, "cpu")


def _keep_loss_scale(context: Context, functions: set[ast.AST]) -> None:
    if not context.current_transformers or context.module.stores(ARGUMENT):
        return
    for arguments in _made_in(context, TRAINING_ARGUMENTS, functions):
        report_accumulation(context, arguments)
        average_on_each_worker(context, arguments)
