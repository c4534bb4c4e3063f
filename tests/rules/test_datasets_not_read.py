"""RM108, RM109: datasets of a TransformersTrainer that nothing reads: the legacy trainer, the init function."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, Trainer, TrainingArguments
from job import rows, others


def build(train_dataset, eval_dataset=None, **config):
    return Trainer(AutoModel.from_pretrained("gpt2"), TrainingArguments("out"), train_dataset={given})


datasets = {{"train": rows, "evaluation": others}}
TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={datasets}).fit()
"""


def outcome(given: str, datasets: str) -> Outcome:
    return converted(SCRIPT.format(given=given, datasets=datasets))


@pytest.mark.parametrize("datasets", ['{"train": rows}', "dict(train=rows)", "datasets"])
def test_an_init_function_with_data_of_its_own_needs_no_datasets(datasets: str) -> None:
    found = outcome("others", datasets)
    assert found.lines("RM109", Kind.CONVERTED)
    assert "datasets=" not in found.text.replace("train_datasets=", "")


@pytest.mark.parametrize("given", ["train_dataset", "train_dataset.with_format('torch')"])
def test_datasets_that_it_reads_stay(given: str) -> None:
    found = outcome(given, '{"train": rows}')
    assert not found.lines("RM109", Kind.CONVERTED)
    assert "datasets=" in found.text


@pytest.mark.parametrize("datasets", ['{"train": rows, "eval": others}', "dict(train=rows, eval=others)"])
def test_a_dataset_by_another_name_was_never_read(datasets: str) -> None:
    assert outcome("train_dataset", datasets).lines("RM108", Kind.MANUAL)


@pytest.mark.parametrize("datasets", ['{"train": rows, "evaluation": others}', "datasets"])
def test_datasets_by_the_names_that_it_knew_were(datasets: str) -> None:
    assert not outcome("train_dataset", datasets).lines("RM108", Kind.MANUAL)
