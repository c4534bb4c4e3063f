"""RM122: functions of legacy trainers that the project does not show are told, and loggers are taken out."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.projects.files import convert, write
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import ray
from functools import partial
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments
{before}

def main(chosen=None):
    TransformersTrainer(
        {given},
        scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
        datasets={{"train": ray.data.range(8)}},
    ).fit()
"""
REMOVED = "for callback in get_reporting_integration_callbacks("
SILENT = "the loggers that it starts on current Ray are removed"
INIT = """
def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out")
    return Trainer(model=config["model"], args=args, train_dataset=train_dataset)
"""


def of(before: str, given: str) -> Outcome:
    return converted(SCRIPT.format(before=before, given=given))


def told(outcome: Outcome) -> list[str]:
    return [message for message in outcome.messages if "was not found in this project" in message]


@pytest.mark.parametrize(
    ("before", "given", "named"),
    [
        ("from elsewhere.training import make_trainer", "make_trainer", "make_trainer"),
        ("from elsewhere.training import make_trainer as make", "trainer_init_per_worker=make", "make"),
        ("from elsewhere import training", "training.make_trainer", "training.make_trainer"),
        ("from elsewhere import *", "make_trainer", "make_trainer"),
        ("from elsewhere import make_trainer", "partial(make_trainer, lr=1)", "make_trainer"),
        ("from elsewhere import make_trainer\nmake = partial(make_trainer, lr=1)", "make", "make_trainer"),
        ("import elsewhere", 'getattr(elsewhere, "make_trainer")', 'getattr(elsewhere, "make_trainer")'),
        ("from elsewhere import INITS", 'INITS["bert"]', 'INITS["bert"]'),
        ('from elsewhere import make\nINITS = {"bert": make}', 'INITS["bert"]', "make"),
        ("from elsewhere import Maker", "Maker().make", "Maker().make"),
        ("from elsewhere import Maker", "Maker()", "Maker()"),
        ("from elsewhere import maker_of", 'maker_of("bert")', 'maker_of("bert")'),
        ("", "chosen", "chosen"),
        ("from elsewhere import make", "lambda train, evaluation, **config: make(train, evaluation, **config)", "make"),
        (
            "from elsewhere import build\ndef init(train, evaluation=None, **config):\n    trainer = build(train)\n"
            "    return trainer\n",
            "init",
            "build",
        ),
    ],
)
def test_what_is_not_found_is_told_and_its_loggers_are_removed(before: str, given: str, named: str) -> None:
    outcome = of(before, given)
    (message,) = told(outcome)
    assert message.startswith(f"The definition of {named} was not found")
    assert outcome.lines("RM122", Kind.MANUAL)
    assert REMOVED in outcome.text
    assert "model_accepts_loss_kwargs = False" in outcome.text


@pytest.mark.parametrize(
    ("before", "given"),
    [
        (INIT, "init"),
        (INIT, 'partial(init, model="gpt2")'),
        (f'{INIT}INITS = {{"bert": init}}', 'INITS["bert"]'),
        (f"{INIT}INITS = [init]", "INITS[0]"),
        (f"{INIT}def init_of(name):\n    return init\n", 'init_of("bert")'),
        (f"class Job:{INIT.replace(chr(10), chr(10) + '    ').replace('init(', 'init(self, ')}", "Job().init"),
        (f"class Job:{INIT.replace(chr(10), chr(10) + '    ').replace('init(', '__call__(self, ')}", "Job()"),
        ("", 'lambda train, evaluation, **config: Trainer("gpt2", TrainingArguments("out"), train_dataset=train)'),
        (f"from elsewhere import OwnTrainer\n{INIT.replace('Trainer(model', 'OwnTrainer(model')}", "init"),
        (f"class OwnTrainer(Trainer):\n    pass\n{INIT.replace('Trainer(model', 'OwnTrainer(model')}", "init"),
        ("", "print"),
    ],
)
def test_what_the_file_shows_is_not_told(before: str, given: str) -> None:
    outcome = of(before, given)
    assert not told(outcome)
    assert REMOVED not in outcome.text


