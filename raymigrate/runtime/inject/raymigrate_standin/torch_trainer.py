"""What every old trainer for torch shares: `ray.train.torch.TorchTrainer` with the arguments of Ray 2.0 to 2.7.

`HuggingFaceTrainer` and `AccelerateTrainer` were kinds of it (ray 2.6.3, transformers_trainer.py:50,
accelerate_trainer.py:70), and are so here.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from ray.train import DataConfig
from ray.train.v2.torch import torch_trainer as current

from raymigrate_standin import air_config, ingest
from raymigrate_standin.air_checkpoint import Checkpoint
from raymigrate_standin.air_session import ENDED, TrialStopped, check_stop, together
from raymigrate_standin.importing import unknown
from raymigrate_standin.job import ATTRIBUTE, Job
from raymigrate_standin.results import Reports, complete_result

# Methods by which a subclass changed what the old trainers did, and which nothing calls today.
OLD_HOOKS = ("setup", "preprocess_datasets", "training_loop", "as_trainable", "_validate_attributes")


class WorkerFunction:
    """Runs on each worker: what the old trainer prepared there, then the user's function.

    A class at the top of a module, so that workers unpickle it by its name.
    """

    def __init__(self, function: Callable[..., Any], config: dict[str, Any], *, use_gpu: bool) -> None:
        self.function = function
        self.config = config
        self.use_gpu = use_gpu
        # inspect.signature and the log show the user's function.
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self) -> Any:
        """Prepares and runs; gives back what the user's function returns."""
        if not self.use_gpu:
            # accelerate < 1.0 trained with DistributedDataParallel on CPU workers by itself; later ones train one
            # model per worker unless they are told (docs/semantics/traps.md#t3).
            os.environ["ACCELERATE_USE_CPU"] = "true"
        try:
            found = self.run()
        except TrialStopped:
            return None
        together(ENDED)
        return found

    def run(self) -> Any:
        """Calls the user's function.

        The old trainers counted every parameter, so that `def loop(config=None)` got the configuration too
        (ray 2.6.3, train/_internal/utils.py, construct_train_func).
        """
        return self.function(self.config) if _parameters(self.function) else self.function()


def _parameters(function: Callable[..., Any]) -> int:
    return len(inspect.signature(function).parameters)


