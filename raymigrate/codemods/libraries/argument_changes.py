"""What transformers 5, accelerate 1 and datasets 4 changed in the arguments of their classes and functions.

https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md and docs/semantics/libraries.md; measured on
transformers 5.23, accelerate 1.15 and datasets 5.2. The rules that apply it are in transformers_arguments.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """What becomes of one keyword argument.

    Args:
        name: New name; None takes the argument away.
        value: New value as a template in which `$value` is the old one.
        only_if: Tells from the value, `...` where it is not a literal, whether the change is sure; else it is manual.
        otherwise: What to give where the old value is false and stands for a switch: `value if $value else otherwise`.
        unless: Another argument that makes this one void.
        beside: What was in force, of `$old` and `$new`, where the argument of the new name was given too; None: that.
        outcome: What happens today where it is given.
    """

    name: str | None = None
    value: str | None = None
    only_if: Callable[[object], bool] = lambda value: True
    otherwise: str | None = None
    unless: str | None = None
    beside: str | None = None
    outcome: str = "raises a TypeError today"


# Which of two arguments was in force: that of the old name if it was true, or that of the new one (transformers 4.30,
# training_args.py: train_batch_size, __post_init__, get_warmup_steps; accelerate 0.20, Accelerator.__init__).
OLD_FIRST, NEW_FIRST = "$old or $new", "$new or $old"


def is_falsy(value: object) -> bool:
    """Whether a literal value is known, and false."""
    return value is not ... and not value


def is_true(value: object) -> bool:
    """Whether a literal value is True."""
    return value is True


TRAINING_ARGUMENTS_CHANGES: Mapping[str, Change] = {
    "evaluation_strategy": Change("eval_strategy"),
    "no_cuda": Change("use_cpu", beside=OLD_FIRST),
    "per_gpu_train_batch_size": Change("per_device_train_batch_size", beside=OLD_FIRST),
    "per_gpu_eval_batch_size": Change("per_device_eval_batch_size", beside=OLD_FIRST),
    "push_to_hub_token": Change("hub_token"),
    "push_to_hub_model_id": Change("hub_model_id"),
    "xpu_backend": Change("ddp_backend"),
    "torchdynamo": Change("torch_compile_backend"),
    "warmup_ratio": Change("warmup_steps", beside=NEW_FIRST),
    "group_by_length": Change("train_sampling_strategy", '"group_by_length"', is_true, '"random"'),
    "include_inputs_for_metrics": Change("include_for_metrics", '["inputs"]', is_true, "[]"),
    "include_tokens_per_second": Change("include_num_input_tokens_seen", '"non_padding"', is_true, '"no"'),
    "adafactor": Change("optim", '"adafactor"', is_true, '"adamw_torch"', beside='"adafactor" if $old else $new'),
    "dispatch_batches": Change("accelerator_config", '{"dispatch_batches": $value}', unless="split_batches"),
    "split_batches": Change("accelerator_config", '{"split_batches": $value}', unless="dispatch_batches"),
    **dict.fromkeys(("overwrite_output_dir", "logging_dir", "ray_scope", "save_safetensors"), Change()),
    **dict.fromkeys(("fp16_opt_level", "fp16_backend", "half_precision_backend"), Change()),
    **dict.fromkeys(
        (
            "use_mps_device",
            "jit_mode_eval",
            "use_ipex",
            "tpu_num_cores",
            "tpu_metrics_debug",
            "mp_parameters",
            "past_index",
            "use_legacy_prediction_loop",
            "sharded_ddp",
            "fsdp_min_num_params",
            "fsdp_transformer_layer_cls_to_wrap",
            "push_to_hub_organization",
        ),
        Change(only_if=is_falsy),
    ),
}
# What trl's configurations, which are made from TrainingArguments, called otherwise (1.16, trainer/*_config.py). None
# stood for 1024 tokens at most, and cuts nothing today. The old name was in force where both were given (0.16).
TRL_CHANGES: Mapping[str, Change] = {
    "max_seq_length": Change("max_length", only_if=lambda value: value is not None, beside=OLD_FIRST),
    "use_liger": Change("use_liger_kernel", beside=OLD_FIRST),
}
# What to do about an argument that has no successor of its own.
ADVICE = {
    "logging_dir": "Drop it: the environment variable TENSORBOARD_LOGGING_DIR says where TensorBoard writes.",
    "sharded_ddp": "Drop it; fsdp= and fsdp_config= shard the model today.",
    "fsdp_min_num_params": "Write it into the dict of fsdp_config= as min_num_params.",
    "fsdp_transformer_layer_cls_to_wrap": "Write it into the dict of fsdp_config= as transformer_layer_cls_to_wrap.",
    "use_mps_device": "Drop it: an MPS device is used where there is one.",
    "use_ipex": "Drop it: PyTorch itself has what it brought.",
    "push_to_hub_organization": "Write the organization into hub_model_id=.",
    "organization": 'Drop it, and name the repository whole: "organization/name".',
    "prediction_loss_only": "Give it to TrainingArguments(prediction_loss_only=) in place of the Trainer.",
    "max_prompt_length": "Drop it: trl cuts no prompts any more; filter longer ones out of the dataset before.",
    "version": "Drop it: the Hub keeps one version of the data, and revision= takes a branch, tag or commit of it.",
}
# What is lost with an argument that says False, or may say so: what is converted is not shown after a run.
LOST = {
    "save_safetensors": "Checkpoints hold model.safetensors, where save_safetensors=False wrote pytorch_model.bin: what"
    " reads them has to look for it.",
}
# What False of an argument means that became a choice: nothing.
SWITCHED_OFF = (
    "group_by_length",
    "include_inputs_for_metrics",
    "include_tokens_per_second",
    "adafactor",
    "ignore_verifications",
    "use_flash_attention_2",
)
TRAINER_CHANGES: Mapping[str, Change] = {"tokenizer": Change("processing_class")}
ACCELERATOR_CHANGES: Mapping[str, Change] = {
    "fp16": Change("mixed_precision", '"fp16"', is_true, "None", beside='"fp16" if $old else $new'),
    "logging_dir": Change("project_dir"),
}
# load_dataset hands what it does not know to the builder's configuration (measured on datasets 5.2).
REFUSED_BY_BUILDER = "raises a ValueError today"
DATASET_CHANGES: Mapping[str, Change] = {
    "use_auth_token": Change("token", outcome=REFUSED_BY_BUILDER),
    "ignore_verifications": Change("verification_mode", '"no_checks"', is_true, "None", outcome=REFUSED_BY_BUILDER),
    "task": Change(outcome=REFUSED_BY_BUILDER),
    "script_version": Change("revision", outcome=REFUSED_BY_BUILDER),
    "trust_remote_code": Change(outcome="has no effect today"),
}
FROM_PRETRAINED_CHANGES: Mapping[str, Change] = {
    "use_auth_token": Change("token"),
    "resume_download": Change(),
    "use_flash_attention_2": Change("attn_implementation", '"flash_attention_2"', is_true, "None"),
}
BITS = ("load_in_8bit", "load_in_4bit")  # of from_pretrained too; quantized_loading.py writes what they stood for
# What from_pretrained takes without an error and does nothing with (transformers 5.23, modeling_utils.py:4171).
IGNORED_BY_MODELS = frozenset(
    {"mirror", "_fast_init", "low_cpu_mem_usage", "from_tf", "from_flax", "offload_state_dict"}
)
LOAD_DATASET = frozenset({"datasets.load_dataset", "datasets.load.load_dataset"})
DATALOADER_ARGUMENTS = ("split_batches", "dispatch_batches", "even_batches", "use_seedable_sampler")
# The order that the parameters had from transformers 4.19 to 4.45.
TRAINER_PARAMETERS = (
    "model",
    "args",
    "data_collator",
    "train_dataset",
    "eval_dataset",
    "processing_class",
    "model_init",
    "compute_metrics",
    "callbacks",
    "optimizers",
    "preprocess_logits_for_metrics",
)
SAME_POSITIONS = 7  # the eighth parameter of Trainer is another one today
TRAINING_ARGUMENTS_PARAMETERS = (
    "output_dir",
    "overwrite_output_dir",
    "do_train",
    "do_eval",
    "do_predict",
    "evaluation_strategy",
    "prediction_loss_only",
    "per_device_train_batch_size",
    "per_device_eval_batch_size",
)
VALUES = {
    "optim": {"adamw_hf": '"adamw_torch"', "adamw_apex_fused": '"adamw_torch_fused"'},
    "report_to": {None: '"all"'},
}