@pytest.mark.parametrize(
    "arguments", ["elsewhere.arguments()", 'config["args"]', "config.pop('args')", "elsewhere.ARGUMENTS"]
)
def test_loggers_are_removed_where_the_arguments_are_not_seen(arguments: str) -> None:
    outcome = of(
        f"import elsewhere\n{INIT.replace(chr(34) + 'out' + chr(34), '')}".replace("TrainingArguments()", arguments),
        "init",
    )
    assert not told(outcome)
    assert REMOVED in outcome.text
    assert [message for message in outcome.messages if SILENT in message]


def test_a_function_of_several_trainers_is_told_once() -> None:
    outcome = converted(
        "from elsewhere import make\nfrom ray.train.huggingface import TransformersTrainer\n"
        "TransformersTrainer(make).fit()\nTransformersTrainer(make).fit()\n"
    )
    assert outcome.lines("RM122", Kind.MANUAL) == [3]
    assert outcome.text.count(REMOVED) == 1  # in the training function, which is the same for both
    assert outcome.text.count("TorchTrainer(train_func).fit()") == 2


@pytest.mark.parametrize("given", ["loop", "partial(loop, rows=1)", 'LOOPS["bert"]'])
def test_a_loop_that_is_not_found_is_told(given: str) -> None:
    outcome = converted(
        "from functools import partial\nfrom elsewhere import LOOPS, loop\n"
        "from ray.air.config import ScalingConfig\nfrom ray.train.huggingface import AccelerateTrainer\n"
        f"AccelerateTrainer({given}, accelerate_config={{}}, scaling_config=ScalingConfig(use_gpu=True)).fit()\n"
    )
    (message,) = told(outcome)
    assert "ray.train.report()" in message


HEAD = "from transformers import Trainer, TrainingArguments\n"
FOUND = {
    "attribute": ("import training", "training.init"),
    "partial": ("from functools import partial\nfrom training import init", 'partial(init, model="gpt2")'),
    "method": ("from training import Job", "Job().make"),
    "dict": ("from training import INITS", 'INITS["bert"]'),
    "get of a file": ("import training", 'training.get("bert")'),
    "get of a class": ("from training import Inits", 'Inits().get("bert")'),
}
GETS = """
def get(name):
    return INITS[name]
class Inits:
    def get(self, name):
        return INITS[name]
"""


@pytest.mark.parametrize(("before", "given"), FOUND.values(), ids=FOUND)
def test_a_function_of_another_file_is_found(tmp_path: Path, before: str, given: str) -> None:
    method = INIT.replace("\n", "\n    ").replace("init(", "make(self, ")
    files = {
        "training.py": f'{HEAD}{INIT}\nclass Job:{method}\nINITS = {{"bert": init}}\n{GETS}',
        "train.py": SCRIPT.format(before=before, given=given),
    }
    write(tmp_path, files)
    summary = convert(tmp_path)
    assert "RM122" not in {finding.code for finding in summary.findings}
    assert REMOVED not in (tmp_path / "train.py").read_text()


def test_report_to_in_the_file_of_a_function_in_partial_is_seen(tmp_path: Path) -> None:
    training = f"{HEAD}{INIT}".replace('"out"', '"out", report_to="wandb"')
    write(
        tmp_path,
        {"training.py": training, "train.py": SCRIPT.format(before=FOUND["partial"][0], given=FOUND["partial"][1])},
    )
    convert(tmp_path)
    assert REMOVED in (tmp_path / "train.py").read_text()


LOOPS = """
import importlib

import hydra
import elsewhere
from ray import tune
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from ray.train.torch import TorchTrainer


def seen(config):
    print(config)


def main(options):
    made = hydra.utils.instantiate(options.loop)
    scaling = ScalingConfig(num_workers=2, use_gpu=True)
    {use}
"""
CONFIG = "passes it the config only if it has a parameter without a default"
UNSEEN = [
    "made",
    "elsewhere.loop",
    'getattr(elsewhere, "loop")',
    "importlib.import_module(options.module).loop",
    "options.loop",
]
USES = {
    "RM122": "AccelerateTrainer({loop}, accelerate_config={{}}, scaling_config=scaling).fit()",
    "RM207": "AccelerateTrainer({loop}, accelerate_config=options.path(), scaling_config=scaling).fit()",
    "RM405": "tune.Tuner(TorchTrainer({loop}, scaling_config=scaling), tune_config=options.tune()).fit()",
}


