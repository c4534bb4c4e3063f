"""What `accelerate_config=` meant: which environment variables a worker had when `Accelerator()` was made.

The old trainer gave the configuration to accelerate's launcher, which made environment variables of it
(docs/semantics/legacy-accelerate.md; accelerate 0.20.3, commands/launch.py and utils/launch.py). Current accelerate
reads the same variables. The launcher itself is not used: today's exports others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Fields of ClusterConfig in accelerate 0.17 to 0.25 (commands/config/config_args.py).
KNOWN_KEYS = frozenset(
    (
        *("compute_environment", "distributed_type", "mixed_precision", "use_cpu", "debug", "gpu_ids"),
        *("num_processes", "machine_rank", "num_machines", "main_process_ip", "main_process_port", "rdzv_backend"),
        *("same_network", "main_training_function", "command_file", "commands", "downcast_bf16"),
        *("deepspeed_config", "fsdp_config", "megatron_lm_config", "ipex_config", "mpirun_config", "dynamo_config"),
        *("tpu_name", "tpu_zone", "tpu_use_cluster", "tpu_use_sudo", "tpu_vm", "tpu_env"),
    )
)
DEFAULTS = {
    "num_processes": 1,
    "distributed_type": "NO",
    "mixed_precision": "no",
    "compute_environment": "LOCAL_MACHINE",
    "use_cpu": True,
}


def read_config(config: Any) -> dict[str, Any]:
    """The configuration as a dict.

    Args:
        config: `accelerate_config=` of the trainer.

    Raises:
        TypeError: If a dict has a key that accelerate did not know.
        ValueError: If a file has one.
    """
    if isinstance(config, Mapping):
        for key in config:
            if key not in KNOWN_KEYS:
                raise TypeError(f"ClusterConfig.__init__() got an unexpected keyword argument '{key}'")
        return {**DEFAULTS, **config}
    path = Path(config) if config else _default_file()
    if path.suffix == ".json":
        loaded = json.loads(path.read_text(encoding="utf-8"))
    else:
        import yaml  # only files need it

        loaded = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    if unknown_keys := sorted(set(loaded) - KNOWN_KEYS):
        raise ValueError(f"The config file at {path} had unknown keys ({unknown_keys}).")
    return {**DEFAULTS, **loaded}


def _default_file() -> Path:
    """Where `accelerate config` writes by default."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = Path(os.environ.get("HF_HOME", f"{cache}/huggingface")).expanduser()
    return home / "accelerate" / "default_config.yaml"


def environment(config: dict[str, Any], *, use_gpu: bool) -> dict[str, str]:
    """The environment variables of a worker.

    `num_processes`, `use_cpu` and the addresses of a configuration had no effect: Ray decided on them. OMP_NUM_THREADS
    is left out, since Ray sets it already. `gpu_ids` leaked into CUDA_VISIBLE_DEVICES, against Ray's own choice of
    devices; that error is not repeated.

    Args:
        config: From `read_config`.
        use_gpu: Whether workers have GPUs; without, the launcher was always the simple one.

    Raises:
        NotImplementedError: For TPUs and SageMaker, as the old trainer.
    """
    kind = str(config["distributed_type"]).upper()
    precision = str(config["mixed_precision"]).lower()
    if use_gpu and kind == "TPU":
        raise NotImplementedError("")
    if config["compute_environment"] == "AMAZON_SAGEMAKER":
        raise NotImplementedError("Cannot use SageMaker compute environment with Ray Train.")
    if use_gpu and kind == "DEEPSPEED":
        return {"ACCELERATE_MIXED_PRECISION": precision, **_deepspeed(config.get("deepspeed_config") or {}, config)}
    variables = {"ACCELERATE_MIXED_PRECISION": precision, **_dynamo(config.get("dynamo_config") or {})}
    if not use_gpu:
        return {**variables, "ACCELERATE_USE_CPU": "true"}
    if kind == "FSDP":
        variables.update(_fsdp(config.get("fsdp_config") or {}))
    elif kind == "MEGATRON_LM":
        variables.update(_megatron(config.get("megatron_lm_config") or {}))
    elif kind in ("NO", "MULTI_CPU"):
        variables["ACCELERATE_USE_CPU"] = "False"
    return variables


