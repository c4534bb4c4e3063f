"""What all workers write or remove before they train is told: one process did it before."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import write
from tests.rules.scripts import converted
from tests.test_cli import invoke

SCRIPT = """
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
import torch
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments
import job


def prepare(data):
    shutil.rmtree("/cache")
    return data


class Writer:
    def __init__(self, data):
        self.data = data

    def write(self):
        with open("/data/rows", "x") as file:
            file.write(str(self.data))


class Kept:
    def __init__(self, data):
        data.save(open("/data/rows", mode="wb"))


PATH, MODE = "/data/a", "w"
args = TrainingArguments("/out")
tokenizer = AutoTokenizer.from_pretrained("bert")
data = job.rows().map(lambda row: tokenizer(row["text"]))
{before}
trainer = Trainer(AutoModel.from_pretrained("bert"), args, train_dataset=data)
trainer.train()
{behind}
"""
WRITE = 'data.save_to_disk("/data/train")'


def told(before: str = "", behind: str = "", **options: object) -> list[str]:
    outcome = converted(SCRIPT.format(before=before, behind=behind), to_ray=True, **options)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    assert len(outcome.lines("RM806", Kind.MANUAL)) == sum("before it trains" in text for text in outcome.messages)
    return [message for message in outcome.messages if "before it trains" in message]


@pytest.mark.parametrize(
    ("before", "does"),
    [
        (WRITE, "writes this"),
        (f"if not os.path.exists('/data'):\n    {WRITE}", "writes this"),
        ('data.config.to_json_file("/data/config.json")', "writes this"),
        ('data.to_json("/data/train.json")\ndata = job.read(data, "/data/train.json")', "writes this"),
        ('torch.save(data, "/data/rows.pt")', "writes this file"),
        ('with open("/data/a", "w") as file:\n    file.write(str(data))', "writes this file"),
        ('with Path("/data/a").open(mode="w") as file:\n    file.write(str(data))', "writes this file"),
        ("json.dump(data.info, open(PATH, MODE))", "writes this file"),
        ("Writer(data).write()", "writes this file"),
        ("writer = Writer(data)\nwriter.write()", "writes this file"),
        ("Kept(data)", "writes this file"),
        ('data = data.select([1])\nos.remove(data.cache_files[0]["filename"])', "removes or moves"),
        ("data = prepare(data)", "removes or moves"),
        ('data.push_to_hub("me/rows")', "uploads this"),
        ('data.start().save_pretrained("/data/start", is_main_process=True)', "writes this"),
        ('data = data.select([1])\nPath("/cache").joinpath(data.info).unlink()', "removes or moves"),
        ('data = data.select([1])\nshutil.move("/a", data.info)', "removes or moves"),
        ('data = data.select([1])\nos.system(f"rm -rf {data.info}")', "removes or moves"),
        ('data = data.select([1])\nsubprocess.run(["mv", "/a", data.info])', "removes or moves"),
    ],
)
def test_what_every_worker_does_is_told(before: str, does: str) -> None:
    [message] = told(before)
    assert f"Every worker {does}" in message
    assert not told(before, workers=1)


@pytest.mark.parametrize(
    "before",
    [
        "",
        f"if args.process_index == 0:\n    {WRITE}",
        f"with args.main_process_first():\n    {WRITE}",
        "with tempfile.TemporaryDirectory() as folder:\n    data.save_to_disk(folder)",
        "folder = tempfile.mkdtemp()\ndata.save_to_disk(os.path.join(folder, 'a'))",
        'data.save_to_disk(f"/data/{args.process_index}")',
        'data = data.rename("a", "b").replace("c", "d")',
        f"def later():\n    {WRITE}",
        'os.makedirs("/data", exist_ok=True)',
        'with open("/data/a") as f:\n    data = data.add(f.read())',
        'with open(os.devnull, "w") as f:\n    data = data.show(f)',
        'with open(f"/data/{args.process_index}", "w") as f:\n    f.write(str(data))',
        'if args.process_index == 0:\n    with open("/data/a", "w") as f:\n        f.write(str(data))',
        'with data.open("/data/a", "w") as f:\n    f.write(1)',
        "if args.process_index == 0:\n    Writer(data).write()",
        "writer = Writer(data)\nif args.process_index == 0:\n    writer.write()",
        "with args.main_process_first():\n    Kept(data)",
        'data.start().save_pretrained("/data/start", is_main_process=args.process_index == 0)',
        'data.start().save_pretrained("/data/start", is_main_process=job.accelerator.is_main_process)',
    ],
)
def test_other_code_before_the_training_is_not(before: str) -> None:
    assert not told(before)


KEEP = "def keep(path, is_main_process):\n    if is_main_process:\n        data.save_to_disk(path)\n"


@pytest.mark.parametrize(
    ("before", "is_told"),
    [
        (f"{KEEP}keep('/data', is_main_process=args.process_index == 0)", False),
        (f"{KEEP}keep('/data', args.process_index == 0)", False),
        (f"{KEEP}keep('/data', True)", True),
        # it heeds the rank for one of its files
        (f"{KEEP}    data.to_csv('/data/a')\nkeep('/data', is_main_process=args.process_index == 0)", True),
    ],
)
def test_a_function_that_is_told_which_process_runs_it_writes_where_it_heeds_that(before: str, is_told: bool) -> None:
    assert bool(told(before)) == is_told


def test_nor_is_what_stands_behind_it() -> None:
    assert not told(behind='tokenizer.save_pretrained("/out")\nprint(trainer.predict(data))')


IN_FUNCTION = """
import shutil
from transformers import AutoModel, Trainer, TrainingArguments
import job


