"""RM514: shards of datasets that a trainer may not have."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray import train
from ray.air import session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
from job import rows


def loop(config):
    for batch in session.get_dataset_shard("train").iter_batches():
        print(batch)
    {shard}


{fit}
"""
TESTED = 'dev = session.get_dataset_shard("dev")\n    if dev is not None:\n        print(dev)'
FIT = "TorchTrainer(loop, scaling_config=ScalingConfig(2), datasets={}).fit()"


@pytest.mark.parametrize(
    "shard",
    [
        TESTED,
        'dev = session.get_dataset_shard(dataset_name="dev")\n    print(dev or "none")',
        'NAME = "dev"\n    dev = train.get_dataset_shard(NAME)\n    print(list(dev.iter_rows()) if dev else [])',
        'if (dev := session.get_dataset_shard("dev")) is not None:\n        print(dev)',
        'print(session.get_dataset_shard("dev"))',
        'build(eval_dataset=session.get_dataset_shard("dev"))',
    ],
)
@pytest.mark.parametrize("datasets", ['{"train": rows}', "dict(train=rows)", "None"])
def test_none_takes_the_place_of_a_shard_that_no_trainer_has(shard: str, datasets: str) -> None:
    outcome = converted(SCRIPT.format(shard=shard, fit=FIT.format(datasets)))
    assert outcome.lines("RM514", Kind.CONVERTED)
    assert "None" in outcome.text
    assert outcome.text.count("get_dataset_shard") == 1


@pytest.mark.parametrize(
    "fit",
    [
        "data = {'train': rows}\nif rows.dev:\n    data['dev'] = rows.dev\n" + FIT.format("data"),
        "def load():\n    return {name: ray.data.range(3) for name in rows}\n\n\n" + FIT.format("load()"),
        "def fit(datasets):\n    " + FIT.format("datasets"),
        FIT.format("{**rows}"),
        *(
            f"{data}\n{FIT.format('data')}"
            for data in (
                "data = {}\nfor split in ('train', 'test'):\n    data[split] = load(split)",
                "data = {}\nfor split in ('train', 'dev'):\n    if has(split):\n        data[split] = load(split)",
                "data = {}\nfor split in ('train', 'dev'):\n    if a:\n        continue\n    data[split] = rows",
                "data = {}\nif rows.dev:\n    for split in ('train', 'dev'):\n        data[split] = load(split)",
                "data = {}\nfor split in ('train', 'dev'):\n    data[split] = load(split)\ndata.pop(rows.name)",
                "data = {split: load(split) for split in ('train', 'dev') if has(split)}",
                "data = {f'my_{split}': load(split) for split in ('train', 'dev')}",
            )
        ),
        "TorchTrainer(loop, scaling_config=ScalingConfig(2), **rows).fit()",
        "from ray.tune import Tuner\n\ntrainer = TorchTrainer(loop, scaling_config=ScalingConfig(2))\n"
        "Tuner(trainer, param_space={'datasets': {'dev': rows}}).fit()",
        "\n".join(FIT.format(datasets) for datasets in ('{"train": rows}', '{"train": rows, "dev": rows}')),
        "",
    ],
)
def test_a_shard_that_a_trainer_may_not_have_is_told(fit: str) -> None:
    outcome = converted(SCRIPT.format(shard=TESTED, fit=fit))
    assert outcome.lines("RM514", Kind.MANUAL) == [12]
    assert 'get_dataset_shard("dev")' in outcome.text


