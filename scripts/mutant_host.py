"""Runs scripts one after the other in forks of one process that has imported Ray and the libraries.

A third of what a run costs is that its driver imports these. A fork has modules that no script has touched, and starts
a Ray of its own, as in verify: the workers of a second driver cannot be forked from a template that served the first,
since Ray's settings, of which a worker's job is one, are read once (`GetProcessJobID` in Ray's core_worker_process.cc).
A run whose environment is not that of the process gets a process of its own.

This file is also the program of that process; it reads what to run from its input, a line each.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

WORK = "run"  # the folder of each run, the same for all: it stands in the environment
SECONDS_TO_START = 180
KEPT_IMPORTS = ("evaluate", "ray.train.v2.api.data_parallel_trainer", "ray.data.preprocessors")


class Host:
    """The process, started when the first run asks for it.

    Args:
        folder: For its runs; it is made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._owned = contextlib.ExitStack()

    def emptied(self) -> Path:
        """The folder of the next run, which does not exist yet."""
        for name in ("scripts", "downloads", WORK):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        return self.folder / WORK

    def run_logged(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: dict[str, str],
        log: Path,
        timeout: float,
        watch: Callable[[], None],
    ) -> int:
        """Runs a script to its end, as `processes.run_logged` does."""
        from raymigrate.runtime.verify.processes import TimedOut, run_logged  # noqa: PLC0415 - not in the process

        if self._process is None:
            self._environment = environment
            self._process = self._started(command[0])
        if environment != self._environment:
            return run_logged(command, folder=folder, environment=environment, log=log, timeout=timeout, watch=watch)
        try:
            self._say({"folder": str(folder), "script": command[1], "log": str(log)})
            status = int(self._reply(timeout))
        except TimeoutError as error:
            self.close()  # what hangs is ended with all that it has started
            raise TimedOut from error
        if status < 0:
            self.close()  # nobody has ended its Ray
        return status

    def close(self) -> None:
        """Ends the process and its Ray."""
        self._owned.close()
        self._process = None

    def _started(self, python: str) -> subprocess.Popen[bytes]:
        from raymigrate.runtime.verify.processes import end_processes, ray_folder  # noqa: PLC0415
        from raymigrate.runtime.watcher import RUN_VARIABLE  # noqa: PLC0415

        short = self._owned.enter_context(ray_folder())
        run = Path(short).name
        output = self._owned.enter_context((self.folder / "host.txt").open("w"))
        process = subprocess.Popen(
            [python, __file__],
            cwd=self.folder,
            env={**self._environment, RUN_VARIABLE: run, "RAY_TMPDIR": short},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            start_new_session=True,
        )
        self._owned.callback(end_processes, process, run)
        self._process = process
        self._reply(SECONDS_TO_START)  # it says that it has imported all
        return process

    def _say(self, asked: dict[str, str]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()

    def _reply(self, seconds: float) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            raise TimeoutError
        reply = self._process.stdout.readline().decode()
        if not reply:
            raise RuntimeError(f"The process has ended; see {self.folder / 'host.txt'}.")
        return reply


def run_forked(asked: IO[str], replies: IO[str]) -> dict[str, Any]:
    """Forks for each line, and says how that ended.

    Returns:
        In each fork, what to run.
    """
    for line in asked:
        fork = os.fork()
        if not fork:
            found: dict[str, Any] = json.loads(line)
            return found
        _, status = os.waitpid(fork, 0)
        print(os.waitstatus_to_exitcode(status), file=replies, flush=True)
    sys.exit()


def become(asked: dict[str, Any]) -> None:
    """Makes of this process the one that a script runs in."""
    import numpy as np  # noqa: PLC0415 - in the process alone

    np.random.seed()  # as random does by itself
    log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(asked["folder"])
    sys.argv = [asked["script"]]
    sys.path[0] = asked["folder"]
    runpy.run_path(asked["script"], run_name="__main__")


def main() -> None:
    """The program; ends in each fork, when its script is done."""
    import importlib  # noqa: PLC0415

    from raymigrate_template import draws_differ, import_ahead  # noqa: PLC0415 - from INJECTED

    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import_ahead()
    for name in KEPT_IMPORTS:
        importlib.import_module(name)
    assert draws_differ()
    print("ready", file=replies, flush=True)
    become(run_forked(sys.stdin, replies))


if __name__ == "__main__":
    main()
