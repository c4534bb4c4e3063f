"""Negative controls: each of seven wrong conversions fails verification, at the right gate and with the right name.

Slow: real Ray, two workers, on the CPU unless RAYMIGRATE_TEST_DEVICE is "gpu". The original runs once for each job,
under the stand-in (arm B).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from raymigrate.runtime.hub import HubServer, cached_hub
from raymigrate.runtime.verify.arms import Overrides, Run
from raymigrate.runtime.verify.compare import compare, pair_of
from raymigrate.runtime.verify.results import Comparison, Status
from raymigrate.runtime.verify.scripts import Sources
from raymigrate.runtime.verify.verification import Request, run_arms
from tests.conftest import FIXTURES

pytestmark = pytest.mark.ray

TRANSFORMERS = FIXTURES / "transformers_trainer/bert_mrpc_preprocessor_and_collator"
ACCELERATE = FIXTURES / "accelerate_trainer/bert_mrpc"
DEVICE = Overrides(device=os.environ.get("RAYMIGRATE_TEST_DEVICE", "cpu"))
# Both jobs make 8 steps on each worker, and save after steps 4 and 8.
KILL = {"rank": 1, "step": 6}


@dataclass(frozen=True)
class Wrong:
    """A mistake that somebody could make in converting by hand.

    Args:
        name: What went wrong.
        job: Folder of the job.
        right: Text of the right conversion.
        wrong: What stands there instead.
        gate: The gate that has to fail.
        cause: The name that it has to be given.
        killed: Whether it shows only when a worker dies.
    """

    name: str
    job: Path
    right: str
    wrong: str
    gate: str
    cause: str
    killed: bool = False


WRONG = [
    Wrong(
        "collator dropped",
        TRANSFORMERS,
        "        data_collator=DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8),\n",
        "",
        "contract",
        "another collator or padding",
    ),
    Wrong(
        "batch size of the guide",
        TRANSFORMERS,
        "dataset, batch_size = trainer.train_dataset, trainer.args.train_batch_size",
        "dataset, batch_size = trainer.train_dataset, 4",
        "contract",
        "another batch size",
    ),
    Wrong(
        "evaluation rows split away",
        TRANSFORMERS,
        'DataConfig(datasets_to_split=["train"])',
        "DataConfig()",
        "evaluation",
        "evaluation rows split away",
    ),
    Wrong(
        "learning rate schedule too short",
        ACCELERATE,
        'num_training_steps=len(train_dataloader) * config["num_epochs"]',
        'num_training_steps=len(train_dataloader) * config["num_epochs"] // 4',
        "contract",
        "the learning rate reaches zero early",
    ),
    Wrong(
        "resume dropped",
        TRANSFORMERS,
        "    if checkpoint:\n",
        "    if False:\n",
        "failure",
        "the checkpoint is not resumed from",
        killed=True,
    ),
    Wrong(
        "final checkpoint not reported",
        TRANSFORMERS,
        "    def on_train_end(self, args, state, control, **kwargs):\n"
        "        super().on_save(args, state, control, **kwargs)\n",
        "",
        "outcome",
        "the final checkpoint is missing",
    ),
    Wrong(
        "loss scaled by the number of workers",
        TRANSFORMERS,
        "average_tokens_across_devices=False",
        "average_tokens_across_devices=True",
        "course",
        "loss scaled by the number of workers",
    ),
]


class Silent:
    """A progress that nobody looks at."""

    def start(self, letter: str, title: str) -> None: ...
    def update(self, text: str) -> None: ...
    def done(self, seconds: float) -> None: ...


class Jobs:
    """Runs jobs, each original only once."""

    def __init__(self, folder: Path, hub: str) -> None:
        self.folder = folder
        self.hub = hub
        self.originals: dict[Path, list[Run]] = {}

    def compared(self, job: Path, converted: Path, *, killed: bool) -> Comparison:
        """Compares a conversion with its original."""
        if job not in self.originals:
            kill_worker = any(wrong.killed for wrong in WRONG if wrong.job == job)
            request = Request(
                Sources(job / "before.py"), letters=("B",), kill_worker=kill_worker, overrides=DEVICE, timeout=300
            )
            self.originals[job] = run_arms(request, self.folder / job.name, self.hub, Silent(), KILL)
        sources = Sources(job / "before.py", converted)
        request = Request(sources, letters=("C",), kill_worker=killed, overrides=DEVICE, timeout=300)
        runs = run_arms(request, converted.parent / "arm", self.hub, Silent(), KILL)
        return compare(pair_of("B", "C", [*self.originals[job], *runs]), "the conversion")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory):
    with HubServer(cached_hub()) as hub:
        yield Jobs(tmp_path_factory.mktemp("jobs"), hub.url)


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name.replace(" ", "-"))
def test_a_wrong_conversion_fails(wrong: Wrong, jobs: Jobs, tmp_path: Path) -> None:
    right = (wrong.job / "after.py").read_text(encoding="utf-8")
    assert right.count(wrong.right) == 1
    script = tmp_path / "wrong" / "train.py"
    script.parent.mkdir()
    script.write_text(right.replace(wrong.right, wrong.wrong), encoding="utf-8")

    comparison = jobs.compared(wrong.job, script, killed=wrong.killed)

    failed = [gate.name for gate in comparison.gates if gate.status is Status.FAIL]
    assert failed[0] == wrong.gate
    assert wrong.cause in [cause.name for cause in comparison.causes]


@pytest.mark.parametrize(("job", "killed"), [(TRANSFORMERS, True), (ACCELERATE, False)])
def test_the_right_conversion_passes(job: Path, killed: bool, jobs: Jobs, tmp_path: Path) -> None:
    """Bit for bit; when a worker dies, it resumes where the original does."""
    script = tmp_path / "right" / "train.py"
    script.parent.mkdir()
    script.write_text((job / "after.py").read_text(encoding="utf-8"), encoding="utf-8")

    comparison = jobs.compared(job, script, killed=killed)

    gates = {gate.name: gate.status for gate in comparison.gates}
    assert gates.pop("self") is Status.NOT_APPLICABLE
    if not killed:
        assert gates.pop("failure") is Status.NOT_APPLICABLE
    assert set(gates.values()) == {Status.PASS}
    assert comparison.causes == ()
