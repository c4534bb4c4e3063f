"""RM724: return_all_scores=, which pipelines ignore since transformers 5."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import sys

import ray
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersPredictor, TransformersTrainer
from transformers import TextClassificationPipeline, pipeline


def own(texts, return_all_scores=False):
    return texts


{use}
"""
MADE = "pipe = pipeline('text-classification')\n"
CLASS = "class A:\n    def __init__(self):\n        self.pipe = pipeline('sentiment-analysis')\n\n    def run(self):\n"


@pytest.mark.parametrize(
    "use",
    [
        "pipeline('text-classification', return_all_scores=True)",
        "TextClassificationPipeline(model=sys.argv, return_all_scores=True)",
        f"{MADE}pipe('a text', return_all_scores=True)",
        f"{MADE}for scores in pipe(['a', 'b'], return_all_scores=bool(sys.argv)):\n    print(scores)",
        f"{CLASS}        return self.pipe('a', return_all_scores=True)",
        f"from functools import partial\n{MADE}scores = partial(pipe, return_all_scores=True)",
        "from functools import partial\npartial(pipeline, 'text-classification', return_all_scores=True)",
        "def run(pipe):\n    return pipe('a', return_all_scores=True)",
        "BatchPredictor.from_checkpoint(sys.argv, TransformersPredictor, return_all_scores=True)",
        "p = TransformersPredictor.from_checkpoint(sys.argv, task='text-classification')\n"
        "p.predict(sys.argv, return_all_scores=True)",
    ],
)
def test_it_is_told_wherever_a_pipeline_gets_it(use: str) -> None:
    assert len(converted(SCRIPT.format(use=use)).lines("RM724", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "use",
    [
        f"{MADE}pipe('a text', return_all_scores=False)",
        f"{MADE}pipe('a text', top_k=None)",
        "own('a', return_all_scores=True)",
        "sys.call(return_all_scores=True)",
        "from functools import partial\npartial(own, return_all_scores=True)",
    ],
)
def test_the_default_and_other_functions_are_left(use: str) -> None:
    assert not converted(SCRIPT.format(use=use)).lines("RM724")


def test_at_a_call_the_list_around_the_scores_of_a_single_text_is_named() -> None:
    uses = {"pipeline('x', return_all_scores=True)": False, f"{MADE}pipe('a', return_all_scores=True)": True}
    for use, is_named in uses.items():
        (said,) = (text for text in converted(SCRIPT.format(use=use)).messages if "return_all_scores" in text)
        assert ("single text" in said) is is_named
