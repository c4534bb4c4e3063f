"""Records optimizer steps and forward passes through torch's global hooks.

Public hooks: register_optimizer_step_pre_hook and register_optimizer_step_post_hook of torch.optim.optimizer,
register_module_forward_pre_hook and register_module_forward_hook of torch.nn.modules.module. Only `Tensor.backward` and
`GradScaler.scale`, for which torch has none, are wrapped.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import threading
import time
from types import ModuleType
from typing import Any

from raymigrate_recorder import asked
from raymigrate_recorder.digests import batch_of, model_digests, plain_name
from raymigrate_recorder.importing import after
from raymigrate_recorder.settings import settings
from raymigrate_recorder.trace import emit, guarded, path, rank


class StopTraining(BaseException):
    """Leaves the train function after the last step that was asked for.

    Not an `Exception`, so that a script's `except Exception` does not take it for an error.
    """


class Worker:
    """What this worker has done since its last optimizer step."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets everything, as a train function begins."""
        self.model: Any = None  # the outermost module that was called in training mode
        self.steps = 0
        self.forwards: list[dict[str, Any]] = []
        self.losses: list[float] = []
        self.gradient_norm: float | None = None
        self.learning_rates: list[float] = []
        self.clipped: list[float] = []  # to what gradients were clipped
        self.progress: dict[str, Any] = {}  # a Hugging Face Trainer's own count of steps and epochs
        self.reporting = False  # within a call of report()


worker = Worker()
_calls = threading.local()
SCALE = "_raymigrate_scale"  # on a loss that a GradScaler has multiplied: by how much


