"""The flags of `accelerate launch` over a file: a flag that is given wins (accelerate/commands/launch.py, 1.15)."""

from collections.abc import Mapping
from typing import Any

from raymigrate.facts.accelerate.accelerate_fields import LAUNCHED_DEEPSPEED, LAUNCHER_ONLY

KIND_SWITCHES = {"use_fsdp": "FSDP", "use_deepspeed": "DEEPSPEED", "multi_gpu": "MULTI_GPU", "tpu": "XLA"}
NUMBERS = ("num_processes", "num_machines", "machine_rank", "main_process_port")
SECTIONS = {
    "fsdp_": "fsdp_config",
    "dynamo_": "dynamo_config",
    "fp8_": "fp8_config",
    "parallelism_": "parallelism_config",
}
TOP = (*NUMBERS, "mixed_precision", "main_process_ip", "gpu_ids")


def with_flags(config: Mapping[str, Any], flags: Mapping[str, str]) -> dict[str, Any]:
    """A file with the flags of a command over it, as if they stood in the file.

    Args:
        config: What the file holds; empty where there is none.
        flags: The flags that are given, and their values; empty for a switch.
    """
    values = dict(config)
    if config and "distributed_type" not in config:
        return values  # accelerate rejects the file before it looks at the flags
    for name, text in flags.items():
        if name in KIND_SWITCHES:
            values["distributed_type"] = KIND_SWITCHES[name]
        elif name in TOP:
            values[name] = int(text) if name in NUMBERS and text.isdigit() else text
        elif (section := _section(name)) is not None:
            values[section] = {**(values.get(section) or {}), name: text if text else True}
        elif name == "debug":
            values["debug"] = True
    if "cpu" in flags:  # which wins over all of them
        values["distributed_type"], values["use_cpu"] = "MULTI_CPU", True
    if "distributed_type" not in values:  # no file: several processes are started where there are several GPUs
        several = isinstance(values.get("num_processes"), int) and values["num_processes"] > 1
        values["distributed_type"] = "MULTI_GPU" if several else "NO"
    return values


def _section(flag: str) -> str | None:
    """The section whose key a flag is."""
    if flag in LAUNCHED_DEEPSPEED or flag in LAUNCHER_ONLY:
        return "deepspeed_config"
    return next((section for prefix, section in SECTIONS.items() if flag.startswith(prefix)), None)
