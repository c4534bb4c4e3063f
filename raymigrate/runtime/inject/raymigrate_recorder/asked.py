"""Records what a script asks for itself, where a pin or an override answers in its place, and what it sets besides.

A pin or an override is the same in every arm. So it would hide that a conversion lost an argument: the arms train alike
only because both are told to. What each script asked for is compared as well (`raymigrate.runtime.verify.gates.asked`).
"""

from __future__ import annotations

import functools
import inspect
import os
from dataclasses import MISSING
from enum import Enum
from types import ModuleType
from typing import Any

from raymigrate_recorder.importing import after
from raymigrate_recorder.settings import settings
from raymigrate_recorder.trace import emit, guarded, path, rank

TURNED = "turned to another device"  # file in the trace's folder: `--device` changed what the workers have
ON_INSTANCE = "_raymigrate_asked"  # what TrainingArguments were given before a pin or an override changed it
# Settings of an Accelerator that decide on batches and steps, as accelerate >= 0.20 names them.
OF_ACCELERATOR = (
    *("gradient_accumulation_steps", "split_batches", "dispatch_batches", "even_batches"),
    *("step_scheduler_with_optimizer", "device_placement", "use_seedable_sampler"),
)
# Settings of a CheckpointConfig that every Ray has, and their defaults.
OF_CHECKPOINTS = {"num_to_keep": None, "checkpoint_score_attribute": None, "checkpoint_score_order": "max"}

# Callbacks that every Trainer has.
SHOWING = ("DefaultFlowCallback", "PrinterCallback", "ProgressCallback", "FollowTrainer")

# Model class -> what its loading asked for, before the pins "attention" and "dtype".
attention: dict[str, str] = {}
dtypes: dict[str, str] = {}
PREPARED = "_raymigrate_prepared"  # on an Accelerator: its first prepare(), which draws the order of rows, is over
GIVEN = "_raymigrate_given"  # on TrainingArguments: what the script gave that is not the default of its libraries


def install() -> None:
    """Sets the hooks on Accelerator, Trainer and its arguments."""
    after("accelerate.accelerator")(_accelerator)
    after("transformers.training_args")(_training_arguments)
    after("transformers.trainer")(_trainer)


def scaling(arguments: dict[str, Any]) -> None:
    """Notes what the script asks of Ray, as keyword arguments of ScalingConfig, before overrides change it."""
    workers = arguments.get("num_workers")
    known = workers is None or isinstance(workers, int)
    guarded(emit)(
        "asked of Ray",
        workers=workers if known else None,
        searched=not known,  # a Tuner finds their number
        use_gpu=bool(arguments.get("use_gpu")),
    )
    if settings.device is not None and bool(arguments.get("use_gpu")) != (settings.device == "gpu"):
        with open(path(TURNED), "w"):
            pass


def run(arguments: dict[str, Any]) -> None:
    """Notes how a run fails and what it keeps, as keyword arguments of RunConfig: what Ray does if nothing is said."""
    failures, checkpoints = arguments.get("failure_config"), arguments.get("checkpoint_config")
    kept = {name: getattr(checkpoints, name, None) or default for name, default in OF_CHECKPOINTS.items()}
    guarded(emit)("asked of a run", max_failures=getattr(failures, "max_failures", 0), **kept)


def turned() -> bool:
    """Whether `--device` gives the workers another device than the script asked for.

    A script without Ray does not say in one place what it asks for, so it is always told.
    """
    return settings.device is not None and (bool(settings.plain) or os.path.exists(path(TURNED)))


def remember(arguments: Any, **values: Any) -> None:
    """Keeps what TrainingArguments asked for; the first one who asks has seen the script's own value."""
    vars(arguments).setdefault(ON_INSTANCE, {})
    for name, value in values.items():
        vars(arguments)[ON_INSTANCE].setdefault(name, value)


def of_model(model: Any) -> dict[str, Any]:
    """What the loading of a model asked for, and the seed that is in force when its training begins."""
    import torch

    name = type(model).__name__
    return {"attention": attention.get(name), "dtype": dtypes.get(name), "seed": torch.initial_seed()}


