"""RM420 for Tuner.restore(), which takes the trainable today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
from ray import tune
from ray.tune import Tuner
from ray.train.torch import TorchTrainer
from mine import imported


def objective(config):
    return {"loss": config["x"]}


class Trainable(tune.Trainable):
    pass

"""


@pytest.mark.parametrize(
    ("tuner", "restore", "after"),
    [
        ("Tuner(objective)", 'Tuner.restore("/run")', 'Tuner.restore("/run", trainable=objective)'),
        ("Tuner(trainable=objective)", "tune.Tuner.restore(path=p)", "restore(path=p, trainable=objective)"),
        ("tune.Tuner(Trainable)", 'Tuner.restore("/run", True)', ""),
        ("tune.Tuner(Trainable)", 'Tuner.restore("/run")', 'restore("/run", trainable=Trainable)'),
        ("Tuner(imported)", 'Tuner.restore("/run")', 'restore("/run", trainable=imported)'),
        ('Tuner("PPO")', 'Tuner.restore("/run")', 'restore("/run", trainable="PPO")'),
        (
            "Tuner(objective)",
            'Tuner.restore(\n    "/run",\n    resume_errored=True,\n)',
            "resume_errored=True,\n    trainable=objective,",
        ),
        ("Tuner(objective)\nother = Tuner(Trainable)", 'Tuner.restore("/run")', ""),
        ("Tuner(tune.with_resources(objective, {'cpu': 1}))", 'Tuner.restore("/run")', ""),
        ("Tuner(TorchTrainer(objective))", 'Tuner.restore("/run")', ""),
        ("None", 'Tuner.restore("/run")', ""),
    ],
)
def test_a_restored_tuner_gets_the_trainable_of_the_only_one(tuner: str, restore: str, after: str) -> None:
    outcome = converted(f"{HEAD}tuner = {tuner}\ntuner = {restore}\n")
    assert (after in outcome.text) if after else ("trainable=" not in outcome.text.partition("restore(")[2])
    assert bool(outcome.lines("RM420", Kind.CONVERTED)) is bool(after)
    assert bool(outcome.lines("RM420", Kind.MANUAL)) is not bool(after)
    again = converted(outcome.text)
    assert again.text == outcome.text


def test_a_name_that_is_bound_elsewhere_is_not_taken() -> None:
    script = (
        f"{HEAD}def main():\n    def inner(config):\n        pass\n    Tuner(inner).fit()\n\n\nTuner.restore('/run')\n"
    )
    assert converted(script).lines("RM420", Kind.MANUAL)


@pytest.mark.parametrize(
    "restore",
    [
        'Tuner.restore("/run", objective)',
        'Tuner.restore("/run", trainable=objective)',
        "Tuner.restore(*arguments)",
        "Tuner.restore(**arguments)",
        'checkpoint.restore("/run")',
    ],
)
def test_what_names_a_trainable_is_left(restore: str) -> None:
    outcome = converted(f"{HEAD}tuner = Tuner(objective)\n{restore}\n")
    assert "RM420" not in {code for code, _, _ in outcome.findings}


RESTORES = """
from ray import tune
from ray.air import session


def objective(config):
    session.report({{"loss": 1}})


tune.Tuner.restore("/runs/x", {given}).fit()
"""


@pytest.mark.parametrize("given", ["objective", "trainable=objective", "overwrite_trainable=objective"])
def test_a_function_that_only_a_restored_tuner_gets_is_one_of_tune(given: str) -> None:
    outcome = converted(RESTORES.format(given=given))
    assert 'tune.report({"loss": 1})' in outcome.text and "train.report" not in outcome.text
    assert given.replace("overwrite_", "") in outcome.text
    assert bool(outcome.lines("RM420", Kind.CONVERTED)) is given.startswith("overwrite_")
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    ("tuner", "restore", "after"),
    [
        ("Tuner(objective)", 'Tuner.restore("/run", trainable=None)', 'Tuner.restore("/run", trainable=objective)'),
        ("Tuner(objective)", 'Tuner.restore("/run", None)', ""),
        ("None", 'Tuner.restore("/run", trainable=None)', ""),
        ("Tuner(TorchTrainer(objective))", 'Tuner.restore("/run", resume_errored=True, trainable=None)', ""),
    ],
)
def test_none_is_no_trainable(tuner: str, restore: str, after: str) -> None:
    outcome = converted(f"{HEAD}tuner = {tuner}\ntuner = {restore}\n")
    assert (after or restore) in outcome.text
    assert bool(outcome.lines("RM420", Kind.CONVERTED)) is bool(after)
    assert any("with None as its trainable raises a TuneError" in message for message in outcome.messages)


