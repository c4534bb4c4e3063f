"""Overrides, the same in every arm: workers, device, precision, number of steps, and where results go."""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

from raymigrate_recorder import asked
from raymigrate_recorder.importing import after
from raymigrate_recorder.pins import set_default
from raymigrate_recorder.settings import settings
from raymigrate_recorder.training import worker

_shares: set[float] = set()  # parts of a GPU that workers get where the script gives each a whole one


def install() -> None:
    """Sets the hooks on Ray's configuration classes and on transformers."""
    if not settings.cluster:
        after("ray._private.worker")(_own_cluster)
    for name in ("ray.air.config", "ray.train.v2.api.config"):
        after(name)(_wrap_configs)
    after("ray.tune.impl.config")(_wrap_tune_config)
    after("ray.tune.tune")(_wrap_tune_run)
    for name in ("ray.train.torch.torch_trainer", "ray.train.v2.torch.torch_trainer"):
        after(name)(_wrap_trainer)
    after("raymigrate_standin.transformers_trainer")(_accept_shares)
    after("torch.distributed.distributed_c10d")(_barrier_on_a_shared_gpu)
    after("torch.nn.parallel.distributed")(_model_on_a_shared_gpu)
    after("accelerate.state")(_backend_of_accelerate)
    after("transformers.training_args")(_device_of_trainer)
    after("transformers.training_args")(_precision_of_trainer)
    after("accelerate.accelerator")(_accelerator)
    after("transformers.trainer")(_device_of_arguments_made_elsewhere)
    after("transformers.trainer")(_follow_trainer)


def apply_in_worker() -> None:
    """The override that is set before the train function begins."""
    if asked.turned() and settings.device == "cpu":
        os.environ["ACCELERATE_USE_CPU"] = "true"


def _own_cluster(module: ModuleType) -> None:
    """A script that would join a running cluster starts one of its own."""
    init = module.init

    @functools.wraps(init)
    def own(*args: Any, **kwargs: Any) -> Any:
        if args or kwargs.get("address"):
            args, kwargs["address"] = args[1:], "local"
        kwargs.setdefault("include_dashboard", False)  # seconds and memory, and nobody looks at it
        return init(*args, **kwargs)

    vars(module)["init"] = own


def _wrap_configs(module: ModuleType) -> None:
    _before_init(module.ScalingConfig, _scaling)
    _before_init(module.RunConfig, _storage)
    if settings.kill:
        set_default(module.FailureConfig, "max_failures", 1)


def _wrap_tune_config(module: ModuleType) -> None:
    # Its __init__ is that of a dataclass of its own, which does not call the wrapped one of ray.air.config.
    _before_init(module.RunConfig, _storage)


def _wrap_tune_run(module: ModuleType) -> None:
    run = module.run

    @functools.wraps(run)
    def stored(*args: Any, **kwargs: Any) -> Any:
        _own_folder(inspect.signature(run).parameters, kwargs)
        return run(*args, **kwargs)

    vars(module)["run"] = stored


def _before_init(owner: Any, change: Callable[[Any, dict[str, Any]], None]) -> None:
    """Lets a function change the keyword arguments of a class."""
    init = owner.__init__

    @functools.wraps(init)
    def changed(self: Any, *args: Any, **kwargs: Any) -> None:
        # A class that inherits from another one whose __init__ is wrapped too is changed once, at the outermost.
        change(owner, kwargs)
        init(self, *args, **kwargs)

    owner.__init__ = changed


def _scaling(owner: Any, arguments: dict[str, Any]) -> None:
    asked.scaling(arguments)
    if settings.workers is not None:
        arguments["num_workers"] = settings.workers
    if settings.device is not None:
        arguments["use_gpu"] = settings.device == "gpu"
    if settings.device == "cpu":
        arguments.pop("accelerator_type", None)
        resources = arguments.get("resources_per_worker") or {}
        resources = {name: amount for name, amount in resources.items() if name.upper() != "GPU"}
        arguments["resources_per_worker"] = resources or None
    elif arguments.get("use_gpu"):
        _share_gpus(arguments)


