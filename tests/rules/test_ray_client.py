"""RM512: Ray Data that a script runs through Ray Client."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted
from tests.test_pins_asked_for import notebook

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
    "shown among others": "print('rows', 1, rows)",
    "text": "text = str(rows)",
    "text in text": "text = f'{rows!r:>10} rows'",
    "text in a call": "logger.info(f'rows: {rows}')",
    "old text": "text = 'of %s: %s' % (1, rows)",
    "older text": "text = '{data}'.format(data=rows)",
    "dict": "data = {'train': rows, 'other': None}\nprint(data)",
    "dict by keywords": "print(dict(train=rows))",
    "dict that is filled": "data = {}\ndata['train'] = rows\nprint(data)",
    "dict of a loop": "print({name: ray.data.from_items([name]) for name in ('a', 'b')})",
    "dict in a dict": "print({'data': {'train': [rows]}})",
    "values": "data = {'train': rows}\nprint(data.values())",
    "subscript": "data = {'train': rows}\nprint(data['train'])",
    "subscript of a Hugging Face dict": "data = ray.data.from_huggingface(splits)\nprint(data['train'])",
    "list": "data = []\ndata.append(rows)\nprint(data)",
    "tuple": "print((1, rows))",
    "copy of a list": "print(list((rows,)))",
    "list of values": "data = {'train': rows}\nprint(list(data.values()))",
    "parts of a split": "print(rows.split(2))",
    "what a function gives": "def make():\n    return {'train': ray.data.from_items([1])}\n\n\nprint(make())",
    "attribute": "class Data:\n    def __init__(self):\n        self.rows = ray.data.from_items([1])\n\n"
    "    def look(self):\n        print(self.rows)",
    "item of a loop": "for name, data in {'train': rows}.items():\n    print(name, data)",
    "printed neatly": "import pprint\npprint.pprint({'train': rows})",
    "grouped": "print(rows.groupby('x'))",
    "materialized in text": "clean = ray.data.range(8).materialize()\nprint(clean)",
    "schema of mapped rows": "print(rows.map(clean).schema())",
    "columns of mapped rows": "rows.map_batches(clean).columns()",
    "size of rows that are read": "ray.data.read_parquet('/shared/rows').size_bytes()",
    "preprocessor": "TorchTrainer(loop, datasets={'train': rows}, preprocessor=scaler).fit()",
}
SHOWN = {
    "name": "rows",
    "dict": "{'train': rows}",
    "subscript": "data = {'train': rows}\ndata['train']",
    "call": "ray.data.from_items([1, 2])",
    "display": "display(rows)\nx = 1",
}
NOT_SHOWN = {
    "in the middle of a cell": "rows\nx = 1",
    "with a semicolon": "rows;",
    "of rows that are read": "ray.data.read_parquet('/shared/rows')",
    "in a function": "def look():\n    rows",
    "another display": "def display(x):\n    pass\ndisplay(rows)\n",
}
NOT_RUN = {
    "count of rows in memory": "print(rows.count())",
    "limited": "print(rows.limit(5).count())",
    "limited and shown": "print(rows.limit(5))",
    "mapped and shown": "mapped = rows.map(clean)\nprint(mapped, {'train': mapped})",
    "read and shown": "data = ray.data.read_parquet('/shared/rows')\nprint(data, f'{data}', data.schema())",
    "names of datasets": "data = {'train': rows}\nprint(data.keys(), len(data), list(data), rows.schema())",
    "a generator": "print(one for one in [rows])",
    "number in text": "print(f'{rows.count()} rows', '%d' % rows.count(), '{}'.format(rows.columns()))",
    "text of an error": "if x:\n    raise ValueError(f'{rows} is wrong')",
    "somebody's print": "def print(x):\n    pass\n\n\nprint(rows)",
    "shown on workers": "def loop():\n    print(ray.data.from_items([1]))\n\n\nTorchTrainer(loop).fit()",
    "shown in a task": "@ray.remote\ndef look():\n    print(ray.data.from_items([1]))\n\n\nray.get(look.remote())",
    "a bare name": "rows",
    "texts of others": "print({'train': frame}, str(frame), [frame])",
    "split": "first, second = rows.train_test_split(0.1)",
    "trained on": "TorchTrainer(loop, datasets={'train': rows.map_batches(clean)}).fit()",
    "in a task": "@ray.remote\ndef work(rows):\n    return rows.map(clean).materialize()\n\n\nray.get(work.remote(1))",
    "in a task of ray.data": "@ray.remote(num_cpus=2)\ndef work():\n    return ray.data.range(8).take()",
    "in an actor": "@ray.remote\nclass Worker:\n    def work(self):\n        return ray.data.range(8).take()",
    "on workers": "def loop():\n    print(ray.data.range(8).take())\n\n\nTorchTrainer(loop).fit()",
    "of another library": "print(frames.take(1), frames.materialize())",
}


def told_of_notebook(folder: Path, *cells: str) -> list[str]:
    """The messages of the rule for a notebook with some cells more."""
    write(folder, {"x.ipynb": notebook(SCRIPT.format(connect=CLIENT, body=""), *cells)})
    return [finding.message for finding in convert(folder).findings if finding.code == "RM512"]


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


@pytest.mark.parametrize("cell", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("after", [(), ("x = 2",), ("!ls",)])
def test_what_a_cell_shows_is_told(tmp_path: Path, cell: str, after: tuple[str, ...]) -> None:
    assert len(told_of_notebook(tmp_path, cell, *after)) == 1


@pytest.mark.parametrize("cell", NOT_SHOWN.values(), ids=NOT_SHOWN)
def test_what_a_cell_does_not_show_is_not(tmp_path: Path, cell: str) -> None:
    assert told_of_notebook(tmp_path, cell, "x = 2") == []


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
    'ray.init("ray://head:10001", runtime_env={"pip": ["a"]})': "with no field in the runtime_env of ray.init()",
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


def test_datasets_that_are_not_seen_are_no_training_data_of_ray_data() -> None:
    body = "from ray.train.huggingface import TransformersTrainer\nTransformersTrainer(build, datasets=load())"
    assert not converted(SCRIPT.format(connect=CLIENT, body=body)).lines("RM512")
