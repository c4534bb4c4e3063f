"""`HuggingFaceTrainer`, since Ray 2.5 `TransformersTrainer`: the driver's side (ray 2.6.3, transformers_trainer.py)."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from ray.train import DataConfig

from raymigrate_standin.air_checkpoint import Checkpoint, HuggingFaceCheckpoint, TransformersCheckpoint
from raymigrate_standin.torch_trainer import TorchTrainer, WorkerFunction
from raymigrate_standin.transformers_loop import TransformersFunction

RESERVED = "_trainer_init_per_worker"


class TransformersTrainer(TorchTrainer):
    """Trains with a `transformers.Trainer` that the user's function makes on each worker.

    Args:
        trainer_init_per_worker: Called as `f(train_dataset, eval_dataset, **trainer_init_config)`.
        trainer_init_config: Keyword arguments for it.
        datasets: Ray Datasets "train" and "evaluation"; others are not used, as in Ray 2.6 and later.
        others: As TorchTrainer.
    """

    checkpoint_class: type[Checkpoint] = TransformersCheckpoint

    def __init__(
        self,
        trainer_init_per_worker: Callable[..., Any],
        *,
        trainer_init_config: dict[str, Any] | None = None,
        datasets: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> None:
        if "train_loop_per_worker" in others or "train_loop_config" in others:
            # Python's own words in the old class, which had no such parameter.
            raise TypeError(f"{type(self).__name__} got an unexpected keyword argument 'train_loop_per_worker'")
        config = dict(trainer_init_config or {})
        if RESERVED in config:
            raise ValueError(f"'{RESERVED}' is a reserved key in `trainer_init_config`.")
        if others.get("preprocessor") is not None and not (datasets or {}):
            warnings.warn("A preprocessor without datasets has no effect.", stacklevel=2)
        super().__init__(trainer_init_per_worker, train_loop_config=config, datasets=datasets, **others)
        self._validate_gpus()

    def _validate_function(self, function: Callable[..., Any]) -> None:
        """As the old class did: `**config` counts as one parameter (2.4.0, huggingface_trainer.py:339)."""
        count = len(inspect.signature(function).parameters)
        if count < 3:
            raise ValueError(
                "trainer_init_per_worker should take in at least 3 arguments, "
                f"but it accepts {count} arguments instead."
            )

    def _validate_gpus(self) -> None:
        """Hugging Face's Trainer takes every GPU that it sees, so the old class refused more than one."""
        gpus = self.scaling_config.num_gpus_per_worker
        if gpus > 1:
            raise ValueError(
                f"You have assigned {gpus} GPUs per worker. This is not supported by HuggingFace, which expects "
                "one GPU per worker in DDP mode and will fail if more are assigned."
            )
        if gpus != int(gpus):
            raise ValueError(
                f"You have assigned {gpus} GPUs per worker, but fractional GPUs are not supported by HuggingFace."
            )

    def _data_config(self, config: Any, names: list[str]) -> Any:
        """Never splits the evaluation data: Hugging Face's Trainer does, and each row is to count once."""
        found = super()._data_config(config, names)
        if type(found) is DataConfig:  # a class of the script's own knows what it does
            split = names if found._datasets_to_split == "all" else found._datasets_to_split
            found = copy.copy(found)
            found._datasets_to_split = [name for name in split if name != "evaluation"]
        return found

    def _worker_function(
        self, function: Callable[..., Any], config: dict[str, Any] | None, scaling: Any, datasets: dict[str, Any]
    ) -> WorkerFunction:
        # Up to Ray 2.5 every dataset's rows were counted; Ray 2.6 counted those of materialized datasets
        # (docs/semantics/data.md#rows-and-lengths). A length more than Ray 2.6 gave only spares the script `max_steps`.
        lengths: dict[str, int] = {name: datasets[name].count() for name in ("train", "evaluation") if name in datasets}
        return TransformersFunction(function, config or {}, use_gpu=scaling.use_gpu, lengths=lengths)


class HuggingFaceTrainer(TransformersTrainer):
    """The name of TransformersTrainer before Ray 2.5."""

    checkpoint_class: type[Checkpoint] = HuggingFaceCheckpoint