def _share_gpus(arguments: dict[str, Any]) -> None:
    """Where workers outnumber the GPUs, each gets a part of one; Ray would wait for more GPUs for ever."""
    share = gpu_share(arguments.get("num_workers") or 1)
    if share < 1:
        resources = arguments.get("resources_per_worker") or {}
        if resources.get("GPU", 1) == 1:
            _shares.add(share)
        arguments["resources_per_worker"] = {**resources, "GPU": share}


def gpu_share(workers: int) -> float:
    """How much of a GPU each worker gets on this machine: 1, or less where they share."""
    import torch

    gpus = 0 if settings.cluster else torch.cuda.device_count()  # this node is not the cluster
    return 1 / math.ceil(workers / gpus) if gpus else 1


def _accept_shares(module: ModuleType) -> None:
    """The old trainer refused parts of a GPU; those that the script did not ask for are not its fault."""
    validate = module.TransformersTrainer._validate_gpus

    @functools.wraps(validate)
    def validated(self: Any) -> None:
        if self.scaling_config.num_gpus_per_worker not in _shares:
            validate(self)

    module.TransformersTrainer._validate_gpus = validated


def _wrap_trainer(module: ModuleType) -> None:
    _before_init(module.TorchTrainer, _gloo_on_a_shared_gpu)


def _gloo_on_a_shared_gpu(owner: Any, arguments: dict[str, Any]) -> None:
    """NCCL refuses two ranks on one device ("Duplicate GPU detected"), gloo takes them."""
    scaling = arguments.get("scaling_config")
    if scaling is None or not scaling.use_gpu or gpu_share(scaling.num_workers or 1) == 1:
        return
    from ray.train.torch import TorchConfig

    config = arguments.get("torch_config") or TorchConfig()
    config.backend = "gloo"
    arguments["torch_config"] = config


def _is_no_gpu_of_ours(index: Any) -> bool:
    """Whether it is the number of a worker that shares its GPU: accelerate takes it for that of a device."""
    import torch

    return isinstance(index, int) and torch.cuda.is_available() and index >= torch.cuda.device_count()


def _barrier_on_a_shared_gpu(module: ModuleType) -> None:
    """accelerate names the device of its barriers by the worker's number; gloo needs none."""
    barrier = module.barrier

    @functools.wraps(barrier)
    def anywhere(*args: Any, **kwargs: Any) -> Any:
        if any(map(_is_no_gpu_of_ours, kwargs.get("device_ids") or ())):
            kwargs["device_ids"] = None
        return barrier(*args, **kwargs)

    vars(module)["barrier"] = anywhere


def _model_on_a_shared_gpu(module: ModuleType) -> None:
    _before_init(module.DistributedDataParallel, _own_device)


def _own_device(owner: Any, arguments: dict[str, Any]) -> None:
    """accelerate names the device of a model by the worker's number too."""
    import torch

    if any(map(_is_no_gpu_of_ours, arguments.get("device_ids") or ())):
        arguments["device_ids"], arguments["output_device"] = [torch.cuda.current_device()], None


def _backend_of_accelerate(module: ModuleType) -> None:
    """accelerate takes a process group of GPU workers for NCCL's, and calls what gloo does not have."""
    prepare = getattr(module.PartialState, "_prepare_backend", None)
    if prepare is None:  # older ones make a process group of their own
        return

    @functools.wraps(prepare)
    def prepared(*args: Any, **kwargs: Any) -> Any:
        from torch import distributed

        backend, kind = prepare(*args, **kwargs)
        if backend == "nccl" and distributed.is_initialized() and distributed.get_backend() == "gloo":
            backend = "gloo"
        return backend, kind

    module.PartialState._prepare_backend = prepared


def _storage(owner: Any, arguments: dict[str, Any]) -> None:
    """Results go to this arm's folder: a run with the name of an earlier one would go on from its checkpoint."""
    asked.run(arguments)
    _own_folder(owner.__dataclass_fields__, arguments)


