"""What accelerate 1.15 makes of the file that `accelerate config` wrote, key by key, and the form of each key on Ray.

Sources: accelerate/commands/config/config_args.py (what a file may hold), accelerate/commands/launch.py
(`_validate_launch_command`: which value wins) and accelerate/utils/launch.py (what is exported), all of 1.15.0.
"""

from collections.abc import Callable, Mapping
from typing import Any

from raymigrate.facts.accelerate import launch_sections
from raymigrate.facts.accelerate.accelerate_config import with_new_names
from raymigrate.facts.accelerate.launch_form import (
    DEEPSPEED,
    SIMPLE,
    TORCHRUN,
    LaunchForm,
    NoRayFormError,
    RejectedFileError,
    Row,
)
from raymigrate.facts.syntax.literals import string_literal

KEYS = frozenset(
    {
        *("compute_environment", "distributed_type", "mixed_precision", "use_cpu", "debug", "num_processes"),
        *("machine_rank", "num_machines", "gpu_ids", "main_process_ip", "main_process_port", "rdzv_backend"),
        *("same_network", "main_training_function", "enable_cpu_affinity", "fp8_config", "deepspeed_config"),
        *("fsdp_config", "parallelism_config", "megatron_lm_config", "mpirun_config", "downcast_bf16", "tpu_name"),
        *("tpu_zone", "tpu_use_cluster", "tpu_use_sudo", "command_file", "commands", "tpu_vm", "tpu_env"),
        "dynamo_config",
    }
)
CUDA = ("MULTI_GPU", "FSDP", "DEEPSPEED")
# Accelerators of other makers: what Ray calls them; None where Ray knows none.
OTHER_DEVICES = {
    "MULTI_XPU": "GPU",
    "MULTI_NPU": "NPU",
    "MULTI_HPU": "HPU",
    "MULTI_NEURON": "neuron_cores",
    "MULTI_MLU": None,
    "MULTI_SDAA": None,
    "MULTI_MUSA": None,
}
KINDS = ("NO", "MULTI_CPU", *CUDA, *OTHER_DEVICES)
STARTED_BY_ACCELERATE = ("XLA", "MEGATRON_LM")
PRECISIONS = ("no", "fp8", "fp16", "bf16")
PLACED_BY_RAY = {
    "machine_rank": "the rank of this machine",
    "main_process_ip": "MASTER_ADDR",
    "main_process_port": "MASTER_PORT",
}
WITHOUT_EFFECT = {
    "same_network": "the flag's default hides the file's value",
    "rdzv_backend": "the flag's default hides the file's value",
    "enable_cpu_affinity": "the flag's default hides the file's value",
    "downcast_bf16": "it is for TPUs only",
    "main_training_function": "it is for TPUs only",
    "commands": "it is for TPUs only",
    "command_file": "it is for TPUs only",
    "megatron_lm_config": "without distributed_type: MEGATRON_LM it is ignored",
}


def launch_form(config: Mapping[str, Any], name: str = "the file") -> LaunchForm:
    """What a file comes to.

    Args:
        config: What the file holds.
        name: The file's name, for messages.

    Raises:
        NoRayFormError: If accelerate itself starts this kind of training.
        RejectedFileError: If accelerate rejects the file.
    """
    values = _normalised(config, name)
    kind = str(values["distributed_type"])
    launcher = SIMPLE if kind in ("NO", "MULTI_CPU") else DEEPSPEED if kind == "DEEPSPEED" else TORCHRUN
    form = LaunchForm(kind, launcher, use_gpu=_use_gpu(kind, values))
    _processes(form, values)
    _gpu_ids(form, values)
    _precision_and_debug(form, values)
    for key in filter(config.__contains__, values):
        if key in READERS:
            READERS[key](form, key, values)
        elif key in WITHOUT_EFFECT or key.startswith("tpu_"):
            reason = WITHOUT_EFFECT.get(key, "it is for TPUs only")
            form.drop(key, values[key], "nothing", f"dropped: {reason}")
    _sections(form, values)
    order = list(config)
    form.rows.sort(key=lambda row: order.index(top) if (top := row.key.partition(".")[0]) in order else len(order))
    return form


