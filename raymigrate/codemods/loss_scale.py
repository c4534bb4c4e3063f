"""RM110: a loss that transformers 5 multiplies by the number of workers.

`Trainer.compute_loss` (transformers 5.23, trainer.py:2199) does so for every model whose forward takes **kwargs, and
counts on the model to divide by the number of items of all workers. Models with a loss of their own kind, such as BERT
for classification, do not: their loss and their gradients come out as many times larger as there are workers. Measured
on the bundled BERT job: 1.3695 where legacy Ray gave 0.6848.
"""

from raymigrate.codemods.train_function import TrainFunction
from raymigrate.context import Context
from raymigrate.facts.legacy import TRAINING_ARGUMENTS
from raymigrate.facts.trainers import TrainerCall
from raymigrate.findings import Rule

RM110 = Rule(
    "RM110",
    "a loss that grows with the number of workers",
    "transformers >= 5 averages the loss over the tokens of all workers and multiplies it by their number; for models"
    " that do not count tokens, as BERT for classification, loss and gradients become that many times larger.",
    "average_tokens_across_devices=False averages on each worker, as transformers 4 did until 4.45.",
    "https://huggingface.co/docs/transformers/main_classes/trainer"
    "#transformers.TrainingArguments.average_tokens_across_devices",
)
ARGUMENT = "average_tokens_across_devices"
MESSAGE = "transformers >= 5 would multiply the loss of some models by the number of workers."


def keep_loss_scale(context: Context, call: TrainerCall, function: TrainFunction | None = None) -> None:
    """Switches the averaging over workers off, where the arguments are made or on the Trainer that comes out.

    Args:
        context: The module.
        call: The trainer call.
        function: The training function of a TransformersTrainer; None for the loop of an AccelerateTrainer.
    """
    if not context.current_transformers:
        return
    module = context.module
    container = call.function
    inside = [c for c in module.calls(*TRAINING_ARGUMENTS) if container is not None and module.inside(c, container)]
    for arguments in inside:
        if ARGUMENT not in {keyword.arg for keyword in arguments.keywords}:
            if context.converts(RM110, arguments, MESSAGE):
                context.plan.call(arguments).set(ARGUMENT, "False")
    if not inside and function is not None and context.converts(RM110, call.node, MESSAGE):
        function.before_training.append(
            f"{{trainer}}.args.{ARGUMENT} = False  # else some losses grow with the workers"
        )
