"""Old checkpoints: dictionaries, bytes, models."""

import json
import pickle
from pathlib import Path

import ray.train
import torch
from ray.air import Checkpoint
from ray.train.huggingface import TransformersCheckpoint

results = {}
data = {"epoch": 3, "weights": [1.0, 2.0]}
checkpoint = Checkpoint.from_dict(data)
results["from dict"] = checkpoint.to_dict() == data
results["pickled"] = pickle.loads(pickle.dumps(checkpoint)).to_dict() == data
results["bytes"] = Checkpoint.from_bytes(checkpoint.to_bytes()).to_dict() == data
with checkpoint.as_directory() as folder:
    results["files"] = [path.name for path in Path(folder).iterdir()]
results["removed"] = not Path(folder).exists()
stored = Checkpoint.from_directory(checkpoint.to_directory("stored"))
results["stored"] = stored.to_dict() == data and isinstance(stored, ray.train.Checkpoint)
results["uri"] = Checkpoint.from_uri(stored.uri).to_dict() == data
results["of a result"] = Checkpoint.from_checkpoint(ray.train.Checkpoint.from_directory("stored")).to_dict() == data
Path("folder").mkdir()
try:
    Checkpoint.from_directory("folder").to_dict()
except NotImplementedError as error:
    results["folder"] = str(error)


model = torch.nn.Linear(2, 1)
saved = TransformersCheckpoint.from_model(model, path="folder")
other = saved.get_model(torch.nn.Linear(2, 1))
results["model"] = all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
results["arguments"] = saved.get_training_arguments()

print("\nRESULTS", json.dumps(results, default=str))
