"""The sections of accelerate's file: FSDP, DeepSpeed, dynamo, parallelism and FP8, as accelerate 1.15 launches them.

Each function takes a section with the names that accelerate gives its keys, checks what accelerate would check, and
adds rows, the plugin and the environment variables to a `LaunchForm`. Sources: accelerate/commands/launch.py
(`_validate_launch_command`), accelerate/utils/launch.py (`prepare_*_env`) and the plugins' `__post_init__` in
accelerate/utils/dataclasses.py, all of 1.15.0.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from raymigrate.facts.accelerate.accelerate_fields import (
    BESIDE_NO_CONFIG_FILE,
    DYNAMO_DEFAULTS,
    FP8_DEFAULTS,
    FSDP_DEFAULTS,
    LAUNCHED_DEEPSPEED,
    LAUNCHED_DYNAMO,
    LAUNCHED_FSDP,
    LAUNCHER_ONLY,
    PARALLELISM,
    PARALLELISM_DEFAULTS,
    Field,
)
from raymigrate.facts.accelerate.launch_form import LaunchForm, RejectedFileError, Row
from raymigrate.facts.syntax.literals import literal, string_literal

Section = Mapping[str, Any]

UNKNOWN = "dropped: accelerate knows no such key here, so it had no effect"
RENAMED = {"fsdp_backward_prefetch_policy": "fsdp_backward_prefetch"}
CONFIG_FILE_ALONE = (
    "When using `deepspeed_config_file`, the following accelerate config variables will be ignored: {names}. Please"
    " specify them appropriately in the DeepSpeed config file."
)
DYNAMO_BACKENDS = (
    *("NO", "EAGER", "AOT_EAGER", "INDUCTOR", "AOT_TS_NVFUSER", "NVPRIMS_NVFUSER", "CUDAGRAPHS", "OFI", "FX2TRT"),
    *("ONNXRT", "TENSORRT", "AOT_TORCHXLA_TRACE_ONCE", "TORCHXLA_TRACE_ONCE", "TVM", "HPU_BACKEND", "NEURON"),
)
WRAP_POLICIES = ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP")
STATE_DICT_TYPES = ("FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT")  # 1, 2, 3
PREFETCHES = ("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH")
ONLY_VERSION_1 = "dropped: FSDP 2 does not have it"
NEVER_NONE = (*FSDP_DEFAULTS, *DYNAMO_DEFAULTS, *PARALLELISM_DEFAULTS)  # exported whatever they are
GLOO = (
    'TorchConfig(backend="cpu:gloo,cuda:nccl"): it needs gloo as well, and Ray makes the process group, not accelerate'
)
# Launch's defaults that are the plugin's own as well: nothing is to be written for them.
SAME_IN_PLUGIN = {
    *("fsdp_offload_params", "fsdp_forward_prefetch", "fsdp_activation_checkpointing"),
    *("fsdp_activation_checkpointing_offload", "fsdp_sharding_strategy", "fsdp_reshard_after_forward"),
    *("dynamo_mode", "dynamo_use_fullgraph", "dynamo_use_regional_compilation"),
    *PARALLELISM_DEFAULTS,
}


def fsdp(form: LaunchForm, given: Section) -> None:
    """The section `fsdp_config` under the type FSDP."""
    values = _with_defaults(given, FSDP_DEFAULTS)
    _check_fsdp(values)
    version = _read(LAUNCHED_FSDP, "fsdp_version", values["fsdp_version"])
    form.environment["ACCELERATE_USE_FSDP"] = "true"
    _add_plugin(
        form,
        "fsdp_config",
        given,
        values,
        LAUNCHED_FSDP,
        ("fsdp_plugin", "FullyShardedDataParallelPlugin"),
        {key: reason for key in values if (reason := _not_for_fsdp(key, version, values))},
    )
    full = str(values.get("fsdp_state_dict_type")) == "FULL_STATE_DICT"
    if full or _read(LAUNCHED_FSDP, "fsdp_offload_params", values["fsdp_offload_params"]):
        form.torch_config["backend"] = '"cpu:gloo,cuda:nccl"'
        key = f"fsdp_config.{'fsdp_state_dict_type' if full else 'fsdp_offload_params'}"
        form.rows[:] = [replace(row, remark=GLOO) if row.key == key else row for row in form.rows]


def _check_fsdp(values: Section) -> None:
    """Raises what the launcher and the plugin raise."""
    # The launcher looks at the values as they are: the text "false" counts as true.
    if values["fsdp_cpu_ram_efficient_loading"] and not values["fsdp_sync_module_states"]:
        raise RejectedFileError(
            "When using `--fsdp_cpu_ram_efficient_loading` set `--fsdp_sync_module_states` to `True`"
        )
    version = _read(LAUNCHED_FSDP, "fsdp_version", values["fsdp_version"])
    policy = str(values.get("fsdp_auto_wrap_policy", "NO_WRAP"))
    if policy.upper() not in WRAP_POLICIES:
        raise RejectedFileError(f"Invalid auto wrap policy: {policy}. Must be one of {list(WRAP_POLICIES)}")
    _check_word(values.get("fsdp_state_dict_type"), STATE_DICT_TYPES)
    _check_word(values.get("fsdp_backward_prefetch"), PREFETCHES)
    if version == 2 and str(values.get("fsdp_state_dict_type")).upper() in ("LOCAL_STATE_DICT", "2"):
        raise RejectedFileError(
            "FSDP2 does not support LOCAL_STATE_DICT. Please set `fsdp_state_dict_type` to `SHARDED_STATE_DICT` or"
            " `FULL_STATE_DICT`."
        )
    if _read(LAUNCHED_FSDP, "fsdp_activation_checkpointing_offload", values["fsdp_activation_checkpointing_offload"]):
        checkpoints = values["fsdp_activation_checkpointing"]
        if not _read(LAUNCHED_FSDP, "fsdp_activation_checkpointing", checkpoints):
            raise RejectedFileError("`activation_checkpointing_offload=True` requires `activation_checkpointing=True`.")
        if version != 2:
            raise RejectedFileError("`activation_checkpointing_offload=True` requires `fsdp_version=2`.")


def _check_word(value: object, words: tuple[str, ...]) -> None:
    """A name or a number that torch's enumerations know."""
    numbers = [str(number) for number in range(1, 4 if words is STATE_DICT_TYPES else 3)]
    if value is not None and str(value).upper() not in (*words, *numbers):
        raise RejectedFileError(repr(str(value).upper()))


