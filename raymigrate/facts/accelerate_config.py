"""What each key of a legacy `accelerate_config` did, and where it goes now (docs/semantics/legacy-accelerate.md).

The legacy trainer parsed the config on the driver and turned it into environment variables on the workers;
accelerate 1.15 still reads the same variables, and takes most values as arguments of `Accelerator`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raymigrate.facts.literals import literal, string_literal
from raymigrate.facts.yaml_files import MAX_CHARACTERS, load_yaml
from raymigrate.files import read_bytes

IGNORED = {
    **dict.fromkeys(
        ("num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port", "rdzv_backend"),
        "the number and place of the workers come from ScalingConfig, as they did before",
    ),
    **dict.fromkeys(("same_network", "main_training_function", "num_cpu_threads_per_process"), "had no effect before"),
    **dict.fromkeys(("compute_environment", "command_file", "commands"), "only for accelerate's own launcher"),
    "debug": "only for accelerate's own launcher",
    "use_cpu": "was overridden by ScalingConfig(use_gpu), which decides now as well",
    "ipex_config": "accelerate 1.x has no IPEX settings",
    "mpirun_config": "only for accelerate's own launcher",
    "downcast_bf16": "only for TPUs, which the legacy trainer refused",
    "gpu_ids": "Ray assigns the GPUs; before, it leaked into CUDA_VISIBLE_DEVICES on the workers",
}
NO_SUCH_VALUE = "accelerate knows no such value"
PRECISIONS = ("fp16", "bf16")
SHARDING_STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")  # 1, 2, ...
BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass
class Destination:
    """Where the keys of a config go.

    Args:
        arguments: Arguments of `Accelerator`, as source.
        imports: Names that the arguments need from `accelerate.utils`.
        environment: The same as environment variables, for an Accelerator that is made out of sight.
        rows: Key, value and what became of it: one row per key.
        unknown: Keys that no sure place is known for, with the reason.
    """

    arguments: dict[str, str] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    environment: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[str, object, str]] = field(default_factory=list)
    unknown: list[tuple[str, object, str]] = field(default_factory=list)


def read_file(path: Path) -> dict[str, Any]:
    """Reads an accelerate config file, YAML or JSON, as accelerate does.

    Raises:
        OSError: If it cannot be read, or is far larger than such a file is.
        ValueError: If it does not hold a mapping.
    """
    text = read_bytes(str(path), at_most=MAX_CHARACTERS).decode()
    try:
        loaded = json.loads(text) if path.suffix == ".json" else load_yaml(text)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    if not isinstance(loaded, dict):
        raise ValueError("does not hold a mapping")
    return loaded


def is_ignored(key: str) -> bool:
    """Whether a key had no effect, whatever its value was."""
    return _reason_to_ignore(key) is not None


def _reason_to_ignore(key: str) -> str | None:
    return "only for TPUs, which the legacy trainer refused" if key.startswith("tpu_") else IGNORED.get(key)


def destination(config: Mapping[str, Any], *, use_gpu: bool | None) -> Destination:
    """Sends each key of a config to its place.

    Args:
        config: The parsed config.
        use_gpu: Whether the workers have a GPU; None if unknown, which counts as yes.
    """
    result = Destination()
    kind = str(config.get("distributed_type", "NO")).upper()
    on_gpu = use_gpu is not False
    for key, value in _by_name(config).items():
        reason = _reason_to_ignore(key)
        if reason is not None:
            result.rows.append((key, value, f"dropped: {reason}"))
        elif key == "mixed_precision":
            _mixed_precision(result, value)
        elif key == "distributed_type":
            _distributed_type(result, value, kind)
        elif key in SECTIONS:
            _section(result, key, value, kind, on_gpu=on_gpu)
        else:
            result.unknown.append((key, value, "no place is known for this key"))
    for section, (wanted, convert) in SECTIONS.items():
        if wanted == kind and section not in config and on_gpu:
            convert(result, {})  # the launcher's defaults
    return result


def _section(result: Destination, key: str, value: object, kind: str, *, on_gpu: bool) -> None:
    wanted, convert = SECTIONS[key]
    if wanted and wanted != kind:
        result.rows.append((key, value, f"dropped: without distributed_type: {wanted} it was ignored"))
    elif wanted and not on_gpu:
        result.rows.append((key, value, "dropped: the legacy trainer ignored it on CPU workers"))
    elif key == "dynamo_config" and kind == "DEEPSPEED" and on_gpu:
        result.rows.append((key, value, "dropped: the DeepSpeed launcher did not export it"))
    elif isinstance(value, (Mapping, type(None))):
        convert(result, _by_name(value or {}))
    else:
        result.unknown.append((key, value, "it is not a mapping"))


def _mixed_precision(result: Destination, value: object) -> None:
    text = "no" if value is None or value is False else str(value).lower()
    if text == "no":
        result.rows.append(("mixed_precision", value, "dropped: it is the default"))
    elif text == "fp8":
        result.unknown.append(("mixed_precision", value, "fp8 needs a recipe in accelerate 1.x"))
    elif text not in PRECISIONS:
        result.unknown.append(("mixed_precision", value, NO_SUCH_VALUE))
    else:
        result.arguments["mixed_precision"] = string_literal(text)
        result.environment["ACCELERATE_MIXED_PRECISION"] = text
        result.rows.append(("mixed_precision", value, f'Accelerator(mixed_precision="{text}")'))


def _distributed_type(result: Destination, value: object, kind: str) -> None:
    if kind in ("NO", "MULTI_GPU", "MULTI_CPU"):
        result.rows.append(("distributed_type", value, "dropped: accelerate finds it out from Ray's environment"))
    elif kind in ("FSDP", "DEEPSPEED", "MEGATRON_LM"):
        result.rows.append(("distributed_type", value, "kept by the plugin given to Accelerator"))
    else:
        result.unknown.append(("distributed_type", value, "the legacy trainer raised NotImplementedError for it"))


def _by_name(section: Mapping[Any, Any]) -> dict[str, Any]:
    """A section by names: YAML takes numbers and nothing for keys, too."""
    return {str(key): value for key, value in section.items()}


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
    word = _lower(value)
    if word not in BOOLEANS:
        raise ValueError("is neither true nor false")
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


def _plugin(
    result: Destination, section: Mapping[str, Any], name: str, fields: Mapping[str, Field], argument: str, plugin: str
) -> dict[str, str]:
    """Turns one section into a plugin's arguments; returns them as source."""
    arguments: dict[str, str] = {}
    for key, value in section.items():
        if key in LAUNCHER_ONLY:
            result.rows.append((f"{name}.{key}", value, "dropped: only for accelerate's own launcher"))
        elif key not in fields:
            result.unknown.append((f"{name}.{key}", value, "no place is known for this key"))
        elif value is None:
            result.rows.append((f"{name}.{key}", value, "dropped: it is not set"))
        else:
            parameter, read, variable = fields[key]
            try:
                converted = read(value)
                arguments[parameter] = literal(converted)
            except (TypeError, ValueError, OverflowError):
                result.unknown.append((f"{name}.{key}", value, NO_SUCH_VALUE))
                continue
            result.environment[variable] = ",".join(converted) if isinstance(converted, list) else str(converted)
            result.rows.append((f"{name}.{key}", value, f"{plugin}({parameter}={arguments[parameter]})"))
    result.imports.add(plugin)
    fixed = {"fsdp_version": "1"} if argument == "fsdp_plugin" else {}  # FSDP2 is the default of accelerate's future
    lines = "".join(f"        {parameter}={value},\n" for parameter, value in {**fixed, **arguments}.items())
    result.arguments[argument] = f"{plugin}(\n{lines}    )" if lines else f"{plugin}()"
    return arguments


