"""What the old trainers knew of a job and Train V2 does not carry to its workers.

It travels as an attribute of the RunConfig, which Train V2 pickles for the controller and for every worker.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

ATTRIBUTE = "raymigrate_job"


@dataclass
class Job:
    """A run of an old trainer.

    Ray's old folder of a run was `<local_dir>/<experiment>/<trial>`, and each `fit()` made a new trial. Train V2 has no
    trials, and goes on from what it finds under the name of a run (docs/semantics/traps.md#t9). So here the trial is
    the name of the run, and the same script starts afresh each time, as it did.

    Args:
        trainer: Name of the trainer's class.
        experiment: `RunConfig(name=)`, or what Ray made up for it.
        trainer_resources: `ScalingConfig(trainer_resources=)`.
        worker_resources: What one worker reserves.
        num_workers: Number of workers.
        resume: `resume_from_checkpoint=`.
        metadata: `metadata=`.
        stop: `RunConfig(stop=)`.
        preprocessor: `preprocessor=`, fitted.
        checkpoint_class: Class of the checkpoints that the job makes.
    """

    trainer: str
    experiment: str | None
    trainer_resources: dict[str, float] | None = None
    worker_resources: dict[str, float] = field(default_factory=dict)
    num_workers: int = 1
    resume: Any = None
    metadata: dict[str, Any] | None = None
    stop: Any = None
    preprocessor: Any = None
    checkpoint_class: Any = None
    trial_id: str = field(default_factory=lambda: f"{secrets.token_hex(4)}_00000")
    started: str = field(default_factory=lambda: time.strftime("%Y-%m-%d_%H-%M-%S"))

    def __post_init__(self) -> None:
        self.experiment = self.experiment or f"{self.trainer}_{self.started}"

    @property
    def trial_name(self) -> str:
        """`TransformersTrainer_1a2b3c4d_00000`."""
        return f"{self.trainer}_{self.trial_id}"

    @property
    def run_name(self) -> str:
        """The name of the trial's folder."""
        return f"{self.trial_name}_0_{self.started}"


def current_job() -> Job | None:
    """The job of this worker; None elsewhere."""
    from ray.train.v2._internal.execution.context import get_train_context

    try:
        context = get_train_context()
    except RuntimeError:
        return None
    job: Job | None = getattr(context.train_run_context.run_config, ATTRIBUTE, None)
    return job
