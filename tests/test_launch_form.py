"""accelerate's own file on Ray: the Accelerator of a launched script, attribute by attribute, is the converted one's.

Compared with accelerate itself, in process: its launcher reads the file and makes the environment, and its
`Accelerator` is made once in that environment, and once in a clean one with the arguments of the form.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from raymigrate.facts.accelerate.launch_file import KEYS, launch_form
from raymigrate.facts.accelerate.launch_form import LaunchForm, NoRayFormError, RejectedFileError

accelerate = pytest.importorskip("accelerate")
import torch  # noqa: E402
from accelerate.commands import launch  # noqa: E402
from accelerate.commands.config.config_args import ClusterConfig  # noqa: E402
from accelerate.state import AcceleratorState, GradientState, PartialState  # noqa: E402
from accelerate.utils import launch as launchers  # noqa: E402

# Exported for the place of a process and its libraries, which Ray has its own values for.
OF_THE_PLACE = {"OMP_NUM_THREADS", "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES", "PYTHONPATH"}
OF_THE_PLACE |= {"KMP_AFFINITY", "KMP_BLOCKTIME"}
GPUS = {"distributed_type": "MULTI_GPU", "num_processes": 4}
NO = {"distributed_type": "NO"}


def fsdp(version: int = 1, **section: Any) -> dict[str, Any]:
    return GPUS | {"distributed_type": "FSDP", "fsdp_config": {"fsdp_version": version} | section}


def deepspeed(**section: Any) -> dict[str, Any]:
    return GPUS | {"distributed_type": "DEEPSPEED", "deepspeed_config": section}


def dynamo(**section: Any) -> dict[str, Any]:
    return GPUS | {"dynamo_config": section}


TRANSFORMER = {"fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP"}
CONFIGS: dict[str, list[dict[str, Any]]] = {
    "compute_environment": [NO | {"compute_environment": "LOCAL_MACHINE"}],
    "distributed_type": [
        NO,
        {"distributed_type": False, "num_processes": 1},
        GPUS,
        GPUS | {"distributed_type": "MULTI_CPU"},
        GPUS | {"distributed_type": "MULTI_NPU"},
        GPUS | {"distributed_type": "MULTI_XPU"},
        GPUS | {"distributed_type": "MULTI_MLU"},
        GPUS | {"distributed_type": "FSDP"},
        GPUS | {"distributed_type": "FSDP", "fsdp_config": None},
        GPUS | {"distributed_type": "DEEPSPEED"},
    ],
    "mixed_precision": [
        kind | {"mixed_precision": p} for kind in (NO, GPUS) for p in ("no", "fp16", "bf16", "BF16", None)
    ]
    + [NO | {"fp16": True}, NO | {"fp16": False}, NO | {"fp16": True, "mixed_precision": "bf16"}],
    "use_cpu": [
        kind | {"use_cpu": cpu}
        for kind in (NO, GPUS, GPUS | {"distributed_type": "MULTI_CPU"})
        for cpu in (True, False)
    ],
    "debug": [NO | {"debug": True}, GPUS | {"debug": True}, deepspeed() | {"debug": True}, NO | {"debug": False}],
    "num_processes": [NO | {"num_processes": 4}, GPUS | {"num_processes": 1}],
    "num_machines": [
        GPUS | {"num_machines": 2, "main_process_ip": "10.0.0.1", "main_process_port": 29511, "machine_rank": 1},
        NO | {"num_machines": 2, "main_process_ip": "10.0.0.1", "main_process_port": 29511},
    ],
    "machine_rank": [GPUS | {"machine_rank": 0}],
    "main_process_ip": [GPUS | {"main_process_ip": None}],
    "main_process_port": [GPUS | {"main_process_port": 29512}],
    "gpu_ids": [GPUS | {"gpu_ids": ids} for ids in ("all", "0,1", None)] + [NO | {"gpu_ids": "0"}],
    "rdzv_backend": [GPUS | {"rdzv_backend": "c10d"}],
    "same_network": [GPUS | {"same_network": True}],
    "main_training_function": [NO | {"main_training_function": "train"}],
    "enable_cpu_affinity": [GPUS | {"enable_cpu_affinity": True}],
    "downcast_bf16": [GPUS | {"downcast_bf16": "no"}, GPUS | {"downcast_bf16": True}],
    "fp8_config": [NO | {"fp8_config": {"backend": "TE"}}],
    "deepspeed_config": [
        deepspeed(gradient_accumulation_steps=4, gradient_clipping=0.5, zero_stage=3),
        deepspeed(gradient_accumulation_steps="2", gradient_clipping="auto", zero_stage="1"),
        deepspeed(zero_stage=2, offload_optimizer_device="CPU", offload_param_device="none"),
        deepspeed(zero_stage=3, zero3_init_flag=True, zero3_save_16bit_model=True),
        deepspeed(zero_stage=3, zero3_init_flag="false", zero3_save_16bit_model="true"),
        deepspeed(zero_stage=2, zero3_init_flag=False, zero3_save_16bit_model=False),
        deepspeed(deepspeed_moe_layer_cls_names="MixtralSparseMoeBlock"),
        deepspeed(deepspeed_multinode_launcher="standard", deepspeed_hostfile="hosts", deepspeed_inclusion_filter="a"),
        deepspeed(train_micro_batch_size_per_gpu=8),
        deepspeed(zero_stage=None),
        deepspeed(zero_stage=2) | {"mixed_precision": "bf16"},
        deepspeed(deepspeed_config_file="ds.json", zero3_init_flag=True),
        GPUS | {"deepspeed_config": {"zero_stage": 3}},
    ],
    "fsdp_config": [
        *(fsdp(fsdp_sharding_strategy=s) for s in (1, "2", "FULL_SHARD", "hybrid_shard")),
        *(fsdp(v, fsdp_offload_params=o) for v in (1, 2) for o in (True, False, "true")),
        *(fsdp(v, fsdp_auto_wrap_policy=p) for v in (1, 2) for p in ("NO_WRAP", "SIZE_BASED_WRAP")),
        *(fsdp(v, **TRANSFORMER, fsdp_transformer_layer_cls_to_wrap=c) for v in (1, 2) for c in ("A", "A,B")),
        *(fsdp(v, fsdp_auto_wrap_policy="size_based_wrap", fsdp_min_num_params=n) for v in (1, 2) for n in (2000, "7")),
        fsdp(fsdp_min_num_params=2000, fsdp_transformer_layer_cls_to_wrap="A"),
        *(
            fsdp(v, fsdp_backward_prefetch=p)
            for v in (1, 2)
            for p in ("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH", "1")
        ),
        fsdp(fsdp_backward_prefetch_policy="BACKWARD_PRE"),
        *(fsdp(v, fsdp_state_dict_type=t) for v in (1, 2) for t in ("FULL_STATE_DICT", "SHARDED_STATE_DICT")),
        *(fsdp(v, fsdp_forward_prefetch=f) for v in (1, 2) for f in (True, False)),
        *(fsdp(v, fsdp_use_orig_params=f) for v in (1, 2) for f in (True, False)),
        *(
            fsdp(v, fsdp_sync_module_states=True, fsdp_cpu_ram_efficient_loading=f)
            for v in (1, 2)
            for f in (True, False)
        ),
        fsdp(fsdp_sync_module_states=False, fsdp_cpu_ram_efficient_loading=False),
        fsdp(2, fsdp_sync_module_states=False, fsdp_cpu_ram_efficient_loading=False),
        *(fsdp(v, fsdp_activation_checkpointing=True) for v in (1, 2)),
        fsdp(2, fsdp_activation_checkpointing=True, fsdp_activation_checkpointing_offload=True),
        *(fsdp(v, fsdp_ignored_modules="head.*") for v in (1, 2)),
        *(fsdp(v, fsdp_reshard_after_forward=f) for v in (1, 2) for f in (True, False, "false")),
        fsdp(1, sharding_strategy="NO_SHARD", use_orig_params=False),
        fsdp(1, fsdp_nonsense=3),
        fsdp(1) | {"mixed_precision": "bf16"},
        GPUS | {"fsdp_config": {"fsdp_version": 2}},
    ],
    "dynamo_config": [
        dynamo(dynamo_backend="INDUCTOR"),
        dynamo(backend="inductor", mode="reduce-overhead", use_fullgraph=True, use_dynamic=True),
        dynamo(dynamo_backend="EAGER", dynamo_use_regional_compilation=True, dynamo_nonsense=1),
        dynamo(dynamo_backend="no", dynamo_mode="max-autotune"),
        NO | {"dynamo_backend": "INDUCTOR"},
        NO | {"dynamo_backend": "NO"},
        NO | {"dynamo_config": {}},
        deepspeed() | {"dynamo_config": {"dynamo_backend": "INDUCTOR"}},
        fsdp() | {"dynamo_config": {"dynamo_backend": "INDUCTOR"}},
    ],
    "parallelism_config": [
        fsdp(2) | {"parallelism_config": {"parallelism_config_dp_shard_size": 2, "parallelism_config_tp_size": 2}},
        fsdp(2) | {"parallelism_config": {"parallelism_config_dp_shard_size": 2, "parallelism_config_cp_size": 2}},
        deepspeed() | {"parallelism_config": {"parallelism_config_sp_size": 2}},
        GPUS | {"parallelism_config": {"parallelism_config_dp_replicate_size": 4, "tp_size": 2}},
        NO | {"parallelism_config": {"parallelism_config_tp_size": 2}},
    ],
    "megatron_lm_config": [GPUS | {"megatron_lm_config": {"megatron_lm_tp_degree": 2}}],
    "mpirun_config": [GPUS | {"mpirun_config": {"mpirun_ccl": "1"}}],
    "tpu_name": [GPUS | {"tpu_name": "a"}],
    "tpu_zone": [GPUS | {"tpu_zone": "a"}],
    "tpu_use_cluster": [GPUS | {"tpu_use_cluster": True}],
    "tpu_use_sudo": [GPUS | {"tpu_use_sudo": True}],
    "tpu_vm": [GPUS | {"tpu_vm": ["a"]}],
    "tpu_env": [GPUS | {"tpu_env": ["a"]}],
    "commands": [GPUS | {"commands": ["a"]}],
    "command_file": [GPUS | {"command_file": "a"}],
}
REJECTED = [
    {"num_processes": 2},
    NO | {"gradient_accumulation_steps": 2},
    NO | {"ipex_config": {}},
    GPUS | {"distributed_type": "TPU"},
    GPUS | {"distributed_type": "fsdp"},
    GPUS | {"mixed_precision": False},
    GPUS | {"mixed_precision": "fp32"},
    GPUS | {"gpu_ids": "0"},
    GPUS | {"gpu_ids": 0},
    NO | {"num_machines": 2},
    dynamo(dynamo_backend="fast"),
    dynamo(dynamo_backend=False),
    NO | {"dynamo_backend": False},
    dynamo(dynamo_backend="inductor", dynamo_use_fullgraph="perhaps"),
    fsdp(fsdp_sync_module_states=False),
    fsdp(2, fsdp_sync_module_states=False),
    fsdp(fsdp_sharding_strategy="SHARD"),
    fsdp(fsdp_sharding_strategy=6),
    fsdp(fsdp_offload_params="perhaps"),
    fsdp(fsdp_offload_params=None),
    fsdp(fsdp_auto_wrap_policy="LAYER"),
    fsdp(fsdp_auto_wrap_policy="SIZE_BASED_WRAP", fsdp_min_num_params="1e8"),
    fsdp(fsdp_backward_prefetch="SOMETIMES"),
    fsdp(fsdp_state_dict_type="HALF"),
    fsdp(2, fsdp_state_dict_type="LOCAL_STATE_DICT"),
    fsdp(2, fsdp_reshard_after_forward="FULL_SHARD"),
    fsdp(2, fsdp_activation_checkpointing_offload=True),
    fsdp(1, fsdp_activation_checkpointing=True, fsdp_activation_checkpointing_offload=True),
    deepspeed(gradient_accumulation_steps="auto"),
    deepspeed(zero_stage="three"),
    deepspeed(deepspeed_config_file="ds.json", zero_stage=2),
    deepspeed(deepspeed_config_file="ds.json") | {"mixed_precision": "no"},
    fsdp(2) | {"parallelism_config": {"parallelism_config_tp_size": 0}},
]


def named(configs: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(config, id=json.dumps(config)) for config in configs]


EVERY_CONFIG = named([config for configs in CONFIGS.values() for config in configs])


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine with GPUs and DeepSpeed, as far as accelerate asks; each Accelerator starts afresh."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 2}, "gradient_clipping": 0.5}')
    for name in [name for name in os.environ if name.startswith(("ACCELERATE_", "FSDP_", "PARALLELISM_"))]:
        monkeypatch.delenv(name)
    for place in ("accelerator", "utils.dataclasses"):
        module = sys.modules[f"accelerate.{place}"]
        monkeypatch.setattr(module, "is_deepspeed_available", lambda: True, raising=False)
        monkeypatch.setattr(module, "compare_versions", lambda _, sign, __: sign == ">=", raising=False)
        monkeypatch.setattr(module, "is_cuda_available", lambda: True, raising=False)
    version = metadata.version  # transformers asks for DeepSpeed's
    monkeypatch.setattr(metadata, "version", lambda name: "0.18.0" if name == "deepspeed" else version(name))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    # Ends in transformers' own subclass of what DeepSpeed brings, which is not here.
    monkeypatch.setattr(accelerate.DeepSpeedPlugin, "set_deepspeed_weakref", lambda _: None)
    monkeypatch.setattr(launchers, "is_port_in_use", lambda _: False)
    monkeypatch.setattr(accelerate.ParallelismConfig, "get_device_mesh", lambda *_: None)
    monkeypatch.setattr(accelerate.ParallelismConfig, "_validate_accelerator", lambda *_: None)
    monkeypatch.setattr(sys.modules["accelerate.accelerator"], "AcceleratorState", RecordedState)
    yield
    forget()


class RecordedState(AcceleratorState):
    """Keeps what an Accelerator hands to its state, which on a machine without GPUs throws plugins away."""

    given: dict[str, Any] = {}

    def __init__(self, **given: Any) -> None:
        if given:
            RecordedState.given = given
        super().__init__(**given)


def forget() -> None:
    for state in (AcceleratorState, PartialState, GradientState):
        state._reset_state() if hasattr(state, "_reset_state") else state._shared_state.clear()


def launched_environment(config: dict[str, Any], folder: Path) -> dict[str, str]:
    """What accelerate's launcher would start the script with."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    args = launch.launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
    before = dict(os.environ)
    args, defaults, of_file = launch._validate_launch_command(args)
    if args.use_deepspeed:  # as launch_command has it
        listed = [*defaults.deepspeed_config, *(["mixed_precision"] if of_file else [])]
        args.deepspeed_fields_from_accelerate_config = ",".join(listed)
        environment = launchers.prepare_deepspeed_cmd_env(args)[1]
    elif args.use_fsdp or args.multi_gpu:
        environment = launchers.prepare_multi_gpu_env(args)
    else:
        environment = launchers.prepare_simple_launcher_cmd_env(args)[1]
    return {k: v for k, v in environment.items() if before.get(k) != v and k not in OF_THE_PLACE}


