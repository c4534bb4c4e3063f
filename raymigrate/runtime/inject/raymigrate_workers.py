"""Forks Ray's workers from one process that has imported what each of them would import.

A run has seven workers, and most of them do little but import torch, Ray and transformers: 2 to 4 seconds of CPU each.
The first of them starts a template, a process that imports these and waits. Each worker hands the template its
arguments, variables, working directory and output, and a fork does the work, under an id of its own: Ray takes the id
that a worker registers with (`WorkerPool::RegisterWorker` in ray/raylet/worker_pool.cc). If anything is in the way, a
worker starts as ever. It needs Linux.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket

SWITCH = "RAYMIGRATE_FORKED_WORKERS"
SCRIPTS = ("default_worker.py", "setup_worker.py")  # the second makes a runtime environment, then becomes the first
NUMBER_BYTES = 4


def fork_if_worker() -> None:
    """In a worker of Ray, lets a fork of the template do the work and ends with it; does nothing elsewhere."""
    folder, raylet = os.environ.get("RAY_TMPDIR"), os.environ.get("RAY_RAYLET_PID")
    if not folder or not raylet or os.environ.get(SWITCH) != "1" or not hasattr(os, "pidfd_open"):
        return
    if not any(argument.endswith(SCRIPTS) for argument in sys.orig_argv):
        return
    import select
    import socket

    with socket.socket(socket.AF_UNIX) as connection:
        try:
            _connect(connection, os.path.join(folder, f"workers-{raylet}"))
            _send(connection)
            fork = os.pidfd_open(int.from_bytes(connection.recv(NUMBER_BYTES), "big"))
        except OSError:
            return
    select.select([fork], [], [])
    os._exit(0)


def _connect(connection: socket.socket, path: str) -> None:
    """Connects to the template of a raylet, and starts it if there is none yet."""
    import fcntl
    import socket

    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen(64)
                _start_template(listener.fileno())
    connection.connect(path)


def _start_template(listener: int) -> None:
    import subprocess

    template = os.path.join(os.path.dirname(os.path.abspath(__file__)), "raymigrate_template.py")
    subprocess.Popen(
        [sys.executable, template, str(listener)],
        pass_fds=[listener],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # it outlives this worker, whose output ends with it
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _send(connection: socket.socket) -> None:
    """Sends with what this worker was started, and its output."""
    import json
    import socket

    started = {"arguments": sys.orig_argv, "variables": dict(os.environ), "folder": os.getcwd()}
    message = json.dumps(started).encode()
    socket.send_fds(connection, [len(message).to_bytes(NUMBER_BYTES, "big")], [0, 1, 2])
    connection.sendall(message)
