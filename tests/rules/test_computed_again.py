"""RM518: mapped datasets that are asked for their rows again."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray.air.config import ScalingConfig
from jobs import double

ds = ray.data.read_csv("rows.csv")
{body}
"""
KEPT = {
    "count and to_pandas": "res = ds.map_batches(double)\nprint(res.count())\nprint(res.to_pandas())",
    "in one call": "res = ds.groupby('k').map_groups(double)\nprint(res.to_pandas(limit=res.count()))",
    "groups by name": "groups = ds.groupby('k')\nres = groups.map_groups(double)\nprint(res.count(), res.take_all())",
    "a limit": "res = ds.map(double)\nprint(res.to_pandas(limit=9))",
    "written": "res = ds.flat_map(double)\nprint(res.count())\nres.write_parquet('out')",
    "later in a branch": "res = ds.filter(double)\nn = res.count()\nif n:\n    res.write_csv('out')",
    "later in a loop": "res = ds.map(double)\nres.count()\nfor e in range(2):\n    print(list(res.iter_batches()))",
    "shuffled since": "res = ds.map(double).random_shuffle()\nprint(res.count(), res.sum('x'))",
    "in a function": "def f():\n    res = ds.map(double)\n    print(res.count())\n    return res.take_all()",
    "lazy": "res = ds.map(double).lazy()\nprint(res.count(), res.take_all())",
    "with other edits": "res = ds.map(double, compute='tasks')\nprint(res.count(), res.take_all())",
    "in lines": "res = (\n    ds.map(double)  # one\n    .repartition(3)\n)\nprint(res.count(), res.take_all())",
    "made by a function": "def f():\n    return ds.map(double)\n\nres = f()\nprint(res.count(), res.take_all())",
}
MAY_BE_KEPT = {
    "in a branch": "res = ds.map(double)\nif ds:\n    print(res.count())\nprint(res.to_pandas())",
    "in a function": "res = ds.map(double)\ndef f():\n    print(res.count())\n    return res.to_pandas()",
}
NOT_TOLD = {
    "read": "print(ds.count(), ds.to_pandas())",
    "shuffled": "res = ds.random_shuffle()\nprint(res.count(), res.to_pandas())",
    "once": "res = ds.map(double)\nprint(res.to_pandas())",
    "materialized": "res = ds.map(double).materialize()\nprint(res.count(), res.to_pandas())",
    "looked at": "res = ds.map(double)\nprint(res.count(), res.schema(), res.take(5))\nres.show()",
    "the number is known": "res = ds.map(double)\nprint(res.to_pandas())\nprint(res.count())",
    "iterated only": "res = ds.map(double)\nfor e in range(2):\n    for b in res.iter_batches():\n        pass",
    "another value": "res = ds.map(double)\nprint(res.count())\nres = res.map(double)\nprint(res.to_pandas())",
    "trained on": "res = ds.map(double)\nprint(res.count())\ntrain(datasets={'train': res})",
    "no limit": "res = ds.map(double)\nprint(res.to_pandas(limit=None))",
    "by an expression": "res = ds.filter(expr='x > 0')\nprint(res.count(), res.to_pandas())",
    "groups": "res = ds.groupby('k')\nprint(res.count(), res.sum('x'))",
    "of another library": "res = double(ds).map_groups(double)\nprint(res.count(), res.to_pandas())",
}


def _told(body: str, script: str = SCRIPT, **options: str) -> list[Kind]:
    return [kind for code, kind, _ in converted(script.format(body=body), **options).findings if code == "RM518"]


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_the_rows_are_kept(body: str) -> None:
    assert _told(body) == [Kind.CONVERTED]
    after = converted(SCRIPT.format(body=body)).text
    assert after.count(".materialize()") == 1
    assert not _told(after, "{body}", from_ray="2.6")
    assert not _told(body, from_ray="2.40")


@pytest.mark.parametrize("body", MAY_BE_KEPT.values(), ids=MAY_BE_KEPT)
def test_where_legacy_ray_may_not_have_made_them_it_is_told(body: str) -> None:
    assert _told(body) == [Kind.MANUAL]


@pytest.mark.parametrize("body", NOT_TOLD.values(), ids=NOT_TOLD)
def test_others_are_not_told(body: str) -> None:
    assert not _told(body)


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_scripts_of_today_are_not_told(body: str) -> None:
    assert not _told(body, SCRIPT.replace("ray.air.config", "ray.train"))
    assert _told(body, SCRIPT.replace("ray.air.config", "ray.train"), from_ray="2.6")


TRAINED = """
import ray
from jobs import Rows
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer("m", TrainingArguments("out", max_steps=config["steps"]), train_dataset=train_dataset)


train = ray.data.read_csv("rows.csv").map_batches(Rows)
trainer = TransformersTrainer(init, trainer_init_config={config}, datasets={{"train": train}})
result = trainer.fit()
"""


@pytest.mark.parametrize("config", ["dict(steps=numbers['steps'])", "{**numbers}", "numbers"])
def test_a_conversion_counts_the_rows_of_a_dataset_that_was_counted(config: str) -> None:
    """The file was left as it was with an RM903, since a second run would have kept the rows for the second count."""
    script = TRAINED.format(config=config).replace("trainer =", "numbers = {'steps': train.count()}\ntrainer =", 1)
    after = converted(script, from_ray="2.6").text
    assert after.count("train.count()") == 2
    assert converted(after, from_ray="2.6").text == after


def test_a_number_of_rows_that_is_handed_elsewhere_is_another_run() -> None:
    assert _told("res = ds.map(double)\nprint(res.count())\nrun(config={'num_rows': res.count()})") == [Kind.CONVERTED]
