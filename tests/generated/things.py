"""What the stand-ins for the libraries give: datasets, checkpoints, arguments, callbacks, models."""

from __future__ import annotations

import pickle
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Thing:
    """Something of a library, known by the expression it came from; so are its attributes and what its calls give."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Thing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Thing(f"{self._text}.{name}")

    def __getitem__(self, key: object) -> Thing:
        return Thing(f"{self._text}[{key!r}]")

    def __call__(self, *arguments: object, **keywords: object) -> Thing:
        listed = [*map(shown, arguments), *(f"{name}={shown(value)}" for name, value in keywords.items())]
        return Thing(f"{self._text}({', '.join(listed)})")

    def __repr__(self) -> str:
        return self._text


def shown(value: object) -> str:
    """A value as a note has it: functions by name."""
    return value.__name__ if isinstance(value, types.FunctionType) else repr(value)


class Rows:
    """A Ray Dataset: the expression it came from."""

    def __init__(self, text: str) -> None:
        self.text = text

    def map_batches(self, function: object, **keywords: object) -> Rows:
        listed = ", ".join(f"{name}={keywords[name]!r}" for name in sorted(keywords))
        return Rows(f"{self.text}.map_batches({shown(function)}, {listed})")

    def materialize(self) -> Rows:
        return self

    def count(self) -> int:
        return 12

    def iter_rows(self) -> Iterator[dict[str, str]]:
        yield {"text": self.text}

    def __repr__(self) -> str:
        return self.text


class Splits(dict[str, Thing]):
    """A DatasetDict."""


@dataclass
class Checkpoint:
    """A checkpoint in a folder."""

    path: str

    @classmethod
    def from_directory(cls, path: str) -> Checkpoint:
        return cls(path)

    @contextmanager
    def as_directory(self) -> Iterator[str]:
        yield self.path


class TrainingArguments:
    """Those of the current transformers that programs use."""

    known = frozenset(
        {
            *("output_dir", "learning_rate", "num_train_epochs", "eval_strategy", "save_strategy", "use_cpu"),
            *("average_tokens_across_devices", "report_to", "disable_tqdm"),
        }
    )

    def __init__(self, output_dir: str | None = None, **keywords: object) -> None:
        if unknown := keywords.keys() - self.known:
            raise TypeError(f"TrainingArguments got unexpected keyword arguments {sorted(unknown)}")
        self.output_dir = output_dir
        self.eval_strategy = "no"
        self.use_cpu = False
        self.average_tokens_across_devices = True
        vars(self).update(keywords)


class TrainerCallback:
    """Does nothing."""

    def on_save(self, *arguments: object, **keywords: object) -> None: ...


class RayTrainReportCallback(TrainerCallback):
    """Ray's."""


def gone(*arguments: object, **keywords: object) -> None:
    raise RuntimeError("outside of a session of the legacy trainers")


def save(value: object, path: str) -> None:
    Path(path).write_bytes(pickle.dumps(value))


def load(path: str | Path, map_location: str | None = None, weights_only: bool = True) -> object:
    return pickle.loads(Path(path).read_bytes())


def load_dataset(name: str) -> Splits:
    return Splits({split: Thing(f"{name}[{split}]") for split in ("train", "test")})


def from_huggingface(dataset: object) -> Rows:
    if isinstance(dataset, Splits):
        raise ValueError("DatasetDict is not supported")  # what current Ray says
    return Rows(repr(dataset))


def prepare_trainer(trainer: Any) -> Any:
    trainer.prepared = True
    return trainer


def hooks(callback: TrainerCallback) -> str:
    """A callback by the methods that its classes define."""
    classes = [each for each in type(callback).__mro__ if each not in (object, TrainerCallback)]
    return " ".join(sorted({name for each in classes for name in vars(each) if name.startswith("on_")}))


def described(dataset: object) -> str:
    """What a worker trains on: rows of Ray Data however they are handed over, or data of its own."""
    shard = getattr(dataset, "shard", None)
    if isinstance(shard, Rows):
        return f"shard of {shard}"
    return repr(dataset)


def remote(function: Any) -> Any:
    """Ray's decorator: what it gives cannot be called itself."""
    return types.SimpleNamespace(remote=function)
