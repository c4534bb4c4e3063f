"""RM405 for a Tuner of which it is not seen what it gets, where its search space is one for trainers."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from mylib import MyTrainer, build, make_driver, my_trainer, registry, train_driver
import mylib
from ray import tune

SPACE = {{"train_loop_config": {{"lr": tune.grid_search([1, 2])}}}}
FILLED = {{}}
FILLED["trainer_init_config"] = {{}}
{before}

class Spaces:
    one = SPACE

def search(given):
    return tune.Tuner({arguments}).fit()
"""
UNSEEN = "What this Tuner gets cannot be seen. Where it is a trainer, as {} in its param_space says"
DRIVER = "def driver(config):\n    print(config)\n"
MAKER = "class Maker:\n    def __call__(self, config):\n        print(config)\n"
TRAINABLE = "class Api(tune.Trainable):\n    pass\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("given, param_space=SPACE", "train_loop_config"),
        ("registry[given]().trainer(), param_space=SPACE", "train_loop_config"),
        ("given.trainer, param_space=SPACE", "train_loop_config"),
        ("trainable=build(given), param_space=dict(trainer_init_config={})", "trainer_init_config"),
        ("my_trainer, param_space={'scaling_config': tune.choice(given)}", "scaling_config"),
        ("mylib.trainers[given], param_space=SPACE", "train_loop_config"),
        (
            "given, param_space={'scaling_config': given.scaling, 'train_loop_config': {}}",
            "train_loop_config and scaling_config",
        ),
        ("given, **dict(param_space=SPACE)", "train_loop_config"),
        ("given, param_space={**given.space, 'scaling_config': 1}", "scaling_config"),
        ("given, param_space={**SPACE, 'other': 1}", "train_loop_config"),
        ("given, param_space=FILLED", "trainer_init_config"),
        ("given, param_space=Spaces.one", "train_loop_config"),
        ("given, param_space=FILLED if given else {}", "trainer_init_config"),
    ],
)
def test_a_tuner_of_what_cannot_be_followed_is_told_where_its_space_is_for_trainers(arguments: str, named: str) -> None:
    outcome = converted(SCRIPT.format(before="", arguments=arguments))
    assert any(message.startswith(UNSEEN.format(named)) for message in outcome.messages)
    assert outcome.lines("RM405", Kind.MANUAL)


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        (DRIVER, "driver, param_space=SPACE"),
        (DRIVER, "tune.with_parameters(driver, n=1), param_space=SPACE"),
        (DRIVER, "tune.with_resources(driver, {'cpu': 1}), param_space=SPACE"),
        (f"{DRIVER}KINDS = {{'a': driver}}\n", "KINDS[given], param_space=SPACE"),
        ("def make(n):\n    def inner(config):\n        print(n)\n    return inner\n", "make(3), param_space=SPACE"),
        ("", "lambda config: print(config), param_space=SPACE"),
        (MAKER, "Maker(), param_space=SPACE"),
        (f"{MAKER}    def search(self):\n        tune.Tuner(self, param_space=SPACE)\n", "'PPO', param_space=SPACE"),
        (TRAINABLE, "Api, param_space=SPACE"),
        ("", "train_driver, param_space=SPACE"),
        ("", "mylib.train_driver, param_space=SPACE"),
        ("", "MyTrainer, param_space=SPACE"),
        ("", "given, param_space={'lr': tune.uniform(0, 1)}"),
        ("", "given"),
    ],
)
def test_functions_classes_and_other_search_spaces_are_not_told(before: str, arguments: str) -> None:
    outcome = converted(SCRIPT.format(before=before, arguments=arguments))
    assert not outcome.lines("RM405", Kind.MANUAL)
