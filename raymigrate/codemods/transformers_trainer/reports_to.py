"""RM105 and RM106: what an init function asks for that the legacy trainer ignored or did in a way of its own."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.facts.legacy import TRAINING_ARGUMENTS

GUIDE = "https://docs.ray.io/en/latest/train/getting-started-transformers.html#transformerstrainer-migration-guide"

RM105 = Rule(
    "RM105",
    "report_to, which the legacy trainer ignored",
    "The legacy trainer removed every logging integration; on current Ray report_to starts them on the workers.",
    'report_to becomes "none", as it was in effect. Set it again to start logging.',
    "https://docs.ray.io/en/latest/train/user-guides/experiment-tracking.html",
)
RM106 = Rule(
    "RM106",
    "a Trainer subclass or a dataset used in a way that the Ray Data loader cannot keep",
    "The legacy trainer handed over a Hugging Face IterableDataset and patched get_train_dataloader().",
    "Check this place by hand.",
    GUIDE,
)


def check_use_of_datasets(context: Context, function: TrainFunction) -> None:
    """Reports attributes of the dataset arguments, and Trainer subclasses with their own loader."""
    module = context.module
    if not function.uses_ray_data:
        return
    for name in function.read_dataset_parameters:
        for use in module.uses(name, module.scope(function.init)):  # type: ignore[arg-type]
            parent = module.parent_of[use]
            if isinstance(parent, ast.Attribute):
                context.manual(RM106, parent, f"{name}.{parent.attr} was a Hugging Face IterableDataset's attribute.")
    for node in module.of_type(ast.FunctionDef):
        if node.name == "get_train_dataloader":
            context.manual(
                RM106, node, "This get_train_dataloader() is not called: the shard's loader takes its place."
            )


def silence_loggers(context: Context, init: ast.FunctionDef) -> None:
    """Sets report_to to what it was in effect in the TrainingArguments of an init function."""
    for call in context.module.calls(*TRAINING_ARGUMENTS):
        if not context.module.inside(call, init):
            continue
        for keyword in call.keywords:
            if keyword.arg == "report_to" and context.module.constant(keyword.value) not in (None, "none", []):
                message = "report_to had no effect under the legacy trainer; on current Ray it starts the loggers."
                if context.converts(RM105, keyword, message):
                    context.plan.call(call).set("report_to", '"none"')
