"""RM604, RM605: results where a class of another file gives the training function, or whose method gets them."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.projects.test_results_elsewhere import FACTORY, LOOP, REPORT

BASE = """
from ray.air import ScalingConfig, session
from ray.train.torch import TorchTrainer
from ray.train.huggingface import AccelerateTrainer


class Experiment:
    def step(self):
        session.report({"loss": 1.0})

    def run(self):
        result = TorchTrainer(self.loop(), scaling_config=ScalingConfig(num_workers=1)).fit()
        print(result.metrics["loss"])
"""
DERIVED = """
from base import Experiment
from loops import loop


class Job(Experiment):
    def loop(self):
        return loop
"""


@pytest.mark.parametrize(("report", "told"), [(REPORT, 0), ('session.report({"loss": 1.0})', 1)])
def test_a_training_function_that_a_derived_class_gives_may_report_checkpoints(
    tmp_path: Path, report: str, told: int
) -> None:
    """The base class reports none itself, and does not see what its trainer runs."""
    write(tmp_path, {"base.py": BASE, "job.py": DERIVED, "loops.py": LOOP.format(report=report)})
    assert len([one for one in convert(tmp_path).findings if one.code == "RM605" and one.kind is Kind.MANUAL]) == told


@pytest.mark.parametrize("call", ["Report().show(result)", "Report.brief(result)"])
def test_results_that_methods_of_other_files_get(tmp_path: Path, call: str) -> None:
    """A method is found by the class of the object, or by that class itself."""
    read = 'return result.metrics["time_total_s"]'
    shown = f"class Report:\n    def show(self, result):\n        {read}\n\n"
    shown += f"    @staticmethod\n    def brief(result):\n        {read}\n"
    more = FACTORY.format(more=f"from shown import Report\n\nresult = make().fit()\n{call}\n")
    write(tmp_path, {"main.py": more, "shown.py": shown, "loops.py": LOOP.format(report=REPORT)})
    told = [one.message for one in convert(tmp_path).findings if one.path.endswith("shown.py")]
    assert len(told) == 2 and sum(message.startswith("If this is") for message in told) == 1