@pytest.mark.parametrize("given", ["trainable=objective", "objective", "trainable=imported", "*paths", "**options"])
def test_one_that_is_given_is_no_news(given: str) -> None:
    assert not converted(f'{HEAD}tuner = Tuner.restore("/run", {given})\n').lines("RM420", Kind.MANUAL)


def test_what_is_said_beside_a_tuner_over_a_trainer_holds_once_that_is_converted() -> None:
    script = (
        f"{HEAD}from ray.train import ScalingConfig\n\n\ndef loop(config):\n    print(config)\n\n\n"
        "trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))\n"
        "tuner = Tuner.restore('/run') if objective else Tuner(trainer, param_space={'train_loop_config': {}})\n"
    )
    outcome = converted(script)
    assert outcome.lines("RM405", Kind.CONVERTED) and outcome.lines("RM420", Kind.MANUAL)
    again = converted(outcome.text)
    assert again.text == outcome.text and again.lines("RM420", Kind.MANUAL)


@pytest.mark.parametrize(
    ("restore", "is_told"),
    [
        ('tune.Tuner.restore("/run", trainable="TransformersTrainer", resume_errored=True)', True),
        ('NAME = "HuggingFaceTrainer"\nTuner.restore("/run", NAME)', True),
        ('Tuner.restore("/run", "AccelerateTrainer")', True),
        ('Tuner.restore("/run", "objective")', False),
        ('Tuner.restore("/run", trainable="PPO")', False),
        ('tune.register_trainable("TorchTrainer", objective)\nTuner.restore("/run", "TorchTrainer")', False),
        ('tune.register_trainable("mine", objective)\nTuner.restore("/run", "TorchTrainer")', True),
        ('tune.register_trainable(imported, objective)\nTuner.restore("/run", "TorchTrainer")', False),
    ],
)
def test_a_trainer_that_is_restored_by_the_name_of_its_class(restore: str, is_told: bool) -> None:
    outcome = converted(f"{HEAD}{restore}\n")
    assert bool(outcome.lines("RM420", Kind.MANUAL)) == is_told


@pytest.mark.parametrize(
    ("restore", "is_told"),
    [
        ('Tuner.restore("/run", TorchTrainer)', True),
        ('tune.Tuner.restore(path="/run", trainable=TorchTrainer, resume_errored=True)', True),
        ('kind = TorchTrainer if imported else objective\nTuner.restore("/run", kind)', True),
        ('import ray.train.torch as rt\nTuner.restore("/run", rt.TorchTrainer)', True),
        ('class Own(TorchTrainer):\n    pass\n\n\nTuner.restore("/run", Trainable)', False),
        ('class Own(TorchTrainer):\n    pass\n\n\nTuner.restore("/run", Own)', True),
        ('class Own:\n    pass\n\n\nTuner.restore("/run", Own)', False),
        ('import ray.train.xgboost as rx\nTuner.restore("/run", rx.XGBoostTrainer)', True),
        ('Tuner.restore("/run", imported.TorchTrainer)', False),
    ],
)
def test_the_class_of_a_trainer_is_no_trainable(restore: str, is_told: bool) -> None:
    outcome = converted(f"{HEAD}{restore}\n")
    assert bool(outcome.lines("RM420", Kind.MANUAL)) == is_told
    assert not outcome.lines("RM405")
