"""Runs a command of the user, and ends it in an orderly way, whatever asks for the end."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Mapping, Sequence

from raymigrate.base.signals import Interrupted
from raymigrate.runtime.watcher import RUN_VARIABLE, end_run

# For a command that is to end: time to write what it wants to keep.
SECONDS_TO_END = 5.0


def run_command(command: Sequence[str], variables: Mapping[str, str], run: str) -> int:
    """Runs a command in this terminal; where this process is asked to end, so is all that the command has started.

    Args:
        command: Program and arguments.
        variables: All of its environment.
        run: Its name, see `watcher.temporary_folder`.

    Returns:
        Its exit status as a shell has it: 128 and the number of the signal that ended it.

    Raises:
        OSError: If it cannot be started.
    """
    process = subprocess.Popen(command, env={**variables, RUN_VARIABLE: run})
    try:
        status = process.wait()
    except KeyboardInterrupt as error:
        number = int(signal.SIGINT)  # which the terminal has sent to the command too
        if isinstance(error, Interrupted):
            process.send_signal(number := error.number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
        end_run(run)
        process.wait()
        return 128 + number
    return 128 - status if status < 0 else status
