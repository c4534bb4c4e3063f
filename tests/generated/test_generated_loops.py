"""Generated programs with a loop of their own report after conversion what they reported, in every spelling.

`python -m tests.generated.test_generated_loops 10000` tries as many as are asked for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.generated.libraries import Notes
from tests.generated.loops import LoopMeaning, LoopSpelling, loop_meaning, loop_spelling, render_loop
from tests.generated.trials import PARTS, judged, problems_of, try_out

PROGRAMS = 1000
JOB = Job(Options())
LEFT = frozenset({"RM303", "RM304"})


def is_left(means: LoopMeaning, spelled: LoopSpelling) -> bool:
    """Whether something is left for a person: the checkpoint goes through a helper, or another file reads it."""
    through_helper = means.saves and spelled.report == "helper"
    return through_helper or (means.reads and spelled.loop == "elsewhere")


def expected(means: LoopMeaning) -> Notes:
    """What a program does, however it is spelled."""
    accelerator: dict[str, object] = {"on the CPU": not means.gpu, "precision": means.precision or "no"}
    if means.accumulated:
        accelerator["gradient_accumulation_steps"] = means.accumulated
    trainer = {
        "scaling": f"ScalingConfig(num_workers={means.workers}, use_gpu={means.gpu})",
        "run": "RunConfig()",
        "datasets": {},
        "data": "",
    }
    reports = [report(means, epoch) for start in (0, int(means.resumes)) for epoch in range(start, means.epochs)]
    last = reports[-1][0] if means.epochs else {}
    printed = f"{last['epoch']} {[last['loss']]}" if means.reads else "{'loss': 0.5}"
    return Notes([trainer], [], [accelerator, accelerator], reports, [printed])


def report(means: LoopMeaning, epoch: int) -> tuple[dict[str, object], object]:
    """What a worker reports after an epoch; the second time it goes on from the first checkpoint."""
    loss = means.learning_rate * epoch
    content = {"epoch": epoch, "weights": [loss]}
    return {"loss": loss, "epoch": epoch}, {"checkpoint.pt": content} if means.saves else None


def problem(seed: int, folder: Path) -> str:
    """What is wrong with the conversion of a program; empty if nothing is."""
    random = Random(seed)
    means, spelled = loop_meaning(random), loop_spelling(random)
    left = LEFT if is_left(means, spelled) else frozenset[str]()
    return judged(render_loop(means, spelled), folder, JOB, expected(means), left)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_generated_loop_reports_what_it_reported(part: int, tmp_path: Path) -> None:
    assert not problems_of(problem, range(part, PROGRAMS, PARTS), tmp_path)


if __name__ == "__main__":
    try_out(problem, int(sys.argv[1]))
