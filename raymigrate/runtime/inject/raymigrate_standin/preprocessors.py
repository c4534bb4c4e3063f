"""`ray.data.preprocessors.BatchMapper` (ray 2.6.3, data/preprocessors/batch_mapper.py), gone from current Ray."""

from __future__ import annotations

from typing import Any

from ray.data.preprocessor import Preprocessor

from raymigrate_standin.ray_data import default_batch_size


class BatchMapper(Preprocessor):  # type: ignore[misc]
    """Applies a function to batches of a dataset.

    Args:
        fn: Takes and returns a batch.
        batch_format: "pandas", or "numpy" for a dict of arrays.
        batch_size: Rows in a batch; None for a whole block.
    """

    _is_fittable = False

    def __init__(self, fn: Any, batch_format: str | None, batch_size: int | str | None = "default") -> None:
        super().__init__()
        if batch_format not in ("pandas", "numpy"):
            raise ValueError("BatchMapper only supports 'pandas' or 'numpy' batch format.")
        self.fn = fn
        self.batch_format = batch_format
        self.batch_size = default_batch_size() if batch_size == "default" else batch_size

    def _transform(self, ds: Any, batch_size: int | None = None, **resources: Any) -> Any:
        # Not the base class' way, which since Ray 2.40 may hand out Arrow tables or read-only arrays.
        resources = {name: value for name, value in resources.items() if value is not None}
        return ds.map_batches(
            self.fn, batch_format=self.batch_format, batch_size=self.batch_size, zero_copy_batch=False, **resources
        )

    def _transform_batch(self, data: Any) -> Any:
        return self.fn(data)

    def _determine_transform_to_use(self) -> Any:
        return self.batch_format

    def __repr__(self) -> str:
        return f"BatchMapper(fn={getattr(self.fn, '__name__', self.fn)})"
