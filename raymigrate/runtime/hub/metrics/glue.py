"""GLUE's metrics, for the offline hub: `evaluate.load("glue", "mrpc")`. The hub serves this very file to `evaluate`."""

from __future__ import annotations  # also loaded by Python 3.8, in old environments

from typing import Any

import datasets
import evaluate
import numpy as np

WITH_F1 = ("mrpc", "qqp")
ACCURACY = ("sst2", "mnli", "mnli_mismatched", "mnli_matched", "qnli", "rte", "wnli", "hans")
TASKS = (*WITH_F1, *ACCURACY, "cola", "stsb")


def _correlation(first: Any, second: Any) -> float:
    """Pearson's correlation; 0 where one side is constant. Of two classes it is Matthews' correlation."""
    first, second = first - np.mean(first), second - np.mean(second)
    scale = float(np.sqrt(np.sum(first**2) * np.sum(second**2)))
    return float(np.sum(first * second)) / scale if scale else 0.0


def _ranks(values: Any) -> Any:
    """Ranks, where equal values share the mean of theirs."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    return (last - (sizes - 1) / 2)[group]


class Glue(evaluate.Metric):  # type: ignore[misc] # evaluate has no types
    """What GLUE reports for each of its tasks."""

    def _info(self) -> evaluate.MetricInfo:
        if self.config_name not in TASKS:
            raise KeyError(f"GLUE has no task {self.config_name}; its tasks are {', '.join(TASKS)}")
        value = datasets.Value("float32" if self.config_name == "stsb" else "int64")
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions, references: lists of int (floats for stsb)",
            features=datasets.Features({"predictions": value, "references": value}),
        )

    def _compute(self, predictions: Any, references: Any) -> dict[str, float]:
        predicted, expected = np.asarray(predictions), np.asarray(references)
        if self.config_name == "cola":
            return {"matthews_correlation": _correlation(predicted, expected)}
        if self.config_name == "stsb":
            spearman = _correlation(_ranks(predicted), _ranks(expected))
            return {"pearson": _correlation(predicted, expected), "spearmanr": spearman}
        scores = {"accuracy": float(np.mean(predicted == expected))}
        if self.config_name in WITH_F1:
            hits = 2 * np.sum((predicted == 1) & (expected == 1))
            found = hits + np.sum(predicted != expected)
            scores["f1"] = float(hits / found) if found else 0.0
        return scores
