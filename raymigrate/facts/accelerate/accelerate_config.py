"""What each key of a legacy `accelerate_config` did, and where it goes now (docs/semantics/legacy-accelerate.md).

The legacy trainer parsed the config on the driver and turned it into environment variables on the workers;
accelerate 1.15 still reads the same variables, and takes most values as arguments of `Accelerator`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raymigrate.facts.accelerate.accelerate_fields import (
    BOOLEANS,
    DEEPSPEED,
    DYNAMO,
    FSDP,
    LAUNCHER_ONLY,
    Field,
    plugin_source,
)
from raymigrate.facts.projects.yaml_files import load_yaml, settings_text
from raymigrate.facts.syntax.literals import literal, string_literal

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
# accelerate 0.17 to 0.24 made an optimizer that was prepared together with its model anew, over the parameters that
# FSDP had wrapped (accelerator.py, `_prepare_fsdp`); 0.25 and 1.15 do not. Without use_orig_params FSDP puts others in
# place of the parameters that the optimizer holds, which then get no gradient, and nothing says so (measured).
USE_ORIG_PARAMS = "fsdp_use_orig_params"
KEPT_PARAMETERS = (
    ", since accelerate 0.17 to 0.24 made the optimizer anew over the wrapped model: without both nothing trains"
)


@dataclass
class Destination:
    """Where the keys of a config go.

    Args:
        arguments: Arguments of `Accelerator`, as source.
        plugins: What the config gives each of the plugins among these, as source.
        imports: Names that the arguments need from `accelerate.utils`.
        environment: The same as environment variables, for an Accelerator that is made out of sight.
        on_gpus: The arguments and variables that CPU workers did not get.
        keeps_parameters: Whether FSDP has to keep the parameters of the model, which an optimizer may hold.
        rows: Key, value and what became of it: one row per key.
        unknown: Keys that no sure place is known for, with the reason.
    """

    arguments: dict[str, str] = field(default_factory=dict)
    plugins: dict[str, dict[str, str]] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    environment: dict[str, str] = field(default_factory=dict)
    on_gpus: set[str] = field(default_factory=set)
    keeps_parameters: bool = True
    rows: list[tuple[str, object, str]] = field(default_factory=list)
    unknown: list[tuple[str, object, str]] = field(default_factory=list)


def read_file(path: Path, written: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """Reads an accelerate config file, YAML or JSON, as accelerate does.

    Args:
        path: The file.
        written: What cells of the notebook write to files, by path; None where that is not known.

    Raises:
        OSError: If it cannot be read, or is far larger than such a file is.
        ValueError: If it does not hold a mapping, or what it holds is not known.
    """
    text = settings_text(path, written)
    try:
        loaded = json.loads(text) if path.suffix == ".json" else load_yaml(text)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    if not isinstance(loaded, dict):
        raise ValueError("does not hold a mapping")
    return loaded


def with_new_names(config: Mapping[str, Any]) -> dict[str, Any]:
    """What accelerate made of a file from before 0.15: keys of today in place of `fp16` and `dynamo_backend`.

    It did so for files only (0.17.1 to 1.15.0, commands/config/config_args.py): for a dict these were a TypeError.
    """
    renamed = dict(config)
    if "fp16" in renamed:
        half = renamed.pop("fp16")
        renamed.setdefault("mixed_precision", "fp16" if half else "no")
    if "dynamo_backend" in renamed:
        backend = renamed.pop("dynamo_backend")
        renamed["dynamo_config"] = {} if backend == "NO" else {"dynamo_backend": backend}
    return renamed


def is_ignored(key: str) -> bool:
    """Whether a key had no effect, whatever its value was."""
    return _reason_to_ignore(key) is not None


def _reason_to_ignore(key: str) -> str | None:
    return "only for TPUs, which the legacy trainer refused" if key.startswith("tpu_") else IGNORED.get(key)


def destination(config: Mapping[str, Any], *, use_gpu: bool | None, keeps_parameters: bool) -> Destination:
    """Sends each key of a config to its place.

    Args:
        config: The parsed config.
        use_gpu: Whether the workers have a GPU; None if unknown: `Destination.on_gpus` has what they need one for.
        keeps_parameters: False where each optimizer is made from a model that FSDP has wrapped.
    """
    result = Destination(keeps_parameters=keeps_parameters)
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
            result.unknown.append((key, value, "not carried over"))
    for section, (wanted, convert) in SECTIONS.items():
        if wanted == kind and section not in config and on_gpu:
            _by_gpus(result, convert, {})  # the launcher's defaults
    return result


def _section(result: Destination, key: str, value: object, kind: str, *, on_gpu: bool) -> None:
    wanted, convert = SECTIONS[key]
    if wanted and wanted != kind:
        result.rows.append((key, value, f"dropped: without distributed_type: {wanted} it was ignored"))
    elif wanted and not on_gpu:
        result.rows.append((key, value, "dropped: the legacy trainer ignored it on CPU workers"))
    elif key == "dynamo_config" and kind == "DEEPSPEED" and on_gpu:
        result.rows.append((key, value, "dropped: the DeepSpeed launcher did not export it"))
    elif isinstance(value, (Mapping, type(None))) and wanted:
        _by_gpus(result, convert, _by_name(value or {}))
    elif isinstance(value, (Mapping, type(None))):
        convert(result, _by_name(value or {}))
    else:
        result.unknown.append((key, value, "it is not a mapping"))


def _by_gpus(result: Destination, convert: "Convert", section: Mapping[str, Any]) -> None:
    """Converts a section that the legacy trainer ignored on CPU workers."""
    before = {*result.arguments, *result.environment}
    convert(result, section)
    result.on_gpus |= {*result.arguments, *result.environment} - before


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


def _plugin(
    result: Destination, section: Mapping[str, Any], name: str, fields: Mapping[str, Field], argument: str, plugin: str
) -> dict[str, str]:
    """Turns one section into a plugin's arguments; returns them as source."""
    arguments: dict[str, str] = {}
    for key, value in section.items():
        if key in LAUNCHER_ONLY:
            result.rows.append((f"{name}.{key}", value, "dropped: only for accelerate's own launcher"))
        elif key not in fields:
            result.unknown.append((f"{name}.{key}", value, "not carried over"))
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
    result.plugins[argument] = arguments
    fixed = {"fsdp_version": "1"} if argument == "fsdp_plugin" else {}  # FSDP2 is the default of accelerate's future
    result.arguments[argument] = plugin_source(plugin, {**fixed, **arguments})
    return arguments


