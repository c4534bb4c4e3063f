"""Runs of jobs and of their conversions, in this process: what several tests compare with runs once."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from raymigrate.runtime.verify.arms import Overrides, Run
from raymigrate.runtime.verify.compare import compare, pair_of
from raymigrate.runtime.verify.request import Request
from raymigrate.runtime.verify.results import Comparison
from raymigrate.runtime.verify.scripts import Sources
from raymigrate.runtime.verify.verification import run_arms
from scripts.verify_mutants import Silent
from tests.conftest import FIXTURES

TRANSFORMERS = FIXTURES / "transformers_trainer/bert_mrpc_preprocessor_and_collator"
ACCELERATE = FIXTURES / "accelerate_trainer/bert_mrpc"
DEVICE = Overrides(device=os.environ.get("RAYMIGRATE_TEST_DEVICE", "cpu"))
# Both jobs make 8 steps on each worker, and save after steps 4 and 8.
KILL = {"rank": 1, "step": 6}


def on_one_worker(job: Path) -> pytest.MarkDecorator:
    """Lets pytest-xdist run all tests of a job in one process, which shares its runs."""
    return pytest.mark.xdist_group(job.name)


@dataclass
class SharedRuns:
    """Runs jobs, each original and each conversion only once, with and without a killed worker.

    Args:
        folder: For everything.
        hub: Where the offline hub answers.
    """

    folder: Path
    hub: str
    runs: dict[tuple[str, str], list[Run]] = field(default_factory=dict)

    def compared(self, job: Path, converted: Path, *, killed: bool) -> Comparison:
        """Compares a conversion with its original.

        Args:
            job: Folder of the original.
            converted: The conversion.
            killed: Whether both also run with a worker killed, and that is compared too.
        """
        original = self._run("B", Sources(job / "before.py"), job / "before.py", killed=True)
        # Beside the original lies the right conversion, which some tests want with a killed worker and some without.
        with_kill = killed or converted.parent == job
        conversion = self._run("C", Sources(job / "before.py", converted), converted, killed=with_kill)
        wanted = [run for run in [*original, *conversion] if killed or "killed" not in run.name]
        return compare(pair_of("B", "C", wanted), "the conversion")

    def _run(self, letter: str, sources: Sources, script: Path, *, killed: bool) -> list[Run]:
        key = letter, script.read_text(encoding="utf-8")  # pytest gives the folder of a test that passed to another one
        if key not in self.runs:
            request = Request(sources, letters=(letter,), kill_worker=killed, overrides=DEVICE, timeout=900)
            folder = self.folder / f"{letter}-{len(self.runs)}"
            self.runs[key] = run_arms(request, folder, self.hub, Silent(), KILL)
        return self.runs[key]