def _normalised(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The file as accelerate's `ClusterConfig` takes it."""
    values = with_new_names(config)
    environment = values.get("compute_environment", "LOCAL_MACHINE")
    if environment == "AMAZON_SAGEMAKER":
        raise NoRayFormError(str(environment))
    if "distributed_type" not in values:
        raise RejectedFileError("A `distributed_type` must be specified in the config file.")
    unknown = sorted(str(key) for key in values.keys() - KEYS)
    if unknown:
        raise RejectedFileError(
            f"The config file at {name} had unknown keys ({unknown}), please try upgrading your `accelerate` version or"
            " fix (and potentially remove) these keys from your config file."
        )
    if environment != "LOCAL_MACHINE":
        raise RejectedFileError(f"{environment!r} is not a valid ComputeEnvironment")
    kind = values["distributed_type"]
    if kind in STARTED_BY_ACCELERATE:
        raise NoRayFormError(str(kind))
    if isinstance(kind, str) and kind not in KINDS:
        raise RejectedFileError(f"{kind!r} is not a valid DistributedType")
    if not isinstance(kind, str):  # NO without quotes is False in YAML, which no launcher but the simple one takes
        values["distributed_type"] = "NO"
    elif kind == "NO":
        values.setdefault("num_processes", 1)
    return values


def _use_gpu(kind: str, values: Mapping[str, Any]) -> bool | None:
    if kind in CUDA:
        return True
    if kind in OTHER_DEVICES or kind == "MULTI_CPU" or _is_true(values.get("use_cpu")):
        return False
    return None


def _is_true(value: object) -> bool:
    return str(value).lower() in ("1", "true", "t", "yes", "y", "on")


def _processes(form: LaunchForm, values: Mapping[str, Any]) -> None:
    """The number of workers, and the devices that they have."""
    number, machines = values.get("num_processes", -1), values.get("num_machines", 1)
    for key, value in (("num_processes", number), ("num_machines", machines)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise RejectedFileError(f"{key}: {value!r} is not a number")
    if form.launcher == SIMPLE and machines is not None and machines > 1:
        for key, word in (("main_process_ip", "IP"), ("main_process_port", "port")):
            if values.get(key) is None:
                message = f"When using multiple machines, you need to specify the main process {word}."
                raise RejectedFileError(message)
    form.workers = None if number in (-1, None) else 1 if form.kind == "NO" else number
    device = OTHER_DEVICES.get(form.kind)
    if device:
        form.resources = {device: 1}


def _gpu_ids(form: LaunchForm, values: Mapping[str, Any]) -> None:
    ids = values.get("gpu_ids")
    if ids is None:
        return
    if not isinstance(ids, str):
        raise RejectedFileError(f"{type(ids).__name__!r} object has no attribute 'split'")
    several = form.launcher == TORCHRUN and form.kind != "FSDP"
    if several and ids != "all" and len(ids.split(",")) < 2 and (values.get("num_machines") or 1) <= 1:
        raise RejectedFileError(
            "Less than two GPU ids were configured and tried to run on multiple GPUs. Please ensure at least two are"
            " specified for `--gpu_ids`, or use `--gpu_ids='all'`."
        )


def _precision_and_debug(form: LaunchForm, values: Mapping[str, Any]) -> None:
    """What every launcher exports."""
    if form.launcher == SIMPLE:
        form.environment["ACCELERATE_USE_CPU"] = str(values.get("use_cpu", False))
    precision = values.get("mixed_precision")
    if precision is None:
        precision = "no"
    if not isinstance(precision, str):  # no without quotes is False in YAML
        raise RejectedFileError(f"{type(precision).__name__!r} object has no attribute 'lower'")
    if precision.lower() not in PRECISIONS:
        listed = list(PRECISIONS)
        raise RejectedFileError(f"Unknown mixed_precision mode: {precision.lower()}. Choose between {listed}.")
    form.environment["ACCELERATE_MIXED_PRECISION"] = precision.lower()
    if precision.lower() != "no":
        form.arguments["mixed_precision"] = string_literal(precision.lower())
    if values.get("debug"):
        form.environment["ACCELERATE_DEBUG_MODE"] = form.variables["ACCELERATE_DEBUG_MODE"] = "true"


def _distributed_type(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    scaling = "ScalingConfig(use_gpu=True)"
    if form.kind == "NO":
        form.rows.append(Row(key, values[key], "one process", "ScalingConfig(num_workers=1)"))
    elif form.kind == "MULTI_CPU":
        hosts = (values.get("mpirun_config") or {}).get("mpirun_hostfile") if values.get("mpirun_config") else None
        launch = "mpirun starts the processes" if hosts else "one process, whatever num_processes says"
        remark = "" if hosts else "the old command trained in one process, so more workers train otherwise"
        form.rows.append(Row(key, values[key], launch, "Accelerator(cpu=True), ScalingConfig(use_gpu=False)", remark))
    elif form.kind in OTHER_DEVICES:
        device = OTHER_DEVICES[form.kind]
        ray = f'ScalingConfig(resources_per_worker={{"{device}": 1}})' if device else ""
        remark = "its process group needs a backend of its own: TorchConfig(backend=...)"
        form.rows.append(
            Row(key, values[key], "torchrun", ray, remark if device else "Ray knows no such device: give it a resource")
        )
    else:
        launch = "starts DeepSpeed" if form.kind == "DEEPSPEED" else "torchrun"
        form.rows.append(Row(key, values[key], launch, scaling))


def _num_processes(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    if form.workers is None:
        form.rows.append(_number_of_the_command_line(values[key], in_file=True))
    else:
        launch = "processes in all" if form.launcher != SIMPLE else "one process"
        form.rows.append(Row(key, values[key], launch, f"ScalingConfig(num_workers={form.workers})"))


def _number_of_the_command_line(value: object, *, in_file: bool) -> Row:
    remark = "without the flag accelerate rejects the file"
    ray = "ScalingConfig(num_workers=...), the number of the command line"
    return Row("num_processes", value, "comes from --num_processes", ray, remark, in_file)


def _num_machines(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    several = isinstance(values[key], int) and values[key] > 1
    remark = "dropped: Ray places the workers"
    if several:
        remark += "; what they save has to be in storage that every machine sees"
    form.drop(key, values[key], "processes for each machine", remark)


def _mixed_precision(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    precision = form.environment["ACCELERATE_MIXED_PRECISION"]
    launch = f"ACCELERATE_MIXED_PRECISION={precision}"
    if precision == "no":
        form.drop(key, values[key], launch, "dropped: it is the default")
        return
    as_trainer = f"for a Trainer: {precision}=True"
    remark = {
        "fp8": "it needs torchao or Transformer Engine on the workers",
        "fp16": as_trainer if form.use_gpu or form.resources else f"{as_trainer}; on CPU workers it does nothing",
    }.get(precision, as_trainer)
    form.rows.append(Row(key, values[key], launch, f'Accelerator(mixed_precision="{precision}")', remark))


def _use_cpu(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    if form.launcher != SIMPLE:
        form.drop(key, values[key], "nothing", f"dropped: {form.kind} ignores it")
    elif _is_true(values[key]):
        ray = "Accelerator(cpu=True), ScalingConfig(use_gpu=False)"
        form.rows.append(Row(key, values[key], "ACCELERATE_USE_CPU=True", ray))
    elif form.use_gpu is None:
        remark = "the old run took a GPU if there was one; without a GPU: Accelerator(cpu=True)"
        form.rows.append(Row(key, values[key], "ACCELERATE_USE_CPU=False", "ScalingConfig(use_gpu=...)", remark))
    else:
        form.drop(key, values[key], f"ACCELERATE_USE_CPU={values[key]}", f"dropped: {form.kind} has no GPU")


def _debug(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    if values[key]:
        form.rows.append(Row(key, values[key], "ACCELERATE_DEBUG_MODE=true", "the same in worker_runtime_env"))
    else:
        form.drop(key, values[key], "nothing", "dropped: it is the default")


def _compute_environment(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    form.drop(key, values[key], "nothing", "dropped: the processes start on machines of the cluster")


def _gpus(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    ids = str(values[key])
    count = "" if ids == "all" else f"; num_workers can be {len(ids.split(','))} at most on such a machine"
    launch = "nothing" if ids in ("all", "None") else f"CUDA_VISIBLE_DEVICES={ids}"
    form.drop(key, values[key], launch, f"dropped: Ray assigns the GPUs{count}")


def _placed(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    launch = PLACED_BY_RAY[key] if values[key] is not None else "nothing"
    form.drop(key, values[key], launch, "dropped: Ray places the workers and connects them")


def _mpirun(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    launch = "mpirun's arguments" if form.launcher == SIMPLE and values[key] else "nothing"
    form.drop(key, values[key], launch, "dropped: Ray starts the workers")


def _old_fp16(form: LaunchForm, key: str, values: Mapping[str, Any]) -> None:
    if values[key] and form.arguments.get("mixed_precision") == '"fp16"':
        ray = 'Accelerator(mixed_precision="fp16")'
        form.rows.append(Row(key, values[key], "ACCELERATE_MIXED_PRECISION=fp16", ray))
    else:
        form.drop(key, values[key], "nothing", "dropped: mixed_precision decides")


READERS: dict[str, Callable[[LaunchForm, str, Mapping[str, Any]], None]] = {
    "compute_environment": _compute_environment,
    "distributed_type": _distributed_type,
    "num_processes": _num_processes,
    "num_machines": _num_machines,
    "mixed_precision": _mixed_precision,
    "fp16": _old_fp16,
    "use_cpu": _use_cpu,
    "debug": _debug,
    "gpu_ids": _gpus,
    "mpirun_config": _mpirun,
    **dict.fromkeys(PLACED_BY_RAY, _placed),
}


def _sections(form: LaunchForm, values: Mapping[str, Any]) -> None:
    """The sections that the launcher reads; the others are dropped."""
    if "num_processes" not in values:
        form.rows.append(_number_of_the_command_line(None, in_file=False))
    sections = {name: _section(name, values.get(name)) for name in PREFIXES}
    is_fp8 = form.environment["ACCELERATE_MIXED_PRECISION"] == "fp8"
    read = {
        "fsdp_config": form.kind == "FSDP",
        "deepspeed_config": form.kind == "DEEPSPEED",
        "dynamo_config": form.launcher != DEEPSPEED,
        "parallelism_config": form.launcher != SIMPLE and bool(sections["parallelism_config"]),
        "fp8_config": is_fp8,
    }
    why = {
        "fsdp_config": "without distributed_type: FSDP it is ignored",
        "deepspeed_config": "without distributed_type: DEEPSPEED it is ignored",
        "dynamo_config": "the launcher of DeepSpeed does not export it",
        "parallelism_config": "it is for several GPUs only",
        "fp8_config": "without mixed_precision: fp8 it is ignored",
    }
    for name, section in sections.items():
        if not read[name]:
            if name in values:
                form.drop(name, values[name], "nothing", f"dropped: {why[name] if section else 'it is empty'}")
        elif name == "deepspeed_config":
            of_file = ["mixed_precision"] if values.get("mixed_precision") is not None else []
            launch_sections.deepspeed(form, section, [*section, *of_file])
        else:
            getattr(launch_sections, name.removesuffix("_config"))(form, section)


PREFIXES = {
    "fsdp_config": "fsdp",
    "deepspeed_config": "",
    "dynamo_config": "dynamo_",
    "parallelism_config": "",
    "fp8_config": "fp8",
}


def _section(name: str, value: object) -> dict[str, Any]:
    """A section with the names that accelerate gives its keys."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RejectedFileError(f"{name} is not a mapping")
    prefix = PREFIXES[name]
    add = prefix if prefix.endswith("_") or not prefix else f"{prefix}_"
    return {key if (key := str(given)).startswith(prefix) else f"{add}{key}": v for given, v in value.items()}
