"""RM411, RM416, RM420 and RM604 where a trainer is gone: a Tuner takes the place of an RLTrainer."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
from ray.air import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from ray.train.lightning import LightningTrainer
from ray.train.mosaic import MosaicTrainer
from ray.train.rl import RLTrainer
from ray.train.sklearn import SklearnTrainer
from ray.train.torch import TorchTrainer
"""
LINES = HEAD.count("\n")
SAVING = "CheckpointConfig(checkpoint_frequency=2)"
GIVEN = {
    "at once": f"{{trainer}}(1, run_config=RunConfig(stop={{{{'a': 1}}}}, verbose=1, checkpoint_config={SAVING}))",
    "by a name": f"saving = {SAVING}\nconfig = RunConfig(stop={{{{'a': 1}}}}, verbose=1, checkpoint_config=saving)\n"
    "{trainer}(1, run_config=config)",
    "in a function": f"def start(stop):\n    config = RunConfig(stop=stop, verbose=1, checkpoint_config={SAVING})\n"
    "    return {trainer}(algorithm=1, run_config=config).fit()",
    "of a class": "class Own(TorchTrainer):\n    pass\n\n\n"
    f"own = {{trainer}}(1, run_config=RunConfig(stop=1, verbose=1, checkpoint_config={SAVING}))",
}


@pytest.mark.parametrize("use", GIVEN.values(), ids=GIVEN)
def test_the_run_config_of_an_rl_trainer_is_that_of_a_tuner(use: str) -> None:
    outcome = converted(f"{HEAD}{use.format(trainer='RLTrainer')}\n")
    assert {code for code, _, _ in outcome.findings} & {"RM401", "RM404", "RM411"} == {"RM411"}
    assert "ray.tune.RunConfig(" in outcome.text and "stop=" in outcome.text
    assert "ray.tune.CheckpointConfig(checkpoint_frequency=2)" in outcome.text


@pytest.mark.parametrize("use", GIVEN.values(), ids=GIVEN)
def test_that_of_a_sklearn_trainer_stays_as_it_is(use: str) -> None:
    outcome = converted(f"{HEAD}{use.format(trainer='SklearnTrainer')}\n")
    assert not {code for code, _, _ in outcome.findings} & {"RM401", "RM404", "RM411"}
    assert use.format(trainer="SklearnTrainer") in outcome.text


@pytest.mark.parametrize(
    "use",
    [
        "given = dict(run_config=RunConfig(stop=1, verbose=1, checkpoint_config=saving))\n{trainer}(1, **given)",
        "def config():\n    return RunConfig(stop=1, verbose=1, checkpoint_config=saving)\n\n\n"
        "{trainer}(1, run_config=config())",
        "{trainer}(1, {{}}, ScalingConfig(), RunConfig(stop=1, verbose=1, checkpoint_config=saving))",
    ],
)
@pytest.mark.parametrize("trainer", ["RLTrainer", "SklearnTrainer"])
def test_where_no_other_trainer_is_there_every_configuration_is_one_of_these(trainer: str, use: str) -> None:
    outcome = converted(f"{HEAD}saving = {SAVING}\n{use.format(trainer=trainer)}\n")
    assert not {code for code, _, _ in outcome.findings} & {"RM401", "RM404"}
    assert "stop=1, verbose=1" in outcome.text
    assert "checkpoint_frequency=2" in outcome.text


@pytest.mark.parametrize("trainer", ["TorchTrainer", "LightningTrainer", "MosaicTrainer"])
def test_those_of_trainers_for_torch_lose_what_train_v2_refuses(trainer: str) -> None:
    outcome = converted(f"{HEAD}{GIVEN['at once'].format(trainer=trainer)}\n")
    assert {"RM401", "RM404"} <= {code for code, _, _ in outcome.findings}
    assert "checkpoint_frequency" not in outcome.text


def test_a_configuration_that_a_trainer_gets_too_is_told() -> None:
    script = (
        f"{HEAD}saving = {SAVING}\nRLTrainer(run_config=RunConfig(checkpoint_config=saving))\n"
        "TorchTrainer(print, run_config=RunConfig(checkpoint_config=saving))\n"
    )
    outcome = converted(script)
    assert outcome.lines("RM411", Kind.MANUAL) == [LINES]
    assert f"saving = {SAVING}" in outcome.text


