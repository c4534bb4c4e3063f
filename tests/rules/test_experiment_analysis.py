"""RM604: ExperimentAnalysis of the folder of a trainer's run."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.results.experiment_analysis import IF_OF_RUN, MESSAGE
from tests.rules.scripts import converted

SCRIPT = """
import os
from ray import tune
from ray.air.config import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from ray.tune import ExperimentAnalysis

NAME = "exp"
{more}

def start(folder):
    trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=1), run_config=RunConfig(name=NAME))
    result = trainer.fit()
    return {analysis}
"""


def told(analysis: str, more: str = "") -> list[str]:
    outcome = converted(SCRIPT.format(analysis=analysis, more=more))
    places = len(outcome.lines("RM604", Kind.MANUAL))
    found = [text for text in outcome.messages if text.startswith((MESSAGE, IF_OF_RUN))]
    assert len(found) <= places
    return [MESSAGE if text.startswith(MESSAGE) else IF_OF_RUN for text in found]


@pytest.mark.parametrize(
    ("analysis", "sure"),
    [
        ("ExperimentAnalysis('/tmp/results/exp')", True),
        ("tune.ExperimentAnalysis(os.path.join('/tmp', NAME), default_mode='min')", True),
        ("ExperimentAnalysis(f'/tmp/{NAME}')", True),
        ("ExperimentAnalysis(experiment_checkpoint_path=result.path)", True),
        ("ExperimentAnalysis(os.path.dirname(folder))", False),
        ("ExperimentAnalysis(folder)", False),
    ],
)
def test_the_folder_of_a_run_is_told(analysis: str, sure: bool) -> None:
    assert told(analysis) == [MESSAGE if sure else IF_OF_RUN]


TUNES = "tune.Tuner(trial).fit()"


@pytest.mark.parametrize("analysis", ["ExperimentAnalysis('/tmp/exp')", "ExperimentAnalysis(folder)"])
def test_where_the_file_tunes_a_folder_may_be_an_experiment(analysis: str) -> None:
    assert told(analysis, TUNES) == []
    assert told("ExperimentAnalysis(result.path)", TUNES) == [MESSAGE]
    assert told("analyses.ExperimentAnalysis(folder)") == []
