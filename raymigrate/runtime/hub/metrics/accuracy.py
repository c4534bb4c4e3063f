"""Accuracy, for the offline hub: `evaluate.load("accuracy")`. The hub serves this very file to `evaluate`."""

from __future__ import annotations  # also loaded by Python 3.8, in old environments

from typing import Any

import datasets
import evaluate
import numpy as np


class Accuracy(evaluate.Metric):  # type: ignore[misc] # evaluate has no types
    """The share of predictions that equal their reference."""

    def _info(self) -> evaluate.MetricInfo:
        value = datasets.Value("int32")
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions, references: lists of int; normalize: share or count",
            features=datasets.Features({"predictions": value, "references": value}),
        )

    def _compute(
        self, predictions: Any, references: Any, normalize: bool = True, sample_weight: Any = None
    ) -> dict[str, float]:
        hits = np.asarray(predictions) == np.asarray(references)
        weights = np.ones(len(hits)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        total = float(np.sum(hits * weights))
        return {"accuracy": total / float(np.sum(weights)) if normalize else total}
