"""RM602: models that are loaded from a checkpoint which another script wrote."""

from pathlib import Path
from textwrap import indent

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCORE = """
import os
import sys
import tempfile

import ray
from ray.air import Checkpoint
from job import args, read
from transformers import AutoModelForCausalLM, pipeline


class Scorer:
    def __init__(self, ckpt):
        with ckpt.as_directory() as folder:
            self.pipe = pipeline("text-classification", model=folder)


checkpoint = Checkpoint.{made}
{use}
"""
OPENED = "with checkpoint.as_directory() as folder:\n    AutoModelForCausalLM.from_pretrained(folder)"
PATHS = ["sys.argv[1]", "read()", "os.environ.get('C')", "f'{args.top}/best'", "os.path.join(args.top, 'best')", "'/x'"]


@pytest.mark.parametrize("use", [OPENED, "AutoModelForCausalLM.from_pretrained(checkpoint.to_directory())"])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["from_uri", "from_directory"])
def test_a_model_in_a_checkpoint_of_a_path_is_looked_for_at_either_place(method: str, path: str, use: str) -> None:
    outcome = converted(SCORE.format(made=f"{method}({path})", use=use))
    assert len(outcome.lines("RM602", Kind.CONVERTED)) == 2
    assert outcome.text.count("transformers_dir(") == 3
    assert not converted(outcome.text).lines("RM602", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("made", "use"),
    [
        ("from_directory(tempfile.mkdtemp())", OPENED),
        ("from_uri(read()) if args.top else Checkpoint.from_directory(tempfile.mkdtemp())", OPENED),
        ("from_directory(read())", f"args.model.save_pretrained(read())\n{OPENED}"),
        ("from_uri('s3://b/x')", "with checkpoint.as_directory() as folder:\n    read(folder)"),
    ],
)
def test_what_the_script_writes_or_what_is_no_model_is_left(made: str, use: str) -> None:
    assert len(converted(SCORE.format(made=made, use=use)).lines("RM602", Kind.CONVERTED)) == 1  # of the class


@pytest.mark.parametrize(
    ("taken", "is_known"),
    [("Checkpoint.from_directory(run)", True), ("run.checkpoint", True), ("run.model", False), ("run.best()", False)],
)
def test_a_checkpoint_of_a_parameter_is_known_by_how_it_is_taken_out(taken: str, is_known: bool) -> None:
    use = f"def load(run):\n    checkpoint = {taken}\n{indent(OPENED, '    ')}\n"
    outcome = converted(SCORE.format(made="from_uri('a')", use=use))
    assert len(outcome.lines("RM602", Kind.CONVERTED)) == 1 + is_known


def test_a_checkpoint_beside_another_trainer_may_be_of_that() -> None:
    other = "from ray.train.xgboost import XGBoostTrainer\n"
    outcome = converted(other + SCORE.format(made="from_uri(read())", use=f"{OPENED}\nXGBoostTrainer().fit()"))
    assert not outcome.lines("RM602", Kind.CONVERTED)


def test_a_checkpoint_of_current_ray_is_read_as_its_script_says() -> None:
    current = SCORE.replace("ray.air", "ray.train").format(made="from_directory(read())", use=OPENED)
    assert not converted(current).lines("RM602", Kind.CONVERTED)


TRAIN = """
import ray
from job import init
from ray.{}

{}(init, datasets={{"train": ray.data.read_parquet("x")}}).fit()
"""


@pytest.mark.parametrize(
    ("module", "trainer", "told"),
    [
        ("train.huggingface import HuggingFaceTrainer", "HuggingFaceTrainer", True),
        ("train.huggingface.transformers import RayTrainReportCallback as TorchTrainer", "TorchTrainer", True),
        ("train.torch import TorchTrainer", "TorchTrainer", False),
        ("data import read_csv", "print", True),
    ],
)
def test_the_trainers_of_the_project_tell_what_wrote_it(tmp_path: Path, module: str, trainer: str, told: bool) -> None:
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "score.py").write_text(SCORE.format(made="from_uri(read())", use=OPENED))
    (tmp_path / "train.py").write_text(TRAIN.format(module, trainer))
    shown = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    assert ("score.py:14:14: RM602" in shown) is told


COPY = """
from ray.{home} import Checkpoint
from job import target


def publish(uri):
    checkpoint = Checkpoint.from_uri(uri)
    {copied}
"""


