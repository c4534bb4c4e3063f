"""An output_dir that something reads again after the training is absolute; one that only serves restarts is left."""

import json
from pathlib import Path

import pytest

from tests.projects.files import write
from tests.test_cli import invoke

SCRIPT = """\
import glob, os, shutil, subprocess
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments, pipeline

tokenizer = AutoTokenizer.from_pretrained("a")
model = AutoModel.from_pretrained("a")
trainer = Trainer(model=model, args=TrainingArguments(output_dir="./results"))
trainer.train()
"""
ABSOLUTE = 'RESULTS = os.path.abspath("./results")'


def converted(tmp_path: Path, script: str, **files: str) -> str:
    write(tmp_path, {"train.py": script, **{name.replace("_", "."): text for name, text in files.items()}})
    invoke("--to-ray", tmp_path / "train.py")
    return (tmp_path / "train.py").read_text()


@pytest.mark.parametrize(
    "line",
    [
        'pipeline("fill-mask", model="results/checkpoint-500")',
        'pipeline("fill-mask", model="./results/checkpoint-500/")',
        'shutil.make_archive("model", "zip", "results")',
        'print(sorted(glob.glob("results/checkpoint-*"))[-1])',
        'os.system("tar czf results.tgz results")',
        'os.system("aws s3 cp --recursive ./results s3://bucket/results")',
        'subprocess.run(["zip", "-r", "out.zip", "results/"], check=True)',
        'subprocess.run("zip -r out.zip results/", shell=True)',
        'AutoModel.from_pretrained("results/checkpoint-1000").push_to_hub("me/x")',
        'trainer.save_metrics("eval", trainer.evaluate())',  # a file in output_dir
        'trainer.save_metrics(split="eval", metrics=trainer.evaluate())',
        'trainer.create_model_card("en")',
        "trainer.save_model(None)",
    ],
)
def test_a_folder_that_the_script_reads_again_is_absolute(line: str, tmp_path: Path) -> None:
    after = converted(tmp_path, f"{SCRIPT}{line}\n")
    assert ABSOLUTE in after
    assert "output_dir=RESULTS" in after


@pytest.mark.parametrize(
    "line",
    [
        'print("the results of the run")',
        'print("more is below results/")',
        'trainer.save_model("results/final")',
        'trainer.save_model(output_dir="results/final")',
        'trainer.log_metrics("eval", trainer.evaluate())',
        'os.system("tar czf old-results.tgz my/results")',
        'os.system("ls results.d")',
    ],
)
def test_other_texts_leave_it_as_it_is(line: str, tmp_path: Path) -> None:
    after = converted(tmp_path, f"{SCRIPT}{line}\n")
    assert "TorchTrainer(" in after
    assert 'output_dir="./results"' in after


def test_a_checkpoint_that_the_workers_load_is_the_one_that_they_wrote(tmp_path: Path) -> None:
    line = 'print(pipeline("fill-mask", model="results/checkpoint-500", tokenizer=tokenizer)("a"))'
    after = converted(tmp_path, f"{SCRIPT}{line}\n")
    assert 'os.path.abspath("results/checkpoint-500")' in after
    assert ABSOLUTE in after


@pytest.mark.parametrize(
    ("files", "is_kept"),
    [
        ({"go_sh": "python train.py && aws s3 sync results/ s3://bucket/results\n"}, True),
        ({"go_sh": "python train.py\ncp -r ./results \\\n  /final\n"}, True),
        ({"Makefile": "push: train\n\tscp -r results host:\n"}, True),
        ({"predict_py": 'model = AutoModel.from_pretrained("results")\n'}, True),
        ({"predict_py": 'model = load("./results/checkpoint-500")\n'}, True),
        ({"go_sh": "python train.py --output_dir results\n"}, False),
        ({"go_sh": "cp -r my-results /final\n"}, False),
        ({"other_py": 'TrainingArguments("results")\n'}, False),
        ({"notes_txt": "results\n"}, False),
    ],
)
def test_files_beside_it_may_read_it(files: dict[str, str], is_kept: bool, tmp_path: Path) -> None:
    after = converted(tmp_path, SCRIPT, **files)
    assert "TorchTrainer(" in after
    assert (ABSOLUTE in after) == is_kept


@pytest.mark.parametrize(
    ("cell", "is_kept"),
    [
        ("!cp -r results /content/drive/MyDrive", True),
        ("!ls ./results", True),
        ("%%bash\nzip -r out.zip results", True),
        ("!nvidia-smi", False),
        ("!cp -r final-results /content", False),
    ],
)
def test_shell_lines_of_a_notebook_may_read_it(cell: str, is_kept: bool, tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": text}
        for text in (SCRIPT, cell)
    ]
    book = tmp_path / "train.ipynb"
    book.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    invoke("--to-ray", book)
    after = "".join("".join(cell["source"]) for cell in json.loads(book.read_text())["cells"])
    assert "TorchTrainer(" in after
    assert (ABSOLUTE in after) == is_kept


@pytest.mark.parametrize(
    ("metadata", "gpu"),
    [({"accelerator": "GPU"}, True), ({"kaggle": {"isGpuEnabled": True}}, True), ({"accelerator": "TPU"}, False)],
)
def test_a_notebook_that_was_run_on_a_gpu_needs_one(metadata: dict[str, object], gpu: bool, tmp_path: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": SCRIPT}
    book = tmp_path / "train.ipynb"
    book.write_text(json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))
    invoke("--to-ray", book)
    assert f"use_gpu={gpu}" in book.read_text()


def test_a_name_for_none_is_no_folder(tmp_path: Path) -> None:
    after = converted(tmp_path, f"{SCRIPT}folder = None\ntrainer.save_model(folder)\n")
    assert 'abspath("None")' not in after
    assert "os.chdir(" in after  # so that what save_model() writes to results is there after the run