def _fsdp(result: Destination, section: Mapping[str, Any]) -> None:
    # The legacy trainer added the prefix to keys that do not hold the word.
    given = {key if "fsdp" in key else f"fsdp_{key}": value for key, value in section.items()}
    defaults: dict[str, object] = {"fsdp_sync_module_states": True}
    if str(given.get("fsdp_auto_wrap_policy")).upper() == "SIZE_BASED_WRAP":
        defaults["fsdp_min_num_params"] = 100_000_000
    unset = _unset(given, defaults)
    flattened = given.get(USE_ORIG_PARAMS)
    kept = _kept(flattened) if result.keeps_parameters else {}
    _plugin(result, {**given, **unset, **kept}, "fsdp_config", FSDP, "fsdp_plugin", "FullyShardedDataParallelPlugin")
    _name_defaults(result, "fsdp_config", unset)
    if kept:
        where = f"fsdp_config.{USE_ORIG_PARAMS}"
        result.rows = [
            (key, value if flattened is None else flattened, what + KEPT_PARAMETERS)
            if key == where
            else (key, value, what)
            for key, value, what in result.rows
        ]
    result.environment["ACCELERATE_USE_FSDP"] = "true"


def _kept(given: object) -> dict[str, object]:
    """What keeps the parameters that an optimizer holds, where the config says nothing of them or "false"."""
    return {USE_ORIG_PARAMS: True} if not BOOLEANS.get(str(given).lower(), given) else {}


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


Convert = Callable[[Destination, Mapping[str, Any]], None]
# section -> (distributed_type that it needs, what converts it)
SECTIONS: dict[str, tuple[str, Convert]] = {
    "fsdp_config": ("FSDP", _fsdp),
    "deepspeed_config": ("DEEPSPEED", _deepspeed),
    "dynamo_config": ("", _dynamo),
    "megatron_lm_config": ("MEGATRON_LM", _megatron),
}
