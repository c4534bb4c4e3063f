"""Makes an environment: venv, pip, a check that its libraries can be imported.

A virtual environment cannot be moved, so it is made where it will stay, and a marker is written last: a folder without
the marker is made again.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from raymigrate.base.extras import install
from raymigrate.runtime.environments.environment import (
    MARKER,
    VARIABLES,
    Environment,
    EnvironmentFailure,
    at,
    clear,
    interpreter,
    known,
    locked,
    own_torch,
    place,
)
from raymigrate.runtime.environments.interpreters import choose
from raymigrate.runtime.environments.locks import Lock

Progress = Callable[[str], None]
POLL_SECONDS = 0.5
LOG_TAIL = 12
# pip would compile every module of every package, which takes as long as all else. Most are never imported; those that
# are get compiled by the check that follows.
PIP = ("-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off", "--no-compile")
# For most of the packages in the locks a build needs compilers that are on hardly any machine.
WHEELS_ONLY = "--only-binary=:all:"
# Variables that would put packages elsewhere, bring along those of this process, or have each run compile them anew.
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PYTHONDONTWRITEBYTECODE")
CHECK = """
import json, platform
import ray.data, ray.train.huggingface, ray.train.torch
import torch, transformers, accelerate, datasets, evaluate
print(json.dumps({"python": platform.python_version(), "torch": torch.__version__}))
"""
PACKAGE = re.compile(
    r"^(?:Collecting|Processing|Requirement already satisfied:) (?:\S*/)?([A-Za-z0-9._]+(?:-[A-Za-z_]+)*)", re.MULTILINE
)
DOWNLOAD = re.compile(r"^\s+Downloading \S+ \((.+)\)$", re.MULTILINE)


def ensure(name: str, *, progress: Progress | None = None, python: Path | None = None) -> Environment:
    """Makes an environment, unless it is there already.

    Args:
        name: One of `names()`.
        progress: Called about twice a second with a few words on what is being done.
        python: Interpreter to make it with; default: see `interpreters.choose`.

    Raises:
        EnvironmentFailure: If it cannot be made.
    """
    report = progress or (lambda _: None)
    lock, torch = known(name), own_torch()
    if torch is None:
        raise EnvironmentFailure(
            "torch is not installed here, and an environment gets the same version, so that its kernels are the same:"
            f" {install('verify')}."
        )
    chosen = choose(python)
    folder = place(lock, torch, chosen.version)

    def fill(maker: Maker) -> None:
        # The lock comes first, so that nothing that it names is installed without its hash. torch then brings its own
        # dependencies: a build for GPUs has a dozen that go with its version. It asks for a newer setuptools than Ray
        # 2.6 can live with, and does without, so the lock has the last word.
        _install_lock(maker, lock)
        maker.pip(WHEELS_ONLY, f"torch=={torch}", told=f"torch {torch}", what=f"torch {torch}")
        _install_lock(maker, lock)

    return make(name, folder, chosen.path, fill, CHECK, lambda: at(lock, folder), report)


def make(
    name: str,
    folder: Path,
    python: Path,
    fill: Callable[[Maker], None],
    check: str,
    ready: Callable[[], Environment | None],
    report: Progress,
) -> Environment:
    """Makes an environment in its folder, unless another process has just done so.

    Args:
        name: What a person calls it.
        folder: Where to.
        python: Interpreter to make it with.
        fill: Puts the packages into it.
        check: Program that imports what is needed and prints the marker.
        ready: The environment, if it is complete.
        report: Is told what is being done.

    Raises:
        EnvironmentFailure: If it cannot be made.
    """
    try:
        with _held(folder, report) as handle:
            made = ready()  # perhaps by the process that was waited for
            if made is None:
                _make(Maker(name, folder, report, handle), python, fill, check)
                made = ready()
    except OSError as error:
        reason = f"{error.strerror}: {error.filename}" if error.filename else error
        raise EnvironmentFailure(f"The environment {name} cannot be made in {folder}: {reason}.") from error
    if made is None:
        raise EnvironmentFailure(f"The environment {name} was made in {folder} and is gone again; make it once more.")
    return made


@contextlib.contextmanager
def _held(folder: Path, report: Progress) -> Iterator[int]:
    """Holds the lock of a folder, after waiting for any other process that does."""
    with locked(folder) as handle:
        if handle is not None:
            yield handle
            return
    report("waiting for another process that makes it")
    with locked(folder, wait=True) as handle:
        assert handle is not None
        yield handle


@dataclass(frozen=True)
class Maker:
    """What the steps of making share.

    Args:
        name: What a person calls the environment.
        folder: Where to.
        report: Is told what is being done.
        handle: File descriptor of the lock.
    """

    name: str
    folder: Path
    report: Progress
    handle: int

    @property
    def log(self) -> Path:
        """Where the steps write; kept if one fails."""
        return self.folder.with_name(f"{self.folder.name}.log")

    def run(self, command: Sequence[str], stage: Callable[[str], str], failure: str) -> str:
        """Runs a step.

        Args:
            command: Program and arguments.
            stage: Tells from the step's output what is being done.
            failure: What it means if the step fails.

        Returns:
            Its output.

        Raises:
            EnvironmentFailure: If it fails.
        """
        variables = {key: value for key, value in os.environ.items() if key not in FOREIGN} | VARIABLES
        with self.log.open("wb") as output:
            process = subprocess.Popen(
                command,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches us alone, and we end it with its children
                pass_fds=(self.handle,),  # if we are killed, the lock is held until it has ended too
            )
            try:
                while True:
                    self.report(stage(self._output()))
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(POLL_SECONDS)
                        break
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        text = self._output()
        if process.returncode:
            tail = "\n".join([line for line in text.splitlines() if line.strip()][-LOG_TAIL:])
            raise EnvironmentFailure(f"{failure} ({self.log} has all of the log, which ends so):\n\n{tail}")
        return text

    def pip(self, *arguments: str, told: str, what: str, total: int | None = None) -> None:
        """Lets pip install something.

        Args:
            arguments: For `pip install`.
            told: What it is, for the progress.
            what: What pip did not install, if it fails.
            total: How many packages there are, if it is known.

        Raises:
            EnvironmentFailure: If it fails.
        """
        before = f"{told}: " if told else ""
        self.run(
            [str(interpreter(self.folder)), *PIP, *arguments],
            lambda output: before + pip_stage(output, total),
            f"The environment {self.name} cannot be made: pip did not install {what}",
        )

    def _output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def _make(maker: Maker, python: Path, fill: Callable[[Maker], None], check: str) -> None:
    """Makes an environment; nothing of it is left if that fails or is interrupted.

    Raises:
        EnvironmentFailure: If a step fails.
    """
    folder, name = maker.folder, maker.name
    clear(folder)
    try:
        maker.run(
            [str(python), "-m", "venv", str(folder)],
            lambda _: "making a virtual environment",
            f"The environment {name} cannot be made: {python} -m venv failed",
        )
        fill(maker)
        answer = maker.run(
            [str(interpreter(folder)), "-c", check],
            lambda _: "checking that everything can be imported",
            f"The environment {name} is of no use: its packages cannot be imported",
        )
        (folder / MARKER).write_text(answer.splitlines()[-1], encoding="utf-8")
    except BaseException as error:  # Ctrl-C too
        clear(folder)
        if not isinstance(error, EnvironmentFailure):  # that one names the log
            maker.log.unlink(missing_ok=True)
        raise
    maker.log.unlink(missing_ok=True)


def _install_lock(maker: Maker, lock: Lock) -> None:
    """Installs the packages of the lock and nothing else, as it is complete.

    Raises:
        EnvironmentFailure: If that fails, for one because a file is not one of those that the lock was made from.
    """
    maker.pip(
        *(WHEELS_ONLY, "--no-deps", "--require-hashes", "--requirement", str(lock.path)),
        told="",
        what=f"the packages of {lock.path.name}",
        total=len(lock.versions),
    )


def pip_stage(output: str, total: int | None = None) -> str:
    """Tells from pip's output how far it is.

    Args:
        output: What pip wrote up to now.
        total: How many packages are asked for, if it is known.
    """
    installing = output.find("\nInstalling collected packages: ")
    if installing >= 0:
        count = output[installing:].split("\n")[1].count(",") + 1
        return f"unpacking {count} package{'s' if count > 1 else ''}"
    packages = list(PACKAGE.finditer(output))
    if not packages:
        return "starting pip"
    last = packages[-1]
    words = f"{last[1]} ({len(packages)} of {total})" if total else last[1]
    download = DOWNLOAD.search(output, last.end())
    return f"{words}, {download[1]}" if download else words