@pytest.mark.parametrize(
    ("trainer", "advice"),
    [
        ("RLTrainer", "ray.tune.Tuner.restore("),
        ("SklearnTrainer", "Fit the model anew"),
        ("LightningTrainer", "Build TorchTrainer"),
        ("MosaicTrainer", "Build TorchTrainer"),
    ],
)
@pytest.mark.parametrize("method", ["restore", "can_restore"])
@pytest.mark.parametrize(
    "use",
    [
        "{trainer}.{method}('/runs')",
        "for cls in ({trainer}, None):\n    cls.{method}('/runs')",
        "def go_on(cls):\n    return cls.{method}('/runs')\n\n\ngo_on({trainer})",
    ],
)
def test_a_run_of_a_trainer_that_is_gone_goes_on_in_its_own_way(
    use: str, method: str, trainer: str, advice: str
) -> None:
    outcome = converted(f"{HEAD}{use.format(trainer=trainer, method=method)}\n")
    (told,) = (message for message in outcome.messages if f"{method}() is gone with it" in message)
    assert told.startswith(f"Ray >= 2.51 has no {trainer}: ")
    assert advice in told
    assert "raises on" not in told


@pytest.mark.parametrize(
    "use",
    [
        "for cls in (AccelerateTrainer, TorchTrainer):\n    cls.restore('/runs')",
        "def go_on(cls):\n    return cls.restore('/runs')\n\n\ngo_on(AccelerateTrainer)",
        "AccelerateTrainer.restore('/runs')",
    ],
)
def test_so_is_the_run_of_a_legacy_trainer_once(use: str) -> None:
    told = [message for message in converted(f"{HEAD}{use}\n").messages if "restore() is gone with it" in message]
    assert len(told) == 1
    assert "has no AccelerateTrainer" in told[0]


RESULT = "result = {trainer}.fit()\nprint(result.metrics['training_iteration'], folder in result.log_dir.parents)\n"


@pytest.mark.parametrize(
    "trainer", ["RLTrainer(algorithm=1)", "RLTrainer.restore('/runs')", "(RLTrainer(1) if x else RLTrainer.restore(x))"]
)
def test_the_result_of_an_rl_trainer_is_that_of_a_trial(trainer: str) -> None:
    outcome = converted(HEAD + RESULT.format(trainer=trainer))
    assert "folder in pathlib.Path(result.path).parents" in outcome.text
    assert not outcome.lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize("trainer", ["LightningTrainer(config)", "MosaicTrainer.restore('/runs')"])
def test_the_result_of_a_trainer_for_torch_is_that_of_a_torch_trainer(trainer: str) -> None:
    assert converted(HEAD + RESULT.format(trainer=trainer)).lines("RM604", Kind.MANUAL) == [LINES + 1, LINES + 1]


@pytest.mark.parametrize("trainer", ["RLTrainer(algorithm=1)", "SklearnTrainer(estimator=1)"])
@pytest.mark.parametrize(
    "use", ["ray.tune.Tuner({trainer})", "trainer = {trainer}\nray.tune.run(trainer.as_trainable())"]
)
def test_a_tuner_over_one_needs_no_function_that_builds_a_trainer(use: str, trainer: str) -> None:
    outcome = converted(f"{HEAD}import ray.tune\n{use.format(trainer=trainer)}\n")
    codes = {code for code, _, _ in outcome.findings}
    assert "RM405" not in codes
    assert "RM692" in codes


@pytest.mark.parametrize("trainer", ["own.RLTrainer", "Own"])
def test_a_class_of_that_name_from_elsewhere_is_none(trainer: str) -> None:
    head = "from ray.air import RunConfig\nimport own\n\n\nclass Own:\n    pass\n\n\n"
    outcome = converted(f"{head}{trainer}(run_config=RunConfig(verbose=1))\n")
    assert "RM411" not in {code for code, _, _ in outcome.findings}
