"""Predictors of the script's own, on DataFrames and on arrays."""

import json

import pandas
from ray.air import Checkpoint
from ray.data.preprocessors import BatchMapper
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersPredictor
from ray.train.predictor import Predictor

results = {}
frame = pandas.DataFrame({"x": [1, 2], "y": [3, 4]})


class OfFrames(Predictor):
    @classmethod
    def from_checkpoint(cls, checkpoint, **kwargs):
        predictor = cls(checkpoint.get_preprocessor())
        predictor.factor = checkpoint.to_dict()["factor"]
        return predictor

    def _predict_pandas(self, data, add=0):
        return pandas.DataFrame({"sum": (data["x"] + data["y"]) * self.factor + add})


class OfArrays(OfFrames):
    @classmethod
    def preferred_batch_format(cls):
        return "numpy"

    def _predict_numpy(self, data):
        return {"product": data["x"] * data["y"] * self.factor}


checkpoint = Checkpoint.from_dict({"factor": 10})
checkpoint.set_preprocessor(BatchMapper(lambda batch: {**batch, "x": batch["x"] + 1}, batch_format="numpy"))
results["frames"] = OfFrames.from_checkpoint(Checkpoint.from_dict({"factor": 1})).predict(frame, add=5)["sum"].tolist()
arrays = {name: frame[name].to_numpy() for name in frame.columns}
results["arrays"] = OfArrays.from_checkpoint(checkpoint).predict(arrays)["product"].tolist()
results["arrays of a predictor of frames"] = OfFrames.from_checkpoint(checkpoint).predict(arrays)["sum"].tolist()
results["function"] = Predictor.from_pandas_udf(lambda data: data[["x"]] * 2).predict(frame)["x"].tolist()

predictor = TransformersPredictor(lambda texts, **kwargs: [[{"label": text, **kwargs}] for text in texts])
predicted = predictor.predict(pandas.DataFrame({"text": ["a", "b"]}), feature_columns=["text"], top_k=1)
results["pipeline"] = predicted.to_dict("list")
try:
    TransformersPredictor.from_checkpoint(checkpoint)
except ValueError as error:
    results["no task"] = str(error)


class Dataset:
    def map_batches(self, actors, **options):
        predicted = actors()(pandas.DataFrame({"x": [1, 2], "y": [3, 4]}))
        return [predicted.to_dict("list"), options["batch_format"], options["batch_size"], options["num_cpus"]]


batches = BatchPredictor.from_checkpoint(checkpoint, OfFrames)
batches.set_preprocessor(None)
results["batches"] = batches.predict(Dataset(), keep_columns=["y"], max_scoring_workers=2)
print("\nRESULTS", json.dumps(results, default=str))
