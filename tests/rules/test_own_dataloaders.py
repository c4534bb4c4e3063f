"""RM106: a loader of the Trainer's own, and attributes of the dataset that an init function is given."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, Trainer, TrainingArguments
from job import loader, rows


class Own(Trainer):
    def {method}(self, dataset=None):
        return loader


def build({parameters}, **config):
    {body}
    return Own(AutoModel.from_pretrained("gpt2"), TrainingArguments("out"), train_dataset={given})


TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2){datasets}).fit()
"""
LOADER_LINE, BODY_LINE = 9, 14
DATASETS = ', datasets={"train": ray.data.from_items(rows)}'


def told(
    body: str = "pass",
    *,
    method: str = "other",
    parameters: str = "train_dataset, eval_dataset=None",
    given: str = "train_dataset",
    datasets: str = DATASETS,
) -> list[int]:
    """The lines that RM106 names, for a person to look at."""
    script = SCRIPT.format(body=body, method=method, parameters=parameters, given=given, datasets=datasets)
    return converted(script).lines("RM106", Kind.MANUAL)


def test_a_train_loader_of_its_own_is_not_called() -> None:
    assert told(method="get_train_dataloader") == [LOADER_LINE]


def test_loaders_for_evaluation_are_called_as_before() -> None:
    assert told(method="get_eval_dataloader") == []


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("print(train_dataset.column_names)", [BODY_LINE]),
        ("train_dataset = train_dataset.map(len)", [BODY_LINE]),
        ("print(eval_dataset.features, train_dataset.features)", [BODY_LINE, BODY_LINE]),
        ("print(train_dataset)", []),
        ("print(config['rows'].column_names)", []),
    ],
)
def test_each_attribute_of_a_dataset_that_the_function_is_given(body: str, lines: list[int]) -> None:
    assert told(body) == lines


def test_the_parameters_of_datasets_are_told_by_their_place() -> None:
    assert told("print(a.column_names, b.column_names)", parameters="a, b=None", given="a") == [BODY_LINE, BODY_LINE]


def test_without_datasets_of_ray_the_function_keeps_its_own() -> None:
    assert told("print(train_dataset.column_names)", method="get_train_dataloader", datasets="") == []


def test_a_function_that_reads_none_of_them_keeps_its_own() -> None:
    assert told("print(rows.column_names)", method="get_train_dataloader", given="rows") == []


def noted(made: str, *, before: str = "pass", datasets: str = DATASETS, given: str = "train_dataset") -> list[int]:
    """The lines that RM106 notes, with these TrainingArguments and a line before them."""
    script = SCRIPT.format(
        body=before, method="other", parameters="train_dataset, eval_dataset=None", given=given, datasets=datasets
    )
    return converted(script.replace('TrainingArguments("out")', made)).lines("RM106", Kind.NOTE)


MADE_LINE, CALL_LINE = 15, 18


@pytest.mark.parametrize(
    ("made", "before", "lines"),
    [
        ('TrainingArguments("out", dataloader_num_workers=4)', "pass", [MADE_LINE]),
        ('TrainingArguments("out", dataloader_num_workers=config["n"])', "pass", [MADE_LINE]),
        ('TrainingArguments("out", **more)', 'more = {"dataloader_num_workers": 2}', [BODY_LINE]),
        ('TrainingArguments("out", **more)', "more = dict(dataloader_num_workers=2)", [BODY_LINE]),
        ("args", 'args = TrainingArguments("out"); args.dataloader_num_workers = 2', [BODY_LINE]),
        ('TrainingArguments("out", dataloader_num_workers=0)', "pass", []),
        ("args", "args = job.make(); TrainingArguments('other', dataloader_num_workers=0)", []),
        ('TrainingArguments("out")', 'TrainingArguments("other", dataloader_num_workers=4)', []),
    ],
)
def test_rows_of_ray_data_come_without_loader_processes(made: str, before: str, lines: list[int]) -> None:
    assert noted(made, before=before) == lines


def test_processes_of_a_configuration_are_told_where_it_is_written() -> None:
    config = DATASETS + ', trainer_init_config={"dataloader_num_workers": 3}'
    assert noted('TrainingArguments("out", **config)', datasets=config) == [CALL_LINE]


def test_other_rows_keep_their_loader_processes() -> None:
    made = 'TrainingArguments("out", dataloader_num_workers=4)'
    assert noted(made, datasets="") == noted(made, given="rows") == []


OWN_ROWS = """
import torch
from datasets import Dataset, IterableDataset, load_dataset


class Rows(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = list(rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class Turns(torch.utils.data.IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        yield from self.rows
"""
FROM_SHARD = "get_train_dataloader = lambda: shard_dataloader"


@pytest.mark.parametrize(
    ("body", "given", "keeps_loader"),
    [
        ("made = Dataset.from_list(list(train_dataset))", "made", True),
        ("made = Dataset.from_list([r for r in train_dataset]).map(len)", "made", True),
        ("rows = [row for row in train_dataset]", "rows", True),
        ("pass", "list(train_dataset)", True),
        ("pass", "Rows(train_dataset)", True),
        ("train_dataset = Rows(train_dataset)", "train_dataset", True),
        ("class More(Rows):\n        pass", "More(train_dataset)", True),
        ("pass", "torch.utils.data.Subset(Rows(train_dataset), [0, 1])", True),
        ("pass", "sorted(train_dataset, key=len)", True),
        ("pass", "Turns(train_dataset)", False),
        ("made = IterableDataset.from_generator(lambda: iter(train_dataset))", "made", False),
        ("made = train_dataset if config else Rows(train_dataset)", "made", False),
        ("pass", "train_dataset", False),
        ("from job import wrap", "wrap(train_dataset)", False),
    ],
)
def test_rows_with_an_index_that_the_function_makes_keep_the_loader_of_the_trainer(
    body: str, given: str, *, keeps_loader: bool
) -> None:
    parts = {"parameters": "train_dataset, eval_dataset=None", "datasets": DATASETS, "method": "get_train_dataloader"}
    script = SCRIPT.format(body=body, given=given, **parts)
    outcome = converted(script.replace("\n\nclass Own", f"{OWN_ROWS}\n\nclass Own"))
    assert (FROM_SHARD not in outcome.text) is keeps_loader
    assert ("def shard_dataloader" not in outcome.text) is keeps_loader
    assert "TrainShard(config" in outcome.text
    told = [message for message in outcome.messages if "is not called" in message]
    assert len(told) == (0 if keeps_loader else 1)
