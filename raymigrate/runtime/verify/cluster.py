"""Runs an arm as a Ray Job on a cluster that is there already, instead of on a Ray of its own.

Scripts, recorder, traces and results are in a folder that every node of the cluster sees under the same path. Source:
https://docs.ray.io/en/latest/cluster/running-applications/job-submission/sdk.html
"""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from raymigrate.runtime.verify.errors import VerifyError
from raymigrate.runtime.verify.processes import TimedOut
from raymigrate.runtime.watcher import at_end, temporary_folder

POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Cluster:
    """A running Ray cluster.

    Args:
        address: Where its job server answers: `http://head:8265`, or "auto" on one of its nodes.
        shared_folder: Folder that every node sees under this path, and that this machine sees too.
    """

    address: str
    shared_folder: Path

    def run_logged(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        variables: Mapping[str, str],
        log: Path,
        timeout: float,
        watch: Callable[[], None],
    ) -> int:
        """Runs a command as a job to its end, as `processes.run_logged` does on this machine.

        Args:
            command: Program and arguments; the program is looked up on the cluster.
            folder: Working directory, below the shared folder.
            variables: Environment variables of the job's driver and workers.
            log: File for what the driver prints.
            timeout: Seconds that it may take, waiting for resources included.
            watch: Called about once a second.

        Returns:
            0, or 1 if the job failed.

        Raises:
            TimedOut: After `timeout` seconds; the job is stopped.
            VerifyError: If the cluster takes no jobs at the address.
        """
        client = self._client()
        entrypoint = f"cd {shlex.quote(str(folder))} && exec {shlex.join(command)}"
        started = time.monotonic()
        with temporary_folder("raymigrate-job-") as place:
            job = client.submit_job(entrypoint=entrypoint, runtime_env={"env_vars": dict(variables)})
            stop = ["-m", "ray.scripts.scripts", "job", "stop", "--no-wait", "--address", self.address, job]
            at_end(place, [sys.executable, *stop])
            try:
                while not (status := client.get_job_status(job)).is_terminal():
                    watch()
                    if time.monotonic() - started > timeout:
                        raise TimedOut
                    time.sleep(POLL_SECONDS)
            finally:
                log.write_text(client.get_job_logs(job), encoding="utf-8")
                _remove(client, job)
        return 0 if status.value == "SUCCEEDED" else 1

    def _client(self) -> Any:
        from ray.job_submission import JobSubmissionClient  # noqa: PLC0415 - a second, and only with --address

        try:
            return JobSubmissionClient(self.address)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise VerifyError(
                f"No Ray cluster takes jobs at {self.address} ({reason}); --address is that of its dashboard, such as "
                "http://head:8265, and the cluster needs ray[default]."
            ) from error


def _remove(client: Any, job: str) -> None:
    """Stops a job that still runs, and lets the cluster forget it."""
    with contextlib.suppress(RuntimeError):
        client.stop_job(job)
        for _ in range(30):
            if client.get_job_status(job).is_terminal():
                break
            time.sleep(POLL_SECONDS)
        client.delete_job(job)
