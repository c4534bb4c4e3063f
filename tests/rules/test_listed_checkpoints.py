"""RM609: checkpoints that are looked for in the folder of a run, and what checkpoints no longer say of their folder."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import glob
import os
import re
from glob import iglob
from pathlib import Path
from ray.air.config import ScalingConfig
from ray.train.huggingface import {trainer}
from job import init, load, other, rows

trainer = {trainer}(init, scaling_config=ScalingConfig(num_workers=1, use_gpu=True), datasets=rows)
result = trainer.fit()
"""


def looked_up(search: str, trainer: str = "TransformersTrainer") -> Outcome:
    return converted(SCRIPT.format(trainer=trainer) + search + "\n")


@pytest.mark.parametrize(
    "search",
    [
        "for p in glob.glob(os.path.join(str(result.log_dir), 'checkpoint_*')):\n    load(p)",
        "for p in sorted(Path(result.log_dir).glob('checkpoint_*')):\n    load(p / 'trainer_state.json')",
        "last = sorted(d for d in os.listdir(result.path) if d.startswith('checkpoint_'))[-1]",
        "for p in Path(result.path).glob('checkpoint_*'):\n    load(p)",
        "last = sorted(glob.glob(result.path + '/checkpoint_*'))[-1]",
        "last = max(iglob(f'{result.path}/checkpoint_*'), key=os.path.getmtime)",
        "pattern = os.path.join(result.path, 'checkpoint*')\nload(glob.glob(pattern))",
        "root = Path(result.path).resolve()\nload(max(root.glob('checkpoint_*')))",
        "ckpts = [d for d in Path(result.path).iterdir() if d.name.startswith('checkpoint')]",
        "names = os.listdir(result.path)\nload([n for n in names if 'checkpoint' in n])",
        "ckpts = [e.path for e in os.scandir(result.path) if re.match('checkpoint_', e.name)]",
        "from fnmatch import fnmatch\nload([d for d in os.listdir(result.path) if fnmatch(d, 'checkpoint_*')])",
        "ckpts = [p for p in glob.glob(result.path + '/*') if os.path.basename(p).startswith('checkpoint_')]",
        "def last(run):\n    return max(Path(run.path).glob('checkpoint_*'))\nload(last(result))",
    ],
)
@pytest.mark.parametrize("trainer", ["TransformersTrainer", "AccelerateTrainer"])
def test_a_search_that_finds_the_file_beside_the_checkpoints_is_told(search: str, trainer: str) -> None:
    assert len(looked_up(search, trainer).lines("RM609", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "search",
    [
        "load(glob.glob(result.path + '/checkpoint_0*'))",
        "load(Path(result.path).glob('checkpoint_00000?'))",
        "load([d for d in os.listdir(result.path) if re.fullmatch('checkpoint_[0-9]+', d)])",
        "load([d for d in os.listdir(result.path) if d.startswith('checkpoint_0')])",
    ],
)
def test_a_search_that_finds_no_new_checkpoint_is_told(search: str) -> None:
    outcome = looked_up(search)
    assert outcome.lines("RM609", Kind.MANUAL)
    assert any("is the name of none in a new run" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("search", "advice"),
    [
        (
            "load(Path(result.path).rglob('checkpoint_*/config.json'))",
            'Look for "checkpoint_*/checkpoint/config.json".',
        ),
        ("load(glob.glob(result.path + '/checkpoint_[0-9]*'))", 'os.path.join(folder, "checkpoint")'),
        (
            "load([p for p in glob.glob(result.path + '/checkpoint_*') if os.path.isdir(p)])",
            'os.path.join(folder, "checkpoint")',
        ),
    ],
)
def test_a_search_that_finds_the_right_folders_is_told_where_the_files_are(search: str, advice: str) -> None:
    outcome = looked_up(search)
    assert outcome.lines("RM602", Kind.MANUAL) and not outcome.lines("RM609", Kind.MANUAL)
    assert any(advice in message for message in outcome.messages)
    others = looked_up(search, "AccelerateTrainer")
    assert not others.lines("RM602", Kind.MANUAL) and not others.lines("RM609", Kind.MANUAL)


@pytest.mark.parametrize(
    "search",
    [
        "load(glob.glob('out/checkpoint_*'))",
        "load(glob.glob(os.path.join(other.path, 'checkpoint_*')))",
        "load(Path(load()).glob('checkpoint_*'))",
        "load(glob.glob(result.path + '/*.json'))",
        "load([d for d in os.listdir('out') if d.startswith('checkpoint-')])",
        "load([d for d in os.listdir(result.path) if d.endswith('.json')])",
        "load(glob.glob(os.path.join(result.checkpoint.path, 'checkpoint', '*')))",
        "def last(folder):\n    return max(d for d in os.listdir(folder) if d.startswith('checkpoint_'))\nlast('out')",
    ],
)
def test_other_searches_are_no_news(search: str) -> None:
    assert "RM609" not in {code for code, _, _ in looked_up(search).findings}


@pytest.mark.parametrize(
    ("read", "advice"),
    [
        ("print(result.checkpoint._local_path)", "Use checkpoint.path where the storage is a folder"),
        ("c = result.checkpoint\nload(c._local_path, c._uri)", '"s3://" + checkpoint.path'),
        ("for c, _ in result.best_checkpoints:\n    load(c._local_path)", 'lie in the folder "checkpoint"'),
        ("kind, path = result.checkpoint.get_internal_representation()", 'it gave ("local_path", path)'),
        ("print(result.get_best_checkpoint('eval_loss', 'min').id)", "no other checkpoint has the same"),
    ],
)
def test_what_a_checkpoint_said_of_its_folder_is_told(read: str, advice: str) -> None:
    outcome = looked_up(read)
    assert outcome.lines("RM308", Kind.MANUAL)
    assert any(advice in message for message in outcome.messages)


def test_such_attributes_of_others_are_theirs() -> None:
    read = "print(other.id, other.checkpoint._local_path, load().checkpoint.id, load()._uri)"
    assert "RM308" not in {code for code, _, _ in looked_up(read).findings}
