"""RM696: comments and docstrings that name a class which the converted code no longer uses."""

import json

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.documents import open_document
from raymigrate.run.conversion import convert_document
from tests.rules.scripts import converted

SCRIPT = '''
"""{module}"""
from ray.air import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments
from job import model, rows


def build(train_dataset, eval_dataset=None, **config):
    """{function}"""
    # {comment}
    return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)


scaling = ScalingConfig(num_workers=2, use_gpu=True)
trainer = TransformersTrainer(build, scaling_config=scaling, datasets={{"train": rows}})  # {behind}
{more}
'''
NAMED = "The TransformersTrainer runs it."
PLAIN = {"module": "A job.", "function": "Builds.", "comment": "a model", "behind": "trains", "more": ""}


@pytest.mark.parametrize(
    ("words", "line"),
    [({"module": NAMED}, 1), ({"function": NAMED}, 9), ({"comment": NAMED}, 10), ({"behind": f"ß {NAMED}"}, 15)],
)
def test_words_that_name_the_class_are_noted(words: dict[str, str], line: int) -> None:
    outcome = converted(SCRIPT.format(**{**PLAIN, **words}))
    assert outcome.lines("RM696", Kind.NOTE) == [line]
    kind = "comment" if {"comment", "behind"} & words.keys() else "docstring"
    assert any(message.startswith(f"This {kind} names TransformersTrainer") for message in outcome.messages)


def test_the_line_of_a_long_docstring_is_named() -> None:
    outcome = converted(SCRIPT.format(**{**PLAIN, "module": f"A job.\n\nIt is long.\n{NAMED}"}))
    assert outcome.lines("RM696", Kind.NOTE) == [4]


def test_a_class_is_noted_once_with_the_number_of_places() -> None:
    outcome = converted(SCRIPT.format(**{**PLAIN, "function": NAMED, "comment": NAMED, "behind": NAMED}))
    assert outcome.lines("RM696", Kind.NOTE) == [9]
    assert any(message.startswith("3 comments or docstrings") for message in outcome.messages)


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"comment": "MyTransformersTrainer, and the AccelerateTrainer of another file"},
        {"comment": NAMED, "more": "register(TransformersTrainer)"},
    ],
)
def test_other_words_and_a_class_that_stays_are_no_news(words: dict[str, str]) -> None:
    assert not converted(SCRIPT.format(**{**PLAIN, **words})).lines("RM696", Kind.NOTE)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            {"function": "Returns:\n        ray.air.result.Result: what came."},
            "ray.air.result.Result, which the code takes",
        ),
        (
            {"comment": "type: ray.air.config.RunConfig"},
            "ray.air.config.RunConfig, which the code takes from ray.train now",
        ),
        ({"behind": "see ray.air.session.report()"}, "ray.air.session.report, which the code takes from ray.train now"),
    ],
)
def test_the_name_that_something_had_before_is_noted(words: dict[str, str], told: str) -> None:
    outcome = converted(SCRIPT.format(**{**PLAIN, **words}))
    assert len(outcome.lines("RM696", Kind.NOTE)) == 1
    assert any(told in message for message in outcome.messages)


@pytest.mark.parametrize(
    "text",
    [
        '"""Like ray.air.result.Result."""\nimport ray.train\n\nray.train.report({})\n',
        "import ray.train  # ray.air.integrations.wandb.setup_wandb\nfrom ray.air import ScalingConfig\n\n"
        "scaling = ScalingConfig(num_workers=2)\n",
        'from ray.air import ScalingConfig\n\nscaling = ScalingConfig(num_workers=2)\nprint("ray.air.Result of old")\n',
        "from ray.air import ScalingConfig\n\nscaling = ScalingConfig(num_workers=2)  # of array.air.Result\n",
    ],
)
def test_words_on_what_was_not_moved_are_no_news(text: str) -> None:
    assert not converted(text).lines("RM696", Kind.NOTE)


def cells(*sources: tuple[str, str]) -> bytes:
    content = [{"cell_type": kind, "metadata": {}, "source": source} for kind, source in sources]
    for cell in content:
        cell |= {"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else {}
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": content}).encode()


def told(*texts: str, more: str = "", **options: object) -> list[tuple[int, int, int, str]]:
    """The notes on the text of a notebook: cell, line and column of each, and what it says."""
    code = ("code", SCRIPT.format(**{**PLAIN, "more": more}).lstrip("\n"))
    document = open_document(cells(*(("markdown", text) for text in texts), code), "job.ipynb")
    result = convert_document(document, "job.ipynb", Options(**options))  # type: ignore[arg-type]
    found = [finding for finding in result.in_cells().findings if finding.code == "RM696"]
    assert all(finding.kind in (Kind.NOTE, Kind.SKIPPED) for finding in found)
    found = [finding for finding in found if finding.kind is Kind.NOTE]
    return [(finding.cell, finding.line, finding.column, finding.message) for finding in found]


def test_text_of_a_notebook_that_names_the_class_is_noted() -> None:
    (note,) = told("# A job", "Here\n`TransformersTrainer` trains.")
    assert note == (2, 2, 2, "This text names TransformersTrainer, which the code no longer uses.")


def test_of_several_texts_the_first_is_noted() -> None:
    (note,) = told("Our TransformersTrainer.", "TransformersTrainer again, TransformersTrainer.")
    assert note[:3] == (1, 1, 5)
    assert note[3].startswith("The text of 2 cells names TransformersTrainer")


@pytest.mark.parametrize(
    ("text", "more", "options"),
    [
        ("A TorchTrainer trains.", "", {}),
        ("MyTransformersTrainer", "", {}),
        ("The TransformersTrainer.", "print(TransformersTrainer)", {}),
        ("The TransformersTrainer.", "# raymigrate: skip-file=RM696", {}),
        ("The TransformersTrainer.", "", {"ignore": ("RM696",)}),
        ("The TransformersTrainer.", "", {"select": ("RM7",)}),
    ],
)
def test_other_texts_are_not(text: str, more: str, options: dict[str, object]) -> None:
    assert not told(text, more=more, **options)


TRIAL = """
from ray import tune
from ray.air import ScalingConfig, session


def trial(config):
    session.report({{"loss": 1}})  # see ray.air.session.report()


{trained}
tune.Tuner(trial).fit()
"""
TRAINED = """
from ray.train.torch import TorchTrainer


def loop(config):
    session.report({"loss": 1})


TorchTrainer(loop).fit()
"""


@pytest.mark.parametrize(("trained", "home"), [("", "ray.tune"), (TRAINED, "ray.train or ray.tune")])
def test_what_a_function_of_tune_calls_is_taken_from_ray_tune(trained: str, home: str) -> None:
    outcome = converted(TRIAL.format(trained=trained))
    assert len(outcome.lines("RM696", Kind.NOTE)) == 1
    assert any(f"ray.air.session.report, which the code takes from {home} now" in text for text in outcome.messages)


def test_the_settings_of_a_tuner_are_taken_from_ray_tune() -> None:
    script = "from ray import air, tune\nfrom ray.air import ScalingConfig\n\n# an ray.air.RunConfig\n"
    script += "tune.Tuner(lambda config: {'a': 1}, run_config=air.RunConfig(name='a')).fit()\n"
    outcome = converted(script)
    assert any("ray.air.RunConfig, which the code takes from ray.tune now" in text for text in outcome.messages)
