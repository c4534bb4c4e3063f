"""RM405 for a trainer that a function of the file makes for a Tuner."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray import air, tune
from ray.train.torch import TorchTrainer

def loop(config):
    print(config)

{made}

{tuned}
"""
FUNCTION = """
def build({parameters}):
    {first}
    return TorchTrainer(loop, scaling_config={scaling}{rest})
"""
WORKERS = "air.ScalingConfig(num_workers=2)"


def function(parameters: str = "", first: str = "print(1)", scaling: str = WORKERS, rest: str = "") -> str:
    return FUNCTION.format(parameters=parameters, first=first, scaling=scaling, rest=rest)


TUNED = {
    "given": ("", "tuner = tune.Tuner(build())", ""),
    "keyword": ("", "tuner = tune.Tuner(param_space={}, trainable=build())", ""),
    "fitted": ("", "results = tune.Tuner(build()).fit()", ""),
    "named": ("", "trainable = build()\ntuner = tune.Tuner(trainable)", ""),
    "annotated": ("", "trainable: TorchTrainer = build()\ntuner = tune.Tuner(trainable)", ""),
    "argument": ("workers", "tuner = tune.Tuner(build(3))", "3"),
    "loop": ("", "for seed in range(2):\n    tune.Tuner(build()).fit()", ""),
    "function": ("workers", "def main(n):\n    return tune.Tuner(build(n)).fit()", "n"),
}


@pytest.mark.parametrize(("parameters", "tuned", "given"), TUNED.values(), ids=TUNED)
def test_the_function_returns_a_function_for_the_tuner(parameters: str, tuned: str, given: str) -> None:
    outcome = converted(SCRIPT.format(made=function(parameters), tuned=tuned))
    assert outcome.lines("RM405", Kind.CONVERTED) and not outcome.lines("RM405", Kind.MANUAL)
    assert "    return train_driver, scaling_config\n" in outcome.text
    assert f"train_driver, scaling_config = build({given})\n" in outcome.text
    assert "max_concurrent_trials=trials_at_once(scaling_config)" in outcome.text


def test_a_trainer_with_a_name_becomes_a_function_where_it_is_made() -> None:
    made = """
def build() -> TorchTrainer:
    trainer = TorchTrainer(loop, scaling_config=air.ScalingConfig(num_workers=2))
    print("made")
    return trainer
"""
    text = converted(SCRIPT.format(made=made, tuned="tune.Tuner(build())")).text
    assert "def build():\n" in text and "        trainer.fit()\n\n    print" in text
    assert "    return train_driver, scaling_config\n" in text


def test_a_method_takes_what_it_needs_of_its_object_before_the_function() -> None:
    made = """
class Search:
    def build(self):
        return TorchTrainer(loop, train_loop_config=self.given, scaling_config=air.ScalingConfig(num_workers=self.n))

    def run(self):
        return tune.Tuner(self.build()).fit()
"""
    text = converted(SCRIPT.format(made=made, tuned="")).text
    function = text[text.index("        def train_driver") : text.index("        return train_driver")]
    assert "train_loop_config = self.given\n" in text and "self." not in function


def test_a_scaling_config_at_the_top_is_not_returned() -> None:
    tuned = f"scaling = {WORKERS}\ntune.Tuner(build())"
    text = converted(SCRIPT.format(made=function(scaling="scaling"), tuned=tuned)).text
    assert "return train_driver\n" in text and "trials_at_once(scaling)" in text


@pytest.mark.parametrize(
    ("of_tuner", "parameter", "of_trainer"),
    [
        ("air.RunConfig('a', storage_path='/mnt/a')", "", 'storage_path="/mnt/a"'),
        ("air.RunConfig('a', storage_path=folder)", "storage_path", "storage_path=storage_path"),
        ("air.RunConfig(folder)", "run_name", 'name=f"{run_name}-'),
        ("air.RunConfig(local_dir=folder)", "storage_path", "storage_path=storage_path"),
        ("air.RunConfig(failure_config=air.FailureConfig(n))", "failure_config", "failure_config=failure_config"),
        ("air.RunConfig(failure_config=air.FailureConfig(2))", "", "failure_config=ray.train.FailureConfig(2)"),
        ("air.RunConfig(folder, failure_config=air.FailureConfig(n))", "run_name, failure_config", "{run_name}-"),
    ],
)
def test_the_function_is_given_what_it_needs_of_the_run_config(of_tuner: str, parameter: str, of_trainer: str) -> None:
    tuned = f"def main(folder, n):\n    return tune.Tuner(build(), run_config={of_tuner}).fit()"
    outcome = converted(SCRIPT.format(made=function(), tuned=tuned))
    names = set(filter(None, parameter.split(", ")))
    head = next(line for line in outcome.text.splitlines() if line.startswith("def build("))
    assert set(filter(None, head[len("def build(") : -2].split(", "))) == names
    assert of_trainer.replace('"', "'") in outcome.text.replace('"', "'")


