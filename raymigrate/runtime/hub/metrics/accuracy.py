"""Accuracy, for the offline hub: `evaluate.load("accuracy")`."""

import datasets
import evaluate
import numpy as np


class Accuracy(evaluate.Metric):
    """The share of predictions that equal their reference."""

    def _info(self):
        value = datasets.Value("int32")
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions, references: lists of int",
            features=datasets.Features({"predictions": value, "references": value}),
        )

    def _compute(self, predictions, references):
        return {"accuracy": float(np.mean(np.asarray(predictions) == np.asarray(references)))}
