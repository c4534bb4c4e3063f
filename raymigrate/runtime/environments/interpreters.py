"""Chooses the Python that an environment is made with."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from raymigrate.runtime.environments.environment import EnvironmentFailure
from raymigrate.runtime.environments.locks import PYTHONS

# Debian's python3.11 has no ensurepip until python3.11-venv is installed.
PROBE = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
FITTING = " or ".join(f"{major}.{minor}" for major, minor in PYTHONS)


@dataclass(frozen=True)
class Interpreter:
    """A Python that virtual environments can be made with.

    Args:
        path: Where it is.
        version: Such as (3, 11).
    """

    path: Path
    version: tuple[int, int]


def choose(asked: Path | None = None) -> Interpreter:
    """The interpreter that is asked for, else the running one, else one on the PATH.

    Raises:
        EnvironmentFailure: If the one that is asked for does not fit, or none does.
    """
    if asked is not None:
        found = probe(asked)
        if found is None:
            raise EnvironmentFailure(
                f"{asked} is not a Python that can make virtual environments (modules venv, ensurepip)."
            )
        if found.version not in PYTHONS:
            version = ".".join(map(str, found.version))
            raise EnvironmentFailure(f"{asked} is Python {version}; the old libraries need {FITTING}.")
        return found
    on_path = (shutil.which(f"python{major}.{minor}") for major, minor in PYTHONS)
    for path in (sys.executable, *on_path):
        found = probe(Path(path)) if path else None
        if found is not None and found.version in PYTHONS:
            return found
    major, minor = PYTHONS[0]
    raise EnvironmentFailure(
        f"The old libraries need Python {FITTING} with venv, and there is none on the PATH: install it (on Debian and"
        f" Ubuntu: apt install python{major}.{minor}-venv) or name one with `raymigrate env create --python PATH`."
    )


def probe(path: Path) -> Interpreter | None:
    """Asks a Python for its version; None if it does not run (pyenv's shims can be such) or cannot make venvs."""
    try:
        answer = subprocess.run([str(path), "-c", PROBE], capture_output=True, text=True, timeout=60, check=True)
        major, minor = answer.stdout.split()
        return Interpreter(path, (int(major), int(minor)))
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
