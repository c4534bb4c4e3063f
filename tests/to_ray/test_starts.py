"""How a converted script is started, and what holds workers on the CPU where the device was guessed (RM804, RM825)."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.run.engine import convert
from tests.rules.scripts import converted

LOOP = """\
from accelerate import Accelerator
accelerator = Accelerator()
model, loader = accelerator.prepare(build(), rows())
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch))
    print(epoch)
"""
TRAINER = """\
import torch.distributed as dist
from transformers import AutoModel, Trainer, TrainingArguments
trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
trainer.train()
"""
JOINS = TRAINER.replace("trainer = ", 'dist.init_process_group("gloo")\ntrainer = ', 1)


@pytest.mark.parametrize(("script", "launcher"), [(LOOP, "accelerate launch"), (JOINS, "torchrun"), (TRAINER, "")])
def test_how_it_is_started_now_is_told(script: str, launcher: str) -> None:
    told = [
        message for message in converted(script, to_ray=True).messages if "It is started with python now" in message
    ]
    assert len(told) == bool(launcher)
    assert all(f"under {launcher} each process would start" in message for message in told)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('TrainingArguments("out")', 'TrainingArguments("out", fsdp="full_shard")'),
        ('TrainingArguments("out")', 'TrainingArguments("out", deepspeed="ds.json")'),
        ("import torch.distributed as dist", 'import os\nrank = int(os.environ.get("LOCAL_RANK", 0))'),
        (
            "import torch.distributed as dist",
            "from accelerate import PartialState\nprint(PartialState().process_index)",
        ),
        ('TrainingArguments("out")', "HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]"),
    ],
)
def test_a_trainer_that_may_have_been_launched_is_told_too(old: str, new: str) -> None:
    script = TRAINER.replace("import AutoModel,", "import AutoModel, HfArgumentParser,").replace(old, new)
    told = "It is started with python now: under torchrun or accelerate launch each process would start"
    assert sum(told in message for message in converted(script, to_ray=True).messages) == 1


@pytest.mark.parametrize(("gpu", "told"), [(None, True), (False, False), (True, False)])
@pytest.mark.parametrize(("script", "held"), [(LOOP, "cpu=True"), (TRAINER, "use_cpu=True or ACCELERATE_USE_CPU")])
def test_a_guessed_cpu_is_told_with_all_that_holds_it(script: str, held: str, gpu: bool | None, told: bool) -> None:
    messages = converted(script, to_ray=True, gpu=gpu).messages
    assert any(f"take out {held} too" in message for message in messages) is told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "--workers and --gpu or --cpu not given: num_workers=1 and use_gpu=False are placeholders."),
        ({"workers": 2}, "--gpu or --cpu not given: use_gpu=False is a placeholder."),
        ({"gpu": True}, "--workers not given: num_workers=1 is a placeholder."),
        ({"gpu": True, "workers": 2}, ""),
    ],
)
@pytest.mark.parametrize("script", [LOOP, TRAINER])
def test_what_nothing_says_of_the_workers_is_called_a_placeholder(
    script: str, options: dict[str, int | bool], told: str
) -> None:
    messages = [m for m in converted(script, to_ray=True, **options).messages if "not given" in m]
    assert all(message.startswith(told) for message in messages)
    assert len(messages) == bool(told)


IN_A_FUNCTION = """\
from transformers import AutoModel, Trainer, TrainingArguments


def train():
    trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("/out"))
    trainer.train()


def rows():
    return []


if __name__ == "__main__":
    train()
"""


@pytest.mark.parametrize(
    ("wrapper", "is_told"),
    [
        ("from train import train\n\ntrain()\n", True),
        ("import train\n\nif __name__ == '__main__':\n    train.train()\n", True),
        ("from train import *\n\ntrain()\n", True),
        ("from train import rows\n\nprint(rows())\n", False),
        ("from other import train\n\ntrain()\n", False),
    ],
)
def test_a_file_that_starts_the_training_from_elsewhere_is_told(tmp_path: Path, wrapper: str, *, is_told: bool) -> None:
    (tmp_path / "train.py").write_text(IN_A_FUNCTION)
    (tmp_path / "train_patched.py").write_text(wrapper)
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 2 train_patched.py --lr 1\n")
    result = CliRunner().invoke(main, ["--to-ray", str(tmp_path)], catch_exceptions=False)
    assert ("train_patched.py starts the training from here" in result.output) is is_told
    assert ("it is `python train_patched.py` now" in result.output) is is_told


# A file whose training function is not its main: that one goes on under its name, and speaks to Ray.
CALLED_BY_MAIN = """\
from transformers import AutoModel, Trainer, TrainingArguments


def train(args):
    trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("/out"))
    trainer.train()


def start():
    train(3)


def rows():
    return []


if __name__ == "__main__":
    try:
        start()
    except Exception:
        print("failed")
        raise
    print("done")
