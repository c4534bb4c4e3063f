"""RM702: load_dataset(task=), which renamed the columns of a dataset."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import ray\nfrom datasets import load_dataset\nfrom elsewhere import options\n"


def told(use: str) -> list[str]:
    outcome = converted(HEAD + use + "\n")
    kinds = zip(outcome.findings, outcome.messages, strict=True)
    return [message for (code, kind, _), message in kinds if code == "RM702" and kind is Kind.MANUAL]


@pytest.mark.parametrize(
    ("use", "columns"),
    [
        ("load_dataset('imagefolder', data_dir='flowers', task='image-classification')", "image and labels"),
        ("import datasets\ndatasets.load_dataset('a/b', task='text-classification')", "text and labels"),
        ("TASK = 'question-answering-extractive'\nload_dataset('a/b', task=TASK)", "question, context and answers"),
        ("load_dataset('a/b', task=options.task)", "the columns of the task"),
        ("load_dataset('a/b', task='summarization' if options.short else None)", "the columns of the task"),
        (
            "from datasets.tasks import TextClassification\nload_dataset('a/b', task=TextClassification())",
            "of the task",
        ),
    ],
)
def test_the_columns_of_a_task_are_told_where_it_is_deleted(use: str, columns: str) -> None:
    [message] = told(use)
    assert columns in message
    assert "rename_column" in message
    assert "task=" not in (converted(HEAD + use + "\n").text or "")


def test_a_task_among_unpacked_arguments_is_told_too() -> None:
    [message] = told("given = dict(task='summarization')\nload_dataset('a/b', **given)")
    assert "text and summary" in message


@pytest.mark.parametrize(
    "use",
    [
        "load_dataset('a/b', task=None)",
        "options.load_dataset('a/b', task='summarization')",
        "def load_dataset(name, task):\n    return name\n\nload_dataset('a/b', task='summarization')",
    ],
)
def test_what_renames_nothing_is_left_alone(use: str) -> None:
    assert not told(use)
