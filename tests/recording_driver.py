"""Runs a script as `__main__` and writes down what its trainer's fit() returned.

python recording_driver.py OUTCOME.json SCRIPT [ARGUMENTS...]
"""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

from ray.train.torch import TorchTrainer


def record(outcome_path: str) -> None:
    """Lets TorchTrainer.fit note its result."""
    original = TorchTrainer.fit

    def fit(trainer: TorchTrainer) -> Any:
        result = original(trainer)
        outcome = {
            "metrics": result.metrics,
            "checkpoint": result.checkpoint and result.checkpoint.path,
            "history": [metrics for _, metrics in result.best_checkpoints or []],
        }
        Path(outcome_path).write_text(json.dumps(outcome), encoding="utf-8")
        return result

    TorchTrainer.fit = fit


if __name__ == "__main__":
    record(sys.argv[1])
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")
