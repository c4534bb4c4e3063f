"""GLUE's metrics, for the offline hub: `evaluate.load("glue", "mrpc")`."""

import datasets
import evaluate
import numpy as np

WITH_F1 = ("mrpc", "qqp")
ACCURACY = ("sst2", "mnli", "mnli_mismatched", "mnli_matched", "qnli", "rte", "wnli", "hans")


class Glue(evaluate.Metric):
    """Accuracy, and F1 of the positive class for the tasks that GLUE scores so."""

    def _info(self):
        if self.config_name not in (*WITH_F1, *ACCURACY):
            raise KeyError(f"the offline hub has no metric for {self.config_name}")
        value = datasets.Value("int64")
        return evaluate.MetricInfo(
            description=__doc__,
            citation="",
            inputs_description="predictions, references: lists of int",
            features=datasets.Features({"predictions": value, "references": value}),
        )

    def _compute(self, predictions, references):
        predicted, expected = np.asarray(predictions), np.asarray(references)
        scores = {"accuracy": float(np.mean(predicted == expected))}
        if self.config_name in WITH_F1:
            hits = 2 * np.sum((predicted == 1) & (expected == 1))
            found = hits + np.sum(predicted != expected)
            scores["f1"] = float(hits / found) if found else 0.0
        return scores
