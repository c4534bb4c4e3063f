"""Reads the tensors back that a checkpoint holds, whatever form it has."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any

from raymigrate_recorder.digests import described, named_leaves, named_tensors, plain_name, tensor_digest

# Files that hold other things than the model, as Hugging Face's Trainer and accelerate name them.
OF_TRAINING = ("optimizer", "scheduler", "scaler")
LEFT_OUT = ("rng_state", "random_states", "training_args", "sampler")
AT_MOST = 2**16  # bytes that are read of a file's beginning and of its end
READABLE = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".pkl")


def contents(checkpoint: Any) -> dict[str, Any]:
    """The files of a Ray checkpoint, and the model's tensors in them.

    `tensors` is parameter -> hashes, `stored` the same as it is written: name -> shape, dtype, hash and parameter. A
    reader that looks for a name, as load_state_dict() does, finds it or not by what `stored` says. `training` is what
    optimizer and scheduler go on with: name, behind that of the file -> shape, dtype and hash, or the plain value.
    `unreadable` is file -> what reading it raised.

    Args:
        checkpoint: `ray.train.Checkpoint` or the old `ray.air.Checkpoint`; both have `as_directory`.
    """
    with checkpoint.as_directory() as folder:
        files = sorted(_files(folder))
        tensors: dict[str, list[str]] = {}
        stored: dict[str, list[Any]] = {}
        training: dict[str, Any] = {}
        unreadable: dict[str, str] = {}
        for name in filter(_is_read, files):
            short = os.path.basename(name)
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
        state = _trainer_state(folder, files, unreadable)
    return {
        "files": files,
        "tensors": tensors,
        "stored": stored,
        "training": training,
        "unreadable": unreadable,
        "state": state,
    }


def held(checkpoint: Any, weights: dict[str, str]) -> int | None:
    """How many parameters a checkpoint in a folder holds as they are, whatever stands before their names.

    Args:
        checkpoint: What is reported.
        weights: Parameter -> hash.

    Returns:
        Their number; None if there is no such folder, or nothing in it can be read.
    """
    folder = _folder(checkpoint)
    found: dict[str, set[str]] = {}
    for name in filter(_is_read, _files(folder) if folder else ()):
        if os.path.basename(name).startswith(OF_TRAINING):
            continue
        try:
            loaded = _loaded(os.path.join(str(folder), name))
        except Exception:
            continue  # told of the last one
        for tensor_name, tensor in named_tensors(loaded):
            parts = plain_name(tensor_name).split(".")
            ends = {".".join(parts[start:]) for start in range(len(parts))} & weights.keys()
            if ends:
                found.setdefault(max(ends, key=len), set()).add(tensor_digest(tensor))
    return sum(weights[name] in digests for name, digests in found.items()) if found else None


def _folder(checkpoint: Any) -> str | None:
    """Where a checkpoint lies; None for a dict of the old Ray, and for one on another machine."""
    folder = getattr(checkpoint, "path", None)
    return folder if folder is not None and os.path.isdir(folder) else None


def _is_read(name: str) -> bool:
    return name.endswith(READABLE) and not os.path.basename(name).startswith(LEFT_OUT)


def outline(checkpoint: Any) -> dict[str, str]:
    """File of a checkpoint in a folder -> a hash of its size, beginning and end, which tells two versions apart."""
    folder = _folder(checkpoint)
    return {name: _outline(os.path.join(folder, name)) for name in sorted(_files(folder))} if folder else {}


def _outline(path: str) -> str:
    size = os.path.getsize(path)
    digest = hashlib.sha1(str(size).encode())
    with open(path, "rb") as stream:
        digest.update(stream.read(AT_MOST))
        stream.seek(max(0, size - AT_MOST))
        digest.update(stream.read(AT_MOST))
    return digest.hexdigest()[:16]


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


def _trainer_state(folder: str, files: list[str], unreadable: dict[str, str]) -> dict[str, Any] | None:
    """Step and epoch that a Hugging Face Trainer wrote beside its model; None if there is none that can be read.

    Where each worker takes itself for the first one, all of them write the same file at once, and what is left may be
    no JSON: a fault of the job, which the recorder tells as it tells of weights that cannot be read.
    """
    for name in files:
        if os.path.basename(name) == "trainer_state.json":
            try:
                with open(os.path.join(folder, name), encoding="utf-8") as stream:
                    state = json.load(stream)
            except ValueError as error:
                unreadable[name] = repr(error)
                return None
            return {"step": state.get("global_step"), "epoch": state.get("epoch")}
    return None
