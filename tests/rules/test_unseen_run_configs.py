"""RM411: a RunConfig is no trainer's before it is seen that a trainer gets it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
from ray import tune
from ray.air.config import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from ray.tune.tuner import Tuner
from job import loop, read, search

"""
CONFIG = "RunConfig(name='a', verbose=1, log_to_file=True, failure_config=FailureConfig(fail_fast=False))"


@pytest.mark.parametrize(
    "script",
    [
        f"tuner_cls = Tuner if search else None\ntuner_cls(loop, run_config={CONFIG})",
        f"cls = tune.Tuner\nconfig = {CONFIG}\ncls(loop, run_config=config)",
        f"given = {{'run_config': {CONFIG}}}\nTuner(loop, **given)",
        f"Tuner(loop, **dict(run_config={CONFIG}))",
        f"given = read()\ngiven['run_config'] = {CONFIG}\nTuner(loop, **given)",
        f"def make(**given):\n    return Tuner(loop, **given)\n\nmake(run_config={CONFIG})",
        f"def make(config):\n    return Tuner(loop, run_config=config)\n\nmake({CONFIG})",
        f"def config():\n    return {CONFIG}\n\nTuner(loop, run_config=config())",
        f"from functools import partial\nmake = partial(Tuner, loop)\nmake(run_config={CONFIG})",
        f"TUNERS = {{'ray': Tuner}}\nTUNERS['ray'](loop, run_config={CONFIG})",
        f"def config():\n    return {CONFIG}\n\nTuner(loop, **read())",
        f"config = {CONFIG}\nTorchTrainer(loop, run_config=config)\nTuner(loop, **read(config))",
    ],
)
def test_what_a_tuner_may_get_is_told_and_kept(script: str) -> None:
    outcome = converted(HEAD + script)
    assert outcome.lines("RM411", Kind.MANUAL)
    assert "verbose=1" in outcome.text and "log_to_file=True" in outcome.text and "fail_fast=False" in outcome.text
    assert not outcome.lines("RM401", Kind.CONVERTED)


@pytest.mark.parametrize(
    "script",
    [
        f"TorchTrainer(loop, run_config={CONFIG}).fit()\nTuner(loop, **read())",
        f"config = {CONFIG}\nTorchTrainer(loop, run_config=config).fit()\nTuner(loop, **read())",
        f"trainer_cls = TorchTrainer\ntrainer_cls(loop, run_config={CONFIG}).fit()\nTuner(loop, **read())",
        f"def fit(config):\n    TorchTrainer(loop, run_config=config).fit()\n\nfit({CONFIG})\nTuner(loop)",
        f"def fit(tuner: Tuner) -> Tuner:\n    return read({CONFIG}, isinstance(tuner, Tuner))",
        f"config = {CONFIG}\nTorchTrainer(loop, run_config=config).fit()\nTuner.restore('a', loop)",
        f"TorchTrainer(loop, run_config={CONFIG}).fit()\nTuner(loop, **{{'param_space': search}})",
    ],
)
def test_what_trainers_get_is_theirs(script: str) -> None:
    outcome = converted(HEAD + script)
    assert not outcome.lines("RM411", Kind.MANUAL)
    assert "verbose" not in outcome.text and "log_to_file" not in outcome.text and "fail_fast" not in outcome.text


@pytest.mark.parametrize(
    "script", [f"Tuner(loop, run_config={CONFIG})", f"config = {CONFIG}\nTuner(loop, run_config=config)"]
)
def test_what_a_tuner_gets_for_sure_is_converted(script: str) -> None:
    outcome = converted(HEAD + script)
    assert outcome.lines("RM411", Kind.CONVERTED) and "tune.RunConfig(name='a', verbose=1" in outcome.text