def _not_for_fsdp(key: str, version: object, values: Section) -> str:
    """Why a key has no effect with this version of FSDP and these other keys; empty if it has one."""
    policy = str(values.get("fsdp_auto_wrap_policy", "")).upper()
    if key == "fsdp_min_num_params" and policy != "SIZE_BASED_WRAP":
        return "dropped: it counts with fsdp_auto_wrap_policy: SIZE_BASED_WRAP only"
    if key == "fsdp_transformer_layer_cls_to_wrap" and policy != "TRANSFORMER_BASED_WRAP":
        return "dropped: it counts with fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP only"
    if version == 2:
        of_version_1 = ("sharding_strategy", "backward_prefetch", "forward_prefetch", "use_orig_params")
        return ONLY_VERSION_1 if key.removeprefix("fsdp_") in (*of_version_1, "sync_module_states") else ""
    if key == "fsdp_reshard_after_forward":
        return "dropped: FSDP 1 goes by fsdp_sharding_strategy"
    return ""


def deepspeed(form: LaunchForm, given: Section, fields: list[str]) -> None:
    """The section `deepspeed_config` under the type DEEPSPEED.

    Args:
        form: What is filled in.
        given: The section.
        fields: Keys that accelerate counts as DeepSpeed's own when it looks for contradictions.
    """
    if given.get("deepspeed_config_file") is not None and any(name in BESIDE_NO_CONFIG_FILE for name in fields):
        raise RejectedFileError(CONFIG_FILE_ALONE.format(names=list(BESIDE_NO_CONFIG_FILE)))
    form.environment["ACCELERATE_CONFIG_DS_FIELDS"] = ",".join(fields).lower()
    form.environment["ACCELERATE_USE_DEEPSPEED"] = "true"
    without: dict[str, str] = dict.fromkeys(
        (*LAUNCHER_ONLY, "deepspeed_inclusion_filter"), "dropped: only for the command that starts DeepSpeed"
    )
    _add_plugin(
        form,
        "deepspeed_config",
        given,
        given,
        LAUNCHED_DEEPSPEED,
        ("deepspeed_plugin", "DeepSpeedPlugin"),
        {key: reason for key, reason in without.items() if key in given},
    )
    plugin = form.plugins["deepspeed_plugin"][1]
    if "gradient_accumulation_steps" in plugin:  # the variable beats Accelerator's own argument
        form.arguments["gradient_accumulation_steps"] = plugin["gradient_accumulation_steps"]


