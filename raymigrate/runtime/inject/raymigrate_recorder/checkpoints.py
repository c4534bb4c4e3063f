"""Reads the tensors back that a checkpoint holds, whatever form it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from raymigrate_recorder.digests import named_tensors, plain_name, tensor_digest

# Files that hold other things than the model, as Hugging Face's Trainer and accelerate name them.
NOT_THE_MODEL = ("optimizer", "scheduler", "rng_state", "random_states", "training_args", "scaler", "sampler")
READABLE = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".pkl")


def contents(checkpoint: Any) -> dict[str, Any]:
    """The files of a Ray checkpoint and the hash of each tensor in them.

    Args:
        checkpoint: `ray.train.Checkpoint` or the old `ray.air.Checkpoint`; both have `as_directory`.
    """
    with checkpoint.as_directory() as folder:
        files = sorted(_files(folder))
        tensors: dict[str, list[str]] = {}
        unreadable: dict[str, str] = {}
        for name in files:
            if not name.endswith(READABLE) or os.path.basename(name).startswith(NOT_THE_MODEL):
                continue
            try:
                for tensor_name, tensor in _tensors(os.path.join(folder, name)):
                    tensors.setdefault(tensor_name, []).append(tensor_digest(tensor))
            except Exception as error:
                unreadable[name] = repr(error)
    return {"files": files, "tensors": tensors, "unreadable": unreadable, "state": _trainer_state(checkpoint)}


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
    for name, tensor in named_tensors(loaded):
        yield plain_name(name), tensor


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
