"""Folders named by the time: made once, on the driver, or it is told that each worker names one for itself."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """\
import argparse, os, time, uuid
from datetime import datetime
from pathlib import Path
from transformers import AutoModel, Trainer, TrainingArguments
"""
TRAIN = """\
{before}
trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments({out}))
trainer.train()
{behind}
"""
MAIN = "def main():\n    args = argparse.ArgumentParser().parse_args()\n{body}\n\nmain()\n"
TOLD = "Each worker names this folder by itself"


def parts(out: str, before: str = "", behind: str = "", in_main: bool = False, workers: int = 2) -> tuple[str, str]:
    """What the training function has, and what is told."""
    body = TRAIN.format(out=out, before=before, behind=behind)
    if in_main:
        body = MAIN.format(body="".join(f"    {line}\n" for line in body.splitlines()))
    outcome = converted(HEAD + body, to_ray=True, workers=workers)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    function = outcome.text.partition("def train_func")[2].partition("TorchTrainer(")[0].partition("def main()")[0]
    told = [m for (_, kind, _), m in zip(outcome.findings, outcome.messages, strict=True) if kind is Kind.MANUAL]
    return function, "".join(message for message in told if TOLD in message)


@pytest.mark.parametrize("in_main", [False, True])
@pytest.mark.parametrize(
    "made",
    [
        'datetime.now().strftime("%Y%m%d-%H%M%S")',
        "datetime.now().isoformat()",
        'time.strftime("%H%M%S")',
        'f"{int(time.time())}"',
        "str(uuid.uuid4())",
        'f"{datetime.now():%H%M}"',
    ],
)
def test_the_driver_makes_the_name(made: str, in_main: bool) -> None:
    before = f"run = {made}\nout = os.path.join('runs', run)\nmodel = AutoModel.from_pretrained('b')"
    function, told = parts("out", before, in_main=in_main)
    assert made not in function
    assert not told


def test_a_path_of_the_file_and_the_time_stays_with_its_folder() -> None:
    before = (
        "ROOT = Path(__file__).resolve().parent\nOUT = ROOT / 'runs' / datetime.now().strftime('%H')\n"
        "OUT.mkdir(parents=True)"
    )
    function, told = parts("str(OUT)", before)
    assert "mkdir" not in function
    assert not told


def test_a_name_that_is_needed_behind_the_training_is_made_there() -> None:
    function, told = parts(
        "'out'", behind="done = datetime.now().isoformat()\nprint(done, trainer.state)", in_main=True
    )
    assert "done = datetime.now().isoformat()" in function
    assert not told


@pytest.mark.parametrize(
    ("out", "before"),
    [
        ('f"runs/{datetime.now():%H%M}"', ""),
        ("make()", 'def make():\n    now = datetime.now()\n    return "out/" + now.strftime("%H")'),
        ('"out", logging_dir="logs/" + time.strftime("%H")', ""),
        ("out", 'model = AutoModel.from_pretrained("b")\nout = f"{model.name}-{uuid.uuid4().hex}"'),
        ("str(Path('out') / time.strftime('%H'))", ""),
        (
            "Run().folder",
            'class Run:\n    def __init__(self):\n        self.at = time.strftime("%H")\n'
            '        self.folder = os.path.join("out", self.at)',
        ),
    ],
)
def test_a_name_that_each_worker_makes_is_told(out: str, before: str) -> None:
    assert TOLD in parts(out, before)[1]
    assert not parts(out, before, workers=1)[1]


@pytest.mark.parametrize(
    "line",
    [
        'start = time.time()\nprint(f"{time.time() - start} s")',
        'print(datetime.now().strftime("%H"), trainer.state)',
        'stamp = datetime.now().isoformat()\nrow = {"at": stamp, "loss": trainer.evaluate()["eval_loss"]}',
        'when = datetime.fromtimestamp(trainer.state.time).strftime("%H")\npath = os.path.join("out", when)',
    ],
)
def test_a_time_that_names_no_folder_is_nothing_to_tell(line: str) -> None:
    assert not parts("'out'", behind=line)[1]


def test_what_a_function_that_no_worker_calls_names_is_nothing_to_tell() -> None:
    before = 'def report():\n    return os.path.join("out", time.strftime("%H"))'
    assert not parts("'out'", before)[1]


def test_names_of_names_are_followed_once() -> None:
    more = "".join(f"    name = name + '{number}'\n" for number in range(60))
    make = f"def made():\n    name = datetime.now().isoformat()\n{more}    return name\n\n\n"
    _, told = parts("'out'", f"{make}print(made())")
    assert not told