def dynamo(form: LaunchForm, given: Section) -> None:
    """The section `dynamo_config`, for every launcher but DeepSpeed's."""
    values = _with_defaults(given, DYNAMO_DEFAULTS)
    backend = values["dynamo_backend"]
    if not isinstance(backend, str):
        raise RejectedFileError(f"{type(backend).__name__!r} object has no attribute 'upper'")
    if backend.upper() not in DYNAMO_BACKENDS:
        raise RejectedFileError(
            f"Unknown dynamo backend: {backend.upper()}. Choose between {sorted(map(str.lower, DYNAMO_BACKENDS))}."
        )
    if backend.upper() != "NO":
        names = ("dynamo_plugin", "TorchDynamoPlugin")
        _add_plugin(form, "dynamo_config", given, values, LAUNCHED_DYNAMO, names, {})
        return
    for key, value in given.items():
        form.drop(f"dynamo_config.{key}", value, _exported(LAUNCHED_DYNAMO, key, value), "dropped: nothing is compiled")
    form.environment.update({LAUNCHED_DYNAMO[key][2]: str(values[key]) for key in LAUNCHED_DYNAMO})
    form.environment["ACCELERATE_DYNAMO_BACKEND"] = "NO"


def parallelism(form: LaunchForm, given: Section) -> None:
    """The section `parallelism_config`, for torchrun's and DeepSpeed's launchers."""
    values = _with_defaults(given, PARALLELISM_DEFAULTS)
    variables = _parallelism_variables(values)
    form.environment["ACCELERATE_USE_PARALLELISM_CONFIG"] = "true"
    _add_plugin(
        form,
        "parallelism_config",
        {key: value for key, value in given.items() if key in PARALLELISM or key not in variables},
        values,
        PARALLELISM,
        ("parallelism_config", "ParallelismConfig"),
        {},
    )
    sizes = {key: _read(PARALLELISM, key, values[key]) for key in PARALLELISM if key.endswith("_size")}
    total = 1
    for key, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            name = key.removeprefix("parallelism_config_")
            raise RejectedFileError(f"{name} must be at least 1, but got {size}")
        total *= size
    by_deepspeed = _above_one(sizes["parallelism_config_sp_size"])  # which counts the workers itself
    if form.workers is not None and total not in (1, form.workers) and not by_deepspeed:
        raise RejectedFileError(
            f"ParallelismConfig total_size ({total}) does not match num_processes ({form.workers}). Please adjust"
            " dp_replicate_size/ dp_shard_size/tp_size/cp_size/sp_size."
        )
    for key, (variable, value) in variables.items():
        form.environment[variable] = form.variables[variable] = str(value)
        if key in given:
            form.rows.append(
                Row(f"parallelism_config.{key}", value, f"{variable}={value}", f"{variable} in worker_runtime_env")
            )


def _parallelism_variables(values: Section) -> dict[str, tuple[str, object]]:
    """What no argument of ParallelismConfig stands for: key -> variable and value."""
    found: dict[str, tuple[str, object]] = {}
    wanted: dict[str, object] = {}
    if _above_one(values["parallelism_config_cp_size"]):
        wanted |= {"cp_comm_strategy": "allgather"}
    if _above_one(values["parallelism_config_sp_size"]):
        wanted |= {"sp_seq_length": None, "sp_seq_length_is_variable": True, "sp_attn_implementation": "sdpa"}
    for name, default in wanted.items():
        key = f"parallelism_config_{name}"
        found[key] = (f"PARALLELISM_CONFIG_{name.upper()}", values.get(key, default))
    return found


def _above_one(value: object) -> bool:
    return isinstance(value, int) and value > 1


