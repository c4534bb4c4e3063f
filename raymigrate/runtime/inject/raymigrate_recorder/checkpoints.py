"""Reads the tensors back that a checkpoint holds, whatever form it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from raymigrate_recorder.digests import described, named_tensors, plain_name

# Files that hold other things than the model, as Hugging Face's Trainer and accelerate name them.
NOT_THE_MODEL = ("optimizer", "scheduler", "rng_state", "random_states", "training_args", "scaler", "sampler")
READABLE = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".pkl")


def contents(checkpoint: Any) -> dict[str, Any]:
    """The files of a Ray checkpoint, and the model's tensors in them.

    `tensors` is parameter -> hashes, `stored` the same as it is written: name -> shape, dtype and hash. A reader that
    looks for a name, as load_state_dict() does, finds it or not by what `stored` says.

    Args:
        checkpoint: `ray.train.Checkpoint` or the old `ray.air.Checkpoint`; both have `as_directory`.
    """
    with checkpoint.as_directory() as folder:
        files = sorted(_files(folder))
        tensors: dict[str, list[str]] = {}
        stored: dict[str, list[Any]] = {}
        unreadable: dict[str, str] = {}
        for name in files:
            if not name.endswith(READABLE) or os.path.basename(name).startswith(NOT_THE_MODEL):
                continue
            try:
                for tensor_name, tensor in _tensors(os.path.join(folder, name)):
                    stored[tensor_name] = described(tensor)
                    tensors.setdefault(plain_name(tensor_name), []).append(stored[tensor_name][-1])
            except Exception as error:
                unreadable[name] = repr(error)
    state = _trainer_state(checkpoint)
    return {"files": files, "tensors": tensors, "stored": stored, "unreadable": unreadable, "state": state}


def _files(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(parent, name), folder)


def _tensors(path: str) -> Iterator[tuple[str, Any]]:
    """Tensors in a file, by their path in what was saved: `{"model": {"bert.x": ...}}` gives `model.bert.x`."""
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        loaded: Any = load_file(path)
    elif path.endswith(".pkl"):
        import pickle

        with open(path, "rb") as stream:
            loaded = pickle.load(stream)
    else:
        import torch

        loaded = torch.load(path, map_location="cpu", weights_only=False)
    yield from named_tensors(loaded)


def _trainer_state(checkpoint: Any) -> dict[str, Any] | None:
    """Step and epoch that a Hugging Face Trainer wrote beside its model."""
    import json

    with checkpoint.as_directory() as folder:
        for name in _files(folder):
            if os.path.basename(name) == "trainer_state.json":
                with open(os.path.join(folder, name), encoding="utf-8") as stream:
                    state = json.load(stream)
                return {"step": state.get("global_step"), "epoch": state.get("epoch")}
    return None
