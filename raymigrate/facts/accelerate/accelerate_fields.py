"""The keys in the sections of an accelerate config: argument of a plugin, how the value is read, environment variable.

Those of the legacy `accelerate_config` (docs/semantics/legacy-accelerate.md), and what accelerate 1.x added to them or
took out (accelerate/commands/launch.py, accelerate/utils/launch.py of 1.15.0).
"""

from collections.abc import Callable, Mapping
from typing import Any

# accelerate/utils/environment.py, str_to_bool
BOOLEANS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
SHARDING_STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")  # 1, 2, ...


# How a value is read; each raises a ValueError for what accelerate would not have understood either.
def _text(value: object) -> str:
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError("is not a word")


def _strategy(value: object) -> str:
    """The name of a sharding strategy: today's plugin hands a number on to FSDP, which raises a KeyError for it."""
    word = _text(value).upper()
    if word.isdigit() and 0 < int(word) <= len(SHARDING_STRATEGIES):
        return SHARDING_STRATEGIES[int(word) - 1]
    if word not in SHARDING_STRATEGIES:
        raise ValueError("is not a sharding strategy")
    return word


def _lower(value: object) -> str:
    return _text(value).lower()


def _boolean(value: object) -> bool:
    word = str(value).lower()
    if word not in BOOLEANS:
        raise ValueError(f"invalid truth value {word}")
    return BOOLEANS[word]


def _words(value: object) -> list[str]:
    return [word.strip() for word in _text(value).split(",") if word.strip()]


# key -> (argument of the plugin, how the value is read, environment variable)
Field = tuple[str, Callable[[Any], object], str]
FSDP: dict[str, Field] = {
    "fsdp_sharding_strategy": ("sharding_strategy", _strategy, "FSDP_SHARDING_STRATEGY"),
    "fsdp_offload_params": ("cpu_offload", _boolean, "FSDP_OFFLOAD_PARAMS"),
    "fsdp_auto_wrap_policy": ("auto_wrap_policy", _lower, "FSDP_AUTO_WRAP_POLICY"),
    "fsdp_transformer_layer_cls_to_wrap": ("transformer_cls_names_to_wrap", _words, "FSDP_TRANSFORMER_CLS_TO_WRAP"),
    "fsdp_min_num_params": ("min_num_params", lambda v: int(float(v)), "FSDP_MIN_NUM_PARAMS"),
    "fsdp_backward_prefetch_policy": ("backward_prefetch", _text, "FSDP_BACKWARD_PREFETCH"),
    "fsdp_backward_prefetch": ("backward_prefetch", _text, "FSDP_BACKWARD_PREFETCH"),
    "fsdp_state_dict_type": ("state_dict_type", _text, "FSDP_STATE_DICT_TYPE"),
    "fsdp_forward_prefetch": ("forward_prefetch", _boolean, "FSDP_FORWARD_PREFETCH"),
    "fsdp_use_orig_params": ("use_orig_params", _boolean, "FSDP_USE_ORIG_PARAMS"),
    "fsdp_sync_module_states": ("sync_module_states", _boolean, "FSDP_SYNC_MODULE_STATES"),
    "fsdp_cpu_ram_efficient_loading": ("cpu_ram_efficient_loading", _boolean, "FSDP_CPU_RAM_EFFICIENT_LOADING"),
    "fsdp_activation_checkpointing": ("activation_checkpointing", _boolean, "FSDP_ACTIVATION_CHECKPOINTING"),
}
DEEPSPEED: dict[str, Field] = {
    "zero_stage": ("zero_stage", int, "ACCELERATE_DEEPSPEED_ZERO_STAGE"),
    "gradient_accumulation_steps": ("gradient_accumulation_steps", int, "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"),
    "gradient_clipping": ("gradient_clipping", float, "ACCELERATE_GRADIENT_CLIPPING"),
    "offload_optimizer_device": ("offload_optimizer_device", _text, "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE"),
    "offload_param_device": ("offload_param_device", _text, "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE"),
    "offload_optimizer_nvme_path": (
        "offload_optimizer_nvme_path",
        _text,
        "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH",
    ),
    "offload_param_nvme_path": ("offload_param_nvme_path", _text, "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_NVME_PATH"),
    "zero3_init_flag": ("zero3_init_flag", _boolean, "ACCELERATE_DEEPSPEED_ZERO3_INIT"),
    "zero3_save_16bit_model": ("zero3_save_16bit_model", _boolean, "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL"),
    "deepspeed_config_file": ("hf_ds_config", _text, "ACCELERATE_DEEPSPEED_CONFIG_FILE"),
}
LAUNCHER_ONLY = ("deepspeed_multinode_launcher", "deepspeed_hostfile", "deepspeed_exclusion_filter")
DYNAMO: dict[str, Field] = {
    "dynamo_backend": ("backend", _lower, "ACCELERATE_DYNAMO_BACKEND"),
    "dynamo_mode": ("mode", _text, "ACCELERATE_DYNAMO_MODE"),
    "dynamo_use_fullgraph": ("fullgraph", _boolean, "ACCELERATE_DYNAMO_USE_FULLGRAPH"),
    "dynamo_use_dynamic": ("dynamic", _boolean, "ACCELERATE_DYNAMO_USE_DYNAMIC"),
}


