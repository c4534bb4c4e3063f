"""F1, for the offline hub: `evaluate.load("f1")`. The hub serves this very file to `evaluate`."""

from __future__ import annotations  # also loaded by Python 3.8, in old environments

from typing import Any

import datasets
import evaluate
import numpy as np


class F1(evaluate.Metric):  # type: ignore[misc] # evaluate has no types
    """The harmonic mean of precision and recall, of one label or averaged over the labels."""

    def _info(self) -> evaluate.MetricInfo:
        value = datasets.Value("int32")
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions, references: lists of int; average: binary, micro, macro, weighted or None",
            features=datasets.Features({"predictions": value, "references": value}),
        )

    def _compute(
        self, predictions: Any, references: Any, labels: Any = None, pos_label: int = 1, average: str | None = "binary"
    ) -> dict[str, Any]:
        predicted, expected = np.asarray(predictions), np.asarray(references)
        if average == "binary":
            labels = [pos_label]
        elif labels is None:
            labels = np.unique(np.concatenate([predicted, expected]))
        hits = np.array([np.sum((predicted == label) & (expected == label)) for label in labels], dtype=float)
        found = np.array([np.sum(predicted == label) for label in labels])
        support = np.array([np.sum(expected == label) for label in labels])
        if average == "micro":
            hits, found, support = hits.sum(keepdims=True), found.sum(keepdims=True), support.sum(keepdims=True)
        # A label that is neither predicted nor expected scores 0, as in scikit-learn.
        scores = 2 * hits / np.maximum(found + support, 1)
        if average is None:
            return {"f1": scores}
        if average == "weighted":
            return {"f1": float(np.sum(scores * support) / max(np.sum(support), 1))}
        return {"f1": float(np.mean(scores))}
