"""RM504: DatasetConfigs that have a name of their own before a trainer is given them."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray.air.config import DatasetConfig, ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments

def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", num_train_epochs=1)
    return Trainer(model=model(), args=args, train_dataset=train_dataset, eval_dataset=eval_dataset)

ds = ray.data.from_items([{{"x": 1}}])
{before}
trainer = TransformersTrainer(
    init, scaling_config=ScalingConfig(2), datasets={{"train": ds, "evaluation": ds}}, dataset_config={given}
)
{after}
"""
OTHER = """other = TransformersTrainer(
    init, scaling_config=ScalingConfig(2), datasets={"train": ds}, dataset_config={"train": own}
)
"""


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        ("own = DatasetConfig(fit=True)\nrest = DatasetConfig(split=False)", '{"train": own, "*": rest}', ""),
        ("own = DatasetConfig()\nall_of_them = {'train': own}", "all_of_them", ""),
        ("own = DatasetConfig()\nfilled = {}\nfilled['train'] = own", "filled", ""),
        ("own = DatasetConfig()", '{"train": own, "evaluation": own}', ""),
        ("own = DatasetConfig()\nagain = own", "dict(train=again)", ""),
        ("own: DatasetConfig = DatasetConfig()", '{"train": own, "*": DatasetConfig()}', ""),
        ("own = DatasetConfig()", '{"train": own}', OTHER),
    ],
)
def test_the_names_go_with_the_dict(before: str, given: str, after: str) -> None:
    outcome = converted(SCRIPT.format(before=before, given=given, after=after))
    assert "DatasetConfig" not in outcome.text
    assert "own" not in outcome.text.partition("trainer = TorchTrainer")[0].partition("from_items")[2]
    assert len(outcome.lines("RM504", Kind.CONVERTED)) == 1 + bool(after)


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        ("own = DatasetConfig()", '{"train": own}', "print(own.split)"),
        ("own = DatasetConfig()\nall_of_them = {'train': own}", "all_of_them", "print(all_of_them)"),
        ("if ds:\n    own = DatasetConfig()\nelse:\n    own = DatasetConfig(split=True)", '{"train": own}', ""),
    ],
)
def test_names_that_are_read_elsewhere_stay_and_are_told(before: str, given: str, after: str) -> None:
    outcome = converted(SCRIPT.format(before=before, given=given, after=after))
    assert "own = DatasetConfig()" in outcome.text
    assert outcome.lines("RM504", Kind.MANUAL)


PREPROCESSED = """
import ray
from own import Own
from ray.air.config import DatasetConfig, ScalingConfig
from ray.data.preprocessors import StandardScaler
from ray.train.torch import TorchTrainer

def main(own, flag, ds, datasets):
    TorchTrainer(loop, datasets={datasets}, dataset_config={config}, preprocessor={preprocessor})
"""
SCALER, TWO = 'StandardScaler(["x"])', '{"train": ds, "evaluation": ds}'


@pytest.mark.parametrize(
    ("datasets", "config", "preprocessor", "says"),
    [
        (TWO, '{"evaluation": DatasetConfig(transform=False)}', "own", 'Leave "evaluation" unchanged'),
        (TWO, '{"evaluation": DatasetConfig(False, False, False, False)}', "Own()", 'Leave "evaluation" unchanged'),
        (TWO, '{"*": DatasetConfig(transform=False)}', "own", 'Leave all others but "train" unchanged'),
        ("datasets", '{"*": DatasetConfig(transform=False)}', SCALER, 'Leave all others but "train" unchanged'),
        (TWO, '{"evaluation": DatasetConfig(transform=flag)}', SCALER, "says transform=False stays unchanged"),
        (TWO, '{"train": DatasetConfig(transform=False, per_epoch_preprocessor=own)}', SCALER, "stays unchanged"),
        (TWO, "own", SCALER, "says transform=False stays unchanged"),
        (TWO, '{"train": DatasetConfig()}', "own", "call transform() on each dataset. None"),
    ],
)
def test_datasets_that_are_not_transformed_are_named(datasets: str, config: str, preprocessor: str, says: str) -> None:
    outcome = converted(PREPROCESSED.format(datasets=datasets, config=config, preprocessor=preprocessor))
    assert "transform(dataset)" not in outcome.text
    told = [message for message in outcome.messages if "TorchTrainer has no preprocessor" in message]
    assert len(told) == 1 and says.removesuffix(" None") in told[0]
    assert ("unchanged" in told[0]) is ("unchanged" in says)


@pytest.mark.parametrize(
    ("datasets", "config", "left"),
    [
        (TWO, '{"evaluation": DatasetConfig(transform=False)}', 'if name == "evaluation"'),
        (TWO, '{"*": DatasetConfig(transform=False)}', 'if name == "evaluation"'),
        ("datasets", '{"evaluation": DatasetConfig(transform=False)}', 'if name == "evaluation"'),
        (TWO, '{"evaluation": DatasetConfig(per_epoch_preprocessor=own)}', ""),
        (TWO, "DataConfig()", ""),
        (TWO, "None", ""),
    ],
)
def test_what_a_scaler_leaves_is_left(datasets: str, config: str, left: str) -> None:
    script = PREPROCESSED.format(datasets=datasets, config=config, preprocessor=SCALER)
    outcome = converted(script.replace("import ray\n", "import ray\nfrom ray.train import DataConfig\n", 1))
    assert "transform(dataset)" in outcome.text
    assert left in outcome.text if left else "if name" not in outcome.text


@pytest.mark.parametrize(
    ("train", "rest", "own", "others"),
    [
        ("max_object_store_memory_fraction=0.2", "split=False", 1, 1),
        ("**options", "split=False", 1, 1),
        ("max_object_store_memory_fraction=0.2", "split=flag", 1, 0),  # both stand on one line
    ],
)
def test_one_that_is_understood_is_not_blamed_for_another(train: str, rest: str, own: int, others: int) -> None:
    given = f'{{"train": DatasetConfig({train}), "evaluation": DatasetConfig({rest})}}'
    assert blamed(converted(SCRIPT.format(before="", given=given, after="")).messages) == (own, others)


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ("bad = DatasetConfig(**options)", '{"train": DatasetConfig(split=True), "evaluation": bad}'),
        ("good = DatasetConfig(split=True)", '{"train": good, "evaluation": DatasetConfig(**options)}'),
        ("bad = DatasetConfig(**options)", "dict(train=DatasetConfig(split=True), evaluation=bad)"),
        ("more = {'evaluation': DatasetConfig(**options)}", '{"train": DatasetConfig(split=True), **more}'),
    ],
)
def test_nor_in_another_spelling(before: str, given: str) -> None:
    assert blamed(converted(SCRIPT.format(before=before, given=given, after="")).messages) == (1, 1)


def blamed(messages: list[str]) -> tuple[int, int]:
    """How many are said not to be understood, and how many to stand beside such a one."""
    said = ("and this one was not understood", "not all that its trainer gets with it was understood")
    return tuple(len([message for message in messages if text in message]) for text in said)  # type: ignore[return-value]