@pytest.mark.parametrize(
    ("home", "copied", "trainer", "edited"),
    [
        ("air", 'print(checkpoint.to_directory("/models/new"))', "HuggingFaceTrainer", True),
        ("air.checkpoint", "checkpoint.to_directory(path=target)", "TransformersTrainer", True),
        ("air", "return checkpoint.to_directory(target)", "HuggingFaceTrainer", True),
        ("air", "checkpoint.to_directory(target)", "AccelerateTrainer", False),
        ("air", "checkpoint.to_directory()", "HuggingFaceTrainer", False),
        ("train", "checkpoint.to_directory(target)", "HuggingFaceTrainer", False),
        (
            "air",
            "from ray.train.xgboost import XGBoostTrainer as X\n    checkpoint.to_directory(target)\n    X().fit()",
            "HuggingFaceTrainer",
            False,
        ),
    ],
)
def test_a_copy_for_others_has_the_files_at_its_root(
    tmp_path: Path, home: str, copied: str, trainer: str, edited: bool
) -> None:
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / "publish.py").write_text(COPY.format(home=home, copied=copied))
    (tmp_path / "train.py").write_text(TRAIN.format(f"train.huggingface import {trainer}", trainer))
    CliRunner().invoke(main, [str(tmp_path)])
    text = (tmp_path / "publish.py").read_text()
    assert ("shutil.copytree(transformers_dir(" in text) is edited
    assert CliRunner().invoke(main, [str(tmp_path)]).exit_code in (0, 1)
    assert (tmp_path / "publish.py").read_text() == text


READ = """
import contextlib
import os
from pathlib import Path

import torch
from ray.air import Checkpoint
from job import trainer
from optimum.onnxruntime import ORTModelForCausalLM
from sentence_transformers import SentenceTransformer
from transformers import AutoModel
from vllm import LLM


class Kept:
    best = Checkpoint.from_uri("s3://bucket/best")

    def load(self):
        with self.best.as_directory() as folder:
            {use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "AutoModel.from_pretrained(Path(folder))",
        "AutoModel.from_pretrained(str(folder))",
        "ORTModelForCausalLM.from_pretrained(folder, export=True)",
        "SentenceTransformer(folder)",
        "SentenceTransformer(model_name_or_path=folder)",
        "LLM(model=folder)",
        "trainer.train(resume_from_checkpoint=folder)",
        "torch.load(f'{folder}/pytorch_model.bin')",
        "torch.load(folder + '/adapter_model.bin')",
        "open(os.path.join(folder, 'config.json'))",
    ],
)
def test_what_reads_files_of_transformers(use: str) -> None:
    outcome = converted(READ.format(use=use))
    assert outcome.lines("RM602", Kind.CONVERTED)
    assert "transformers_dir(folder)" in outcome.text
    assert not converted(outcome.text).lines("RM602", Kind.CONVERTED)


@pytest.mark.parametrize(
    "use",
    [
        "torch.load(f'{folder}/model.pt')",
        "torch.load(os.path.join(folder, 'config.pt'))",
        "AutoModel.from_pretrained(os.path.join(folder, 'checkpoint'))",
        "trainer.train(folder=folder)",
        "LLM('gpt2', tokenizer=folder)",
        "os.listdir(folder)",
    ],
)
def test_what_reads_other_files(use: str) -> None:
    assert "RM602" not in [code for code, _, _ in converted(READ.format(use=use)).findings]


def test_a_folder_on_a_stack_is_told() -> None:
    use = "AutoModel.from_pretrained(contextlib.ExitStack().enter_context(self.best.as_directory()))"
    named = "where = contextlib.ExitStack().enter_context(self.best.as_directory())\n            LLM(where)"
    for read in (use, named):
        assert len(converted(READ.format(use=read)).lines("RM602", Kind.MANUAL)) == 1


CALLED = """
import torch
from ray.air import Checkpoint
from transformers import AutoConfig, AutoModel

config = AutoConfig()


class Scorer:
    def __init__(self, folder):
        self.model = AutoModel.from_pretrained(folder)


class Weights:
    def __init__(self, folder):
        self.state = torch.load(f"{{folder}}/model.pt")


class Base:
    @classmethod
    def load(cls, checkpoint: Checkpoint):
        with checkpoint.as_directory() as folder:
            return cls(folder)


