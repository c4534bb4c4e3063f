"""Running the command against a folder, and what is worth knowing afterwards."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from tests.conftest import ROOT
from tests.test_faults import CONVERTED, SMALL

__all__ = ["CASES", "CONVERTED", "SMALL"]


@dataclass(frozen=True)
class Case:
    """An attack.

    Args:
        name: What is done.
        expected: What should come of it.
        act: Does it in an empty folder; gives what came of it, which is `expected` if all is well.
        slow: Whether it takes more than a few seconds, or a quick test does the same.
    """

    name: str
    expected: str
    act: Callable[[Path], str]
    slow: bool = False


CASES: list[Case] = []


def attack(name: str, expected: str, *, slow: bool = False) -> Callable[[Callable[[Path], str]], Callable[[Path], str]]:
    """Adds a case."""

    def add(act: Callable[[Path], str]) -> Callable[[Path], str]:
        CASES.append(Case(name, expected, act, slow))
        return act

    return add


def got(ended_problems: list[str], *others: tuple[bool, str], well: str) -> str:
    """What came of a case: what is wrong, or what was expected."""
    return ", ".join([*ended_problems, *(text for wrong, text in others if wrong)]) or well


@dataclass
class Ended:
    """A command that has ended.

    Args:
        code: Its exit code.
        stdout: What it printed.
        stderr: What it printed there.
        cpu: Seconds of it that it took, its processes included.
        megabytes: Of memory that its largest process took.
    """

    code: int
    stdout: bytes
    stderr: bytes
    cpu: float
    megabytes: float

    @cached_property
    def seconds(self) -> float:
        """Seconds of CPU that it would have taken on a machine with `YARDSTICK`, if this one is slower, or busy."""
        return self.cpu / max(1.0, yardstick() / YARDSTICK)

    @property
    def problems(self) -> list[str]:
        """What no command may do, whatever it is given."""
        found = []
        if b"Traceback" in self.stderr:
            found.append("a traceback")
        if self.code not in (0, 1, 2):
            found.append(f"exit code {self.code}")
        return found


# Seconds of CPU that a piece of work takes where the limits of the cases were set: `import libcst` took 0.16 s there.
YARDSTICK = 0.13


def yardstick() -> float:
    """Seconds of CPU that this work takes here and now."""
    started = time.process_time()
    functions = "\n".join(f"def f{n}(a, b={n}):\n    return [a + b for c in range(b)]" for n in range(200))
    for _ in range(10):
        tree = ast.parse(functions)
        assert sum(isinstance(node, ast.Name) for node in ast.walk(tree)) == 1000
        compile(tree, "yardstick.py", "exec")
    return time.process_time() - started


# Waits for the command in a process of its own, which can tell the memory and time of this one command.
MEASURED = """
import json, os, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    json.dump([code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024], file)
"""


def run(
    folder: Path,
    *arguments: str | bytes,
    shell: str = "",
    limit: float = 120,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Ended:
    """Runs the command in a folder.

    Args:
        folder: The folder.
        arguments: Of the command.
        shell: What a shell adds to the command, such as `>&-`.
        limit: Seconds after which it hangs.
        variables: Of its environment, besides the usual ones.
    """
    import json  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as place:
        measures = Path(place, "measures")
        command: Sequence[str | bytes] = [sys.executable, "-m", "raymigrate", *arguments]
        if shell:
            command = ["/bin/sh", "-c", f'exec "$@" {shell}', "sh", *command]
        process = subprocess.run(
            [sys.executable, "-I", "-c", MEASURED, str(measures), *command],
            cwd=folder,
            env={**environment(), **variables},
            capture_output=True,
            timeout=limit,
            check=False,
        )
        code, cpu, megabytes = json.loads(measures.read_text())
    return Ended(code, process.stdout, process.stderr, cpu, megabytes)


def environment() -> dict[str, str]:
    """The environment of the command: its modules are these."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Starts the command in a group of processes of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "raymigrate", *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def processes_left(process: subprocess.Popen[bytes], seconds: float = 5) -> int:
    """How many processes of an ended command's group still run after a while."""
    import psutil  # noqa: PLC0415

    end = time.monotonic() + seconds
    while True:
        left = []
        for other in psutil.process_iter(["status"]):
            try:
                if os.getpgid(other.pid) == process.pid and other.info["status"] != psutil.STATUS_ZOMBIE:
                    left.append(other)
            except (ProcessLookupError, psutil.NoSuchProcess):
                continue
        if not left or time.monotonic() > end:
            return len(left)
        time.sleep(0.1)


@dataclass
class Neighbours:
    """Two good scripts beside the bad file, which have to be converted whatever that one is."""

    folder: Path
    names: Sequence[str] = field(default=("a.py", "z.py"))

    def __post_init__(self) -> None:
        for name in self.names:
            (self.folder / name).write_text(SMALL)

    def are_done(self) -> bool:
        """Whether they are converted."""
        return all((self.folder / name).read_text() == CONVERTED for name in self.names)
