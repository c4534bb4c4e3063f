"""Reads the tensors back that a checkpoint holds, whatever form it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from raymigrate_recorder.digests import described, named_leaves, named_tensors, plain_name

# Files that hold other things than the model, as Hugging Face's Trainer and accelerate name them.
OF_TRAINING = ("optimizer", "scheduler", "scaler")
LEFT_OUT = ("rng_state", "random_states", "training_args", "sampler")
READABLE = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".pkl")


def contents(checkpoint: Any) -> dict[str, Any]:
    """The files of a Ray checkpoint, and the model's tensors in them.

    `tensors` is parameter -> hashes, `stored` the same as it is written: name -> shape, dtype, hash and parameter. A
    reader that looks for a name, as load_state_dict() does, finds it or not by what `stored` says. `training` is what
    optimizer and scheduler go on with: name, behind that of the file -> shape, dtype and hash, or the plain value.

    Args:
        checkpoint: `ray.train.Checkpoint` or the old `ray.air.Checkpoint`; both have `as_directory`.
    """
    with checkpoint.as_directory() as folder:
        files = sorted(_files(folder))
        tensors: dict[str, list[str]] = {}
        stored: dict[str, list[Any]] = {}
        training: dict[str, Any] = {}
        unreadable: dict[str, str] = {}
        for name in files:
            short = os.path.basename(name)
            if not name.endswith(READABLE) or short.startswith(LEFT_OUT):
                continue
            try:
                loaded = _loaded(os.path.join(folder, name))
                if short.startswith(OF_TRAINING):
                    training.update({f"{short}: {key}": value for key, value in _state(loaded)})
                    continue
                for tensor_name, tensor in named_tensors(loaded):
                    parameter, what = plain_name(tensor_name), described(tensor)
                    stored[tensor_name] = [*what, parameter]
                    tensors.setdefault(parameter, []).append(what[-1])
            except Exception as error:
                unreadable[name] = repr(error)
    return {
        "files": files,
        "tensors": tensors,
        "stored": stored,
        "training": training,
        "unreadable": unreadable,
        "state": _trainer_state(checkpoint),
    }


def _files(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(parent, name), folder)


def _loaded(path: str) -> Any:
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        return load_file(path)
    if path.endswith(".pkl"):
        import pickle

        with open(path, "rb") as stream:
            return pickle.load(stream)
    import torch

    return torch.load(path, map_location="cpu", weights_only=False)


def _state(loaded: Any) -> Iterator[tuple[str, Any]]:
    """Tensors and numbers of a nested state, by their path in it."""
    for name, leaf in named_leaves(loaded):
        if hasattr(leaf, "detach"):
            yield name, described(leaf)
        elif isinstance(leaf, (bool, int, float, str)):
            yield name, leaf


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
