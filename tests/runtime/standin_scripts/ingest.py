"""What becomes of datasets before training, on made-up ones that remember what was done to them."""

import json
import os
from functools import partial

from raymigrate_standin.ingest import DatasetConfig, prepared

results = {}


class Dataset:
    def __init__(self, *done):
        self.done = list(done)

    def __getattr__(self, name):
        return lambda: Dataset(*self.done, name)


class Preprocessor:
    class FitStatus:
        FITTED, NOT_FITTABLE, NOT_FITTED = range(3)

    def __init__(self, name):
        self.name, self.fitted = name, []

    def fit_status(self):
        return self.FitStatus.NOT_FITTED

    def fit(self, dataset):
        self.fitted.append(dataset)

    def transform(self, dataset):
        return Dataset(*dataset.done, self.name)


def done(config, preprocessor=None):
    datasets = {"train": Dataset(), "valid": Dataset(), "raw": Dataset()}
    found = prepared(datasets, config, preprocessor)
    fitted = [name for name in datasets if preprocessor and datasets[name] in preprocessor.fitted]
    return {name: dataset.done for name, dataset in found.items()}, fitted


def refusal(make):
    try:
        make()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


results["nothing"] = done(None)
results["scaled"] = done(None, Preprocessor("scaled"))
results["told"] = done(
    {
        "train": DatasetConfig(global_shuffle=True, per_epoch_preprocessor=Preprocessor("cropped")),
        "*": DatasetConfig(randomize_block_order=True),
        "raw": DatasetConfig(transform=False),
    },
    Preprocessor("scaled"),
)
results["fitted elsewhere"] = done(
    {"train": DatasetConfig(fit=False), "valid": DatasetConfig(fit=True)}, Preprocessor("scaled")
)[1]
results["refused"] = [
    refusal(lambda: done({"train": DatasetConfig(transform=False)})),
    refusal(lambda: done({"valid": DatasetConfig(fit=True)})),
    refusal(lambda: done({"test": DatasetConfig(required=True)})),
]
os.environ["RAYMIGRATE_STANDIN"] = "2.2"
results["streams"] = [refusal(partial(DatasetConfig, use_stream_api=value)) for value in (True, False)]
print("\nRESULTS", json.dumps(results, default=str))
