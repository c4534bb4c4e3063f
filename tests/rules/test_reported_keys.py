"""RM604, for keys that the script reports: those of a trainer's own training function, and of all that this uses."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
import functools
import torch_callbacks
from ray import train
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import TrainerCallback

scaling = ScalingConfig(num_workers=1)


def counted():
    train.report({{"training_iteration": 1}})


def log(metrics):
    train.report({{**metrics, "training_iteration": 1}})


class Callback(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        train.report({{"training_iteration": state.global_step}})


class Loop:
    def run(self, config):
        self.report(1)

    def report(self, step):
        train.report({{"training_iteration": step}})

    def __call__(self, config):
        self.run(config)


def first(config):
    train.report({{"it": 1}})


def second(config):
    train.report({{"training_iteration": 1}})


ALL = {{"second": second}}

{code}
print(result.metrics["training_iteration"])
"""
OTHER = "TorchTrainer(second, scaling_config=scaling).fit()\n"
IN_TWO = """
def fitted(function):
    trainer = TorchTrainer(function, scaling_config=scaling)
    return trainer.fit()


result = fitted(first)
fitted(second)
"""
BY_RANK = """
def loop(config):
    def inner():
        first(config)

    inner()


result = TorchTrainer(loop, scaling_config=scaling).fit()
"""


def lines(code: str) -> list[int]:
    """The lines that RM604 tells of."""
    return converted(SCRIPT.format(code=code)).lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize(
    "code",
    [
        f"{OTHER}result = TorchTrainer(first, scaling_config=scaling).fit()",
        f"result = TorchTrainer(train_loop_per_worker=first).fit()\n{OTHER}",
        f"trainer = TorchTrainer(functools.partial(first), scaling_config=scaling)\n{OTHER}result = trainer.fit()",
        f'result = TorchTrainer(lambda config: train.report({{"it": 1}})).fit()\n{OTHER}',
        f'TorchTrainer(first).fit()\n{OTHER}result = TorchTrainer.restore("/a", train_loop_per_worker=first).fit()',
        'trainer = TorchTrainer(first)\nresult = TorchTrainer.restore("/a").fit()',
        f"def made():\n    return first, {{'lr': 1}}\n\n\nloop, config = made()\n{OTHER}"
        "result = TorchTrainer(loop, train_loop_config=config).fit()",
        f"{BY_RANK}{OTHER}",
    ],
)
def test_a_key_that_only_another_training_function_reports_is_told(code: str) -> None:
    assert len(lines(code)) == 1


@pytest.mark.parametrize(
    "loop",
    [
        "def loop(config):\n    counted()",
        "def loop(config):\n    log({'it': 1})",
        "def loop(config):\n    trainer = build(config)\n    trainer.add_callback(Callback())\n    trainer.train()",
        "def loop(config):\n    config['log']({'it': 1})\n\n\nconfig = {'log': log}",
        "def loop(config):\n    ALL[config['loop']](config)",
        "def loop(config):\n    getattr(torch_callbacks, config['loop'])(config)",
        "def loop(config):\n    globals()[config['loop']](config)",
        "def loop(config):\n    step = counted if config else None\n    step()",
        "found = []\nfound.append(Callback())\n\n\ndef loop(config):\n    build(config, callbacks=found).train()",
        "found = {}\nfound['a'] = counted\n\n\ndef loop(config):\n    for one in found.values():\n        one()",
        "loop = Loop()",
        "loop = Loop().run",
        "loop = functools.partial(second, lr=1)",
        "loop = ALL['second']",
        "loop = torch_callbacks.loop",
        "loop = torch_callbacks.decorated(first)",
        "loop = first if scaling else second",
        "steps = {}\n\n\ndef step(function):\n    steps['a'] = function\n    return function\n\n\n"
        "@step\ndef one():\n    train.report({'training_iteration': 1})\n\n\ndef loop(config):\n    steps['a']()",
    ],
)
def test_what_a_training_function_reports_by_whatever_it_uses_is_its_own(loop: str) -> None:
    config = "config" if "\nconfig" in loop else "{}"
    assert not lines(f"{loop}\n\n\nresult = TorchTrainer(loop, train_loop_config={config}).fit()")


@pytest.mark.parametrize(
    "code",
    [
        "result = TorchTrainer(**torch_callbacks.arguments).fit()",
        "class Own(TorchTrainer):\n    def __init__(self):\n        super().__init__(second)\n\n\nresult = Own().fit()",
        'result = TorchTrainer.restore("/a").fit()',
        "trainer = TorchTrainer(first) if scaling else torch_callbacks.trainer\nresult = trainer.fit()",
        "results = [TorchTrainer(f).fit() for f in (first, second)]\nresult = results[0]",
        IN_TWO,
    ],
)
def test_where_the_training_function_is_not_known_every_report_counts(code: str) -> None:
    assert not lines(code)


def test_each_result_is_held_against_its_own_trainer() -> None:
    code = (
        'one = TorchTrainer(second).fit()\nprint(one.metrics["training_iteration"])\nresult = TorchTrainer(first).fit()'
    )
    assert len(lines(code)) == 1
    assert len(lines(f"{code}\nresult = one")) == 0


def test_metrics_and_tables_made_of_two_results_have_the_keys_of_both() -> None:
    two = "one = TorchTrainer(first).fit()\nresult = TorchTrainer(second).fit()\n"
    assert not lines(f'{two}metrics = one.metrics if scaling else result.metrics\nprint(metrics["training_iteration"])')
    assert not lines(f'{two}for m in (one.metrics, result.metrics):\n    print(m["training_iteration"])')


LOOPS = """
from ray import train
from shared import report


def first(config):
    train.report({"it": 1})


def second(config):
    report({"it": 1})
"""
SHARED = 'import ray\n\n\ndef report(m):\n    ray.train.report({**m, "training_iteration": 1})\n'
JOB = """
import loops
from loops import first, second
from ray.train.torch import TorchTrainer

a = TorchTrainer(first).fit()
b = TorchTrainer(second).fit()
print(a.metrics["training_iteration"])
print(b.metrics["training_iteration"])
print(TorchTrainer(loops.first).fit().metrics["training_iteration"])
print(TorchTrainer(loops.second).fit().metrics["training_iteration"])
"""


def test_training_functions_of_other_files_are_followed_too(tmp_path: Path) -> None:
    for name, text in {"loops": LOOPS, "shared": SHARED, "job": JOB}.items():
        (tmp_path / f"{name}.py").write_text(text)
    outcome = CliRunner().invoke(main, ["--check", str(tmp_path)])
    assert re.findall(r"job\.py:(\d+):\d+: RM604", outcome.output) == ["8", "10"]
