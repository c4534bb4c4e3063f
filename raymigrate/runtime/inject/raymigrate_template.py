"""The process that Ray's workers are forked from. `raymigrate_workers` starts it, with the descriptor of its socket."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

from raymigrate_workers import NUMBER_BYTES, SCRIPTS

# What the workers of nearly every job import; nothing of it starts threads of Python or touches a GPU.
# Not ray.train.huggingface: a script that forgets to import it must fail.
MODULES = (
    "ray._private.workers.default_worker",
    "ray._private.workers.setup_worker",
    "ray.data",
    "ray.train.torch",
    "ray.tune",
    "torch",
    "accelerate",
    "transformers",
    "datasets",
)
# Ray reads these anew each time, so that a fork may have others than the template.
OF_A_WORKER = {"PWD", "RAY_JOB_ID", "RAY_WARN_BLOCKING_GET_INSIDE_ASYNC"}
Started = dict[str, Any]


def import_ahead() -> None:
    """Imports MODULES, but none that the working directory has under that name."""
    with _own_ids_for_actor_classes():
        for name in MODULES:
            top = name.split(".")[0]
            if not os.path.exists(f"{top}.py") and not os.path.exists(top):
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
    gc.collect()
    gc.freeze()  # collecting in a fork then does not copy what it shares with the others


@contextlib.contextmanager
def _own_ids_for_actor_classes() -> Iterator[None]:
    """Keeps @ray.remote in Ray's own modules from seeding Ray's generator, which every fork would then inherit.

    Forks that draw the same ids end with "Check failed: erased == 1" (core_worker.cc).
    """
    import ray.actor

    original = ray.actor.ActorClassID

    class ActorClassID:
        @staticmethod
        def from_random() -> object:
            return original(os.urandom(original.size()))

    ray.actor.ActorClassID = ActorClassID
    try:
        yield
    finally:
        ray.actor.ActorClassID = original


def fork_workers(listener: socket.socket, raylet: int, variables: dict[str, str]) -> Started:
    """Forks a worker for each connection, until the raylet ends.

    Args:
        listener: Where workers connect.
        raylet: Descriptor of the raylet's process.
        variables: With which the modules were imported; a worker that has others imports them for itself.

    Returns:
        In each fork, with what its worker was started.
    """
    while raylet not in select.select([listener.fileno(), raylet], [], [])[0]:
        connection, _ = listener.accept()
        with connection:
            started, streams = _receive(connection)
            fork = os.fork() if _of_all(started["variables"]) == _of_all(variables) else None
            for number, stream in enumerate(streams):
                if fork == 0:
                    os.dup2(stream, number)
                os.close(stream)
            if fork == 0:
                return started
            if fork is not None:
                connection.sendall(fork.to_bytes(NUMBER_BYTES, "big"))
    sys.exit()


def draws_differ() -> bool:
    """Whether forks draw different ids from Ray's generator, as the workers of a run have to."""
    return _drawn_by_fork() != _drawn_by_fork()


def _drawn_by_fork() -> bytes:
    from ray import WorkerID

    end, start = os.pipe()
    with open(end, "rb") as result, open(start, "wb") as output:
        if not os.fork():
            os.write(output.fileno(), WorkerID.from_random().binary())
            os._exit(0)
        output.close()
        return result.read()


def _receive(connection: socket.socket) -> tuple[Started, list[int]]:
    length, streams, _, _ = socket.recv_fds(connection, NUMBER_BYTES, 3)
    with connection.makefile("rb") as message:
        return json.loads(message.read(int.from_bytes(length, "big"))), streams


def _of_all(variables: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name not in OF_A_WORKER}


def become(started: Started) -> None:
    """Makes of this process the worker that Ray has started, and runs its script."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)  # when a worker ends, the raylet kills its process group
    for name in OF_A_WORKER:
        os.environ.pop(name, None)
    os.environ.update(started["variables"])
    os.chdir(started["folder"])
    sys.orig_argv = started["arguments"]
    first = next(number for number, argument in enumerate(sys.orig_argv) if argument.endswith(SCRIPTS))
    sys.argv = sys.orig_argv[first:]
    sys.path[0] = os.path.dirname(sys.argv[0])
    if "numpy" in sys.modules:
        import numpy

        numpy.random.seed()  # as random does by itself: no two workers draw the same numbers
    runpy.run_path(sys.argv[0], run_name="__main__")


def main() -> None:
    """Listens to the workers of the raylet; ends in each fork, when the worker's work is done."""
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        raylet = os.pidfd_open(int(os.environ["RAY_RAYLET_PID"]))
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
        variables = dict(os.environ)  # importing Ray sets one
        import_ahead()
        if not draws_differ():  # another version of Ray draws while it is imported: workers start as ever
            sys.exit()
        started = fork_workers(listener, raylet, variables)
    os.close(raylet)
    become(started)


if __name__ == "__main__":
    main()
