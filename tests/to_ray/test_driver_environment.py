"""RM806: what a script sets in the environment for itself, where it does, and what its workers have of it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.run.engine import convert

SCRIPT = """\
import os

from job import model, rows
from transformers import Trainer, TrainingArguments

{define}
{set_up}
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=rows)
trainer.train()
"""
GIVEN = '"env_vars": {"HF_HOME": "/cache"}'
ALONE = "HF_HOME: set here for the driver alone"
BODY = 'os.environ["HF_HOME"] = "/cache"\n'


def converted(set_up: str, define: str = "") -> tuple[str, list[str]]:
    script = SCRIPT.format(define=define, set_up=set_up)
    result = convert(script, options=Options(to_ray=True, workers=2, gpu=True))
    assert result.after is not None, result.findings
    return result.after, [f.message for f in result.findings if (f.code, f.kind) == ("RM806", Kind.NOTE)]


@pytest.mark.parametrize(
    ("set_up", "define"),
    [
        (BODY, ""),
        ("caches()", f"def caches():\n    {BODY}"),
        ("caches()", f"def inner():\n    {BODY}\n\ndef caches():\n    inner()\n"),
        ("Settings().caches()", f"class Settings:\n    def caches(self):\n        {BODY}"),
    ],
)
def test_workers_have_what_is_surely_set(set_up: str, define: str) -> None:
    text, notes = converted(set_up, define)
    assert GIVEN in text
    assert not any(ALONE in note for note in notes)


@pytest.mark.parametrize(
    ("set_up", "define"),
    [
        ('os.environ.setdefault("HF_HOME", "/cache")', ""),
        ('os.environ.update({"HF_HOME": "/cache"})', ""),
        ('os.environ.update(HF_HOME="/cache")', ""),
        ('os.environ["HF_HOME"] = os.path.expanduser("~/cache")', ""),
        ("caches()", f"def caches():\n    if os.path.exists('/cache'):\n        {BODY}"),
        ("if os.getenv('CI'):\n    caches()", f"def caches():\n    {BODY}"),
        ("if os.getenv('CI'):\n    " + BODY, ""),
        ("os.getenv('CI') and caches()", f"def caches():\n    {BODY}"),
        ("outer()", f"def caches():\n    {BODY}\n\ndef outer():\n    if os.getenv('CI'):\n        caches()\n"),
        ("caches()", f"def caches():\n    if os.getenv('CI'):\n        return\n    {BODY}"),
        ("for _ in os.getenv('CI', ''):\n    caches()", f"def caches():\n    {BODY}"),
    ],
)
def test_it_is_told_where_that_is_not_sure(set_up: str, define: str) -> None:
    text, notes = converted(set_up, define)
    assert "env_vars" not in text
    assert len([note for note in notes if ALONE in note]) == 1


def test_what_ray_says_is_neither_given_nor_told() -> None:
    define = 'def show():\n    os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n'
    text, notes = converted("show()", define)
    assert "env_vars" not in text
    assert not any("for the driver alone" in note for note in notes)


def test_a_function_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "caches.py").write_text(f'import os\n\nFOLDER = "/cache"\n\n\ndef caches():\n    {BODY}')
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(define="from caches import caches", set_up="caches()"))
    CliRunner().invoke(main, ["--to-ray", "--workers", "2", "--gpu", "--isolated", str(tmp_path)])
    assert GIVEN in script.read_text()


READ = 'import json\nsettings = json.load(open("/settings.json"))\n'


@pytest.mark.parametrize(
    ("set_up", "line", "noted"),
    [
        ('os.environ["WANDB_PROJECT"] = settings["a"]', 'os.environ["WANDB_PROJECT"] = settings["a"]', False),
        ('os.environ["HF_TOKEN"] = settings["a"]', 'os.environ["HF_TOKEN"] = settings["a"]', False),
        ('os.environ["HF_HOME"] = settings["a"]', 'os.environ["HF_HOME"] = settings["a"]', False),
        ('os.environ["HF_HOME"] = settings["a"]\nBEHIND', 'os.environ["HF_HOME"] = settings["a"]', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = settings["a"]', "", False),
    ],
)
def test_a_variable_of_what_workers_read_is_set_there(set_up: str, line: str, noted: bool) -> None:
    script = SCRIPT.format(define=READ, set_up=set_up)
    script = script.replace("TrainingArguments(", 'TrainingArguments(run_name=settings["b"], output_dir=')
    if "BEHIND" in set_up:
        imported = "from transformers import Trainer, TrainingArguments\n"
        script = script.replace(imported, "").replace("BEHIND\n", imported)
    result = convert(script, options=Options(to_ray=True, workers=2, gpu=True))
    trains = (result.after or "").partition("def train_func")[2]
    assert trains
    assert line in trains
    assert ("os.environ" in trains) is bool(line)
    assert any("after their imports" in finding.message for finding in result.findings) is noted


OTHERS = "Workers may run on other GPUs than those that CUDA_VISIBLE_DEVICES names here"


@pytest.mark.parametrize(
    ("set_up", "is_told"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = os.getenv("GPUS")', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = ""', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "-1"', False),
        ('os.environ["MASTER_PORT"] = "29500"', False),
    ],
)
def test_a_choice_of_gpus_that_goes_is_told(set_up: str, *, is_told: bool) -> None:
    script = SCRIPT.format(define="", set_up=set_up)
    result = convert(script, options=Options(to_ray=True, workers=2, gpu=True))
    assert result.after is not None and set_up not in result.after
    assert any(OTHERS in f.message for f in result.findings) is is_told
    [gone] = [f for f in result.findings if f.code == "RM801" and " goes: Ray " in f.message]
    assert ("gives each worker its GPUs" in gone.message) is ("CUDA" in set_up)
