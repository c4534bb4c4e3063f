"""`TransformersTrainer` on a worker (ray 2.6.3, transformers_trainer.py:380-496 and _transformers_utils.py).

The user's function gets this worker's rows as datasets with a length, and returns a `transformers.Trainer`, which is
then made to batch these rows, to report to Ray, and to go on from a checkpoint.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import datasets
import transformers
from datasets.iterable_dataset import _BaseExamplesIterable
from torch.utils.data import DataLoader, IterableDataset
from transformers.trainer_pt_utils import IterableDatasetShard

from raymigrate_standin import air_session
from raymigrate_standin.torch_trainer import WorkerFunction
from raymigrate_standin.transformers_report import TrainReportCallback


class TransformersFunction(WorkerFunction):
    """Runs on each worker.

    Args:
        function: The user's function that makes a Trainer.
        config: Its keyword arguments.
        use_gpu: Whether workers have GPUs.
        lengths: Number of rows of each dataset, before it is split.
    """

    def __init__(
        self, function: Callable[..., Any], config: dict[str, Any], *, use_gpu: bool, lengths: dict[str, int]
    ) -> None:
        super().__init__(function, config, use_gpu=use_gpu)
        self.lengths = lengths

    def run(self) -> Any:
        """Makes the user's Trainer and trains with it."""
        train, evaluation = self._dataset("train"), self._dataset("evaluation")
        with _without_loggers():
            trainer = self.function(train, evaluation, **self.config)
        check_arguments(trainer.args)
        _use_ray_rows(trainer, split=train is not None)
        # The libraries of that time divided the loss by the steps that were accumulated, whatever the model.
        trainer.model_accepts_loss_kwargs = False
        trainer.add_callback(TrainReportCallback)
        checkpoint = air_session.get_checkpoint()
        if checkpoint is None:
            trainer.train()
            return
        # The files of Hugging Face's Trainer are at the root of the checkpoint (docs/semantics/traps.md#t4).
        with checkpoint.as_directory() as folder:
            trainer.train(resume_from_checkpoint=folder)

    def _dataset(self, name: str) -> Any:
        shard = air_session.get_dataset_shard(name)
        if shard is None:
            return None
        length = self.lengths[name]
        if hasattr(shard, "world_size"):  # a split dataset: each worker has as many, what is left over is dropped
            length //= shard.world_size()
        return hugging_face_dataset(shard, length)


class RayRows(_BaseExamplesIterable):  # type: ignore[misc]
    """A shard of a Ray Dataset as `datasets` reads it; shuffling and splitting are Ray's."""

    def __init__(self, shard: Any) -> None:
        super().__init__()
        self.shard = shard

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, row in enumerate(self.shard.iter_rows()):
            yield number, dict(row)

    def _init_state_dict(self) -> dict[str, Any]:
        self._state_dict: dict[str, Any] = {}
        return self._state_dict

    def shuffle_data_sources(self, generator: Any) -> RayRows:  # noqa: D102
        return self

    def shard_data_sources(self, num_shards: int, index: int, contiguous: bool = True) -> RayRows:  # noqa: D102
        return self

    def reshard_data_sources(self) -> RayRows:  # noqa: D102
        return self

    @property
    def num_shards(self) -> int:  # noqa: D102
        return 1


def hugging_face_dataset(shard: Any, length: int) -> Any:
    """A `datasets.IterableDataset` of torch tensors over a shard, with a length.

    docs/semantics/data.md#rows-and-lengths tells what it stands for.
    """
    dataset = datasets.IterableDataset(RayRows(shard)).with_format("torch")
    if length:
        # A length lets the Trainer count epochs. The class is swapped, as Ray did, since `len` asks the class.
        sized = {"__len__": lambda self: length}
        dataset.__class__ = type(f"{type(dataset).__name__}WithLength", (type(dataset),), sized)
    return dataset


@contextlib.contextmanager
def _without_loggers() -> Iterator[None]:
    """Trainers made inside have no callbacks of W&B, MLflow and the like, whatever `report_to` says.

    Ray took them out again before training (docs/semantics/traps.md#t22). Here they are not put in, since each would
    raise an error where its library is not installed: `report_to` was "all" by default and is "none" now.
    """
    found = transformers.trainer.get_reporting_integration_callbacks
    transformers.trainer.get_reporting_integration_callbacks = lambda report_to: []
    try:
        yield
    finally:
        transformers.trainer.get_reporting_integration_callbacks = found


