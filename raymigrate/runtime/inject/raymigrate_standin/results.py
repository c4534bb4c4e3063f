"""The result of a job as the old trainers returned it.

Train V2 keeps the metrics of reports with a checkpoint only; the old trainers those of every report, and Tune added
keys of its own (docs/semantics/results.md#metrics). The controller runs on the driver's node, so a file on it can hand
them over.
"""

from __future__ import annotations

import os
import pickle
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas  # type: ignore[import-untyped]
from ray.train import UserCallback
from ray.train.v2._internal.callbacks.user_callback import UserCallbackHandler
from ray.train.v2.api.result import Result as CurrentResult

from raymigrate_standin.job import Job


class KeepReports(UserCallback):  # type: ignore[misc]
    """Runs in the controller, and writes down what rank 0 reports."""

    def __init__(self, path: str) -> None:
        self.path = path

    def after_report(self, run_context: Any, metrics: list[dict[str, Any]], checkpoint: Any) -> None:
        """Called by Ray after all workers have reported."""
        with Path(self.path).open("ab") as stream:
            pickle.dump((time.time(), metrics[0]), stream)


class Reports:
    """A file that the reports of a job are written to while it runs."""

    def __enter__(self) -> Reports:
        handle, self.path = tempfile.mkstemp(prefix="raymigrate-reports-")
        os.close(handle)
        self.started = time.time()
        return self

    def __exit__(self, *error: object) -> None:
        Path(self.path).unlink()

    def callback(self, context: Any) -> Any:
        """What Train V2's controller is to call."""
        return UserCallbackHandler([KeepReports(self.path)], context)

    def read(self) -> list[dict[str, Any]]:
        """Every report so far, with Tune's keys."""
        reports: list[dict[str, Any]] = []
        before = self.started
        with Path(self.path).open("rb") as stream:
            while stream.peek(1):
                moment, metrics = pickle.load(stream)
                reports.append({**metrics, **self._tune_keys(len(reports) + 1, before, moment)})
                before = moment
        return reports

    def _tune_keys(self, iteration: int, before: float, moment: float) -> dict[str, Any]:
        total = moment - self.started
        return {
            "timestamp": int(moment),
            "date": time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(moment)),
            "training_iteration": iteration,
            "iterations_since_restore": iteration,
            "time_this_iter_s": moment - before,
            "time_total_s": total,
            "time_since_restore": total,
            "pid": os.getpid(),
            "hostname": socket.gethostname(),
            "node_ip": "127.0.0.1",
            "experiment_tag": "0",
        }


class Result(CurrentResult):  # type: ignore[misc]
    """Train V2's result with what the old one had besides (ray 2.6.3, air/result.py)."""

    old_config: dict[str, Any] | None = None

    @property
    def config(self) -> dict[str, Any] | None:
        """The trainer's configuration."""
        return self.old_config

    @property
    def log_dir(self) -> Path:
        """Where the run's checkpoints are."""
        return Path(self.path)


def complete_result(result: Any, job: Job, reports: list[dict[str, Any]], config: dict[str, Any] | None) -> None:
    """Turns a result of Train V2 into one of the old trainers, in place."""

    def old_kind(checkpoint: Any) -> Any:
        if checkpoint is None or job.checkpoint_class is None:
            return checkpoint
        old = job.checkpoint_class.from_checkpoint(checkpoint)
        old.set_preprocessor(job.preprocessor)
        if job.metadata is not None:
            old.update_metadata(job.metadata)
        return old

    result.__class__ = Result
    result.old_config = {"train_loop_config": config or {}}
    last = reports[-1] if reports else {}
    result.metrics = {**last, "done": True, "trial_id": job.trial_id, "config": result.old_config}
    result.metrics_dataframe = pandas.DataFrame(reports) if reports else None
    result.checkpoint = old_kind(result.checkpoint)
    result.best_checkpoints = [(old_kind(checkpoint), metrics) for checkpoint, metrics in result.best_checkpoints or ()]
