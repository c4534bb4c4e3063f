"""RM204: a training function whose config has a default is called without it by current Ray."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer


def loop({parameters}):
    print(config)


{other}
trainer = TorchTrainer({given}, train_loop_config={{"lr": 1}}, scaling_config=ScalingConfig(num_workers=2))
trainer.fit()
"""
FUNCTION_LINE = 5


def outcome(parameters: str, *, given: str = "loop", other: str = "") -> Outcome:
    return converted(SCRIPT.format(parameters=parameters, given=given, other=other))


@pytest.mark.parametrize("parameters", ["config=None", "config={}"])
@pytest.mark.parametrize("given", ["loop", "train_loop_per_worker=loop"])
def test_the_default_goes_where_nothing_else_calls_the_function(parameters: str, given: str) -> None:
    found = outcome(parameters, given=given)
    assert found.lines("RM204", Kind.CONVERTED) == [FUNCTION_LINE]
    assert "def loop(config):\n" in found.text


def test_the_config_may_be_positional_only() -> None:
    found = outcome("config=None, /")
    assert found.lines("RM204", Kind.CONVERTED) == [FUNCTION_LINE]
    assert "def loop(config, /):\n" in found.text


@pytest.mark.parametrize("given", ["loop", "train_loop_per_worker=loop"])
def test_a_function_that_is_called_elsewhere_keeps_it(given: str) -> None:
    found = outcome("config=None", given=given, other="loop()")
    assert found.lines("RM204", Kind.CONVERTED) == [FUNCTION_LINE]
    assert "def loop(config=None):\n" in found.text
    assert "lambda config: loop(config)" in found.text


@pytest.mark.parametrize("parameters", ["config", "", "config=None, other=None", "config, *, other=None"])
def test_other_functions_stay(parameters: str) -> None:
    assert "RM204" not in {code for code, *_ in outcome(parameters).findings}


def test_a_script_without_ray_air_was_written_for_the_ray_of_today() -> None:
    script = SCRIPT.format(parameters="config=None", given="loop", other="").replace("ray.air.config", "ray.train")
    assert converted(script).findings == []


OF_METHODS = """\
from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments


class Job:
{method}
        args = TrainingArguments("out", report_to="none")
        Trainer(model=AutoModelForSequenceClassification.from_pretrained("bert"), args=args).train()


AccelerateTrainer({given}, train_loop_config={{"lr": 1}}, scaling_config=ScalingConfig(2, use_gpu=True)).fit()
"""


@pytest.mark.parametrize(
    ("method", "given", "called"),
    [
        ("    @staticmethod\n    def loop(config=None):", "Job.loop", "lambda config: Job.loop(config)"),
        ("    @classmethod\n    def loop(cls, config=None):", "Job.loop", "lambda config: Job.loop(config)"),
        # One object is made, here; not one on each worker.
        ("    def loop(self, config=None):", "Job().loop", "lambda config, loop=Job().loop: loop(config)"),
    ],
)
def test_a_loop_that_is_a_method_gets_its_config_and_keeps_its_loss(method: str, given: str, called: str) -> None:
    text = converted(OF_METHODS.format(method=method, given=given)).text
    assert called in text
    assert "average_tokens_across_devices=False" in text


@pytest.mark.parametrize(
    "given", ["job = Job()\na = {}job = Job()\nb = {}a.fit()\n", "runs = []\nfor job in (Job(), Job()):\n    a = {}"]
)
def test_a_name_that_is_given_another_object_before_fit_is_read_at_once(given: str) -> None:
    head, call = OF_METHODS.format(method="    def loop(self, config=None):", given="job.loop").split("\n\n\nAcc")
    text = converted(f"{head}\n\n\n" + given.replace("{}", f"Acc{call}".replace(".fit()", ""))).text
    assert "lambda config, loop=job.loop: loop(config)" in text
    assert "lambda config: " not in text


def test_a_partial_that_fills_the_config_is_left() -> None:
    head = "from functools import partial"
    found = outcome("config=None", given="partial(loop, {'lr': 2})", other=head)
    assert not found.lines("RM204")
    found = outcome("config=None", given="filled", other=f"{head}\n\nfilled = partial(loop, {{'lr': 2}})")
    assert not found.lines("RM204")