def install() -> None:
    """Sets the hooks when torch is imported."""

    @after("torch.optim.optimizer")
    def _optimizer(module: ModuleType) -> None:
        module.register_optimizer_step_pre_hook(_before_step)
        module.register_optimizer_step_post_hook(_after_step)

    @after("torch.nn.modules.module")
    def _module(module: ModuleType) -> None:
        module.register_module_forward_pre_hook(_before_forward)
        module.register_module_forward_hook(_after_forward, with_kwargs=True, always_call=True)

    @after("torch._tensor")
    def _tensor(module: ModuleType) -> None:
        backward = module.Tensor.backward

        @functools.wraps(backward)
        def recorded(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            if rank() is not None and tensor.numel() == 1:
                worker.losses.append(float(tensor.detach()) / getattr(tensor, SCALE, 1.0))
            return backward(tensor, *args, **kwargs)

        module.Tensor.backward = recorded

    after("torch.nn.utils.clip_grad")(_note_clipping)
    for name in ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler"):  # the second alone before torch 2.3
        after(name)(_remember_scale)


def _note_clipping(module: ModuleType) -> None:
    """A bound that no gradient exceeds leaves no other trace."""
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        setattr(module, name, _noted(getattr(module, name)))


def _noted(clip: Any) -> Any:
    signature = inspect.signature(clip)

    @functools.wraps(clip)
    def noted(*args: Any, **kwargs: Any) -> Any:
        if rank() is not None:
            given = signature.bind(*args, **kwargs).arguments
            worker.clipped.append(float(given["max_norm"] if "max_norm" in given else given["clip_value"]))
        return clip(*args, **kwargs)

    return noted


def _remember_scale(module: ModuleType) -> None:
    """A loss is recorded as the script computed it: a scale is a power of two, so dividing by it is exact."""
    scaler = module.GradScaler
    if "scale" not in vars(scaler):
        return
    scale = scaler.scale

    @functools.wraps(scale)
    def scaled(self: Any, outputs: Any) -> Any:
        result = scale(self, outputs)
        if hasattr(result, "detach") and self.is_enabled():
            setattr(result, SCALE, self.get_scale())
        return result

    scaler.scale = scaled


@guarded
def _before_forward(module: Any, args: Any) -> None:
    depth = getattr(_calls, "depth", 0)
    _calls.depth = depth + 1
    if depth == 0 and rank() is not None and module.training and worker.model is None and _is_model(module):
        worker.model = module
        _record_model(module)


@guarded
def _after_forward(module: Any, args: Any, *rest: Any) -> None:
    _calls.depth = max(0, getattr(_calls, "depth", 1) - 1)
    failed = len(rest) < 2  # torch calls the hook without the keyword arguments then
    if failed or _calls.depth or rank() is None or not _is_model(module):
        return
    kwargs, output = rest
    loss = output.get("loss") if hasattr(output, "get") else getattr(output, "loss", None)
    forward = {"loss": None if loss is None else float(loss.detach().mean()), **batch_of(args, kwargs)}
    if module.training:
        worker.forwards.append(forward)
    else:
        emit("evaluation batch", step=worker.steps, trained=_is_trained(module), **forward)


def _is_model(module: Any) -> bool:
    """Whether a module called on its own is a model, not a loss function: those have nothing to train."""
    return any(parameter.requires_grad for parameter in module.parameters())


def _is_trained(module: Any) -> bool:
    """Whether a model is the one that trains, or a part of it, and no other: a pipeline that shows the result."""
    if worker.model is None:
        return True
    trained = {id(parameter) for parameter in worker.model.parameters()}
    return any(id(parameter) in trained for parameter in module.parameters())


def _record_model(model: Any) -> None:
    """Writes down the model as training begins: its weights, and what decides how it computes."""
    parameters = list(model.parameters())
    plain = model
    while hasattr(plain, "module"):
        plain = plain.module
    emit(
        "model",
        backend=_backend(),
        model=type(plain).__name__,
        wrapped_in=type(model).__name__,
        attention=getattr(getattr(plain, "config", None), "_attn_implementation", None),
        dtypes=sorted({str(parameter.dtype).replace("torch.", "") for parameter in parameters}),
        device=parameters[0].device.type,
        device_name=_device_name(parameters[0].device),
        precision=_mixed_precision(),
        parameters=sum(parameter.numel() for parameter in parameters),
        trainable=sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
        weights=model_digests(model),
        asked=asked.of_model(plain),
    )
    save_weights("initial")


def _backend() -> str | None:
    """That of the process group in which the model is trained; None where each process trains alone."""
    from torch import distributed

    together = distributed.is_available() and distributed.is_initialized()
    return str(distributed.get_backend()) if together else None


def _device_name(device: Any) -> str:
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def _mixed_precision() -> str:
    """ "bf16" or "fp16" under accelerate's autocast, "tf32" where matrix products on a GPU may use it, else "no"."""
    import sys

    import torch

    if "accelerate.state" in sys.modules:
        mixed = sys.modules["accelerate.state"].AcceleratorState._shared_state.get("_mixed_precision", "no")
        if mixed != "no":
            return str(mixed)
    return "tf32" if torch.cuda.is_available() and torch.backends.cuda.matmul.allow_tf32 else "no"


def peak_memory() -> int:
    """The most memory that this process has used so far, in bytes: of its GPU if it has one, else of the machine."""
    import resource

    import torch

    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB


def save_weights(name: str) -> None:
    """Keeps rank 0's weights as `<name>-<pid>.pt`, for differences in figures; for the other ranks hashes suffice."""
    if rank() == 0 and worker.model is not None:
        import torch

        state = {plain_name(key): value.detach().cpu() for key, value in worker.model.named_parameters()}
        torch.save(state, path(f"{name}-{os.getpid()}.pt"))


@guarded
def _before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    if rank() is None:
        return
    _kill_if_asked()
    if worker.steps == 0:
        groups = [_scalars(group) for group in optimizer.param_groups]
        # What it goes on with is there before its first step.
        emit("optimizer", optimizer=type(optimizer).__name__, groups=groups, goes_on=bool(optimizer.state))
    worker.gradient_norm = _gradient_norm(optimizer)
    worker.learning_rates = [float(group["lr"]) for group in optimizer.param_groups]


@guarded
def _after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    if rank() is None:
        return
    worker.steps += 1
    emit(
        "step",
        step=worker.steps,
        losses=worker.losses,
        gradient_norm=worker.gradient_norm,
        learning_rates=worker.learning_rates,
        batches=worker.forwards,
        clipped=worker.clipped,
        **worker.progress,
    )
    worker.losses, worker.forwards, worker.clipped = [], [], []
    # A Hugging Face Trainer ends in its own way, by `overrides.StopAtStep`: with its last evaluation and checkpoint.
    if settings.max_steps and worker.steps >= settings.max_steps and not worker.progress:
        raise StopTraining


def _scalars(group: dict[str, Any]) -> dict[str, Any]:
    """The settings of a parameter group that can be compared, with the number of its parameters."""
    simple = (bool, int, float, str, type(None), tuple, list)
    found = {key: value for key, value in group.items() if key != "params" and isinstance(value, simple)}
    return {**found, "parameters": sum(parameter.numel() for parameter in group["params"])}


def _gradient_norm(optimizer: Any) -> float | None:
    """2-norm over all gradients, in float64, as the optimizer sees them: averaged over workers and clipped."""
    import torch

    gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    if not gradients:
        return None
    norms = [torch.linalg.vector_norm(gradient.detach(), dtype=torch.float64) for gradient in gradients]
    return float(torch.linalg.vector_norm(torch.stack([norm.cpu() for norm in norms])))


def _kill_if_asked() -> None:
    """Ends this process as a crash would, once in a run: the marker file outlives it."""
    kill = settings.kill
    if not kill or rank() != kill["rank"] or worker.steps != kill["step"]:
        return
    marker = path("killed")
    if not os.path.exists(marker):
        emit("killed", step=worker.steps)
        time.sleep(5)  # Ray takes in the last checkpoint that was reported
        with open(marker, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
