"""Negative controls: each wrong conversion fails verification, at the right gate and with the right name.

Slow: real Ray, two workers, on the CPU unless RAYMIGRATE_TEST_DEVICE is "gpu".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from raymigrate.runtime.verify.results import Status
from tests.runtime.verify.shared_runs import ACCELERATE, TRANSFORMERS, SharedRuns, on_one_worker

pytestmark = pytest.mark.ray


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
    # What a pin or an override set in every arm once, and so hid.
    Wrong(
        "loss scaled by the number of workers",
        TRANSFORMERS,
        "        average_tokens_across_devices=False,\n",
        "",
        "course",
        "loss scaled by the number of workers",
    ),
    Wrong(
        "Trainer on CPU workers not told so",
        TRANSFORMERS,
        "        use_cpu=True,\n",
        "",
        "contract",
        "the device is not that of the workers",
    ),
    Wrong(
        "Accelerator on CPU workers not told so",
        ACCELERATE,
        ", cpu=True)",
        ")",
        "contract",
        "the device is not that of the workers",
    ),
    Wrong(
        "metrics of a part of the rows",
        ACCELERATE,
        'predictions, references = accelerator.gather_for_metrics((predictions, batch["labels"]))',
        'references = batch["labels"]',
        "evaluation",
        "metrics of a part of the rows",
    ),
]


WRONG_PARAMETERS = [
    pytest.param(wrong, id=wrong.name.replace(" ", "-"), marks=on_one_worker(wrong.job)) for wrong in WRONG
]


@pytest.mark.rotating(2)
@pytest.mark.parametrize("wrong", WRONG_PARAMETERS)
def test_a_wrong_conversion_fails(wrong: Wrong, shared_runs: SharedRuns, tmp_path: Path) -> None:
    right = (wrong.job / "after.py").read_text(encoding="utf-8")
    assert right.count(wrong.right) == 1
    script = tmp_path / "wrong" / "train.py"
    script.parent.mkdir()
    script.write_text(right.replace(wrong.right, wrong.wrong), encoding="utf-8")

    comparison = shared_runs.compared(wrong.job, script, killed=wrong.killed)

    failed = [gate.name for gate in comparison.gates if gate.status is Status.FAIL]
    assert failed[0] == wrong.gate
    assert wrong.cause in [cause.name for cause in comparison.causes]


RIGHT = [
    pytest.param(job, killed, id=f"{job.name}-{'killed' if killed else 'undisturbed'}", marks=on_one_worker(job))
    for job in (TRANSFORMERS, ACCELERATE)
    for killed in (False, True)
]


@pytest.mark.parametrize(("job", "killed"), RIGHT)
def test_the_right_conversion_passes(job: Path, killed: bool, shared_runs: SharedRuns) -> None:
    """Bit for bit; when a worker dies, it resumes where the original does."""
    comparison = shared_runs.compared(job, job / "after.py", killed=killed)

    gates = {gate.name: gate.status for gate in comparison.gates}
    assert gates.pop("self") is Status.NOT_APPLICABLE
    if not killed:
        assert gates.pop("failure") is Status.NOT_APPLICABLE
    assert set(gates.values()) == {Status.PASS}
    assert comparison.causes == ()
