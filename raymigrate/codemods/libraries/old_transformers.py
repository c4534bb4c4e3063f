"""Whether a module was written for transformers 4, as its arguments show."""

from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_changes import TRAINER_CHANGES, TRAINING_ARGUMENTS_CHANGES
from raymigrate.codemods.libraries.quantized_loading import BITS
from raymigrate.facts.legacy import HF_TRAINERS, TRAINING_ARGUMENTS
from raymigrate.facts.own_arguments import own_arguments


def has_old_arguments(context: Context) -> bool:
    """Whether TrainingArguments, a Trainer or what loads a model have arguments that transformers 5 no longer takes."""
    loads = (call for call, _ in context.module.method_calls("from_pretrained"))
    if any(keyword.arg in BITS for call in loads for keyword in call.keywords):
        return True
    own = own_arguments(context.module, TRAINING_ARGUMENTS_CHANGES)
    if any(keyword.arg in TRAINING_ARGUMENTS_CHANGES for call, _ in own for keyword in call.keywords):
        return True
    return any(
        keyword.arg in changes
        for names, changes in ((TRAINING_ARGUMENTS, TRAINING_ARGUMENTS_CHANGES), (HF_TRAINERS, TRAINER_CHANGES))
        for call in context.module.calls(*names)
        for keyword in call.keywords
    )


def is_for_old_transformers(context: Context) -> bool:
    """Whether a module ran with transformers 4: it is of a legacy job, or its arguments show it."""
    return context.of_legacy_job or has_old_arguments(context)
