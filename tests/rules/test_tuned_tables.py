"""RM405: a Tuner over a trainer whose class comes from a table of classes, or from another file."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import codes, convert, write
from tests.rules.scripts import converted

SCRIPT = """
import ray.train.huggingface as hf
from ray import tune
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer, TransformersTrainer
from job import Own, kind, loop, plan

CLASSES = {{"loop": AccelerateTrainer, "hf": TransformersTrainer}}
OTHERS = {{"own": Own}}


def build():
    return {made}(loop, scaling_config=ScalingConfig(num_workers=2))


{before}
tune.Tuner({trainer}).fit()
"""
MESSAGE = "Tuner(trainer) raises a TuneError on Ray >= 2.51"


@pytest.mark.parametrize(
    "made",
    [
        "CLASSES[kind]",
        "CLASSES.get(kind)",
        "CLASSES.get(kind, AccelerateTrainer)",
        "CLASSES[plan['kind']]",
        "getattr(hf, kind)",
        "getattr(hf, 'AccelerateTrainer')",
    ],
)
@pytest.mark.parametrize(("before", "trainer"), [("", "build()"), ("trainer = build()", "trainer")])
def test_a_table_of_trainers_makes_one(made: str, before: str, trainer: str) -> None:
    outcome = converted(SCRIPT.format(made=made, before=before, trainer=trainer))
    assert sum(message.startswith(MESSAGE) for message in outcome.messages) == 1


def test_a_class_that_the_table_is_kept_in_under_a_name_is_one_too() -> None:
    outcome = converted(SCRIPT.format(made="cls", before="cls = CLASSES[kind]", trainer="build()"))
    assert sum(message.startswith(MESSAGE) for message in outcome.messages) == 1


@pytest.mark.parametrize(
    "made",
    [
        "OTHERS[kind]",
        "OTHERS.get(kind)",
        "plan[kind]",
        "plan.get(kind, Own)",
        "getattr(plan, kind)",
        "getattr(hf, 'HuggingFaceCheckpoint')",
    ],
)
def test_other_tables_are_left_alone(made: str) -> None:
    outcome = converted(SCRIPT.format(made=made, before="", trainer="build()"))
    assert not outcome.lines("RM405", Kind.MANUAL)


@pytest.mark.parametrize(
    ("made", "returned"),
    [
        ("CLASSES = {'loop': AccelerateTrainer}", "CLASSES[kind]"),
        ("class Own(AccelerateTrainer):\n    pass", "Own"),
    ],
)
def test_it_may_be_in_another_file(made: str, returned: str, tmp_path: Path) -> None:
    classes = f"from ray.train.huggingface import AccelerateTrainer\n{made}\n"
    build = f"from classes import {returned.partition('[')[0]}\ndef build(kind):\n    return {returned}(print)\n"
    driver = "from ray import tune\nfrom build import build\ntune.Tuner(build('loop')).fit()\n"
    write(tmp_path, {"classes.py": classes, "build.py": build, "driver.py": driver})
    assert "RM405" in codes(convert(tmp_path), Kind.MANUAL, "driver.py")


def test_the_result_of_a_class_that_is_looked_up_is_one_too() -> None:
    made = SCRIPT.format(made="getattr(hf, kind)", before="print(build().fit().checkpoint.uri)", trainer="loop")
    assert any(message.startswith("Checkpoint.uri raises") for message in converted(made).messages)
