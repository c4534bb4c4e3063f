"""Reports a Hugging Face Trainer's progress to Ray: one report per logging event, and always a checkpoint at the end.

After `TrainReportCallback` of ray 2.6.3, _transformers_utils.py:157-233.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import distributed
from transformers import TrainerCallback

from raymigrate_standin.air_checkpoint import TransformersCheckpoint
from raymigrate_standin.air_session import report_from_node


class TrainReportCallback(TrainerCallback):  # type: ignore[misc]
    """Collects what the Trainer logs, and reports it when the next step begins.

    The Trainer logs first and saves then, and evaluates in between. A report is held back until all three have had
    their turn, so that loss, evaluation and checkpoint of a step are one report.
    """

    def __init__(self) -> None:
        self.metrics: dict[str, Any] = {}
        self.checkpoint: Any = None
        self.reported: dict[str, Any] = {}
        self.last_step = 0

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        """Asks for a last log, evaluation and checkpoint, whatever the strategies are."""
        if control.should_training_stop:
            # Logging the same step twice would divide by zero steps.
            if state.global_step != self.last_step:
                control.should_evaluate = control.should_evaluate or args.eval_strategy != "no"
                control.should_log = True
            elif args.eval_strategy == "steps" and state.global_step % state.eval_steps:
                control.should_log = True  # transformers 5 evaluates at the end, where the old one had logged nothing
            control.should_save = True
        return control

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Takes what is logged: of training, of evaluation, and of the whole at the end."""
        self.metrics.update({**logs, "step": state.global_step, "epoch": state.epoch})
        self.metrics.pop("total_flos", None)  # the old library's progress bar took it out before Ray saw it
        self.last_step = state.global_step

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Takes the folder that was saved."""
        if distributed.is_initialized():
            distributed.barrier()  # each rank writes its own random state into the folder
        folder = Path(args.output_dir, f"checkpoint-{state.global_step}").absolute()
        self.checkpoint = TransformersCheckpoint.from_directory(str(folder))

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reports what was held back."""
        self._report()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reports what was held back."""
        self._report()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reports the last metrics, over those of the report before, which they complete."""
        self.metrics = {**self.reported, **self.metrics}
        self._report()

    def _report(self) -> None:
        if self.metrics:
            metrics, checkpoint = self.metrics, self.checkpoint
            self.reported, self.metrics, self.checkpoint = metrics, {}, None
            report_from_node(metrics, checkpoint)