def _accelerator(module: ModuleType) -> None:
    initialize = module.Accelerator.__init__
    signature = inspect.signature(initialize)

    @functools.wraps(initialize)
    def asked(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs).arguments
        cpu, precision = _cpu(given), _precision(given)
        initialize(self, *args, **kwargs)
        if rank() is not None:
            values = {name: getattr(self, name, None) for name in OF_ACCELERATOR}
            arguments = _plain({"mixed_precision": precision, **values})
            guarded(emit)("asked of accelerate", cpu=cpu, arguments=arguments, given=sorted(given.keys() - {"self"}))

    module.Accelerator.__init__ = asked
    prepare = module.Accelerator.prepare

    @functools.wraps(prepare)
    def prepared(self: Any, *args: Any, **kwargs: Any) -> Any:
        if rank() is not None and not hasattr(self, PREPARED):
            import torch

            setattr(self, PREPARED, True)
            guarded(emit)("asked at prepare", seed=torch.initial_seed())
        return prepare(self, *args, **kwargs)

    module.Accelerator.prepare = prepared


def _cpu(given: dict[str, Any]) -> bool | None:
    """Whether an Accelerator asks for the CPU; None if that was decided before, as by a Trainer's arguments."""
    from accelerate.state import PartialState

    if given.get("cpu") or _by_environment():
        return True
    return None if PartialState._shared_state else False


def _by_environment() -> bool:
    """Whether the job's environment asks accelerate for the CPU, and not `--device`."""
    return os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes") and not turned()


def _precision(given: dict[str, Any]) -> str:
    asked = given.get("mixed_precision") or os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    return str(getattr(asked, "value", asked))


def _trainer(module: ModuleType) -> None:
    train = module.Trainer.train

    @functools.wraps(train)
    def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if rank() is not None:
            guarded(_record_trainer)(self)
        return train(self, *args, **kwargs)

    module.Trainer.train = asked


def _training_arguments(module: ModuleType) -> None:
    """Notes what a script gives, before `__post_init__` makes something else of it and of what was left out."""
    initialize = module.TrainingArguments.__post_init__

    @functools.wraps(initialize)
    def noted(self: Any) -> None:
        given = {name: getattr(self, name, None) for name in self.__dataclass_fields__}
        fields = self.__dataclass_fields__
        given = {name: value for name, value in given.items() if value != _default(fields[name])}
        vars(self).setdefault(GIVEN, _plain(given))
        initialize(self)

    module.TrainingArguments.__post_init__ = noted


def _default(field: Any) -> Any:
    """What a field of a dataclass is where nothing is given."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def _record_trainer(trainer: Any) -> None:
    arguments = trainer.args
    values = {name: getattr(arguments, name, None) for name in arguments.__dataclass_fields__}
    values.update(vars(arguments).get(ON_INSTANCE, {}))
    emit(
        "asked of the Trainer",
        arguments=_plain(values),
        given=vars(arguments).get(GIVEN, {}),
        defaults=_plain({name: _default(field) for name, field in arguments.__dataclass_fields__.items()}),
        cpu=bool(values.get("use_cpu") or values.get("no_cuda")) or _by_environment(),
        divides_loss=not getattr(trainer, "model_accepts_loss_kwargs", False),
        callbacks=sorted(type(callback).__name__ for callback in trainer.callback_handler.callbacks if _acts(callback)),
    )


def _acts(callback: Any) -> bool:
    """Whether a callback may change a training: not those that show and log, and not those of Ray and of verify."""
    module = type(callback).__module__
    shows = ("raymigrate_", "ray.", "transformers.integrations", "transformers.utils.notebook")
    return not module.startswith(shows) and type(callback).__name__ not in SHOWING


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Values as JSON has them."""
    return {name: _plain_value(value) for name, value in values.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain_value(item) for key, item in value.items()}
    return type(value).__name__
