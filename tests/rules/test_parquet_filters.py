"""RM516: filters given to read_parquet()."""

import ast

import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset
import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.dataset as pds
import ray
from settings import LIMIT

KEYS = (1, 2)


def read(low, config, values=None):
    {filter}
    return ray.data.read_parquet("rows", columns=["x", "y"], filter={given})
"""
SAID = {
    'pds.field("x") > 0': 'col("x") > 0',
    'pds.field("x") >= low': 'col("x") >= low',
    'config["low"] < pc.field("x")': 'config["low"] < col("x")',
    'pa.dataset.field("x") == LIMIT': 'col("x") == LIMIT',
    'pyarrow.dataset.field("x") != None': 'col("x") != None',
    'pds.field("x") < pds.field("z")': 'col("x") < col("z")',
    '(pds.field("x") > 0) & ~(pds.field("y") == "a")': '(col("x") > 0) & ~(col("y") == "a")',
    'pds.field("x").isin([1, 2]) | pds.field("y").is_null()': 'col("x").is_in([1, 2]) | col("y").is_null()',
    'pds.field("x").isin(KEYS)': 'col("x").is_in(list(KEYS))',
    'pds.field("x").isin([key for key in KEYS])': 'col("x").is_in([key for key in KEYS])',
    'pds.field("y").is_valid()': 'col("y").is_not_null()',
    'pds.field("x") > pa.scalar(1).as_py()': 'col("x") > pa.scalar(1).as_py()',
}
LEFT = [
    'pds.field("x") + 1 > 0',
    '0 < pds.field("x") < 9',
    "pds.field(0) > 0",
    'pds.field("x", "inner") > 0',
    'pds.field(config["column"]) > 0',
    'pds.field("x") > pds.scalar(3)',
    'pds.field("x") > make(pds.field("y"))',
    'pds.field("x").isin(pa.array([1]))',
    'pds.field("x").isin([1], True)',
    'pds.field("x").is_null(nan_is_null=True)',
    'pds.field("x").cast("int32") > 0',
    'pc.is_in(pds.field("x"), [1])',
    'pds.field("x") > 0 and pds.field("y") > 0',
    'low & (pds.field("x") > 0)',
    '(pds.field("x") > 0) | low',
    "config['filter']",
    "low",
    "LIMIT",
    'values or pds.field("x") > 0',
]


def _script(given: str, before: str = "pass") -> str:
    return SCRIPT.format(filter=before, given=given)


@pytest.mark.parametrize(("given", "said"), SAID.items())
def test_a_filter_that_ray_data_can_say(given: str, said: str) -> None:
    outcome = converted(_script(given))
    assert outcome.lines("RM516", Kind.CONVERTED)
    assert f'ray.data.read_parquet("rows", columns=["x", "y"]).filter(expr={said})' in outcome.text
    assert "from ray.data.expressions import col" in outcome.text
    assert not converted(outcome.text).findings


@pytest.mark.parametrize("given", LEFT)
def test_others_are_told(given: str) -> None:
    outcome = converted(_script(given))
    assert outcome.lines("RM516", Kind.MANUAL)
    assert outcome.text == _script(given).lstrip("\n")


def test_a_name_of_a_filter() -> None:
    named = 'positive = pds.field("x") > 0'
    assert 'positive = col("x") > 0' in converted(_script("positive", named)).text
    for other in ("print(positive)", 'both = positive & (pds.field("y") > 0)', "positive = low or positive"):
        assert converted(_script("positive", f"{named}\n    {other}")).lines("RM516", Kind.MANUAL)


def test_none_goes() -> None:
    outcome = converted(_script("None"))
    assert 'read_parquet("rows", columns=["x", "y"])\n' in outcome.text
    assert "ray.data.expressions" not in outcome.text


def test_a_variable_that_is_called_as_the_column() -> None:
    outcome = converted(_script('pds.field("x") > 0', "for col in low:\n        print(col)"))
    assert 'filter(expr=ray_col("x") > 0)' in outcome.text
    assert "import col as ray_col" in outcome.text


@pytest.mark.parametrize(
    "call",
    [
        'ray.data.read_parquet("rows", dataset_kwargs={"filters": [("x", ">", 0)]})',
        'ray.data.read_parquet("rows", **{"filter": pds.field("x") > 0})',
        'ray.data.read_parquet("rows", **options)',
        'ray.data.read_parquet("rows", **dict(columns=["x"], filter=pds.field("x") > 0))',
    ],
)
def test_filters_in_a_dict_are_told(call: str) -> None:
    script = f"import ray\nimport pyarrow.dataset as pds\n\noptions = {{}}\noptions['filter'] = 1\nds = {call}\n"
    assert converted(script).lines("RM516", Kind.MANUAL)


@pytest.mark.parametrize(
    "call",
    [
        'polars.read_parquet("rows", filter=pds.field("x") > 0)',
        'ray.data.read_parquet("rows", dataset_kwargs={"memory_map": True})',
        'ray.data.read_parquet("rows").filter(lambda row: row["x"])',
        'ray.data.read_csv("rows", filter=1)',
        'ray.data.read_parquet("rows", **ray.options)',
    ],
)
def test_other_calls_are_not(call: str) -> None:
    script = f"import ray\nimport polars\nimport pyarrow.dataset as pds\n\nds = {call}\n"
    assert not [code for code, _, _ in converted(script).findings if code == "RM516"]


@pytest.mark.ray
@pytest.mark.parametrize(("given", "said"), SAID.items())
def test_pyarrow_gives_the_same_rows(given: str, said: str) -> None:
    expressions = pytest.importorskip("ray.data.expressions")
    rows = pyarrow.dataset.dataset(pa.table({"x": [0, 1, 2, None], "y": ["a", None, "b", "c"], "z": [3, 1, None, 2]}))
    names = {"low": 1, "config": {"low": 1}, "LIMIT": 2.5, "KEYS": (1, 2), "pa": pa, "pyarrow": pyarrow}
    names |= {"pds": pyarrow.dataset, "pc": pyarrow.compute, "col": expressions.col}
    before, after = (eval(compile(ast.parse(text, mode="eval"), "<text>", "eval"), names) for text in (given, said))
    assert rows.to_table(filter=after.to_pyarrow()).equals(rows.to_table(filter=before))
