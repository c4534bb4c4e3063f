"""RM699: names that a star import binds today, over those that the file imports above it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
{imports}
from ray.train.huggingface import TransformersTrainer
from job import build, ds

trainer = TransformersTrainer(
    build, scaling_config=ScalingConfig(num_workers=2), run_config={run_config}, datasets={{"train": ds}}
)
trainer.fit()
"""
RUN_CONFIG = 'RunConfig(name="a", checkpoint_config=CheckpointConfig(num_to_keep=1))'


@pytest.mark.parametrize("module", ["ray.air", "ray.air.config", "ray.train"])
def test_classes_of_tune_that_take_the_place_of_those_of_train_are_told(module: str) -> None:
    imports = f"from {module} import CheckpointConfig, RunConfig, ScalingConfig\nfrom ray.tune import *"
    outcome = converted(SCRIPT.format(imports=imports, run_config=RUN_CONFIG))
    assert len(outcome.lines("RM699", Kind.MANUAL)) == 1
    assert any("CheckpointConfig and RunConfig of ray.tune" in message for message in outcome.messages)


def test_one_name_is_told_as_one() -> None:
    imports = "from ray.air import RunConfig, ScalingConfig\nimport os\nfrom ray.tune import *"
    outcome = converted(SCRIPT.format(imports=imports, run_config='RunConfig(name="a")'))
    assert any("brings in RunConfig of ray.tune" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("imports", "run_config"),
    [
        ("from ray.tune import *\nfrom ray.air import CheckpointConfig, RunConfig, ScalingConfig", RUN_CONFIG),
        ("from ray.air import RunConfig as Run, ScalingConfig\nfrom ray.tune import *", 'Run(name="a")'),
        ("from ray.air import RunConfig, ScalingConfig\nfrom ray.tune import *", "None"),
        ("from ray.air import RunConfig, ScalingConfig\nfrom ray.tune.schedulers import *", 'RunConfig(name="a")'),
        ("from ray.air import RunConfig, ScalingConfig\nfrom transformers import *", 'RunConfig(name="a")'),
        ("from ray.air import RunConfig, ScalingConfig\nfrom helpers import *", 'RunConfig(name="a")'),
    ],
)
def test_a_star_import_above_or_of_something_else_takes_nothing(imports: str, run_config: str) -> None:
    assert not converted(SCRIPT.format(imports=imports, run_config=run_config)).lines("RM699", Kind.MANUAL)


@pytest.mark.parametrize(
    "imports",
    [
        "from ray.air import RunConfig, ScalingConfig\nfrom ray.tune import *\nfrom ray.train import RunConfig",
        "from ray.air import RunConfig, ScalingConfig\nfrom ray.tune import *\nfrom job import RunConfig",
    ],
)
def test_what_is_imported_again_below_is_not_taken(imports: str) -> None:
    assert not converted(SCRIPT.format(imports=imports, run_config='RunConfig(name="a")')).lines("RM699", Kind.MANUAL)


def test_a_parameter_of_that_name_is_another() -> None:
    imports = "from ray.air import RunConfig, ScalingConfig\nfrom ray.tune import *\n\n\n"
    imports += "def named(RunConfig):\n    return RunConfig"
    assert not converted(SCRIPT.format(imports=imports, run_config="None")).lines("RM699", Kind.MANUAL)


TUNED = """
from ray.air import CheckpointConfig, RunConfig, ScalingConfig, session
from ray.train.torch import TorchTrainer
from ray.tune import *

def trial(config):
    session.report({{"x": 1}})

{given}
"""


@pytest.mark.parametrize(
    "given",
    [
        'Tuner(trial, run_config=RunConfig(name="a")).fit()',
        'run = RunConfig(name="a")\nTuner(trial, run_config=run).fit()',
        "kept = CheckpointConfig(num_to_keep=1)\nTuner(trial, run_config=RunConfig(checkpoint_config=kept)).fit()",
    ],
)
def test_what_a_tuner_is_given_may_be_of_tune(given: str) -> None:
    assert not converted(TUNED.format(given=given)).lines("RM699", Kind.MANUAL)


@pytest.mark.parametrize(
    "given",
    [
        'Tuner(TorchTrainer(trial, run_config=RunConfig(name="a"))).fit()',
        'run = RunConfig(name="a")\nTuner(trial, run_config=run).fit()\nTorchTrainer(trial, run_config=run).fit()',
        "run = RunConfig(run)\nTuner(trial, run_config=run).fit()",
    ],
)
def test_what_a_trainer_is_given_may_not(given: str) -> None:
    assert len(converted(TUNED.format(given=given)).lines("RM699", Kind.MANUAL)) == 1