def fp8(form: LaunchForm, given: Section) -> None:
    """The section `fp8_config` with `mixed_precision: fp8`: environment variables only."""
    values = _with_defaults(given, FP8_DEFAULTS)
    for key, value in values.items():
        exported = {f"ACCELERATE_{key.upper()}": str(value)}
        if key == "fp8_override_linear_precision":
            names = ("FPROP", "DGRAD", "WGRAD")
            if not isinstance(value, (list, tuple, str)) or len(value) < len(names):
                raise RejectedFileError(f"{key}: three values are needed, not {value!r}")
            exported = {f"ACCELERATE_FP8_OVERRIDE_{name}": str(part) for name, part in zip(names, value, strict=False)}
        if not key.startswith("fp8_") or value is None:
            continue
        form.environment |= exported
        form.variables |= exported
        if key in given:
            text = ", ".join(f"{name}={part}" for name, part in exported.items())
            form.rows.append(Row(f"fp8_config.{key}", value, text, "the same in worker_runtime_env"))


def _with_defaults(given: Section, defaults: Section) -> dict[str, Any]:
    """The values of a section over the launcher's defaults: a key without a value has none of them either."""
    return {**defaults, **given}


def _read(fields: Mapping[str, Field], key: str, value: object) -> object:
    try:
        return fields[key][1](value)
    except (TypeError, ValueError, OverflowError) as error:
        raise RejectedFileError(f"{key}: {error}") from error


def _exported(fields: Mapping[str, Field], key: str, value: object) -> str:
    return f"{fields[key][2]}={_text(fields, key, value)}" if key in fields else "nothing"


def _text(fields: Mapping[str, Field], key: str, value: object) -> str:
    """A value as the launcher exports it."""
    variable = fields[key][2]
    if key == "dynamo_backend":
        return str(value).upper()
    lowered = ("OFFLOAD_OPTIMIZER_DEVICE", "OFFLOAD_PARAM_DEVICE", "CLIPPING", "ZERO3_INIT", "SAVE_16BIT_MODEL")
    is_fsdp_flag = variable.startswith("FSDP_") and fields[key][1] is LAUNCHED_FSDP["fsdp_use_orig_params"][1]
    return str(value).lower() if is_fsdp_flag or variable.endswith(lowered) else str(value)


def _add_plugin(
    form: LaunchForm,
    name: str,
    given: Section,
    values: Section,
    fields: Mapping[str, Field],
    plugin: tuple[str, str],
    without_effect: Mapping[str, str],
) -> None:
    """Turns a section into the arguments of a plugin.

    Args:
        form: What is filled in.
        name: The section's name.
        given: What stands in the file.
        values: The same over the launcher's defaults.
        fields: The keys that accelerate reads.
        plugin: Argument of `Accelerator`, and class of the plugin.
        without_effect: Keys that accelerate reads and that change nothing here, with the reason.
    """
    parameter, class_name = plugin
    arguments: dict[str, str] = {}
    for key, value in {**given, **values}.items():
        row, launch = f"{name}.{key}", _exported(fields, key, value)
        if key not in fields and key not in without_effect:
            new = f"; today it is {RENAMED[key]}" if key in RENAMED else ""
            form.drop(row, value, "nothing", f"{UNKNOWN}{new}")
            continue
        exported = key in fields and "_nvme_path" not in key and not (value is None and key not in NEVER_NONE)
        if exported:
            form.environment[fields[key][2]] = _text(fields, key, value)
        if key in without_effect or (key in SAME_IN_PLUGIN and key not in given):
            if key in given:
                form.drop(row, value, launch if exported else "nothing", without_effect[key])
        elif value is None and not exported:
            form.drop(row, value, "nothing", "dropped: it is not set")
        else:
            argument, remark = _argument(key, value, fields)
            if argument is None:
                form.drop(row, value, launch, remark)
                continue
            arguments[fields[key][0]] = argument
            source = f"{parameter}: {fields[key][0]}={argument}"
            form.rows.append(Row(row, value, launch if exported else "nothing", source, remark, key in given))
    form.plugins[parameter] = (class_name, arguments)


def _argument(key: str, value: object, fields: Mapping[str, Field]) -> tuple[str | None, str]:
    """An argument of a plugin as source, and what to know about it."""
    if key == "deepspeed_config_file":
        path = string_literal(str(value))
        return (
            f"json.loads(Path({path}).read_text())",
            "read it outside of the training function: workers have a working directory of their own",
        )
    read = _read(fields, key, value)
    if "_nvme_path" in key:
        return literal(read), "accelerate launch did not hand it on: offloading had no path"
    if key == "gradient_clipping" and read == "auto":
        return None, "dropped: it is the default"
    return literal(read), ""