def _dynamo(section: dict[str, Any]) -> dict[str, str]:
    """Only keys that begin with `dynamo_` had an effect (measured on accelerate 0.20.3)."""
    return {
        "ACCELERATE_DYNAMO_BACKEND": str(section.get("dynamo_backend", "no")).upper(),
        "ACCELERATE_DYNAMO_MODE": str(section.get("dynamo_mode", "default")),
        "ACCELERATE_DYNAMO_USE_FULLGRAPH": str(section.get("dynamo_use_fullgraph", False)),
        "ACCELERATE_DYNAMO_USE_DYNAMIC": str(section.get("dynamo_use_dynamic", False)),
    }


def _fsdp(section: dict[str, Any]) -> dict[str, str]:
    given = {key if "fsdp" in key else f"fsdp_{key}": value for key, value in section.items()}
    variables = {
        "ACCELERATE_USE_FSDP": "true",
        "FSDP_SHARDING_STRATEGY": str(given.get("fsdp_sharding_strategy", 1)),
        "FSDP_OFFLOAD_PARAMS": str(given.get("fsdp_offload_params", "false")).lower(),
        # Current accelerate reads it as an int; the old launcher's default was 1e8 written as a float.
        "FSDP_MIN_NUM_PARAMS": str(int(float(given.get("fsdp_min_num_params") or 1e8))),
    }
    prefetch = given.get("fsdp_backward_prefetch_policy", given.get("fsdp_backward_prefetch"))
    optional = {
        "FSDP_AUTO_WRAP_POLICY": given.get("fsdp_auto_wrap_policy"),
        "FSDP_TRANSFORMER_CLS_TO_WRAP": given.get("fsdp_transformer_layer_cls_to_wrap"),
        "FSDP_BACKWARD_PREFETCH": prefetch,
        "FSDP_STATE_DICT_TYPE": given.get("fsdp_state_dict_type"),
        "FSDP_FORWARD_PREFETCH": given.get("fsdp_forward_prefetch"),
        "FSDP_USE_ORIG_PARAMS": given.get("fsdp_use_orig_params"),
        "FSDP_SYNC_MODULE_STATES": given.get("fsdp_sync_module_states"),
    }
    return {**variables, **{name: _text(value) for name, value in optional.items() if value is not None}}


def _megatron(section: dict[str, Any]) -> dict[str, str]:
    names = (
        "tp_degree",
        "pp_degree",
        "gradient_clipping",
        "num_micro_batches",
        "sequence_parallelism",
        "recompute_activations",
        "use_distributed_optimizer",
    )
    given = {name: section.get(f"megatron_lm_{name}") for name in names}
    variables = {f"MEGATRON_LM_{name.upper()}": _text(value) for name, value in given.items() if value is not None}
    return {"ACCELERATE_USE_MEGATRON_LM": "true", **variables}


def _deepspeed(section: dict[str, Any], config: dict[str, Any]) -> dict[str, str]:
    fields = [*section, *(["mixed_precision"] if "mixed_precision" in config else [])]
    variables = {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_CONFIG_DS_FIELDS": ",".join(fields)}
    names = {
        "zero_stage": "ACCELERATE_DEEPSPEED_ZERO_STAGE",
        "gradient_accumulation_steps": "ACCELERATE_GRADIENT_ACCUMULATION_STEPS",
        "gradient_clipping": "ACCELERATE_GRADIENT_CLIPPING",
        "offload_optimizer_device": "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE",
        "offload_param_device": "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE",
        "zero3_init_flag": "ACCELERATE_DEEPSPEED_ZERO3_INIT",
        "zero3_save_16bit_model": "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL",
        "deepspeed_config_file": "ACCELERATE_DEEPSPEED_CONFIG_FILE",
    }
    return {**variables, **{names[key]: _text(value) for key, value in section.items() if key in names}}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