def _fsdp(result: Destination, section: Mapping[str, Any]) -> None:
    # The legacy trainer added the prefix to keys that do not hold the word.
    given = {key if "fsdp" in key else f"fsdp_{key}": value for key, value in section.items()}
    defaults: dict[str, object] = {"fsdp_sync_module_states": True}
    if str(given.get("fsdp_auto_wrap_policy")).upper() == "SIZE_BASED_WRAP":
        defaults["fsdp_min_num_params"] = 100_000_000
    unset = _unset(given, defaults)
    _plugin(result, {**given, **unset}, "fsdp_config", FSDP, "fsdp_plugin", "FullyShardedDataParallelPlugin")
    _name_defaults(result, "fsdp_config", unset)
    result.environment["ACCELERATE_USE_FSDP"] = "true"


def _unset(given: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    """What accelerate's launcher exported by default and its plugin does not do (0.23, commands/launch.py)."""
    return {key: value for key, value in defaults.items() if given.get(key) is None}


def _name_defaults(result: Destination, section: str, unset: Mapping[str, object]) -> None:
    """Says of the rows that no config holds where they come from."""
    keys = {f"{section}.{key}" for key in unset}
    result.rows = [
        (key, value, f"{what}, as accelerate's launcher did by default" if key in keys else what)
        for key, value, what in result.rows
    ]


def _deepspeed(result: Destination, section: Mapping[str, Any]) -> None:
    arguments = _plugin(result, section, "deepspeed_config", DEEPSPEED, "deepspeed_plugin", "DeepSpeedPlugin")
    result.environment["ACCELERATE_USE_DEEPSPEED"] = "true"
    if "gradient_accumulation_steps" in arguments:  # the environment beat Accelerator's own argument before
        result.arguments["gradient_accumulation_steps"] = arguments["gradient_accumulation_steps"]


def _dynamo(result: Destination, section: Mapping[str, Any]) -> None:
    prefixed = {key: value for key, value in section.items() if key.startswith("dynamo_")}
    if str(prefixed.get("dynamo_backend", "no")).lower() == "no":
        result.rows.append(("dynamo_config", dict(section), "dropped: it names no backend, so nothing was compiled"))
        return
    for key in sorted(section.keys() - prefixed.keys()):
        result.rows.append((f"dynamo_config.{key}", section[key], "dropped: without the prefix dynamo_ it was ignored"))
    unset = _unset(prefixed, {"dynamo_use_dynamic": False})
    _plugin(result, prefixed | unset, "dynamo_config", DYNAMO, "dynamo_plugin", "TorchDynamoPlugin")
    _name_defaults(result, "dynamo_config", unset)


def _megatron(result: Destination, section: Mapping[str, Any]) -> None:
    result.unknown.append(
        ("megatron_lm_config", dict(section), "needs Megatron-LM; give Accelerator a MegatronLMPlugin")
    )


# section -> (distributed_type that it needs, what converts it)
SECTIONS: dict[str, tuple[str, Callable[[Destination, Mapping[str, Any]], None]]] = {
    "fsdp_config": ("FSDP", _fsdp),
    "deepspeed_config": ("DEEPSPEED", _deepspeed),
    "dynamo_config": ("", _dynamo),
    "megatron_lm_config": ("MEGATRON_LM", _megatron),
}
