"""F1 of the positive class, for the offline hub: `evaluate.load("f1")`."""

import datasets
import evaluate
import numpy as np


class F1(evaluate.Metric):
    """The harmonic mean of precision and recall for the label 1."""

    def _info(self):
        value = datasets.Value("int32")
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions, references: lists of int",
            features=datasets.Features({"predictions": value, "references": value}),
        )

    def _compute(self, predictions, references):
        predicted, expected = np.asarray(predictions), np.asarray(references)
        hits = 2 * np.sum((predicted == 1) & (expected == 1))
        found = hits + np.sum(predicted != expected)
        return {"f1": float(hits / found) if found else 0.0}
