"""What starts the function that trains is not moved to the workers: each would start it once more."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted
from tests.test_cli import invoke
from tests.to_ray.test_refusals import HEAD, TRAIN, indented

ACCELERATE = """\
from accelerate import Accelerator
def train(*arguments):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(*make())
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
"""
TRAINER = f"{HEAD}def train(*arguments):\n{indented(TRAIN)}"
SPARK = "from pyspark.ml.torch.distributor import TorchDistributor\n"
PROCESSES = "starts its own processes"
HANDED = "is given train, which trains"


@pytest.mark.parametrize("script", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    ("imports", "start", "message"),
    [
        (SPARK, "TorchDistributor(num_processes=2).run(train, 1)", PROCESSES),
        (SPARK, "distributor = TorchDistributor(num_processes=2)\nresult = distributor.run(train, 1)", PROCESSES),
        ("", f"def start():\n    {SPARK}    TorchDistributor().run(train)\nstart()", PROCESSES),
        (
            "from pyspark.ml.deepspeed.deepspeed_distributor import DeepspeedTorchDistributor as D\n",
            "D(numGpus=2).run(train)",
            PROCESSES,
        ),
        ("from sparkdl import HorovodRunner\n", "HorovodRunner(np=2).run(train)", PROCESSES),
        ("import horovod.spark\n", "horovod.spark.run(train)", PROCESSES),
        ("from torch.distributed.launcher.api import elastic_launch\n", "elastic_launch(None, train)(1)", PROCESSES),
        ("import torch.distributed.launcher as pet\n", "pet.elastic_launch(None, entrypoint=train)()", PROCESSES),
        ("from torch.distributed.run import main\n", "main(['script.py'])\ntrain()", PROCESSES),
        ("", "import torch_xla.distributed.xla_multiprocessing as xmp\nxmp.spawn(train)", "TPU"),
        (
            "",
            "def start():\n    import torch_xla.distributed.xla_multiprocessing as xmp\n    xmp.spawn(train)\nstart()",
            PROCESSES,
        ),
        ("import submitit\n", "submitit.AutoExecutor('logs').submit(train)", PROCESSES),
        ("import multiprocessing\n", "multiprocessing.get_context('spawn').Process(target=train).start()", HANDED),
        ("from concurrent.futures import ProcessPoolExecutor as P\n", "with P() as p:\n    p.submit(train)", HANDED),
        ("import threading\n", "threading.Thread(target=train).start()", HANDED),
        ("import wandb\n", "wandb.agent('id', function=train, count=3)", HANDED),
        ("import optuna\n", "optuna.create_study().optimize(train, n_trials=3)", HANDED),
        (
            "import optuna\n",
            "def objective(trial):\n    train(trial)\noptuna.create_study().optimize(objective)",
            "given obj",
        ),
        ("from functools import partial\n", "run = partial(train, 2)\nrun()", HANDED),
    ],
)
def test_what_starts_the_training_is_in_the_way(script: str, imports: str, start: str, message: str) -> None:
    text = f"{imports}{script}{start}\n"
    outcome = converted(text, to_ray=True)
    assert outcome.text == text
    assert [(code, kind) for code, kind, _ in outcome.findings] == [("RM802", Kind.MANUAL)]
    assert message in outcome.messages[0]


@pytest.mark.parametrize(
    "name", ["accelerate.launchers.notebook_launcher", "accelerate.debug_launcher", "accelerate.notebook_launcher"]
)
def test_launchers_of_accelerate_around_a_trainer_are_in_the_way(name: str) -> None:
    outcome = converted(f"import accelerate\n{TRAINER}{name}(train)\n", to_ray=True)
    assert PROCESSES in outcome.messages[0]


@pytest.mark.parametrize("script", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    ("imports", "start"),
    [
        ("import threading\n", "threading.Thread(target=print).start()\ntrain()"),
        ("import atexit\n", "atexit.register(print)\ntrain()"),
        ("from torch.distributed.elastic.multiprocessing.errors import record\n", "record(train)()"),
        ("from pool import Pool\n", "pool = Pool()\npool.submit(len)\ntrain()"),
        ("", "def call(function):\n    function()\ncall(train)"),
    ],
)
def test_other_calls_are_not(script: str, imports: str, start: str) -> None:
    assert "TorchTrainer(" in converted(f"{imports}{script}{start}\n", to_ray=True).text


IN_CLASS = f"{HEAD}class Job:\n    def run(self):\n{indented(indented(TRAIN))}"


@pytest.mark.parametrize(
    ("imports", "start", "message"),
    [
        ("import farm\n", "job = farm.wrap(Job).to('box')()\njob.run()", "farm.wrap is given Job, which trains"),
        ("from farm import send\n", "send(gpus=1, kind=Job)", "send is given Job, which trains"),
        ("from farm import Client\n", "job = Client().submit(Job)\njob.run()", "submit is given Job"),
        ("from farm import pool\n", "job = Job()\npool.submit(job.run)", "pool.submit is given run, which trains"),
        ("from farm import Flow\n", "Flow(steps=[Job]).start()", "Flow is given Job, which trains"),
        ("import farm\n", "farm.run({'train': (Job, 1)})", "farm.run is given Job, which trains"),
        ("", "jobs = [Job]\njob = Job()\njob.run()", ""),
        ("", "jobs = {'train': Job}\njob = jobs['train']()\njob.run()", ""),
        ("from functools import partial\n", "make = partial(Job)\nmake().run()", "partial is given Job"),
        ("from typing import cast\n", "job = cast(Job, Job())\njob.run()", ""),
        ("", "print(Job)\nassert isinstance(Job(), Job)\nJob().run()", ""),
    ],
)
def test_a_class_that_trains_is_not_for_others_to_start(imports: str, start: str, message: str) -> None:
    outcome = converted(f"{imports}{IN_CLASS}{start}\n", to_ray=True)
    if message:
        assert "TorchTrainer(" not in outcome.text
        assert message in outcome.messages[0]
    else:
        assert "TorchTrainer(" in outcome.text


ENTRY = "@app.local_entrypoint()\ndef main():\n    "


@pytest.mark.parametrize(
    "start", ["train.remote()", "job = train.spawn(1)", f"{ENTRY}train.remote()", f"{ENTRY}return train.map([1])"]
)
def test_a_method_that_a_decorator_gave_starts_elsewhere(start: str) -> None:
    decorated = TRAINER.replace("def train(", "@app.function(gpu=1)\ndef train(")
    outcome = converted(f"import modal\napp = modal.App()\n{decorated}{start}\n", to_ray=True)
    assert "TorchTrainer(" not in outcome.text
    assert "comes from @app.function(gpu=1) of train, which trains" in outcome.messages[0]


@pytest.mark.parametrize("script", [TRAINER, ACCELERATE])
@pytest.mark.parametrize(
    ("imports", "decorator", "told"),
    [
        ("from prefect import flow\n", "flow", True),
        ("from prefect import flow as job\n", "job(name='a')", True),
        ("import prefect\n", "prefect.flow", True),
        ("from farm import Farm\nfarm = Farm()\n", "farm.task(gpus=1)", True),
        ("import torch\n", "torch.enable_grad()", False),
        ("from functools import wraps\n", "wraps(print)", False),
        ("def timed(function):\n    return function\n", "timed", False),
        ("from loguru import logger\n", "logger.catch", False),
        ("import attrs\n", "attrs.define", False),
        ("from mmengine import Registry\nloops = Registry('loops')\n", "loops.register_module()", False),
    ],
)
def test_a_decorator_of_a_library_is_entered_by_each_worker(
    script: str, imports: str, decorator: str, *, told: bool
) -> None:
    decorated = script.replace("def train(", f"@{decorator}\ndef train(")
    outcome = converted(f"{imports}{decorated}train()\n", to_ray=True)
    assert "TorchTrainer(" in outcome.text
    assert any(f"@{decorator} is around train, which trains" in message for message in outcome.messages) is told


def cell(kind: str, source: str) -> dict[str, object]:
    made: dict[str, object] = {"cell_type": kind, "metadata": {}, "source": source}
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([HEAD, f"!ls\n{TRAIN}", "\n\ntrainer.train()"], "One Trainer trains twice (cell 3, line 3; cell 4, line 3)"),
        ([HEAD, f"1\n%time {TRAIN}"], "The statement in cell 3, line 2 has to move, and a magic is before it"),
    ],
)
def test_lines_of_a_notebook_are_named_by_cell(cells: list[str], said: str, tmp_path: Path) -> None:
    book = {"cells": [cell("markdown", "# Title"), *(cell("code", source) for source in cells)], "metadata": {}}
    path = tmp_path / "book.ipynb"
    path.write_text(json.dumps({**book, "nbformat": 4, "nbformat_minor": 5}))
    assert said in invoke("--to-ray", "--check", path).stdout


def test_lines_of_a_script_with_cells_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cells.py"
    path.write_text(f"# %%\n{HEAD}# %%\n\n{TRAIN}# %%\n\ntrainer.train()\n")
    assert "(lines 6, 9)" in invoke("--to-ray", "--check", path).stdout
