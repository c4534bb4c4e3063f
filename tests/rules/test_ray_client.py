"""RM512: Ray Data that a script runs through Ray Client."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os

import pandas as pd
import ray
from ray.train.torch import TorchTrainer

{connect}
rows = ray.data.from_pandas(pd.DataFrame({{"x": [1]}}))
{body}
"""
CLIENT = 'ray.init("ray://head:10001")'
CONNECTIONS = {
    "by position": CLIENT,
    "by name": 'ray.init(address=f"ray://{host}:10001", namespace="train")',
    "in a name": 'HEAD = "ray://head:10001"\nray.init(HEAD)',
    "by default": 'ray.init(os.environ.get("HEAD", "ray://head:10001"))',
    "ray.client": 'ray.client("head:10001").connect()',
    "ray.util.connect": 'ray.util.connect("head:10001")',
    "environment": 'os.environ["RAY_ADDRESS"] = "ray://head:10001"\nray.init()',
    "environment by default": 'os.environ.setdefault("RAY_ADDRESS", "ray://head:10001")\nray.init()',
}
RUN = {
    "materialize": "rows.map_batches(clean).materialize()",
    "through a name": "mapped = rows.map(clean)\nprint(mapped.count())",
    "take": "rows.take(1)",
    "each, by the name of the whole": "[rows.materialize() for rows in [rows.map(clean)]]",
    "loop": "for row in rows.iter_rows():\n    print(row)",
    "written": "rows.write_parquet('/shared/rows')",
    "read": "print(ray.data.read_parquet('/shared/rows').count())",
    "shown": "print(rows)",
    "split": "first, second = rows.random_shuffle().train_test_split(0.1)",
    "preprocessor": "TorchTrainer(loop, datasets={'train': rows}, preprocessor=scaler).fit()",
}
NOT_RUN = {
    "count of rows in memory": "print(rows.count())",
    "limited": "print(rows.limit(5).count())",
    "split": "first, second = rows.train_test_split(0.1)",
    "trained on": "TorchTrainer(loop, datasets={'train': rows.map_batches(clean)}).fit()",
    "in a task": "@ray.remote\ndef work(rows):\n    return rows.map(clean).materialize()\n\n\nray.get(work.remote(1))",
    "in a task of ray.data": "@ray.remote(num_cpus=2)\ndef work():\n    return ray.data.range(8).take()",
    "in an actor": "@ray.remote\nclass Worker:\n    def work(self):\n        return ray.data.range(8).take()",
    "on workers": "def loop():\n    print(ray.data.range(8).take())\n\n\nTorchTrainer(loop).fit()",
    "of another library": "print(frames.take(1), frames.materialize())",
}


@pytest.mark.parametrize("connect", CONNECTIONS.values(), ids=CONNECTIONS)
def test_a_client_that_runs_ray_data_is_told(connect: str) -> None:
    outcome = converted(SCRIPT.format(connect=connect, body=RUN["materialize"]))
    assert len(outcome.lines("RM512", Kind.MANUAL)) == 1


@pytest.mark.parametrize("body", RUN.values(), ids=RUN)
def test_all_that_runs_a_dataset_is_told(body: str) -> None:
    assert converted(SCRIPT.format(connect=CLIENT, body=body)).lines("RM512", Kind.MANUAL) == [7]


@pytest.mark.parametrize("body", NOT_RUN.values(), ids=NOT_RUN)
def test_what_runs_in_the_cluster_or_not_at_all_is_not(body: str) -> None:
    assert not converted(SCRIPT.format(connect=CLIENT, body=body)).lines("RM512", Kind.MANUAL)


@pytest.mark.parametrize("connect", ["ray.init()", 'ray.init("auto")', 'ray.init("10.0.0.1:6379")', "client.connect()"])
def test_another_connection_is_not(connect: str) -> None:
    script = SCRIPT.format(connect=connect, body=RUN["materialize"])
    assert not converted(script).lines("RM512", Kind.MANUAL)


def test_the_training_rows_of_a_legacy_trainer_are_counted_by_the_client() -> None:
    body = (
        "from ray.train.huggingface import TransformersTrainer\nTransformersTrainer(trainer_init_per_worker=build, "
        "datasets={'train': {train}}, scaling_config=scaling).fit()"
    )
    read = body.replace("{train}", "ray.data.read_parquet('/shared/rows')")
    assert converted(SCRIPT.format(connect=CLIENT, body=read)).lines("RM512", Kind.MANUAL)
    in_memory = body.replace("{train}", "rows")
    assert not converted(SCRIPT.format(connect=CLIENT, body=in_memory)).lines("RM512", Kind.MANUAL)


ADVICE = {
    CLIENT: "Take the address out of ray.init(), and run it in the cluster: `ray job submit",
    'ray.init("ray://head:10001", allow_multiple=True)': "Take the address and allow_multiple out of ray.init(), and",
    'ray.client("head:10001").connect()': "Write ray.init() in place of what connects, and run",
    'os.environ["RAY_ADDRESS"] = "ray://head:10001"\nray.init()': "Take out the line that sets RAY_ADDRESS, and run",
    'ray.init("ray://head:10001", runtime_env={"pip": ["a"]})': "where a field of runtime_env that ray.init() has is",
}


@pytest.mark.parametrize(("connect", "advice"), ADVICE.items(), ids=ADVICE)
def test_the_advice_is_for_this_connection(connect: str, advice: str) -> None:
    outcome = converted(SCRIPT.format(connect=connect, body=RUN["materialize"]))
    (told,) = [message for message in outcome.messages if "a client cannot run Ray Data" in message]
    assert advice in told
    assert ("runtime_env" in told) == ("runtime_env" in connect)


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        ("ray.shutdown()\nprint(rows.count())", False),
        ("ray.util.disconnect()\nrows.show()", False),
        (f"ray.shutdown()\n{CLIENT}\nrows.show()", True),
        ("rows.show()\nray.shutdown()", True),
        ("def look():\n    rows.show()\n\n\nlook()\nray.shutdown()", True),
        ("def close():\n    ray.shutdown()\n\n\nrows.show()", True),
    ],
)
def test_what_is_run_after_the_connection_is_closed_runs_here(body: str, is_told: bool) -> None:
    assert bool(converted(SCRIPT.format(connect=CLIENT, body=body)).lines("RM512", Kind.MANUAL)) == is_told


def test_the_environment_outlives_the_connection() -> None:
    script = SCRIPT.format(connect=CONNECTIONS["environment"], body="ray.shutdown()\nrows.show()")
    assert converted(script).lines("RM512", Kind.MANUAL)
