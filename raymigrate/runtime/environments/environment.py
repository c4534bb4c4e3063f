"""Environments that are made: where they lie, which of them are complete."""

import contextlib
import importlib.metadata
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from raymigrate.runtime.environments import locks

MARKER = "raymigrate-environment.json"
REQUIREMENTS = "requirements"  # name of all that were made of requirements files
# What the old libraries need to run beside a current torch. Laid over the variables of a job.
VARIABLES = {
    # torch >= 2.6 loads nothing but tensors unless told otherwise; transformers < 4.48 resumes from pickled random
    # states and schedulers. Source: torch/serialization.py, transformers/trainer.py (_load_rng_state).
    "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",
    # Old code on new Python warns on every import, in every worker.
    "PYTHONWARNINGS": "ignore",
}


class EnvironmentFailure(Exception):
    """An environment cannot be made or removed; the message says why and what to do, and may go on with pip's log."""


@dataclass(frozen=True)
class Environment:
    """A complete environment.

    Args:
        name: One of `names()`.
        folder: Where it lies.
        python: Its interpreter.
        variables: What its libraries need at run time, to be laid over those of a job.
        title: What it holds.
        torch: Version of its torch.
    """

    name: str
    folder: Path
    python: Path
    variables: dict[str, str]
    title: str
    torch: str


def cache_folder() -> Path:
    """Where environments lie: in the user's cache (`XDG_CACHE_HOME`, else `~/.cache`)."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "raymigrate/environments"


def own_torch() -> str | None:
    """The public part of the version of the torch that is installed here, such as "2.13.0", or None."""
    try:
        return importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def place(lock: locks.Lock, torch: str, version: tuple[int, int]) -> Path:
    """The folder of an environment, made or not."""
    return cache_folder() / f"{lock.name}-py{version[0]}.{version[1]}-{lock.digest(torch)}"


def interpreter(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / "bin/python"


def find(name: str) -> Environment | None:
    """The environment of a name, if it is complete and of the present lock and torch.

    Args:
        name: One of `names()`.

    Raises:
        EnvironmentFailure: If there is no such name.
    """
    lock, torch = known(name), own_torch()
    if torch is None:
        return None
    found = (at(lock, place(lock, torch, version)) for version in locks.PYTHONS)
    return next((environment for environment in found if environment), None)


def at(lock: locks.Lock, folder: Path) -> Environment | None:
    """The environment in a folder, if it is complete."""
    python = interpreter(folder)
    try:
        torch: str = json.loads((folder / MARKER).read_text(encoding="utf-8"))["torch"]
    except (OSError, ValueError, KeyError, TypeError):  # no marker, or not ours
        return None
    if not python.exists():  # a link to an interpreter that is gone
        return None
    return Environment(lock.name, folder, python, dict(VARIABLES), lock.title, torch)


def folders(name: str) -> list[Path]:
    """Every folder of a name, those of other locks and those that were never completed included."""
    return sorted(path for path in cache_folder().glob(f"{name}-py*") if path.is_dir())


def remove(name: str) -> bool:
    """Removes every environment of a name, those of other locks and torch versions included.

    Args:
        name: One of `names()`, or REQUIREMENTS.

    Returns:
        Whether there was one.

    Raises:
        EnvironmentFailure: If there is no such name, another process is making it, or a file cannot be removed.
    """
    if name != REQUIREMENTS:
        known(name)
    found = folders(name)
    for folder in found:
        with locked(folder) as handle:
            if handle is None:
                raise EnvironmentFailure(f"{folder} is being made by another process; end that first.")
            clear(folder)
            folder.with_name(f"{folder.name}.log").unlink(missing_ok=True)
    return bool(found)


def clear(folder: Path) -> None:
    """Removes a folder, the marker first, so that no half of an environment is ever taken for a whole one.

    Raises:
        EnvironmentFailure: If a file cannot be removed.
    """
    try:
        (folder / MARKER).unlink(missing_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise EnvironmentFailure(f"{error.filename} cannot be removed: {error.strerror}.") from error


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool = False) -> Iterator[int | None]:
    """Holds the lock of a folder, so that two processes never make the same environment at once.

    Args:
        folder: Folder of an environment; the lock lies beside it, and is free again when its holders have ended.
        wait: Whether to wait for another process.

    Yields:
        File descriptor of the lock, or None if another process holds it.
    """
    import fcntl  # noqa: PLC0415 - there is none on Windows, where the commands that need no lock still work

    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield None
        else:
            yield file.fileno()


def known(name: str) -> locks.Lock:
    """The lock of a name.

    Raises:
        EnvironmentFailure: If there is no such name.
    """
    try:
        return locks.lock(name)
    except KeyError:
        message = f"There is no environment {name}; there are {', '.join(locks.names())}."
        raise EnvironmentFailure(message) from None