def plugin_source(plugin: str, arguments: Mapping[str, str]) -> str:
    """A call of a plugin's class, one argument a line, as it stands among the arguments of `Accelerator`."""
    lines = "".join(f"        {name}={value},\n" for name, value in arguments.items())
    return f"{plugin}(\n{lines}    )" if lines else f"{plugin}()"


def _integer(value: object) -> int:
    return int(_text(value))


def _clipping(value: object) -> float | str:
    return "auto" if _text(value) == "auto" else float(_text(value))


# What accelerate 1.15 reads in a file of its own.
LAUNCHED_FSDP: dict[str, Field] = {
    "fsdp_version": ("fsdp_version", _integer, "FSDP_VERSION"),
    **{key: field for key, field in FSDP.items() if key != "fsdp_backward_prefetch_policy"},
    "fsdp_min_num_params": ("min_num_params", _integer, "FSDP_MIN_NUM_PARAMS"),
    "fsdp_reshard_after_forward": ("reshard_after_forward", _boolean, "FSDP_RESHARD_AFTER_FORWARD"),
    "fsdp_activation_checkpointing_offload": (
        "activation_checkpointing_offload",
        _boolean,
        "FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD",
    ),
    "fsdp_ignored_modules": ("ignored_modules", _text, "FSDP_IGNORED_MODULES"),
}
# The defaults of `accelerate launch`, which are not those of the plugin.
FSDP_DEFAULTS: dict[str, object] = {
    "fsdp_version": "1",
    "fsdp_sharding_strategy": "FULL_SHARD",
    "fsdp_reshard_after_forward": "true",
    "fsdp_offload_params": "false",
    "fsdp_min_num_params": 100_000_000,
    "fsdp_forward_prefetch": "false",
    "fsdp_use_orig_params": "true",
    "fsdp_cpu_ram_efficient_loading": "true",
    "fsdp_sync_module_states": "true",
    "fsdp_activation_checkpointing": "false",
    "fsdp_activation_checkpointing_offload": "false",
}
LAUNCHED_DEEPSPEED: dict[str, Field] = {
    **DEEPSPEED,
    "zero_stage": ("zero_stage", _integer, "ACCELERATE_DEEPSPEED_ZERO_STAGE"),
    "gradient_accumulation_steps": ("gradient_accumulation_steps", _integer, "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"),
    "gradient_clipping": ("gradient_clipping", _clipping, "ACCELERATE_GRADIENT_CLIPPING"),
    "offload_optimizer_device": ("offload_optimizer_device", _lower, "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE"),
    "offload_param_device": ("offload_param_device", _lower, "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE"),
    "deepspeed_moe_layer_cls_names": ("transformer_moe_cls_names", _text, "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES"),
}
# Beside deepspeed_config_file these end in a ValueError (accelerate/utils/dataclasses.py, _deepspeed_config_checks).
BESIDE_NO_CONFIG_FILE = (
    "gradient_accumulation_steps",
    "gradient_clipping",
    "zero_stage",
    "offload_optimizer_device",
    "offload_param_device",
    "offload_param_nvme_path",
    "offload_optimizer_nvme_path",
    "zero3_save_16bit_model",
    "mixed_precision",
)
LAUNCHED_DYNAMO: dict[str, Field] = {
    **DYNAMO,
    "dynamo_use_regional_compilation": (
        "use_regional_compilation",
        _boolean,
        "ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION",
    ),
}
DYNAMO_DEFAULTS: dict[str, object] = {
    "dynamo_backend": "no",
    "dynamo_mode": "default",
    "dynamo_use_fullgraph": False,
    "dynamo_use_dynamic": False,
    "dynamo_use_regional_compilation": False,
}
PARALLELISM: dict[str, Field] = {
    **{
        f"parallelism_config_{name}_size": (f"{name}_size", _integer, f"PARALLELISM_CONFIG_{name.upper()}_SIZE")
        for name in ("dp_replicate", "dp_shard", "tp", "cp", "sp")
    },
    "parallelism_config_cp_backend": ("cp_backend", _text, "PARALLELISM_CONFIG_CP_BACKEND"),
    "parallelism_config_sp_backend": ("sp_backend", _text, "PARALLELISM_CONFIG_SP_BACKEND"),
}
PARALLELISM_DEFAULTS: dict[str, object] = {
    **{f"parallelism_config_{name}_size": 1 for name in ("dp_replicate", "dp_shard", "tp", "cp", "sp")},
    "parallelism_config_cp_backend": "torch",
    "parallelism_config_sp_backend": "deepspeed",
}
FP8_DEFAULTS: dict[str, object] = {
    "fp8_use_autocast_during_eval": False,
    "fp8_margin": 0,
    "fp8_interval": 1,
    "fp8_format": "HYBRID",
    "fp8_amax_history_len": 1024,
    "fp8_amax_compute_algo": "most_recent",
    "fp8_override_linear_precision": (False, False, False),
    "fp8_opt_level": "O2",
    "fp8_enable_fsdp_float8_all_gather": 1,
    "fp8_pad_inner_dim": 1,
}
