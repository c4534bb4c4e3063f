"""RM692, SimpleTorchDatasource, which becomes from_torch(); RM507, the columns that drop_columns() gets."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = (
    "from functools import partial\n\nimport ray\nfrom ray import data\nfrom ray.data import read_datasource\n"
    "from ray.data.datasource import SimpleTorchDatasource\nimport ray.data.datasource as sources\n"
    "from job import Images, options\n\n\ndef make():\n    return Images()\n\n\n"
)
READ = {
    "ray.data.read_datasource(SimpleTorchDatasource(), dataset_factory=make)": "ray.data.from_torch(make())",
    "data.read_datasource(datasource=SimpleTorchDatasource(), dataset_factory=Images)": "data.from_torch(Images())",
    "read_datasource(sources.SimpleTorchDatasource(), parallelism=1, dataset_factory=make)": "from_torch(make())",
    "ray.data.read_datasource(SimpleTorchDatasource(), dataset_factory=lambda: Images(1))": (
        "ray.data.from_torch(Images(1))"
    ),
    "ray.data.read_datasource(SimpleTorchDatasource(), dataset_factory=partial(Images, 1))": (
        "ray.data.from_torch(partial(Images, 1)())"
    ),
}
UNSEEN = [
    "ray.data.read_datasource(SimpleTorchDatasource(), **options)",
    "ray.data.read_datasource(SimpleTorchDatasource(), dataset_factory=make, ray_remote_args=options)",
    "ray.data.read_datasource(SimpleTorchDatasource(), dataset_factory=lambda n=2: Images(n))",
    "ray.data.read_datasource(SimpleTorchDatasource(), dataset_factory=make if options else Images)",
    "source = SimpleTorchDatasource()\nray.data.read_datasource(source, dataset_factory=make)",
]


@pytest.mark.parametrize(("read", "now"), READ.items())
def test_a_dataset_of_torch_is_given_to_from_torch(read: str, now: str) -> None:
    outcome = converted(f"{HEAD}ds = {read}\n")
    assert f"ds = {now}\n" in outcome.text
    assert "SimpleTorchDatasource" not in outcome.text
    again = converted(outcome.text)
    assert not again.lines("RM692", Kind.CONVERTED)


@pytest.mark.parametrize("read", UNSEEN)
def test_what_a_datasource_is_given_besides_is_left_to_a_person(read: str) -> None:
    outcome = converted(f"{HEAD}ds = 1\n{read}\n")
    assert not outcome.lines("RM692", Kind.CONVERTED)
    assert any("ray.data.from_torch()" in message for message in outcome.messages)


def test_a_datasource_of_tensorflow_has_advice() -> None:
    outcome = converted(
        "import ray\nfrom ray.data.datasource import SimpleTensorFlowDatasource\n\n"
        "ray.data.read_datasource(SimpleTensorFlowDatasource(), dataset_factory=load)\n"
    )
    assert any("ray.data.from_tf()" in message for message in outcome.messages)


@pytest.mark.parametrize("uses", ["b[0]", "[image for image, _ in b]"])
def test_its_rows_are_dicts(uses: str) -> None:
    read = "ray.data.read_datasource(SimpleTorchDatasource(), dataset_factory=make)"
    script = f"{HEAD}ds = {read}.map_batches(lambda b: {{'a': {uses}}})\n"
    assert any("A batch of from_torch() is a dict" in message for message in converted(script).messages)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("map_batches(job.to_arrays)", "job.to_arrays() is not seen here: a batch of from_torch() is a dict of arrays"),
        ("random_shuffle().map_batches(options)", "options() is not seen here: a batch of from_torch()"),
        ("map(fn=options)", "options() is not seen here: a row of from_torch() is a dict with"),
        ("map_batches(lambda b: {'a': b['item']})", ""),
        ("map_batches(lambda b: {'a': list(b['item'])}).map_batches(options)", ""),
    ],
)
def test_a_function_that_is_not_seen_may_take_its_rows_as_they_were(call: str, told: str) -> None:
    read = "ray.data.read_datasource(SimpleTorchDatasource(), dataset_factory=make)"
    messages = converted(f"{HEAD}import job\nds = {read}.{call}\n").messages
    assert any(bool(told) and told in message for message in messages) == bool(told)
    assert bool(told) or not any("is not seen here" in message for message in messages)
    assert not any(
        "is not seen here" in m for m in converted(f"{HEAD}ds = ray.data.from_torch(make()).{call}\n").messages
    )


DROPPED = "import ray\nfrom job import given, load\n\nNAME = 'label'\nds = ray.data.read_csv('a')\n"


@pytest.mark.parametrize(
    ("call", "now"),
    [
        ("ds.drop_columns('label')", "ds.drop_columns(['label'])"),
        ("ds.drop_columns(cols='label', concurrency=2)", "ds.drop_columns(cols=['label'], concurrency=2)"),
        ("ds.limit(5).drop_columns(NAME)", "ds.limit(5).drop_columns([NAME])"),
        ("ds.drop_columns(f'{NAME}_1').drop_columns('a')", "ds.drop_columns([f'{NAME}_1']).drop_columns(['a'])"),
        ("ds.drop_columns('a' if given else NAME)", "ds.drop_columns(['a' if given else NAME])"),
    ],
)
def test_one_column_to_drop_becomes_a_list(call: str, now: str) -> None:
    outcome = converted(f"{DROPPED}{call}\n")
    assert now in outcome.text
    assert set(outcome.lines("RM507", Kind.CONVERTED)) == {6}


@pytest.mark.parametrize(
    "call",
    [
        "ds.drop_columns(['label'])",
        "ds.drop_columns(given)",
        "ds.drop_columns([NAME])",
        "load().drop_columns('label')",
        "ds.select_columns('label')",
        "ds.drop_columns(cols=given if given else 'label')",
    ],
)
def test_lists_and_what_may_be_one_stay(call: str) -> None:
    assert not converted(f"{DROPPED}{call}\n").lines("RM507", Kind.CONVERTED)
