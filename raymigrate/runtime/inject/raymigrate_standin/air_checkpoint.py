"""`ray.air.Checkpoint` as it was up to Ray 2.6, on top of `ray.train.Checkpoint`.

The old class held a dict in memory, or a folder (ray 2.6.3, air/checkpoint.py:66-860). A dict becomes a folder with the
one file `dict_checkpoint.pkl` when it is stored, as it did then, so that `result.checkpoint.to_dict()` gives it back.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ray import cloudpickle
from ray.train import Checkpoint as FolderCheckpoint

from raymigrate_standin.importing import unknown

DICT_FILE = "dict_checkpoint.pkl"
WEIGHTS = "pytorch_model.bin"


class Checkpoint(FolderCheckpoint):  # type: ignore[misc]
    """A dict in memory, or a folder here or elsewhere.

    It is a `ray.train.Checkpoint` too, since scripts for Ray 2.7 expect one in `result.checkpoint`.
    """

    _data: dict[str, Any] | None = None
    _preprocessor: Any = None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Checkpoint:
        """Holds a dict in memory."""
        checkpoint = cls.__new__(cls)
        checkpoint._data = data
        checkpoint.path = checkpoint.filesystem = None
        checkpoint._uuid = uuid.uuid4()
        return checkpoint

    @classmethod
    def from_bytes(cls, data: bytes) -> Checkpoint:
        """What `to_bytes` gave."""
        return cls.from_dict(cloudpickle.loads(data))

    @classmethod
    def from_directory(cls, path: Any) -> Any:
        """A folder here; workers, which have another current folder, find it too."""
        return super().from_directory(Path(path).expanduser().absolute())

    @classmethod
    def from_uri(cls, uri: str) -> Checkpoint:
        """A folder at a URI."""
        return cls(uri)

    @classmethod
    def from_checkpoint(cls, other: Any) -> Checkpoint:
        """The same checkpoint, as another kind of checkpoint."""
        if isinstance(other, cls):
            return other
        data = getattr(other, "_data", None)
        checkpoint = cls(other.path, other.filesystem) if data is None else cls.from_dict(data)
        checkpoint._preprocessor = getattr(other, "_preprocessor", None)
        return checkpoint

    def to_dict(self) -> dict[str, Any]:
        """The dict that it was made from; Ray's own marks, which the old one put in, are left out."""
        if self._data is not None:
            return dict(self._data)
        with self.as_directory() as folder:
            stored = Path(folder, DICT_FILE)
            if not stored.exists():
                raise NotImplementedError(unknown("Checkpoint.to_dict() of a folder that was not made from a dict"))
            loaded: dict[str, Any] = cloudpickle.loads(stored.read_bytes())
            return loaded

    def to_bytes(self) -> bytes:
        """The dict, pickled."""
        dumped: bytes = cloudpickle.dumps(self.to_dict())
        return dumped

    @contextlib.contextmanager
    def as_directory(self) -> Iterator[str]:
        """A folder with the contents; a temporary one for a dict."""
        if self._data is None:
            with super().as_directory() as folder:
                yield folder
            return
        folder = tempfile.mkdtemp(prefix="checkpoint_tmp_")
        try:
            yield self.to_directory(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def to_directory(self, path: Any = None) -> str:
        """Writes the contents into a folder."""
        if self._data is None:
            written: str = super().to_directory(path)
            return written
        target = Path(path or tempfile.mkdtemp(prefix="checkpoint_tmp_")).expanduser()
        target.mkdir(parents=True, exist_ok=True)
        (target / DICT_FILE).write_bytes(cloudpickle.dumps(self._data))
        return str(target)

    def to_uri(self, uri: str) -> str:
        """Writes the contents to a URI."""
        import pyarrow.fs  # rarely asked for

        filesystem, path = pyarrow.fs.FileSystem.from_uri(uri)
        with self.as_directory() as folder:
            pyarrow.fs.copy_files(folder, path, destination_filesystem=filesystem)
        return uri

    @property
    def uri(self) -> str | None:
        """Where it is, as a URI; None for a dict."""
        if self._data is not None:
            return None
        scheme = self.filesystem.type_name
        return f"{'file' if scheme == 'local' else scheme}://{self.path}"

    def get_internal_representation(self) -> tuple[str, Any]:
        """Kind and content."""
        return ("local_path", self.path) if self._data is None else ("data_dict", self._data)

    def get_preprocessor(self) -> Any:
        """The trainer's preprocessor, or None."""
        return self._preprocessor

    def set_preprocessor(self, preprocessor: Any) -> None:
        """Keeps a preprocessor with this object."""
        self._preprocessor = preprocessor

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'='.join(map(str, self.get_internal_representation()))})"


class TransformersCheckpoint(Checkpoint):
    """A folder as Hugging Face's `save_pretrained` writes it (ray 2.6.3, transformers_checkpoint.py:36-115)."""

    @classmethod
    def from_model(
        cls, model: Any, tokenizer: Any = None, *, path: Any, preprocessor: Any = None
    ) -> TransformersCheckpoint:
        """Saves a model, and a tokenizer, into a folder."""
        import torch
        import transformers

        if isinstance(model, transformers.PreTrainedModel):
            model.save_pretrained(path)
        else:
            torch.save(model.state_dict(), Path(path, WEIGHTS))
        if tokenizer:
            tokenizer.save_pretrained(path)
        checkpoint: TransformersCheckpoint = cls.from_directory(path)
        checkpoint.set_preprocessor(preprocessor)
        return checkpoint

    def get_model(self, model: Any, **pretrained_model_kwargs: Any) -> Any:
        """Loads the model.

        Args:
            model: A class with `from_pretrained`, or a module that the weights are loaded into.
            pretrained_model_kwargs: Given to `from_pretrained`.
        """
        import torch

        with self.as_directory() as folder:
            if not isinstance(model, torch.nn.Module):
                return model.from_pretrained(folder, **pretrained_model_kwargs)
            if Path(folder, WEIGHTS).exists():
                state = torch.load(Path(folder, WEIGHTS), map_location="cpu")
            else:  # transformers writes safetensors now
                from safetensors.torch import load_file

                state = load_file(Path(folder, "model.safetensors"))
            # Weights that are tied are stored once, in either format of today.
            model.load_state_dict(state, strict=False)
            return model

    def get_tokenizer(self, tokenizer: Any, **kwargs: Any) -> Any:
        """Loads the tokenizer; `tokenizer` is its class."""
        with self.as_directory() as folder:
            return tokenizer.from_pretrained(folder, **kwargs)

    def get_training_arguments(self) -> Any:
        """The TrainingArguments, or None."""
        import torch

        with self.as_directory() as folder:
            stored = Path(folder, "training_args.bin")
            # They are a pickled object, which torch.load refuses by default since 2.6.
            return torch.load(stored, map_location="cpu", weights_only=False) if stored.exists() else None


class HuggingFaceCheckpoint(TransformersCheckpoint):
    """The name of TransformersCheckpoint before Ray 2.5."""
