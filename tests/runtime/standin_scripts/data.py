"""Ray Data's old answers, on made-up modules of its shape: nothing is executed."""

import json
from types import SimpleNamespace

from raymigrate_standin import ray_data

results = {}


class Dataset:
    def materialize(self):
        return "materialized"

    def iter_batches(self, **kwargs):
        return kwargs

    def iterator(self):
        return SimpleNamespace(to_torch=lambda **kwargs: kwargs)

    def map_batches(self, fn, **kwargs):
        return kwargs


functions = SimpleNamespace(from_huggingface=lambda split, **kwargs: [split, kwargs])
ray_data.old_functions(functions)
ray_data.old_methods(SimpleNamespace(Dataset=Dataset))

results["dict"] = functions.from_huggingface({"train": 1, "test": 2}, concurrency=3)
results["split"] = functions.from_huggingface(1)
results["gone"] = [Dataset().fully_executed(), isinstance(Dataset().lazy(), Dataset)]
results["batches"] = Dataset().map_batches(print)
results["own"] = Dataset().map_batches(print, batch_format="numpy", batch_size=2, zero_copy_batch=True)
results["iterated"] = [
    Dataset().iter_batches(batch_size=3, prefetch_blocks=2),
    Dataset().to_torch(label="y", prefetch_blocks=1),
]
results["default"] = Dataset().map_batches(print, batch_format="default")
inside = {"__name__": "ray.data.preprocessors.chain", "dataset": Dataset()}
results["of Ray"] = eval("dataset.map_batches(print)", inside)
print("\nRESULTS", json.dumps(results, default=str))
