"""Runs commands in turns, so that noise hits all alike, and gives the fastest run of each."""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Command:
    """Something to measure.

    Args:
        line: The command line.
        runs: How often it runs; the fastest run counts.
        prepare: What to do before each run, unmeasured: to make a fresh copy of the files.
        folder: Where it runs.
        exits: The exit codes of a run that did its work; None: any.
    """

    line: Sequence[str | Path]
    runs: int
    prepare: Callable[[], object] = lambda: None
    folder: Path | None = None
    exits: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Time:
    """The fastest of some runs, in milliseconds.

    Args:
        wall: By the clock.
        cpu: Of all its processes together, user and system: what other work on the machine disturbs least.
    """

    wall: float = float("inf")
    cpu: float = float("inf")


def in_turns(commands: dict[str, Command], cache: Path) -> dict[str, Time]:
    """The fastest run of each command; the commands take turns.

    Args:
        commands: What to run, by name.
        cache: Where their bytecode is kept.
    """
    best = dict.fromkeys(commands, Time())
    for turn in range(max(command.runs for command in commands.values())):
        for name, command in commands.items():
            if turn < command.runs:
                command.prepare()
                taken = _run(command, environment(cache))
                best[name] = Time(min(best[name].wall, taken.wall), min(best[name].cpu, taken.cpu))
    return best


def environment(cache: Path) -> dict[str, str]:
    """Environment variables of a run: bytecode is cached as for an installed package, but not in the repository."""
    variables = os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONPYCACHEPREFIX": str(cache / "bytecode")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def _run(command: Command, variables: dict[str, str]) -> Time:
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command.line,
            cwd=command.folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    if command.exits is not None and process.returncode not in command.exits:
        sys.exit(f"{shlex.join(map(str, command.line))[:500]}\nended with {process.returncode}:\n{said[-2000:]}")
    return Time(1000 * wall, 1000 * (usage.ru_utime + usage.ru_stime))