@pytest.mark.parametrize("loop", UNSEEN)
@pytest.mark.parametrize("code", USES)
def test_what_the_config_needs_is_said_of_a_loop_that_is_not_seen(code: str, loop: str) -> None:
    outcome = converted(LOOPS.format(use=USES[code].format(loop=loop)))
    assert outcome.lines(code, Kind.MANUAL)
    assert len([message for message in outcome.messages if CONFIG in message]) == 1


@pytest.mark.parametrize("code", USES)
def test_it_is_not_said_of_one_that_is(code: str) -> None:
    messages = converted(LOOPS.format(use=USES[code].format(loop="seen"))).messages
    assert not any(CONFIG in message for message in messages)


@pytest.mark.parametrize(
    ("line", "where"), [("%run ./helpers", "what it runs with %run is not"), ("1", "in this project")]
)
def test_a_notebook_may_have_it_from_what_it_runs(tmp_path: Path, line: str, where: str) -> None:
    code = (
        "from ray.train.huggingface import AccelerateTrainer\n\nAccelerateTrainer(loop, accelerate_config={}).fit()\n"
    )
    cells = [{"cell_type": "code", "source": [text]} for text in (line, code)]
    notebook = {"cells": [{"metadata": {}, "outputs": [], **cell} for cell in cells], "nbformat": 4, "metadata": {}}
    (tmp_path / "train.ipynb").write_text(json.dumps(notebook))
    shown = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    (told,) = (text for text in shown.splitlines() if "RM122" in text)
    assert where in told


TABLE = "INITS = {}\n\n\n"
PLAIN_DECORATOR = f"{TABLE}def register(function):\n    INITS[function.__name__] = function\n    return function\n"
MAKING_DECORATOR = (
    f"{TABLE}def register(name):\n    def keep(function):\n        INITS[name] = function\n        return function\n\n"
    "    return keep\n"
)


OF_OBJECT = """
class Inits:
    def __init__(self):
        self.inits = {}
    def register(self, name):
        def keep(function):
            self.inits[name] = function
            return function
        return keep
    def get(self, name):
        return self.inits[name]
INITS = Inits()
"""


@pytest.mark.parametrize(
    ("table", "mark", "given"),
    [
        (PLAIN_DECORATOR, "@register", "INITS['init']"),
        (MAKING_DECORATOR, "@register('init')", "INITS['init']"),
        (OF_OBJECT, "@INITS.register('init')", "INITS.get('init')"),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_functions_that_a_decorator_puts_into_a_table_are_found(
    tmp_path: Path, table: str, mark: str, given: str, *, apart: bool
) -> None:
    """Here, and in a file that takes the decorator from another one; others have decorators that nobody sees."""
    function = f"\n{mark}{INIT}\n@unseen\ndef other():\n    pass\n"
    names = "INITS" if mark.startswith("@INITS") else "INITS, register"
    before = f"from table import {names}\n{function}" if apart else f"{table}\n{function}"
    write(tmp_path, {"main.py": SCRIPT.format(before=before, given=given), "table.py": table})
    assert not [finding for finding in convert(tmp_path).findings if finding.code == "RM122"]


def test_what_another_file_does_not_show_is_told_with_its_place(tmp_path: Path) -> None:
    table = "from gone import init\n\n\ndef get(name):\n    return init\n"
    write(tmp_path, {"main.py": SCRIPT.format(before="import table", given="table.get('a')"), "table.py": table})
    (found,) = (finding for finding in convert(tmp_path).findings if finding.code == "RM122")
    assert found.message.startswith("The definition of init (line 5 of ")
    assert "table.py) was not found in this project: " in found.message


def test_a_table_that_no_decorator_fills_here_is_told() -> None:
    """The decorator is there, but the function is not."""
    assert told(of(PLAIN_DECORATOR + "\n@unseen\ndef other():\n    pass\n", "INITS['init']"))
