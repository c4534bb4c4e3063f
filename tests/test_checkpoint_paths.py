"""The files of Transformers are looked for in the folder "checkpoint", however the path is put together."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert

SCRIPT = """
import os
import torch
from pathlib import Path
from ray.air import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import build, ds, load

trainer = TransformersTrainer(build, scaling_config=ScalingConfig(use_gpu=True), datasets={{"train": ds}})
result = trainer.fit()
{reading}
"""
BLOCK = "with result.checkpoint.as_directory() as folder:\n"


def converted(reading: str) -> tuple[str, set[Kind]]:
    result = convert(SCRIPT.format(reading=reading))
    assert result.after is not None
    kinds = {finding.kind for finding in result.findings if finding.code == "RM602"}
    return result.after.partition("result = trainer.fit()\n")[2], kinds


@pytest.mark.parametrize(
    ("reading", "after"),
    [
        ('load(f"{folder}/config.json")', 'load(f"{folder}/checkpoint/config.json")'),
        ('name = f"{folder}/config.json"', 'name = f"{folder}/checkpoint/config.json"'),
        ('load(f"{folder}/a/{step}.json")', 'load(f"{folder}/checkpoint/a/{step}.json")'),
        ('load(os.path.join(folder, "config.json"))', 'load(os.path.join(folder, "checkpoint", "config.json"))'),
        ('load(folder + "/config.json")', 'load(os.path.join(folder, "checkpoint") + "/config.json")'),
        ('load("%s/config.json" % folder)', 'load("%s/config.json" % os.path.join(folder, "checkpoint"))'),
        ('load("{}/config.json".format(folder))', 'load("{}/config.json".format(os.path.join(folder, "checkpoint")))'),
        ('load(Path(folder) / "config.json")', 'load(Path(os.path.join(folder, "checkpoint")) / "config.json")'),
        ("load(str(folder))", 'load(str(os.path.join(folder, "checkpoint")))'),
    ],
)
def test_a_file_in_the_folder_is_found(reading: str, after: str) -> None:
    text, kinds = converted(f"{BLOCK}    {reading}")
    assert after in text
    assert kinds == {Kind.CONVERTED}


@pytest.mark.parametrize(
    "reading",
    [
        'load(f"{prefix}{folder}/config.json")',
        'load(f"{folder}")',
        'load(f"{folder}/a.json", f"{folder}/b.json", f"{folder}/c.json")',
        'load(f"{folder}/{name}/{part}/b.json")',
    ],
)
def test_a_folder_in_another_f_string_gets_another_value_first(reading: str) -> None:
    text, kinds = converted(f"{BLOCK}    {reading}")
    assert 'folder = os.path.join(folder, "checkpoint")' in text
    assert kinds == {Kind.CONVERTED}


@pytest.mark.parametrize(
    "reading",
    [
        "print(folder)",
        'print(f"files in {folder}")',
        'print(f"{folder}/config.json")',
        'print("files in " + folder)',
        'print("files in %s" % folder)',
        'message = f"files in {folder}"\n    print(message)',
        'logger.info(f"{folder}/config.json")',
    ],
)
def test_a_folder_that_is_only_shown_stays_as_it_is(reading: str) -> None:
    text, kinds = converted(f"{BLOCK}    {reading}")
    assert reading in text
    assert kinds == set()


def test_the_path_of_a_checkpoint_in_an_f_string_goes_deeper_or_is_told() -> None:
    text, kinds = converted('load(f"{result.checkpoint.path}/config.json")')
    assert 'load(f"{result.checkpoint.path}/checkpoint/config.json")' in text
    assert kinds == {Kind.CONVERTED}
    assert converted('load(f"{prefix}{result.checkpoint.path}/config.json")')[1] == {Kind.MANUAL}
