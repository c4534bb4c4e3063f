"""RM701 to RM703 and RM705: the rules about arguments that transformers 5, accelerate 1 and datasets 4 removed."""

from raymigrate.base.findings import Rule
from raymigrate.codemods.libraries.argument_changes import TRAINING_ARGUMENTS_CHANGES
from raymigrate.knowledge.error_texts import refused_arguments

GUIDE = "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md"

OLD_TO_NEW = [f"{old} is {change.name} today" for old, change in TRAINING_ARGUMENTS_CHANGES.items() if change.name]
REMOVED = [name for name, change in TRAINING_ARGUMENTS_CHANGES.items() if change.name is None]

RM701 = Rule(
    "RM701",
    "an argument that was renamed",
    "transformers >= 5, accelerate >= 1, datasets >= 4 and pandas >= 3 raise a TypeError for the old name.",
    f"The new name is used, and values that changed are replaced too. Of TrainingArguments {', '.join(OLD_TO_NEW)}.",
    GUIDE,
    errors=(
        *refused_arguments(
            "*TrainingArguments",
            "evaluation_strategy",
            "no_cuda",
            "per_gpu_train_batch_size",
            "per_gpu_eval_batch_size",
            "push_to_hub_token",
            "push_to_hub_model_id",
            "xpu_backend",
            "torchdynamo",
            "warmup_ratio",
            "group_by_length",
            "include_inputs_for_metrics",
            "include_tokens_per_second",
            "adafactor",
            "dispatch_batches",
            "split_batches",
        ),
        "*TrainingArguments' object has no attribute 'evaluation_strategy'",
        "*TrainingArguments' object has no attribute 'no_cuda'",
        *refused_arguments("*Trainer", "tokenizer"),
        "*Trainer' object has no attribute 'tokenizer'",
        *refused_arguments(
            "Accelerator", "fp16", "logging_dir", "dispatch_batches", "even_batches", "use_seedable_sampler"
        ),
        *refused_arguments("*Config", "use_auth_token", "ignore_verifications"),
    ),
)
RM702 = Rule(
    "RM702",
    "an argument that was removed",
    "transformers >= 5 and accelerate >= 1 raise a TypeError for it.",
    "It is deleted where it had no effect on training; else see the message. TrainingArguments has lost"
    f" {', '.join(REMOVED)}.",
    GUIDE,
    errors=(
        *refused_arguments("*TrainingArguments"),
        "*TrainingArguments' object has no attribute",
        *refused_arguments("Accelerator"),
        *refused_arguments("*Config", "task"),
    ),
)
RM703 = Rule(
    "RM703",
    "arguments by position",
    "The order of the parameters changed: a value by position now reaches another parameter, and no error says so.",
    "The arguments are given by keyword, under the names that they had.",
    GUIDE,
    errors=("is not a valid SchedulerType",),
)
RM705 = Rule(
    "RM705",
    "an argument with a value that is refused now",
    "transformers >= 5 raises a ValueError for this value.",
    "The value that means the same today is used.",
    GUIDE,
    errors=(
        "adamw_hf is not a valid OptimizerNames",
        "adamw_apex_fused is not a valid OptimizerNames",
        "None is not supported, only",
        "`state_dict` cannot be passed together with a model name",
        "tf is not a valid TensorType",
        "jax is not a valid TensorType",
        "is only available with FSDP1. Set `fsdp_config['version'] = 1` to use it",
    ),
)