def check_arguments(args: Any) -> None:
    """Refuses what the old trainer refused (docs/semantics/legacy-transformers.md#arguments-that-were-checked)."""
    used = [strategy for strategy in (args.eval_strategy, args.save_strategy) if strategy != "no"]
    if any(strategy != args.logging_strategy for strategy in used):
        raise ValueError(
            "When using Ray AIR,`logging_strategy`, `evaluation_strategy` and `save_strategy` must all be set to the "
            "same value. `evaluation_strategy` or `save_strategy` may also be set to 'no'.\n"
            f"Got `logging_strategy`={args.logging_strategy}\n`evaluation_strategy`={args.eval_strategy}\n"
            f"`save_strategy`={args.save_strategy}"
        )
    if args.save_strategy == "steps" and (args.save_steps < args.logging_steps or args.save_steps % args.logging_steps):
        raise ValueError(
            "When using 'steps' `save_strategy`, `save_steps` must be equal or bigger to `logging_steps`, and must be "
            "divisible by `logging_steps` (so that saving occurs at the same time logging does). "
            f"Got `save_steps`={args.save_steps}, `logging_steps`={args.logging_steps}."
        )
    if args.eval_strategy == "steps" and args.logging_steps != args.eval_steps:
        raise ValueError(
            "`logging_steps` must be equal to `eval_steps`. "
            f"Got `logging_steps`={args.logging_steps}, `eval_steps`={args.eval_steps}"
        )
    if args.load_best_model_at_end:
        raise ValueError(
            "As Ray AIR replaces Transformers checkpointing, `load_best_model_at_end` must be set to False.\n"
            "You can configure the checkpointing by setting `run_config.checkpoint_config`."
        )
    if args.push_to_hub and not args.hub_token:
        warnings.warn("You have set `push_to_hub=True` but didn't specify `hub_token`.", stacklevel=2)


def _use_ray_rows(trainer: Any, *, split: bool) -> None:
    """Lets a Trainer batch the rows that Ray gave this worker.

    docs/semantics/legacy-transformers.md#what-was-changed-in-the-trainer tells what Ray did.

    Args:
        trainer: Its class is swapped, as Ray did.
        split: Whether the training rows are this worker's own; if not, Hugging Face splits them as always.
    """
    base: Any = type(trainer)

    class RayTrainer(base):  # type: ignore[misc]
        def get_train_dataloader(self) -> Any:
            if not split or not isinstance(self.train_dataset, IterableDataset):
                return super().get_train_dataloader()
            return own_batches(self)

        def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
            chosen = self.eval_dataset if eval_dataset is None else eval_dataset
            if isinstance(chosen, str):
                chosen = self.eval_dataset[chosen]
            if isinstance(chosen, datasets.IterableDataset) and hasattr(chosen, "__len__"):
                # Every worker has all evaluation rows. As a list they are dealt out batch by batch and counted, so
                # that each counts once; the old library counted too few of a dataset that is only iterable.
                chosen = list(chosen)
            return super().get_eval_dataloader(chosen)

    trainer.__class__ = RayTrainer


def own_batches(trainer: Any) -> DataLoader[Any]:
    """Batches of this worker's own rows, `per_device_train_batch_size` at a time.

    The Trainer's own loader is not used: since transformers 4.31 accelerate would read all batches on rank 0. The
    user's collator and the removal of columns that the model does not know are the Trainer's.
    """
    args, dataset, size = trainer.args, trainer.train_dataset, trainer._train_batch_size
    if args.world_size > 1:
        # Completes the last batch with the first rows. Its `num_processes=1` is what Ray set it to.
        dataset = IterableDatasetShard(dataset, size, drop_last=args.dataloader_drop_last)
    collate = trainer._get_collator_with_removed_columns(trainer.data_collator, description="training")
    # No worker processes for loading: a shard is read from the process that Ray gave it to.
    return DataLoader(dataset, batch_size=size, collate_fn=collate, pin_memory=args.dataloader_pin_memory)
