"""Values that are made of what has their own name: with a name from `import *` they have no other beginning."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
from functools import partial
import ray
from ray import tune
from ray.air import Checkpoint, session
from ray.data.preprocessors import Chain
from ray.train.huggingface import TransformersCheckpoint, TransformersTrainer
from ray.train.torch import TorchTrainer
from mine import *


def loop(config):
    made = Checkpoint.from_directory("out")
    made = made if session.get_world_rank() == 0 else None
    session.report({{"loss": 1.0}}, checkpoint=made)


{made}
trainer = TransformersTrainer(trainer_init_per_worker=build, datasets=rows, preprocessor=value)
tune.Tuner(value, param_space=value).fit()
ray.data.from_items([1]).map_batches(value)
result = TorchTrainer(loop, **value).fit()
TransformersCheckpoint.from_checkpoint(value).get_model(build)
with value.as_directory() as folder:
    print(folder, result.metrics["loss"])
"""


@pytest.mark.parametrize(
    "made",
    [
        "partial(value, 1)",
        "tune.with_resources(value, {'cpu': 1})",
        "value.as_trainable()",
        "Chain(value)",
        "dict(value)",
        "{**value}",
        "value if value else value",
        "TransformersCheckpoint.from_checkpoint(value)",
    ],
)
@pytest.mark.parametrize(
    "form", ["value = {}", "first = {}\nvalue = first", "value = 1\nfor step in range(3):\n    value = {}"]
)
def test_it_ends(made: str, form: str) -> None:
    assert "ray.train.report(" in converted(SCRIPT.format(made=form.format(made))).text
