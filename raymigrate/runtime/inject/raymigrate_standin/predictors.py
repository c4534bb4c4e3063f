"""Predictors of Hugging Face models and of the script's own, and BatchPredictor (ray 2.6.3, train/predictor.py,
train/batch_predictor.py, train/huggingface/transformers/transformers_predictor.py).

They come after the training, which a script under this stand-in is run for; `TorchPredictor` has no stand-in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy
import pandas  # type: ignore[import-untyped]

from raymigrate_standin.air_checkpoint import Checkpoint, TransformersCheckpoint
from raymigrate_standin.importing import unknown

BATCH_SIZE = 4096


class Predictor:
    """Loads a model from a checkpoint, and predicts batches of its own or the other kind.

    Args:
        preprocessor: Is applied to each batch before.
    """

    def __init__(self, preprocessor: Any = None) -> None:
        self._preprocessor = preprocessor

    @classmethod
    def from_checkpoint(cls, checkpoint: Any, **kwargs: Any) -> Predictor:
        """Is written by a subclass."""
        raise NotImplementedError

    @classmethod
    def from_pandas_udf(cls, pandas_udf: Callable[..., Any]) -> Predictor:
        """A predictor that calls a function of a DataFrame."""
        return _function_predictor(pandas_udf)()

    def get_preprocessor(self) -> Any:
        """The preprocessor, or None."""
        return self._preprocessor

    def set_preprocessor(self, preprocessor: Any) -> None:
        """Replaces the preprocessor."""
        self._preprocessor = preprocessor

    @classmethod
    def preferred_batch_format(cls) -> str:
        """What a predictor that can do both gets."""
        return "pandas"

    @classmethod
    def batch_format_to_use(cls) -> str:
        """What the predictor gets: what it can do, else what it prefers."""
        pandas_too = cls._predict_pandas is not Predictor._predict_pandas
        numpy_too = cls._predict_numpy is not Predictor._predict_numpy
        if not pandas_too and not numpy_too:
            raise NotImplementedError(
                f"Predictor {cls.__name__} must implement at least one of `_predict_pandas` and `_predict_numpy`."
            )
        if pandas_too and numpy_too:
            return str(getattr(cls.preferred_batch_format(), "value", cls.preferred_batch_format()))
        return "pandas" if pandas_too else "numpy"

    def predict(self, data: Any, **kwargs: Any) -> Any:
        """Predicts a DataFrame, or arrays, and gives back the same kind."""
        if self._preprocessor:
            data = self._preprocessor.transform_batch(data)
        is_frame = isinstance(data, pandas.DataFrame)
        if self.batch_format_to_use() == "pandas":
            predicted = self._predict_pandas(data if is_frame else _frame(data), **kwargs)
            return predicted if is_frame else _arrays(predicted)
        predicted = self._predict_numpy(_arrays(data) if is_frame else data, **kwargs)
        return _frame(predicted) if is_frame else predicted

    def _predict_pandas(self, data: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def _predict_numpy(self, data: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def _frame(data: Any) -> Any:
    if isinstance(data, numpy.ndarray):
        raise NotImplementedError(unknown("A predictor of DataFrames that is given a single array"))
    return pandas.DataFrame({name: list(values) for name, values in data.items()})


def _arrays(frame: Any) -> dict[str, Any]:
    return {name: frame[name].to_numpy() for name in frame.columns}


def _function_predictor(function: Callable[..., Any]) -> type[Predictor]:
    class PandasUDFPredictor(Predictor):
        @classmethod
        def from_checkpoint(cls, checkpoint: Any, **kwargs: Any) -> Predictor:
            return cls()

        def _predict_pandas(self, data: Any, **kwargs: Any) -> Any:
            return function(data, **kwargs)

    return PandasUDFPredictor


class TransformersPredictor(Predictor):
    """Predicts with a pipeline of transformers.

    Args:
        pipeline: The pipeline.
        preprocessor: Is applied to each batch before.
        use_gpu: Only told to the pipeline when it is made from a checkpoint.
    """

    def __init__(self, pipeline: Any = None, preprocessor: Any = None, use_gpu: bool = False) -> None:
        self.pipeline = pipeline
        self.use_gpu = use_gpu
        super().__init__(preprocessor)

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: Any,
        *,
        pipeline_cls: Any = None,
        model_cls: Any = None,
        pretrained_model_kwargs: dict[str, Any] | None = None,
        use_gpu: bool = False,
        **pipeline_kwargs: Any,
    ) -> TransformersPredictor:
        """Makes the pipeline from what TransformersTrainer saved."""
        from transformers import pipeline as factory

        if not pipeline_cls and "task" not in pipeline_kwargs:
            raise ValueError("If `pipeline_cls` is not specified, 'task' must be passed as a kwarg.")
        if use_gpu and "device_map" not in pipeline_kwargs:
            pipeline_kwargs.setdefault("device", 0)
        model = None
        if model_cls:
            if not isinstance(checkpoint, TransformersCheckpoint):
                raise ValueError("If `model_cls` is passed, the checkpoint has to be a `TransformersCheckpoint`.")
            model = checkpoint.get_model(model_cls, **(pretrained_model_kwargs or {}))
        if pipeline_cls and model:
            pipeline = pipeline_cls(model, **pipeline_kwargs)
        else:
            if pipeline_cls:
                pipeline_kwargs["pipeline_class"] = pipeline_cls
            with checkpoint.as_directory() as folder:
                pipeline = factory(model=model or folder, **pipeline_kwargs)
        return cls(pipeline, checkpoint.get_preprocessor(), use_gpu)

    def _predict_pandas(self, data: Any, feature_columns: list[str] | None = None, **kwargs: Any) -> Any:
        data = data[feature_columns] if feature_columns else data
        columns: Any = [data[name].to_list() for name in data.columns]
        while isinstance(columns, list) and len(columns) == 1:
            columns = columns[0]
        predicted = self.pipeline(columns, **kwargs)
        try:
            rows = [row[0] if isinstance(row, list) and len(row) == 1 else row for row in predicted]
            table = pandas.DataFrame(rows)
        except Exception:
            table = pandas.DataFrame(predicted)
        table.columns = [str(name) for name in table.columns]
        return table


class HuggingFacePredictor(TransformersPredictor):
    """The name of TransformersPredictor before Ray 2.5."""


class BatchPredictor:
    """Predicts a Dataset with actors that each have a predictor.

    Args:
        checkpoint: What the predictors are made from.
        predictor_cls: Their class.
        predictor_kwargs: Given to its `from_checkpoint`.
    """

    def __init__(self, checkpoint: Any, predictor_cls: type[Predictor], **predictor_kwargs: Any) -> None:
        self._checkpoint = checkpoint
        self._predictor_cls = predictor_cls
        self._predictor_kwargs = predictor_kwargs
        self._preprocessor = checkpoint.get_preprocessor()

    @classmethod
    def from_checkpoint(cls, checkpoint: Any, predictor_cls: type[Predictor], **kwargs: Any) -> BatchPredictor:
        """The same as the class itself."""
        return cls(checkpoint, predictor_cls, **kwargs)

    @classmethod
    def from_pandas_udf(cls, pandas_udf: Callable[..., Any]) -> BatchPredictor:
        """Predicts with a function of a DataFrame."""
        return cls(Checkpoint.from_dict({}), _function_predictor(pandas_udf))

    def get_preprocessor(self) -> Any:
        """What the Dataset is transformed with before."""
        return self._preprocessor

    def set_preprocessor(self, preprocessor: Any) -> None:
        """Replaces it; None for nothing."""
        self._preprocessor = preprocessor

    def predict(
        self,
        data: Any,
        *,
        feature_columns: list[str] | None = None,
        keep_columns: list[str] | None = None,
        batch_size: int = BATCH_SIZE,
        min_scoring_workers: int = 1,
        max_scoring_workers: int | None = None,
        num_cpus_per_worker: float | None = None,
        num_gpus_per_worker: float | None = None,
        separate_gpu_stage: bool = True,
        ray_remote_args: dict[str, Any] | None = None,
        **predict_kwargs: Any,
    ) -> Any:
        """A Dataset of predictions, with the columns that are to be kept."""
        import ray

        gpus = num_gpus_per_worker or 0
        cpus = num_cpus_per_worker if num_cpus_per_worker is not None else int(gpus == 0)
        kind, checkpoint, given = self._predictor_cls, self._checkpoint, dict(self._predictor_kwargs)
        if gpus and "use_gpu" in inspect.signature(kind.from_checkpoint).parameters:
            given.setdefault("use_gpu", True)

        class ScoringWrapper:
            def __init__(self) -> None:
                self.predictor = kind.from_checkpoint(checkpoint, **given)
                self.predictor.set_preprocessor(None)

            def __call__(self, batch: Any) -> Any:
                predicted = self.predictor.predict(_selected(batch, feature_columns), **predict_kwargs)
                for column in keep_columns or ():
                    predicted[column] = batch[column]
                return predicted

        return (self._preprocessor.transform(data) if self._preprocessor else data).map_batches(
            ScoringWrapper,
            compute=ray.data.ActorPoolStrategy(min_size=min_scoring_workers, max_size=max_scoring_workers),
            batch_format=kind.batch_format_to_use(),
            batch_size=batch_size,
            **{**(ray_remote_args or {}), "num_cpus": cpus, "num_gpus": gpus},
        )

    def predict_pipelined(self, *args: Any, **kwargs: Any) -> Any:
        """Is refused, as all of DatasetPipeline is."""
        raise NotImplementedError(unknown("BatchPredictor.predict_pipelined()"))


def _selected(batch: Any, columns: list[str] | None) -> Any:
    if not columns:
        return batch
    if isinstance(batch, Mapping):
        return {name: values for name, values in batch.items() if name in columns}
    return batch[columns]