def train(data):
    trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("/out"), train_dataset=data)
    trainer.train()
    return trainer


def finish(trainer, data):
    data.save_to_disk("/late")
    trainer.save_model("/final")


{main}
"""
STEPS = 'data = job.rows(AutoModel.from_pretrained("bert"))\ndata.save_to_disk("/early")\n{train}\n'
MAIN = "def main():\n{steps}\n\nif __name__ == '__main__':\n    main()"


@pytest.mark.parametrize("in_main", [False, True])
@pytest.mark.parametrize(
    ("train", "early", "late"),
    [
        ("trainer = train(data)\nfinish(trainer, data)", 1, 1),
        ("if job.WANTED:\n    data.to_csv('/a')\n    trainer = train(data)\n    finish(trainer, data)", 2, 1),
    ],
)
def test_what_is_written_around_a_function_that_trains_is_told(
    train: str, early: int, late: int, in_main: bool
) -> None:
    steps = STEPS.format(train=train)
    main = MAIN.format(steps="".join(f"    {line}\n" for line in steps.splitlines())) if in_main else steps
    outcome = converted(IN_FUNCTION.format(main=main), to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    assert sum("before it trains" in message for message in outcome.messages) == early
    assert sum("after the training, at the same time" in message for message in outcome.messages) == late


@pytest.mark.parametrize(
    ("call", "is_told"),
    [
        ("note('/data/a')", True),
        ("if args.process_index == 0:\n    note('/data/a')", False),
        ("with args.main_process_first():\n    note('/data/a')", False),
        ("note(f'/data/{args.process_index}')", False),
        ("if is_first():\n    note('/data/a')", False),
        ("if is_first():\n    Writer(data).write()", False),
    ],
)
def test_a_function_of_another_file_that_every_worker_calls_is_told(call: str, is_told: bool, tmp_path: Path) -> None:
    helpers = (
        "import torch\n\n\ndef note(path):\n    with open(path, 'w') as file:\n        file.write('a')\n\n\n"
        "def is_first():\n    return torch.distributed.get_rank() == 0\n"
    )
    script = f"from helpers import is_first, note\n{SCRIPT.format(before=call, behind='')}"
    write(tmp_path, {"pyproject.toml": "", "train.py": script, "helpers.py": helpers})
    said = " ".join(invoke("--to-ray", "--workers", "2", tmp_path / "train.py").stdout.split())
    assert ("before it trains" in said) == ("writes a file in this function before" in said) == is_told