def _own_folder(parameters: Collection[str], arguments: dict[str, Any]) -> None:
    """Sets where results go in the keyword arguments of what has such parameters."""
    named = str(arguments.pop("storage_path", None) or arguments.get("local_dir") or "")
    arguments.pop("local_dir", None)
    arguments.pop("storage_filesystem", None)
    if not f"{named}/".startswith(f"{settings.storage}/"):  # the stand-in makes a folder below that
        _lead_to_storage(named)
        named = settings.storage
    arguments["storage_path" if "storage_path" in parameters else "local_dir"] = named


def _lead_to_storage(named: str) -> None:
    """A script finds its results where it put them, if that is in its own folder: each run has a copy of it."""
    place = os.path.abspath(os.path.expanduser(named))
    if not named or "://" in named or not place.startswith(os.getcwd() + os.sep):
        return
    if os.path.isdir(place) and not os.path.islink(place) and not os.listdir(place):
        os.rmdir(place)
    if not os.path.lexists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(settings.storage, place)


def _device_of_trainer(module: ModuleType) -> None:
    """With `--device`, a Trainer trains there whatever its arguments say."""
    if settings.device is None:
        return
    arguments = module.TrainingArguments
    initialize = arguments.__post_init__

    @functools.wraps(initialize)
    def on_device(self: Any) -> None:
        _turn(self)
        initialize(self)

    arguments.__post_init__ = on_device


def _device_of_arguments_made_elsewhere(module: ModuleType) -> None:
    """Arguments that the driver made, before it was known which device the script asks for."""
    if settings.device is None:
        return

    initialize = module.Trainer.__init__
    signature = inspect.signature(initialize)

    @functools.wraps(initialize)
    def on_device(self: Any, *args: Any, **kwargs: Any) -> None:
        arguments = signature.bind(self, *args, **kwargs).arguments.get("args")
        if arguments is not None:
            _turn(arguments)
        initialize(self, *args, **kwargs)

    module.Trainer.__init__ = on_device


def _turn(arguments: Any) -> None:
    """Sets the device in TrainingArguments, where the script asks for the other one."""
    if not asked.turned():
        return
    field = "use_cpu" if hasattr(arguments, "use_cpu") else "no_cuda"
    asked.remember(arguments, **{field: getattr(arguments, field), "fp16": arguments.fp16})
    setattr(arguments, field, settings.device == "cpu")
    arguments.fp16 = arguments.fp16 and settings.device == "gpu"


def _accelerator(module: ModuleType) -> None:
    _before_init(module.Accelerator, _device_and_precision_of_accelerator)


def _device_and_precision_of_accelerator(owner: Any, arguments: dict[str, Any]) -> None:
    if settings.device == "gpu" and asked.turned():
        arguments["cpu"] = False
        os.environ.pop("ACCELERATE_USE_CPU", None)
    if settings.precision is not None:
        arguments["mixed_precision"] = {"fp32": "no"}.get(settings.precision, settings.precision)


def _precision_of_trainer(module: ModuleType) -> None:
    if settings.precision is None:
        return
    arguments = module.TrainingArguments
    initialize = arguments.__post_init__

    @functools.wraps(initialize)
    def with_precision(self: Any) -> None:
        asked.remember(self, bf16=self.bf16, fp16=self.fp16)
        self.bf16, self.fp16 = settings.precision == "bf16", settings.precision == "fp16"
        initialize(self)

    arguments.__post_init__ = with_precision


def _follow_trainer(module: ModuleType) -> None:
    """Adds a callback to every Trainer: it tells the recorder the Trainer's own step, and ends training at the last.

    Ended so, a Trainer still makes its last evaluation and checkpoint.
    """

    class FollowTrainer(module.TrainerCallback):  # type: ignore[misc, name-defined]
        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            worker.progress = {"global_step": state.global_step + 1, "epoch": int(state.epoch or 0)}

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            worker.progress["epoch"] = int((state.epoch or 0) + 1e-6)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            worker.progress["global_step"] = state.global_step + 1
            if settings.max_steps and state.global_step >= settings.max_steps:
                control.should_training_stop = True

    module.DEFAULT_CALLBACKS.append(FollowTrainer)
