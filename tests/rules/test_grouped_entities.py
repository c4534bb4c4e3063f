"""RM701: pipelines that find entities, with the switches of transformers 4."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
import transformers
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import TransformersTrainer
from transformers import TokenClassificationPipeline, pipeline
from other import find

{use}
"""


@pytest.mark.parametrize(
    ("given", "strategy"),
    [
        ("grouped_entities=True", "simple"),
        ("grouped_entities=True, ignore_subwords=False", "simple"),
        ("ignore_subwords=True, grouped_entities=True", "first"),
        ("grouped_entities=False, aggregation_strategy='max'", "none"),
        ("ignore_subwords=True", "none"),
    ],
)
@pytest.mark.parametrize(
    "use",
    [
        "pipe = pipeline('ner', {given})",
        "pipe = transformers.pipeline(task='token-classification', {given})",
        "pipe = TokenClassificationPipeline(model=find(), {given})",
        "pipe = pipeline('ner')\npipe('some text', {given})",
        "def run():\n    pipe = pipeline('ner')\n    return pipe('some text', {given})",
    ],
)
def test_the_strategy_of_the_switches_is_written(use: str, given: str, strategy: str) -> None:
    outcome = converted(SCRIPT.format(use=use.replace("{given}", given)))
    assert f'aggregation_strategy="{strategy}"' in outcome.text
    assert "grouped_entities" not in outcome.text and "ignore_subwords" not in outcome.text
    assert outcome.lines("RM701", Kind.CONVERTED)


@pytest.mark.parametrize(
    "use",
    [
        "pipeline('ner', grouped_entities=find.flag)",
        "pipeline('ner', grouped_entities=True, ignore_subwords=find.flag)",
        "BatchPredictor.from_checkpoint(find(), find.kind, task='ner', grouped_entities=True)",
    ],
)
def test_what_is_not_seen_or_goes_to_a_predictor_is_told(use: str) -> None:
    assert converted(SCRIPT.format(use=use)).lines("RM701", Kind.MANUAL)


def test_none_goes_without_a_word_in_its_place() -> None:
    assert "pipeline('ner')" in converted(SCRIPT.format(use="pipeline('ner', grouped_entities=None)")).text


@pytest.mark.parametrize("use", ["find('ner', grouped_entities=True)", "find().run(grouped_entities=True)"])
def test_a_switch_of_somebody_else_stays(use: str) -> None:
    outcome = converted(SCRIPT.format(use=use))
    assert use in outcome.text and not outcome.lines("RM701", Kind.MANUAL)
