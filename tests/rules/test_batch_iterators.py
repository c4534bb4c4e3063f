"""RM517: one iterator of Ray Data that is used twice."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from tqdm import tqdm
from ray.air import session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
from steps import step, run_epoch


def train_epoch(batches):
    for batch in batches:
        step(batch)


class Job:
    def __init__(self, shard):
        self.batches = shard.iter_torch_batches()

    def epoch(self):
        for batch in self.batches:
            step(batch)


def loop(config):
    shard, dev = session.get_dataset_shard("train"), session.get_dataset_shard("dev")
    {body}


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), datasets=dict(train=ray.data.range(8))).fit()
"""
MADE = "batches = shard.iter_torch_batches(batch_size=2)\n    "
EPOCHS = "for epoch in range(2):\n        "
AGAIN = {
    "loop": f"{MADE}{EPOCHS}for batch in batches:\n            step(batch)",
    "while": f"{MADE}steps = 0\n    while steps < 9:\n        for batch in batches:\n            steps += 1",
    "rows": f"rows = shard.iter_rows()\n    {EPOCHS}print(sum(row['id'] for row in rows))",
    "batches": f"batches = shard.iter_batches()\n    {EPOCHS}print([len(batch) for batch in batches])",
    "enumerated": f"{MADE}{EPOCHS}for i, batch in enumerate(batches):\n            step(batch)",
    "progress": f"{MADE}{EPOCHS}for batch in tqdm(batches):\n            step(batch)",
    "function of the file": f"{MADE}{EPOCHS}train_epoch(batches)",
    "function of another file": f"{MADE}{EPOCHS}run_epoch(step, batches=batches)",
    "iter in the loop": f"{MADE}{EPOCHS}for batch in iter(batches):\n            step(batch)",
    "walrus": "if (batches := shard.iter_torch_batches()) is not None:\n        "
    + EPOCHS.replace("\n", "\n    ")
    + "train_epoch(batches)",
    "second loop": f"{MADE}for batch in batches:\n        step(batch)\n    for batch in batches:\n        step(batch)",
    "list, then a loop": f"{MADE}print(len(list(batches)))\n    for batch in batches:\n        step(batch)",
    "nested function": f"{MADE}def one():\n        for batch in batches:\n            step(batch)\n    {EPOCHS}one()",
    "phases": "loaders = {'train': shard.iter_batches(), 'dev': dev.iter_batches()}\n    "
    f"{EPOCHS}for phase in ('train', 'dev'):\n            for batch in loaders[phase]:\n                step(batch)",
    "object": f"job = Job(shard)\n    {EPOCHS}job.epoch()",
    "iterator of a dataset": f"batches = ray.data.range(8).iterator().iter_batches()\n    {EPOCHS}train_epoch(batches)",
}
ONCE = {
    "in the loop": f"{EPOCHS}{MADE}    for batch in batches:\n            step(batch)",
    "called where it is read": f"{EPOCHS}for batch in shard.iter_torch_batches():\n            step(batch)",
    "once": f"{MADE}for batch in batches:\n        for part in batch:\n            step(part)",
    "an iterator": "batches = iter(shard.iter_torch_batches())\n    "
    f"{EPOCHS}for batch in batches:\n            step(batch)",
    "made anew": f"{MADE}{EPOCHS}for batch in batches:\n            step(batch)\n        {MADE}",
    "either": f"{MADE}if config['x']:\n        train_epoch(batches)\n    else:\n        run_epoch(batches)",
    "either, with a return": f"{MADE}if config['x']:\n        return train_epoch(batches)\n    run_epoch(batches)",
    "looked at": f"{MADE}{EPOCHS}print(batches)\n    train_epoch(batches)",
    "phases of one epoch": "loaders = {'train': shard.iter_batches(), 'dev': dev.iter_batches()}\n    "
    "for phase in ('train', 'dev'):\n        for batch in loaders[phase]:\n            step(batch)",
    "several": "for batches in (shard.iter_batches(), dev.iter_batches()):\n        for batch in batches:\n"
    "            step(batch)",
    "object made anew": f"{EPOCHS}job = Job(shard)\n        job.epoch()",
    "other library": f"rows = config['frame'].iter_rows()\n    {EPOCHS}print(list(rows))",
}
NEXT = {
    "at once": ("first = next(shard.iter_batches())", "next(iter(shard.iter_batches()))"),
    "with a default": ("first = next(shard.iter_rows(), None)", "next(iter(shard.iter_rows()), None)"),
    "by name": (f"{MADE}first = next(batches)", "batches = iter(shard.iter_torch_batches(batch_size=2))"),
    "in a function": (
        f"def first(batches):\n        return next(batches)\n    {MADE}step(first(batches))",
        "batches = iter(shard.iter_torch_batches(batch_size=2))",
    ),
    "and a loop": (f"{MADE}step(next(batches))\n    {EPOCHS}train_epoch(batches)", "batches = iter(shard."),
    "of a dataset": ("first = next(ray.data.range(8).iter_batches())", "next(iter(ray.data.range(8).iter_batches()))"),
}


def _told(body: str, script: str = SCRIPT, **options: str) -> list[Kind]:
    return [kind for code, kind, _ in converted(script.format(body=body), **options).findings if code == "RM517"]


@pytest.mark.parametrize("body", AGAIN.values(), ids=AGAIN)
def test_another_pass_is_told(body: str) -> None:
    assert _told(body) == [Kind.MANUAL]
    assert _told(body, from_ray="2.6") == [Kind.MANUAL]
    assert not _told(body, from_ray="2.7")


@pytest.mark.parametrize("body", ONCE.values(), ids=ONCE)
def test_one_pass_is_not(body: str) -> None:
    assert not _told(body)


@pytest.mark.parametrize("body", AGAIN.values(), ids=AGAIN)
def test_scripts_of_today_mean_several_passes(body: str) -> None:
    today = SCRIPT.replace("from ray.air import session", "import ray.train").replace("session.", "ray.train.")
    assert not _told(body, today.replace("ray.air.config", "ray.train"))


@pytest.mark.parametrize(("body", "after"), NEXT.values(), ids=NEXT)
def test_what_next_is_called_with_is_an_iterator(body: str, after: str) -> None:
    assert _told(body) == [Kind.CONVERTED]
    assert after in converted(SCRIPT.format(body=body)).text


def test_next_of_something_else() -> None:
    assert not _told("print(next(iter(shard.iter_batches())), next(config['frame'].iter_rows()))")


def test_the_advice_names_nothing_that_the_run_takes_away() -> None:
    script = """
        import ray
        from ray.air import session

        def loop(config):
            batches = session.get_dataset_shard("train").iter_torch_batches(batch_size=4)
            for epoch in range(3):
                for batch in batches:
                    print(batch)
        """
    message = next(m for m in converted(script).messages if "iterates again over" in m)
    assert "iter(shard.iter_torch_batches(...))" in message
    assert "session" not in message