def attributes(value: Any) -> Any:
    """What an object holds, comparable: functions by their names."""
    if isinstance(value, dict):
        return {key: attributes(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [attributes(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        known = {f.name: getattr(value, f.name, None) for f in fields(value)}
        return type(value).__name__, attributes(known | vars(value))
    if callable(value):
        return value.__qualname__
    return (
        attributes(vars(value))
        if hasattr(value, "__dict__") and type(value).__module__.startswith("accelerate")
        else value
    )


def accelerator(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], make: Callable[[], Any] = accelerate.Accelerator
) -> dict[str, Any]:
    """What is known of an Accelerator that is made in an environment."""
    forget()
    with monkeypatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        for name in ("ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED", "FSDP_CPU_RAM_EFFICIENT_LOADING"):
            if name not in environment:
                patch.setenv(name, "false")  # Accelerator sets them, and they would stay
        made = make()
        given = RecordedState.given
        if given["deepspeed_plugin"]:  # which reads it when a model is prepared
            read_later = os.environ.get("ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES")
            given["deepspeed_plugin"].transformer_moe_cls_names = (
                given["deepspeed_plugin"].transformer_moe_cls_names or read_later
            )
        plugins = {name: attributes(plugin) for name, plugin in given.items() if "plugin" in name or "config" in name}
        if "NO" in str(given["dynamo_plugin"].backend):
            del plugins["dynamo_plugin"]  # nothing is compiled, whatever the others say
        return plugins | {
            "mixed_precision": made.mixed_precision,
            "gradient_accumulation_steps": made.gradient_accumulation_steps,
            "device": made.device,
            "native_amp": made.native_amp,
            "distributed_type": made.distributed_type,
            "ram": os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"].lower(),
        }


def converted(monkeypatch: pytest.MonkeyPatch, form: LaunchForm) -> dict[str, Any]:
    """What is known of the Accelerator of the converted script."""
    names = {"json": json, "Path": Path}
    for name, module in form.imports().items():
        names[name] = getattr(__import__(module, fromlist=[name]), name)
    sources = form.accelerator_arguments()
    cpu = form.use_gpu is False and not form.resources

    def make() -> Any:
        arguments = {name: eval(source, dict(names)) for name, source in sources.items()}
        return accelerate.Accelerator(cpu=cpu, **arguments)

    return accelerator(monkeypatch, form.variables, make)


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_the_environment_is_that_of_accelerate_launch(config: dict[str, Any], tmp_path: Path) -> None:
    assert launch_form(config).environment == launched_environment(config, tmp_path)


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_the_accelerator_is_that_of_the_launched_script(
    config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched = accelerator(monkeypatch, launched_environment(config, tmp_path))
    assert converted(monkeypatch, launch_form(config)) == launched


@pytest.mark.parametrize("config", EVERY_CONFIG)
def test_the_variables_of_a_worker_make_the_same_accelerator(
    config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched = accelerator(monkeypatch, launched_environment(config, tmp_path))
    assert accelerator(monkeypatch, launch_form(config).worker_variables()) == launched


@pytest.mark.parametrize("config", named(REJECTED))
def test_what_accelerate_rejects_is_rejected_with_its_words(
    config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RejectedFileError) as found:
        launch_form(config, str(tmp_path / "config.yaml"))
    with pytest.raises(Exception) as expected:
        accelerator(monkeypatch, launched_environment(config, tmp_path))
    words = set(str(expected.value).replace("\n", " ").split())
    assert len(words & set(str(found.value).split())) >= min(len(words), 3) - 1


@pytest.mark.parametrize(
    "config",
    [
        {"compute_environment": "AMAZON_SAGEMAKER", "distributed_type": "NO", "ec2_instance_type": "a"},
        GPUS | {"distributed_type": "XLA"},
        GPUS | {"distributed_type": "MEGATRON_LM"},
    ],
)
def test_what_accelerate_starts_itself_has_no_form(config: dict[str, Any]) -> None:
    with pytest.raises(NoRayFormError):
        launch_form(config)


@pytest.mark.parametrize("kind", [NO, fsdp(2), deepspeed()])
@pytest.mark.parametrize(
    "section",
    [
        None,
        {"backend": "AO", "enable_fsdp_float8_all_gather": False},
        {"fp8_backend": "TE", "margin": 1, "override_linear_precision": [True, False, True], "nonsense": 2},
    ],
)
def test_the_variables_of_fp8_are_those_of_accelerate_launch(
    kind: dict[str, Any], section: dict[str, Any] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launchers, "is_fp8_available", lambda: True)
    config = kind | {"mixed_precision": "fp8", "fp8_config": section}
    form = launch_form(config)
    assert form.environment == launched_environment(config, tmp_path)
    assert form.variables.items() <= form.environment.items()
    assert form.accelerator_arguments()["mixed_precision"] == '"fp8"'


def test_an_environment_that_there_is_not_is_rejected() -> None:
    with pytest.raises(RejectedFileError, match="'HERE' is not a valid ComputeEnvironment"):
        launch_form(GPUS | {"compute_environment": "HERE"})


def test_every_key_of_a_file_is_known_and_compared() -> None:
    assert {field.name for field in fields(ClusterConfig)} == KEYS == CONFIGS.keys()


def test_every_key_of_a_section_has_a_row_and_only_one_effect() -> None:
    form = launch_form(fsdp(1, fsdp_sharding_strategy=1, fsdp_backward_prefetch_policy="BACKWARD_PRE"))
    rows = {row.key: row for row in form.rows if row.in_file}
    assert rows["fsdp_config.fsdp_sharding_strategy"].ray == 'fsdp_plugin: sharding_strategy="FULL_SHARD"'
    assert "today it is fsdp_backward_prefetch" in rows["fsdp_config.fsdp_backward_prefetch_policy"].remark
    assert all(row.ray or row.remark for row in form.rows)