class TorchTrainer(current.TorchTrainer):  # type: ignore[misc]
    """Train V2's trainer, called as the old one was.

    Args:
        train_loop_per_worker: The user's function, of none or one parameter.
        train_loop_config: Given to it.
        torch_config: Backend of the process group.
        scaling_config: A ScalingConfig of ray.air or ray.train, or a dict.
        dataset_config: A DataConfig, or a dict of DatasetConfig.
        run_config: A RunConfig of ray.air or ray.train.
        datasets: Name -> Ray Dataset, or a function that returns one.
        preprocessor: Is fitted on the dataset "train" unless it is already, and transforms all.
        resume_from_checkpoint: What `session.get_checkpoint()` returns at the start.
        metadata: Is kept with the checkpoints.
        current_arguments: What only the current TorchTrainer knows.
    """

    checkpoint_class: type[Checkpoint] = Checkpoint

    def __new__(cls, *args: Any, **kwargs: Any) -> TorchTrainer:
        """Remembers the arguments, which the trials of a Tuner give anew (ray 2.6.3, base_trainer.py, `__new__`)."""
        trainer: TorchTrainer = super().__new__(cls)
        names = list(inspect.signature(cls.__init__).parameters)[1:]
        trainer.arguments = {**dict(zip(names, args, strict=False)), **kwargs}
        return trainer

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in OLD_HOOKS:
            if name in vars(cls) and not cls.__module__.startswith("raymigrate_standin."):
                raise NotImplementedError(unknown(f"A subclass of the old trainers with its own {name}()"))

    def __init__(
        self,
        train_loop_per_worker: Callable[..., Any],
        *,
        train_loop_config: dict[str, Any] | None = None,
        torch_config: Any = None,
        scaling_config: Any = None,
        dataset_config: Any = None,
        run_config: Any = None,
        datasets: Mapping[str, Any] | None = None,
        preprocessor: Any = None,
        resume_from_checkpoint: Any = None,
        metadata: dict[str, Any] | None = None,
        **current_arguments: Any,
    ) -> None:
        self._validate_function(train_loop_per_worker)
        scaling = air_config.translated_scaling(scaling_config)
        stop = air_config.remembered(run_config, "stop")
        check_stop(stop)
        prepared = self._prepare(datasets, dataset_config, preprocessor)
        self.job = Job(
            trainer=type(self).__name__,
            experiment=getattr(run_config, "name", None),
            trainer_resources=air_config.remembered(scaling_config, "trainer_resources"),
            worker_resources=scaling._resources_per_worker_not_none,
            num_workers=scaling.num_workers,
            resume=resume_from_checkpoint,
            metadata=metadata,
            stop=stop,
            preprocessor=preprocessor,
            checkpoint_class=self.checkpoint_class,
        )
        run = air_config.translated_run(run_config, str(self.job.experiment), self.job.run_name)
        setattr(run, ATTRIBUTE, self.job)
        super().__init__(
            self._worker_function(train_loop_per_worker, train_loop_config, scaling, prepared),
            train_loop_config=train_loop_config,
            torch_config=torch_config,
            scaling_config=scaling,
            run_config=run,
            datasets=prepared,
            dataset_config=self._data_config(dataset_config or ({} if preprocessor else None), list(prepared)),
            **current_arguments,
        )

    def _validate_function(self, function: Callable[..., Any]) -> None:
        """As `_validate_train_loop_per_worker` did (ray 2.6.3, data_parallel_trainer.py:385-394)."""
        if (count := _parameters(function)) > 1:
            raise ValueError(
                f"train_loop_per_worker should take in 0 or 1 arguments, but it accepts {count} arguments instead."
            )

    def _worker_function(
        self, function: Callable[..., Any], config: dict[str, Any] | None, scaling: Any, datasets: dict[str, Any]
    ) -> WorkerFunction:
        return WorkerFunction(function, config or {}, use_gpu=scaling.use_gpu)

    def _prepare(self, datasets: Mapping[str, Any] | None, config: Any, preprocessor: Any) -> dict[str, Any]:
        """Checks the datasets and applies the preprocessor (ray 2.6.3, base_trainer.py, `_validate_attributes`)."""
        import ray.data  # only jobs with Ray Data need it

        if datasets is not None and not isinstance(datasets, dict):
            raise ValueError(
                "`datasets` should be a dict mapping from a string to `ray.data.Dataset` objects, "
                f"found {type(datasets)} with value `{datasets}`."
            )
        found: dict[str, Any] = {}
        for key, dataset in (datasets or {}).items():
            if not isinstance(dataset, ray.data.Dataset) and not callable(dataset):
                raise ValueError(
                    f"The Dataset under '{key}' key is not a `ray.data.Dataset`. Received {dataset} instead."
                )
            found[key] = dataset if isinstance(dataset, ray.data.Dataset) else dataset()
        return ingest.prepared(found, config, preprocessor)

    def _data_config(self, config: Any, names: list[str]) -> Any:
        """The old Ray's way to split, unless a DataConfig says otherwise; see `ingest.split_names`."""
        if isinstance(config, DataConfig):
            return config
        if config is None and ingest.splits_all():
            return DataConfig()
        return DataConfig(datasets_to_split=ingest.split_names(config, names))

    def _initialize_and_run_controller(self, **arguments: Any) -> Any:
        """Runs the job and makes its result what the old trainers returned.

        This is the last step of `fit()`, so that whoever wraps `fit` sees the finished result.
        """
        with Reports() as reports:
            arguments["callbacks"].append(reports.callback(self.train_run_context))
            result = super()._initialize_and_run_controller(**arguments)
            complete_result(result, self.job, reports.read(), self.train_loop_config)
        return result

    @classmethod
    def restore(cls, *args: Any, **kwargs: Any) -> Any:
        """Is refused: folders of old runs cannot be read by Train V2."""
        raise NotImplementedError(unknown(f"{cls.__name__}.restore()"))

    @classmethod
    def can_restore(cls, *args: Any, **kwargs: Any) -> Any:
        """Is refused, as `restore`."""
        raise NotImplementedError(unknown(f"{cls.__name__}.can_restore()"))

    def as_trainable(self) -> Any:
        """Is refused: Train V2's trainers are not trainables of Tune."""
        raise NotImplementedError(unknown(f"{type(self).__name__}.as_trainable()"))
