"""RM704: methods of Trainer that subclasses override."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from transformers import Trainer
from trl import SFTTrainer


class Base(Trainer):
    best = 1.0


class Own({base}):
{method}
"""
KEEPS_BEST = """
def _save_checkpoint(self, model, trial, metrics=None):
    if metrics is not None and metrics["eval_loss"] < self.best:
        self.best = metrics["eval_loss"]
        self.save_model()
"""
HANDS_ON = """
def _save_checkpoint(self, model, trial, metrics=None):
    super()._save_checkpoint(model, trial, metrics=metrics)
    print("saved")
"""
BOTH = """
def _save_checkpoint(self, model, trial, metrics=None):
    print(metrics)
    return super(Own, self)._save_checkpoint(model, trial, metrics=metrics)
"""
NEEDS = """
def _save_checkpoint(self, model, trial, metrics):
    super()._save_checkpoint(model, trial)
"""


def script(method: str, base: str = "Trainer") -> str:
    return SCRIPT.format(base=base, method="\n".join(f"    {line}" for line in method.strip().splitlines()))


@pytest.mark.parametrize("base", ["Trainer", "Base", "SFTTrainer"])
@pytest.mark.parametrize("method", [KEEPS_BEST, BOTH, NEEDS], ids=["keeps the best", "both", "no default"])
def test_a_method_that_waits_for_metrics_is_told(method: str, base: str) -> None:
    assert converted(script(method, base)).lines("RM704", Kind.MANUAL) == [11]


@pytest.mark.parametrize("method", [HANDS_ON, BOTH], ids=["hands on", "both"])
def test_metrics_are_no_longer_handed_on(method: str) -> None:
    outcome = converted(script(method))
    assert "_save_checkpoint(model, trial)" in outcome.text
    assert outcome.lines("RM704", Kind.CONVERTED)
    assert bool(outcome.lines("RM704", Kind.MANUAL)) is (method is BOTH)


@pytest.mark.parametrize(
    "method",
    [
        "def _rotate_checkpoints(self, use_mtime=False, output_dir=None):\n    pass",
        "def prediction_loop(self, loader, description):\n    pass",
        "def _maybe_log_save_evaluate(self, tr_loss, model, trial, epoch, ignore_keys_for_eval):\n    pass",
    ],
)
def test_a_method_that_is_not_called_so_any_more_is_told(method: str) -> None:
    assert converted(script(method)).lines("RM704", Kind.MANUAL) == [11]


@pytest.mark.parametrize(
    "method",
    [
        "def _save_checkpoint(self, model, trial):\n    super()._save_checkpoint(model, trial)",
        "def _save(self, output_dir=None, state_dict=None):\n    pass",
        "def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):\n    return 0",
    ],
)
def test_the_parameters_of_today_are_no_news(method: str) -> None:
    assert not converted(script(method)).findings


def test_a_class_of_this_file_in_between_changes_nothing() -> None:
    after = converted(script("def log(self, logs):\n    pass", base="Base")).text
    assert "def log(self, logs, start_time=None):" in after