"""
EPOCHS_BY_MAIN = CALLED_BY_MAIN.replace(
    """\
    trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("/out"))
    trainer.train()
""",
    """\
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(*made(args))
    for epoch in range(3):
        for batch in loader:
            accelerator.backward(model(batch).mean())
            optimizer.step()
""",
).replace("from transformers import AutoModel, Trainer, TrainingArguments", "from accelerate import Accelerator")


@pytest.mark.parametrize("script", [CALLED_BY_MAIN, EPOCHS_BY_MAIN])
@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("from train import train\n\ntrain(None)\n", "line 3 of {} starts what trains here with train()"),
        (
            "import train\nfrom pyspark.ml.torch.distributor import TorchDistributor\n\n"
            "TorchDistributor(num_processes=2).run(train.train, None)\n",
            "line 4 of {} starts what trains here with train()",
        ),
        ("from train import start\n\nstart()\n", "line 3 of {} starts what trains here with start()"),
        ("from train import rows\n\nprint(rows())\n", None),
        ("from train import train\n\nprint('nothing is called')\n", None),
        ("import inspect\nfrom train import train\n\nprint(train, inspect.signature(obj=train))\n", None),
        (
            "import functools\nfrom train import train\n\n\n@functools.wraps(train)\ndef other():\n    pass\n",
            None,
        ),
        ("from train import *\n\ntrain(None)\n", "line 3 of {} starts what trains here with train()"),
        ("from other import train\n\ntrain(None)\n", None),
        ("import train as t\n\nrun = t.train\nrun(1)\n", "line 3 of {} starts what trains here with train()"),
        ("from train import start\n\nJOBS = {'a': start}\nJOBS['a']()\n", "line 3 of {} starts what trains here with"),
        (
            "from train import start\n\nfor step in (start, print):\n    step()\n",
            "line 3 of {} starts what trains here",
        ),
        ("from train import start\n\nDOCUMENTED = [start]\nprint(DOCUMENTED[0].__doc__)\n", None),
        (
            "from ray.train import ScalingConfig\nfrom ray.train.torch import TorchTrainer\nfrom train import train\n\n"
            "TorchTrainer(train, train_loop_config={}, scaling_config=ScalingConfig(num_workers=2)).fit()\n",
            None,
        ),
    ],
)
def test_a_file_that_calls_what_speaks_to_ray_now_is_told(
    tmp_path: Path, script: str, other: str, told: str | None
) -> None:
    (tmp_path / "train.py").write_text(script)
    (tmp_path / "sweep.py").write_text(other)
    result = CliRunner().invoke(main, ["--to-ray", str(tmp_path)], catch_exceptions=False)
    assert "ray.train" in (tmp_path / "train.py").read_text()
    if told is None:
        assert "where no worker of Ray runs that" not in result.output
    else:
        output = " ".join(result.output.split())
        assert told.format(tmp_path / "sweep.py") in output
        assert output.count("where no worker of Ray runs that") == 1


def test_of_many_files_that_call_it_the_first_are_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CALLED_BY_MAIN)
    for number in range(5):
        (tmp_path / f"sweep{number}.py").write_text("from train import train\n\ntrain(None)\n")
    result = CliRunner().invoke(main, ["--to-ray", str(tmp_path)], catch_exceptions=False)
    assert f"{tmp_path / 'sweep2.py'} and 2 more start what trains here with train()" in " ".join(result.output.split())
    assert f"{tmp_path / 'sweep3.py'}" not in result.output


CLASS = """\
from transformers import AutoModel, Trainer, TrainingArguments


class Job:
    def __init__(self, epochs):
        self.epochs = epochs

    def train(self):
        trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("/out", num_train_epochs=self.epochs))
        trainer.train()

    def run(self):
        self.train()

    def rows(self):
        return 3


def main():
    Job(3).train()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("Job(1).train()\n", "Job()"),
        ("Job(1).run()\n", "Job()"),
        ("job = Job(1)\njob.run()\n", "Job()"),
        ("start = Job(1).train\nstart()\n", "Job()"),
        ("for job in [Job(n) for n in range(3)]:\n    job.train()\n", "Job()"),
        ("start(Job(1))\n", "Job()"),
        ("def made():\n    return Job(1)\n", "Job()"),
        ("Job.train(Job(1))\n", "Job()"),
        ("JOBS = {'a': Job(1)}\nJOBS.get('a').train()\n", "Job()"),
        ("for name, job in {'a': Job(1)}.items():\n    job.train()\n", "Job()"),
        ("jobs = [Job(n) for n in range(2)]\njobs[0].train()\n", "Job()"),
        ("jobs = []\njobs += [Job(1)]\njobs[0].train()\n", "Job()"),
        ("job, n = Job(1), 2\njob.train()\n", "Job()"),
        ("(job := Job(1)).train()\n", "Job()"),
        ("def go(job=Job(2)):\n    job.train()\n", "Job()"),
        ("start = lambda: Job(1)\nstart().train()\n", "Job()"),
        ("class Long(Job):\n    def go(self):\n        self.train()\n\n\nLong(9).go()\n", "Long()"),
        (
            "class Long(Job):\n    def __init__(self):\n        self.train()\n\n\nLong()\n",
            "Long()",
        ),
        ("class Long(Job):\n    pass\n\n\nLong(9).train()\n", "Long()"),
        ("class Long(Job):\n    def train(self):\n        super().train()\n\n\nLong(9).train()\n", "Long()"),
    ],
)
def test_a_file_that_lets_an_object_train_is_told(other: str, told: str, tmp_path: Path) -> None:
    output = _said_of_class(tmp_path, other)
    assert f"starts what trains here with {told}" in output and output.count("where no worker of Ray runs that") == 1


