"""Environments that a user names: a requirements file, which becomes one in the cache, or a folder that is one."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from raymigrate.runtime.environments.environment import (
    MARKER,
    REQUIREMENTS,
    Environment,
    EnvironmentFailure,
    cache_folder,
    interpreter,
    own_torch,
)
from raymigrate.runtime.environments.interpreters import probe
from raymigrate.runtime.environments.making import Maker, Progress, make

# Imports what the recorder needs, and tells what else counts.
CHECK = """
import importlib.metadata, json, platform
import numpy, torch
found = {"python": platform.python_version(), "torch": torch.__version__}
for name in ("transformers", "accelerate", "datasets"):
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
INCLUDED = re.compile(r"^\s*(?:-r|-c|--requirement|--constraint)[\s=]\s*(\S+)", re.MULTILINE)
TORCH = re.compile(r"^\s*torch\s*(?:[\[=<>!~@;#]|$)", re.MULTILINE | re.IGNORECASE)


def named(path: Path, report: Progress) -> Environment:
    """The environment of a requirements file or a folder.

    A file is installed once, by the running Python, into the cache; another one with the same text is taken from there.
    It gets the torch that is installed here, unless it names one.

    Args:
        path: A requirements file, or the folder of a virtual environment.
        report: Called with a few words on what is being done, if it has to be made.

    Raises:
        EnvironmentFailure: If it cannot be made, or torch cannot be imported in it.
    """
    if path.is_dir():
        return _existing(path.absolute())
    texts = list(_texts(path.resolve(), set()))
    names_torch = any(TORCH.search(text) for text in texts)
    torch = "" if names_torch else own_torch() or ""
    version = "{}.{}".format(*sys.version_info)
    digest = hashlib.sha256("\0".join([*texts, torch]).encode()).hexdigest()[:12]
    folder = cache_folder() / f"{REQUIREMENTS}-py{version}-{digest}"
    made = complete(folder)
    if made is not None:
        return made
    if probe(Path(sys.executable)) is None:
        raise EnvironmentFailure(
            f"{sys.executable} cannot make virtual environments (modules venv, ensurepip); make one of {path.name} "
            "yourself and name its folder."
        )

    def fill(maker: Maker) -> None:
        own = ["numpy", *([f"torch=={torch}"] if torch else [])]  # the recorder needs numpy
        maker.pip("--requirement", str(path.resolve()), *own, told=path.name, what=f"the packages of {path.name}")

    return make(path.name, folder, Path(sys.executable), fill, CHECK, lambda: complete(folder), report)


def _texts(path: Path, seen: set[Path]) -> Iterator[str]:
    """The text of a requirements file and of those that it includes.

    Raises:
        EnvironmentFailure: If one cannot be read.
    """
    if path in seen:
        return
    seen.add(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EnvironmentFailure(f"{path} cannot be read as a requirements file: {error}.") from error
    yield text
    for included in INCLUDED.findall(text):
        if "://" not in included:
            yield from _texts((path.parent / included).resolve(), seen)


def complete(folder: Path) -> Environment | None:
    """The environment in a folder of the cache, if it is complete."""
    try:
        found = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        return _environment(folder, found) if interpreter(folder).exists() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _existing(folder: Path) -> Environment:
    """A virtual environment of the user's own.

    Raises:
        EnvironmentFailure: If it is none, or torch cannot be imported in it.
    """
    python = interpreter(folder)
    if not python.exists():
        raise EnvironmentFailure(f"{folder} is not a virtual environment: it has no bin/python.")
    answer = subprocess.run([str(python), "-c", CHECK], capture_output=True, text=True, check=False)
    if answer.returncode:
        reason = (answer.stderr.strip().splitlines() or ["no output"])[-1]
        raise EnvironmentFailure(f"torch and numpy cannot be imported in the environment {folder}: {reason}.")
    return _environment(folder, json.loads(answer.stdout.splitlines()[-1]))


def _environment(folder: Path, found: dict[str, str]) -> Environment:
    libraries = (name for name in ("transformers", "accelerate", "datasets") if name in found)
    title = ", ".join(f"{name} {found[name]}" for name in libraries)
    # Two folders may have the same name, and each needs caches of its own.
    name = f"{folder.name}-{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
    return Environment(name, folder, interpreter(folder), {}, title or f"torch {found['torch']}", found["torch"])