{rest}
"""
LOAD = "\n\n\ndef load(checkpoint, {taken}):\n    with checkpoint.as_directory() as folder:\n        return {call}\n"
BELOW = "class Below(Base):\n    def __init__(self, folder):\n        self.state = {state}\n"


@pytest.mark.parametrize(
    "rest",
    [
        LOAD.format(taken="cls", call="cls(folder)"),
        LOAD.format(taken="model_class", call="model_class(folder)"),
        LOAD.format(taken="cls=Scorer", call="cls(folder)"),
        LOAD.format(taken="make", call="make(folder)") + "load(config.best, Scorer)",
        LOAD.format(taken="make", call="make(folder)") + "load(config.best, AutoModel.from_pretrained)",
        LOAD.format(taken="make", call="make(folder)") + "load(config.best, lambda f: AutoModel.from_pretrained(f))",
        "MAKERS = {'bert': AutoModel.from_pretrained}" + LOAD.format(taken="name", call="MAKERS[name](folder)"),
        BELOW.format(state="AutoModel.from_pretrained(folder)"),
    ],
)
def test_what_a_function_is_handed_loads_the_model(rest: str) -> None:
    outcome = converted(CALLED.format(rest=rest))
    assert outcome.lines("RM602", Kind.CONVERTED)
    assert "(transformers_dir(folder))" in outcome.text
    assert not converted(outcome.text).lines("RM602", Kind.CONVERTED)


@pytest.mark.parametrize(
    "rest",
    [
        LOAD.format(taken="read", call="read(folder)"),
        LOAD.format(taken="cls=dict", call="cls(folder)"),
        LOAD.format(taken="cls", call="cls(folder)") + "load(config.best, Weights)",
        LOAD.format(taken="cls", call="cls(config, folder)"),
        LOAD.format(taken="make", call="make(folder)") + "load(config.best, torch.load)",
        BELOW.format(state="torch.load(f'{folder}/model.pt')"),
    ],
)
def test_what_a_function_is_handed_reads_another_file(rest: str) -> None:
    assert "transformers_dir" not in converted(CALLED.format(rest=rest)).text


ASKED = """
import os
from pathlib import Path

from ray.air import Checkpoint
from transformers import AutoModel


def model_dir(folder):
    inner = os.path.join(folder, "checkpoint")
    return inner if os.path.isdir(inner) else folder


def load(checkpoint: Checkpoint):
    folder = {made}
    {rest}
    return AutoModel.from_pretrained(folder)
"""
MADE = ["checkpoint.to_directory()", "checkpoint.path"]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    "rest",
    [
        'if os.path.isdir(os.path.join(folder, "checkpoint")):\n        folder = os.path.join(folder, "checkpoint")',
        'if os.path.isdir(folder + "/checkpoint"):\n        folder += "/checkpoint"',
        'if os.path.exists(f"{folder}/checkpoint"):\n        folder = f"{folder}/checkpoint"',
        'if "checkpoint" in os.listdir(folder):\n        folder = os.path.join(folder, "checkpoint")',
        'inner = Path(folder) / "checkpoint"\n    folder = inner if inner.is_dir() else folder',
        'inner = Path(folder, "checkpoint")\n    folder = inner if inner.is_dir() else folder',
        "folder = model_dir(folder)",
    ],
)
def test_a_folder_that_is_asked_for_the_inner_one_is_left(made: str, rest: str) -> None:
    outcome = converted(ASKED.format(made=made, rest=rest))
    assert "transformers_dir" not in outcome.text
    assert not [message for message in outcome.messages if "one folder deeper" in message or "lie in" in message]


@pytest.mark.parametrize(
    "rest",
    [
        'print(os.path.join(folder, "model"))',
        'print("checkpoint" in folder, folder + "/checkpoints")',
        "print(os.listdir(folder))",
    ],
)
def test_a_folder_that_is_asked_for_something_else_is_not(rest: str) -> None:
    assert "transformers_dir(" in converted(ASKED.format(made=MADE[0], rest=rest)).text


RESULTS_READ = """
from ray import air
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, Trainer


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(config["model"], config["args"], train_dataset=train_dataset)


class Job:
    def fit(self, rows):
        return TransformersTrainer(init, datasets={{"train": rows}}).fit()

    def load(self, result{annotation}):
        return AutoModel.from_pretrained({checkpoint}.to_directory())
"""


@pytest.mark.parametrize(
    ("annotation", "checkpoint", "is_one"),
    [
        ("", "result.checkpoint", True),
        (": air.Result", "result.checkpoint", True),
        (": air.Result", "result.get_best_checkpoint('eval_loss', 'min')", True),
        (": air.Result", "result.best_checkpoints[0][0]", True),
        ("", "result.other", False),
        ("", "self.checkpoint", False),
    ],
)
def test_a_result_may_be_handed_in(annotation: str, checkpoint: str, *, is_one: bool) -> None:
    outcome = converted(RESULTS_READ.format(annotation=annotation, checkpoint=checkpoint))
    assert len(outcome.lines("RM602", Kind.CONVERTED)) == is_one
    assert (f"transformers_dir({checkpoint}.to_directory())" in outcome.text) == is_one