@pytest.mark.parametrize(
    "other",
    [
        "print(Job(1).epochs, Job(1).rows())\n",
        "job = Job(1)\njob.epochs = 3\nprint(job.rows())\n",
        "Job(1)\n",
        "print({'a': Job(1)}.get('a').rows())\n",
        "for name, job in {'a': Job(1)}.items():\n    print(name, job.rows())\n",
        "jobs = [Job(n) for n in range(2)]\nprint(jobs[0].rows())\n",
        "job, n = Job(1), 2\nprint(job.rows())\n",
        "def go(job=Job(2)):\n    return job.rows()\n",
        "assert isinstance(3, Job)\n",
        "class Long(Job):\n    pass\n\n\nprint(Long(9).rows())\n",
        "class Long(Job):\n    def train(self):\n        pass\n\n    def run(self):\n        pass\n\n\nLong(9).run()\n",
    ],
)
def test_an_object_that_only_holds_data_starts_nothing(other: str, tmp_path: Path) -> None:
    assert "where no worker of Ray runs that" not in _said_of_class(tmp_path, other)


def test_a_method_of_the_same_name_of_a_part_is_another_one(tmp_path: Path) -> None:
    before = CLASS.replace("        self.epochs = epochs\n", "        self.epochs = epochs\n        self.net.train()\n")
    assert "where no worker of Ray runs that" not in _said_of_class(tmp_path, "Job(1)\n", before)


def _said_of_class(folder: Path, other: str, text: str = CLASS) -> str:
    (folder / "train.py").write_text(text)
    (folder / "sweep.py").write_text(f"from train import Job\n\n{other}")
    result = CliRunner().invoke(main, ["--to-ray", str(folder)], catch_exceptions=False)
    assert "ray.train" in (folder / "train.py").read_text()
    return " ".join(result.output.split())


NEAR = "from .job import build, rows\n"


@pytest.mark.parametrize(
    ("place", "start", "lines", "command"),
    [
        ("pkg/train.py", "from .job import build, rows\n", {}, "python -m pkg.train"),
        ("pkg/sub/train.py", "from ..job import build, rows\n", {}, "python -m pkg.sub.train"),
        ("pkg/train.py", "from pkg.job import build, rows\n", {}, "python train.py"),
        ("pkg/__main__.py", "from .job import build, rows\n", {}, "python -m pkg"),
        ("pkg/train.py", f"try:\n    {NEAR}except ImportError:\n    {NEAR.replace('.', '')}", {}, "python train.py"),
        (
            "pkg/train.py",
            "from pkg.job import build, rows\n",
            {"run.sh": "python -m pkg.train\n"},
            "python -m pkg.train",
        ),
        ("train.py", "from job import build, rows\n", {"run.sh": "python -u train.py\n"}, "python train.py"),
        ("train.py", "from job import build, rows\n", {"run.sh": "python -m pkg.other\n"}, "python train.py"),
    ],
)
def test_a_module_of_a_package_is_started_as_one(
    place: str, start: str, lines: dict[str, str], command: str, tmp_path: Path
) -> None:
    script = tmp_path / place
    script.parent.mkdir(parents=True, exist_ok=True)
    for folder in script.parents:
        if folder == tmp_path:
            break
        (folder / "__init__.py").touch()
    script.write_text(start + LOOP)
    for name, text in lines.items():
        (tmp_path / name).write_text(text)
    result = convert(script.read_text(), str(script), options=Options(to_ray=True))
    assert any(f"It is started with `{command}` now" in finding.message for finding in result.findings)


def test_a_module_of_a_folder_without_an_init_is_started_as_one_of_a_package(tmp_path: Path) -> None:
    script = tmp_path / "jobs" / "train.py"
    script.parent.mkdir()
    script.write_text(NEAR + LOOP)
    result = convert(script.read_text(), str(script), options=Options(to_ray=True))
    assert any("It is started with `python -m jobs.train` now" in finding.message for finding in result.findings)
