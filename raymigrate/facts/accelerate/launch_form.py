"""What `accelerate launch` made of a file, and the same for Ray's workers: what the readers of its keys fill in."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from raymigrate.facts.accelerate.accelerate_fields import plugin_source

SIMPLE, TORCHRUN, DEEPSPEED = "simple", "torchrun", "deepspeed"  # the launchers of accelerate

GPU_PLUGINS = ("fsdp_plugin", "deepspeed_plugin")
GPU_VARIABLES = (
    "ACCELERATE_USE_FSDP",
    "FSDP_",
    "ACCELERATE_USE_DEEPSPEED",
    "ACCELERATE_DEEPSPEED_",
    "ACCELERATE_CONFIG_DS",
)


class NoRayFormError(ValueError):
    """Accelerate starts this kind of training itself; the message is a sentence that names it."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"{kind} is started by accelerate itself (TPU, SageMaker, Megatron-LM); Ray Train has no equal form."
        )


class RejectedFileError(ValueError):
    """Accelerate rejects the file; the message ends with accelerate's own."""

    def __init__(self, message: str) -> None:
        super().__init__(f"accelerate 1.15 rejects this file: {message}")


@dataclass(frozen=True)
class Row:
    """One key.

    Args:
        key: The key; one of a section behind the section's name and a dot.
        value: Its value in the file, or the default of `accelerate launch`.
        launch: What `accelerate launch` did with it.
        ray: The form on Ray; empty where there is none.
        remark: Why it has none, or what to know.
        in_file: Whether it stands in the file.
    """

    key: str
    value: object
    launch: str
    ray: str = ""
    remark: str = ""
    in_file: bool = True


@dataclass
class LaunchForm:
    """What a file comes to.

    Args:
        kind: The `distributed_type`.
        launcher: How accelerate starts the processes.
        workers: The number of workers; None where it comes from the command line.
        use_gpu: Whether the workers have GPUs; None where the old run took one if there was one.
        resources: What a worker needs besides, such as an NPU.
        arguments: Arguments of `Accelerator`, as source; the plugins are in `plugins`.
        plugins: Argument of `Accelerator` -> the plugin's class, and its arguments as source.
        torch_config: Arguments of Ray's `TorchConfig`, as source.
        environment: All that `accelerate launch` exported for accelerate and its plugins.
        variables: Those of them that no argument stands for.
        rows: One row per key.
    """

    kind: str
    launcher: str
    workers: int | None = 1
    use_gpu: bool | None = True
    resources: dict[str, int] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    plugins: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    torch_config: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def on_cpu(self) -> "LaunchForm":
        """The same for workers without a GPU: what shards models over GPUs is left out."""
        plugins = {name: plugin for name, plugin in self.plugins.items() if name not in GPU_PLUGINS}
        kept = {name: v for name, v in self.environment.items() if not name.startswith(GPU_VARIABLES)}
        rows = [row for row in self.rows if not row.key.startswith(("fsdp_config", "deepspeed_config."))]
        steps = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"  # which counts without DeepSpeed as well
        kept |= {name: v for name, v in self.environment.items() if name == steps}
        return replace(self, plugins=plugins, environment=kept, rows=rows, torch_config={}, resources={}, use_gpu=False)

    def drop(self, key: str, value: object, launch: str, reason: str) -> None:
        """Adds the row of a key that has no form on Ray."""
        self.rows.append(Row(key, value, launch, remark=reason))

    def accelerator_arguments(self) -> dict[str, str]:
        """All arguments of `Accelerator`, as source."""
        return self.arguments | {name: plugin_source(*plugin) for name, plugin in self.plugins.items()}

    def imports(self) -> Mapping[str, str]:
        """Names that the arguments need, and the modules that they come from."""
        places = {"ParallelismConfig": "accelerate"}
        return {plugin: places.get(plugin, "accelerate.utils") for plugin, _ in self.plugins.values()}

    def scaling_arguments(self) -> dict[str, str]:
        """Arguments of `ScalingConfig`, as source; without the number of workers where it is not known."""
        number = {} if self.workers is None else {"num_workers": str(self.workers)}
        if self.resources:
            listed = ", ".join(f'"{name}": {amount}' for name, amount in self.resources.items())
            return number | {"resources_per_worker": f"{{{listed}}}"}
        return number | {"use_gpu": str(bool(self.use_gpu))}

    def worker_variables(self) -> dict[str, str]:
        """The environment for workers whose Accelerator is made out of sight, as a transformers Trainer makes it.

        Without what is the same where nothing is exported, and `ACCELERATE_USE_CPU`, which `use_cpu=True` stands for.
        """
        left_out = {"ACCELERATE_USE_CPU"}
        if self.environment.get("ACCELERATE_MIXED_PRECISION") == "no":
            left_out.add("ACCELERATE_MIXED_PRECISION")
        if self.environment.get("ACCELERATE_DYNAMO_BACKEND") == "NO":
            left_out |= {name for name in self.environment if name.startswith("ACCELERATE_DYNAMO_")}
        return {name: value for name, value in self.environment.items() if name not in left_out}
