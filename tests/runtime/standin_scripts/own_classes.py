"""A preprocessor and a model of the script's own: nothing of Ray runs."""

import json
from types import SimpleNamespace

import torch
from ray.data.preprocessor import Preprocessor
from ray.data.preprocessors import StandardScaler
from ray.train.torch import TorchCheckpoint

results = {}


class Numbers(Preprocessor):
    def __init__(self):
        self.numbers = None

    def _fit(self, ds):
        self.numbers = dict(enumerate(ds))


class Stateless(Preprocessor):
    _is_fittable = False


class Scaled(StandardScaler):
    pass


own = Numbers()
results["own"] = [own.fit(["a", "b"]), own.numbers, own.fit_status().value]
stateless = Stateless()
results["stateless"] = stateless.fit([]) is stateless
scaler = Scaled(columns=["x"])
scaler._stat_computation_plan = SimpleNamespace(reset=list, add_aggregator=print, compute=lambda ds: {"mean(x)": 2.0})
scaler._fit = lambda ds: scaler
results["of Ray"] = [scaler.fit([]) is scaler, scaler.stats_]


def make():
    class Net(torch.nn.Linear):
        pass

    return Net(2, 1)


model = make()  # no pickle finds its class by name
wrapped = torch.nn.parallel.DistributedDataParallel.__new__(torch.nn.parallel.DistributedDataParallel)
torch.nn.Module.__init__(wrapped)
wrapped.module = model
for name, given in (("model", model), ("wrapped model", wrapped)):
    loaded = TorchCheckpoint.from_model(given).get_model()
    results[name] = [type(loaded).__name__, torch.equal(loaded.weight, model.weight)]
print("\nRESULTS", json.dumps(results, default=str))