def test_the_run_config_of_the_trainer_is_returned_for_the_tuner() -> None:
    own = ", run_config=air.RunConfig('own', storage_path=folder, failure_config=air.FailureConfig(n))"
    outcome = converted(SCRIPT.format(made=function("folder, n", rest=own), tuned="tune.Tuner(build('/a', 3))"))
    assert "train_driver, scaling_config, run_config = build('/a', 3)" in outcome.text.replace('"', "'")
    assert "run_config = tune.RunConfig('own', storage_path=" in outcome.text.replace('"', "'")
    assert "run_config=run_config" in outcome.text


def test_what_the_trial_is_called_is_not_its_config() -> None:
    own = ", run_config=air.RunConfig(config)"
    named = f"config = 'a'\nrc = air.RunConfig(name=config)\nt = TorchTrainer(loop, scaling_config={WORKERS}"
    for made, tuned in (
        (function("config", rest=own), "tune.Tuner(build('a'))"),
        (function("config", first="rc = air.RunConfig(config)", rest=", run_config=rc"), "tune.Tuner(build('a'))"),
        (f"{named}, run_config=rc)", "tune.Tuner(t)"),
        (f"{named})", "tune.Tuner(t, run_config=rc)"),
    ):
        text = converted(SCRIPT.format(made=made.lstrip(), tuned=tuned)).text
        assert "def train_driver(trial_config):" in text and 'name=f"{config}-' in text


LEFT = {
    "fitted too": (function(), "build().fit()\ntune.Tuner(build())"),
    "two tuners": (function(), "tune.Tuner(build())\ntune.Tuner(build())"),
    "handed on": (function(), "print(build)\ntune.Tuner(build())"),
    "exported": (function(), "__all__ = ['build']\ntune.Tuner(build())"),
    "read again": (function(), "t = build()\nprint(t)\ntune.Tuner(t)"),
    "branch": (function(first="if ray: return None"), "tune.Tuner(build())"),
    "not first": (function(), "print(input(), tune.Tuner(build()))"),
    "behind another call": (function(), "tune.Tuner(param_space=input(), trainable=build())"),
    "conditional": (function(), "tuner = tune.Tuner(build()) if ray else None"),
    "two names": (function(), "a = b = build()\ntune.Tuner(a)"),
    "unpacked": (function(rest=", **given", parameters="given"), "tune.Tuner(build({}))"),
    "default": (function("n=2"), "def main(p):\n    tune.Tuner(build(), run_config=air.RunConfig(p))"),
    "not yet": (function(), "t = build()\np = input()\ndef f():\n    tune.Tuner(t, run_config=air.RunConfig(p))\nf()"),
    "global": (function(), "def main():\n    global t\n    t = build()\nmain()\ntune.Tuner(t)"),
    "config outside": (function(rest=", run_config=config"), "config = air.RunConfig('a')\ntune.Tuner(build())"),
    "drawn": (
        function(),
        "tune.Tuner(build(), param_space={'scaling_config': air.ScalingConfig(num_workers=tune.choice([1, 2]))})",
    ),
}


@pytest.mark.parametrize(("made", "tuned"), LEFT.values(), ids=LEFT)
def test_what_is_not_sure_is_left(made: str, tuned: str) -> None:
    outcome = converted(SCRIPT.format(made=made.lstrip(), tuned=tuned))
    assert outcome.lines("RM405", Kind.MANUAL) and not outcome.lines("RM405", Kind.CONVERTED)
    assert "train_driver" not in outcome.text


@pytest.mark.parametrize("made", ["@print\n" + function().lstrip(), function(first="yield 1")])
def test_a_function_that_may_give_something_else_is_no_trainer(made: str) -> None:
    assert "train_driver" not in converted(SCRIPT.format(made=made, tuned="tune.Tuner(build())")).text


def test_a_run_config_above_the_trainer_gets_its_folder_above_itself() -> None:
    made = f"c = air.RunConfig(local_dir='a')\nt = TorchTrainer(loop, scaling_config={WORKERS})"
    text = converted(SCRIPT.format(made=made, tuned="tune.Tuner(t, run_config=c)")).text
    assert text.index("storage_path = os.path.abspath") < text.index("c = tune.RunConfig(storage_path=storage_path)")
