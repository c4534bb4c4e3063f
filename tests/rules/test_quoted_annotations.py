"""RM301, RM103 and RM209 where an annotation in quotes names what is imported, though nothing else uses it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

RUN = "RunConfig(name='a')\n"


@pytest.mark.parametrize(
    "annotated",
    [
        "def read(run: 'Result'):\n    return run.metrics\n",
        "def read() -> 'Result | None':\n    return fit()\n",
        "class Job:\n    runs: list['Result']\n",
        "async def read(*runs: 'Result'):\n    return runs\n",
        "found: 'dict[str, Result]' = {}\n",
    ],
    ids=["parameter", "returned", "field", "async", "variable"],
)
@pytest.mark.parametrize("place", ["ray.air", "ray.air.result"])
def test_what_only_a_quoted_annotation_names_moves(annotated: str, place: str) -> None:
    outcome = converted(f"from {place} import Result\nfrom ray.air.config import RunConfig\n\n{annotated}\n{RUN}")
    assert "from ray.train import Result, RunConfig" in outcome.text
    assert "ray.air" not in outcome.text
    assert not any("removed" in message for message in outcome.messages)


def test_so_does_the_module_that_it_begins_with_stay() -> None:
    outcome = converted(f"from ray import air\n\n\ndef read(run: 'air.Result'):\n    return run\n\n\nair.{RUN}")
    assert "from ray import air" in outcome.text and "ray.train.RunConfig(" in outcome.text
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize("text", ["def read(run: 'job.Result'):\n    pass\n", "read('Result')\n", "'''Result'''\n"])
def test_other_text_names_nothing(text: str) -> None:
    outcome = converted(f"from ray.air import Result\nfrom ray.air.config import RunConfig\n\n{text}\n{RUN}")
    assert "import RunConfig" in outcome.text and "import Result" not in outcome.text


TRAINERS = [
    ("ray.train.huggingface", "TransformersTrainer", "RM103"),
    ("ray.train.huggingface", "HuggingFaceTrainer", "RM103"),
    ("ray.train.huggingface.accelerate", "AccelerateTrainer", "RM209"),
]


@pytest.mark.parametrize(("place", "name", "code"), TRAINERS)
@pytest.mark.parametrize(
    "annotated",
    [
        "def show(trainer: '{}'):\n    return trainer.fit()\n",
        "def show() -> 'Optional[{}]':\n    return made\n",
        'class Job:\n    trainers: list["{}"] = []\n',
        "found: '{} | None' = None\n",
    ],
)
@pytest.mark.parametrize("guard", ["", "if TYPE_CHECKING:\n    "])
def test_a_quoted_annotation_names_the_trainer_of_today(
    place: str, name: str, code: str, annotated: str, guard: str
) -> None:
    head = f"from typing import TYPE_CHECKING, Optional\nfrom job import made\n{guard}from {place} import {name}\n\n"
    outcome = converted(head + annotated.format(name))
    assert annotated.format("TorchTrainer") in outcome.text and name not in outcome.text
    assert f"{guard}from ray.train.torch import TorchTrainer" in outcome.text
    assert len(outcome.lines(code, Kind.CONVERTED)) == 1 and not outcome.lines("RM691", Kind.MANUAL)


@pytest.mark.parametrize(
    "text",
    [
        "def show(trainer: 'job.TransformersTrainer'):\n    pass\n",
        "def show(trainer: 'TransformersTrainers'):\n    pass\n",
        "print('TransformersTrainer')\n",
    ],
)
def test_other_texts_stay(text: str) -> None:
    outcome = converted(f"from ray.train.huggingface import TransformersTrainer\nimport job\n\n{text}")
    assert text in outcome.text and not outcome.lines("RM103", Kind.CONVERTED)


def test_so_does_one_of_a_class_that_is_still_made() -> None:
    text = (
        "from ray.train.huggingface import TransformersTrainer\nfrom job import given\n\n"
        "def made() -> 'TransformersTrainer':\n    return TransformersTrainer(**given)\n"
    )
    assert "-> 'TransformersTrainer'" in converted(text).text


@pytest.mark.parametrize(
    "text",
    [
        "def show(kind: Literal['TransformersTrainer', 'Trainer']):\n    pass\n",
        "def show(kind: Annotated[str, 'a TransformersTrainer']):\n    pass\n",
        "TransformersTrainer = make()\n\n\ndef show(trainer: 'TransformersTrainer'):\n    pass\n",
    ],
)
def test_texts_in_annotations_that_name_something_else_stay(text: str) -> None:
    head = "from typing import Annotated, Literal\nfrom ray.train.huggingface import TransformersTrainer\n"
    outcome = converted(f"{head}from job import make\n\n{text}")
    assert text in outcome.text and not outcome.lines("RM103", Kind.CONVERTED)


def test_the_class_that_is_in_reach_is_meant() -> None:
    text = (
        "class TransformersTrainer:\n    pass\n\n\ndef old():\n"
        "    from ray.train.huggingface import TransformersTrainer\n    made: 'TransformersTrainer' = load()\n\n\n"
        "def show(trainer: 'TransformersTrainer'):\n    pass\n"
    )
    outcome = converted(text)
    assert "made: 'TorchTrainer'" in outcome.text and "show(trainer: 'TransformersTrainer')" in outcome.text


def test_all_names_in_one_text_are_replaced() -> None:
    head = "from ray.train.huggingface import HuggingFaceTrainer, TransformersTrainer\n"
    more = "from ray.train.huggingface.accelerate import AccelerateTrainer\n"
    outcome = converted(
        f"{head}{more}\nmade: 'TransformersTrainer | HuggingFaceTrainer | AccelerateTrainer | None' = None\n"
    )
    assert "made: 'TorchTrainer | TorchTrainer | TorchTrainer | None'" in outcome.text
    assert "huggingface" not in outcome.text


@pytest.mark.parametrize("annotated", ["def read(run: '{}'):\n    pass\n", "runs: 'list[{}.Part] | None' = None\n"])
@pytest.mark.parametrize(
    ("place", "name"), [("ray.data", "DatasetPipeline"), ("ray.tune.execution", "trial_runner"), ("ray.air", "util")]
)
def test_an_import_that_fails_stays_for_its_quotes_and_is_told(annotated: str, place: str, name: str) -> None:
    text = f"from ray.air.config import RunConfig\nfrom {place} import {name}\n\n{annotated.format(name)}\n{RUN}"
    outcome = converted(text)
    if name != "util":  # which is there
        assert outcome.lines("RM692", Kind.MANUAL)
    assert f"from {place} import {name}" in outcome.text
    assert not outcome.lines("RM691")


def test_an_import_that_fails_is_told_where_only_all_names_it() -> None:
    name = "TransformersPredictor"
    outcome = converted(f"from ray.train.huggingface import {name}\n\n__all__ = ['{name}']\n")
    assert outcome.lines("RM692", Kind.MANUAL) == [1]
    tried = f"try:\n    from ray.train.huggingface import {name}\nexcept ImportError:\n    {name} = None\n"
    assert not converted(f"{tried}\n__all__ = ['{name}']\n").findings
