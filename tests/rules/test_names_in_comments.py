"""RM696: comments and docstrings that name a class which the converted code no longer uses."""

import pytest

from raymigrate.base.findings import Kind
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