@pytest.mark.parametrize(
    ("shard", "fit"),
    [
        (TESTED, FIT.format('{"train": rows, "dev": rows}')),
        (TESTED, FIT.format('{**rows, "dev": rows}')),
        (TESTED, "data = {'dev': rows}\nif rows:\n    data['train'] = rows\n" + FIT.format("data")),
        ('for batch in session.get_dataset_shard("dev").iter_batches():\n        print(batch)', FIT.format("rows")),
        ('dev = session.get_dataset_shard("dev")\n    print(dev.iter_rows())', FIT.format("{}")),
        ("dev = rows.get_dataset_shard('dev')\n    print(dev is None)", FIT.format("{}")),
        *(
            (TESTED, f"{data}\n{FIT.format('data')}")
            for data in (
                "data = {}\nfor split in ('train', 'dev'):\n    data[split] = ray.data.read_parquet(split)",
                "SPLITS = ['train', 'dev']\ndata = dict()\nfor s in SPLITS:\n    rows = load(s)\n    data[s] = rows",
                "data = {'train': rows}\nfor split, path in [('dev', 'a'), ('test', 'b')]:\n    data[split] = path",
                "data = {split: load(split) for split in ('train', 'dev')}",
                "data = {split: load(path) for split, path in {'train': 'a', 'dev': 'b'}.items()}",
                "PATHS = {'train': 'a', 'dev': 'b'}\ndata: dict = {}\nfor name in PATHS:\n    data[name] = load(name)",
                "data = {}\ndata['dev'] = rows\nfor name in more:\n    data[name] = load(name)",
            )
        ),
        (
            TESTED,
            "def build(cfg):\n    splits = {}\n    for split in ('train', 'dev'):\n        splits[split] = 1\n"
            f"    return splits\n\n\n{FIT.format('build({})')}",
        ),
    ],
)
def test_a_shard_that_is_there_is_not_told(shard: str, fit: str) -> None:
    outcome = converted(SCRIPT.format(shard=shard, fit=fit))
    assert "RM514" not in [code for code, _, _ in outcome.findings]


def test_a_script_of_today_knows_of_the_error() -> None:
    script = SCRIPT.format(shard=TESTED.replace("session", "train"), fit=FIT.format("rows"))
    script = script.replace("ray.air.config", "ray.train").replace("session.", "train.")
    outcome = converted(script.replace("from ray.air import session\n", ""))
    assert "RM514" not in [code for code, _, _ in outcome.findings]


HELPER = """
def rows_of(shard):
    return [] if shard is None else list(shard.iter_rows())


def loop_in_helper(config):
    print(rows_of(session.get_dataset_shard("dev")))


TorchTrainer(loop_in_helper, scaling_config=ScalingConfig(2), datasets={datasets}).fit()
"""


@pytest.mark.parametrize(
    ("datasets", "kind"), [('{"train": rows}', Kind.CONVERTED), ("rows.load()", Kind.MANUAL), ('{"dev": rows}', None)]
)
def test_a_helper_may_be_what_asks_for_none(datasets: str, kind: Kind | None) -> None:
    outcome = converted(SCRIPT.format(shard="pass", fit=HELPER.format(datasets=datasets)))
    assert [found for code, found, _ in outcome.findings if code == "RM514"] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("shards", "use"),
    [
        ("{k: session.get_dataset_shard(k) for k in ('train', 'dev')}", "shards['dev'].iter_torch_batches()"),
        ("[train.get_dataset_shard(k) for k in ('train', 'dev')]", "shards[1].iter_rows()"),
        ("{'dev': train.get_dataset_shard('dev')}", "shards['dev'].iter_batches()"),
        ("{k: train.get_dataset_shard(k) for k in ('dev',)}", "[one.iter_rows() for _, one in shards.items()]"),
        ("{k: train.get_dataset_shard(k) for k in ('dev',)}", "[one.iter_rows() for one in shards.values()]"),
    ],
)
def test_a_shard_in_a_collection_whose_rows_are_asked_for_was_always_there(shards: str, use: str) -> None:
    shard = f"shards = {shards}\n    print({use})"
    assert not converted(SCRIPT.format(shard=shard, fit=FIT.format("rows"))).lines("RM514", Kind.MANUAL)


def test_a_shard_in_a_collection_that_is_compared_with_none_may_miss() -> None:
    shard = "shards = {k: train.get_dataset_shard(k) for k in ('train', 'dev')}\n    if shards['dev']: print(shards)"
    assert converted(SCRIPT.format(shard=shard, fit=FIT.format("rows"))).lines("RM514", Kind.MANUAL)
