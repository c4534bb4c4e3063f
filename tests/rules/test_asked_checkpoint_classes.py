"""RM308: isinstance(checkpoint, TorchCheckpoint), which no checkpoint of a run is today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import Checkpoint, session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchCheckpoint, TorchTrainer
from ray.train.xgboost import XGBoostCheckpoint


def loop(config):
    old = session.get_checkpoint()
    {loop}
    session.report({{"a": 1}}, checkpoint=TorchCheckpoint.from_dict({{"model": 1}}))


result = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
{reads}
"""


def told(reads: str = "", loop: str = "pass") -> list[int]:
    return converted(SCRIPT.format(reads=reads, loop=loop)).lines("RM308", Kind.MANUAL)


@pytest.mark.parametrize(
    "reads",
    [
        "print(isinstance(result.checkpoint, TorchCheckpoint))",
        "best = result.checkpoint\nprint(isinstance(best, (TorchCheckpoint, XGBoostCheckpoint)))",
        "def load(checkpoint):\n    return isinstance(checkpoint, TorchCheckpoint)\nload(result.checkpoint)",
        "def load(checkpoint: TorchCheckpoint):\n    assert isinstance(checkpoint, TorchCheckpoint)",
    ],
)
def test_the_question_is_told_of_a_checkpoint_of_a_run(reads: str) -> None:
    assert len(told(reads)) == 1


def test_so_it_is_in_the_training_function() -> None:
    assert told(loop="is_ours = isinstance(old, TorchCheckpoint)") == [9]


@pytest.mark.parametrize(
    "reads",
    [
        "print(isinstance(TorchCheckpoint.from_model(model), TorchCheckpoint))",
        "made = TorchCheckpoint('folder')\nprint(isinstance(made, TorchCheckpoint))",
        "print(isinstance(result.checkpoint, (Checkpoint, TorchCheckpoint)))",
        "print(isinstance(result.checkpoint, Checkpoint))",
        "print(isinstance(TorchCheckpoint, type))",
    ],
)
def test_nothing_is_told_where_the_answer_is_the_same(reads: str) -> None:
    assert not told(reads)
