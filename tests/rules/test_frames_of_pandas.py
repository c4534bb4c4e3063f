"""RM508 where a function hands its batch to pandas as a DataFrame."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import pandas as pd
import ray
from pandas import concat, merge

ds = ray.data.read_csv("a.csv")


def twice(df):
    return pd.concat([df] * 2)


"""


@pytest.mark.parametrize(
    "function",
    [
        "twice",
        "lambda df: pd.concat([df] * n)",
        "lambda df: concat((df, other))",
        "lambda df: pd.concat(objs=[other, df])",
        "lambda df: pd.concat([df for _ in range(n)])",
        "lambda df: pd.concat(df for _ in range(n))",
        "lambda df: pd.concat([other] + [df])",
        "lambda df: pd.merge(df, other, on='a')",
        "lambda df: merge(left=other, right=df)",
        "lambda df: pd.get_dummies(df)",
        "lambda df: pd.concat([df['a'], df['b']], axis=1)",
    ],
)
def test_what_pandas_gets_as_a_frame_is_one(function: str) -> None:
    outcome = converted(f"{HEAD}x = ds.map_batches({function})\n")
    assert outcome.lines("RM508", Kind.CONVERTED)
    assert f'ds.map_batches({function}, batch_format="pandas")' in outcome.text


@pytest.mark.parametrize(
    "function",
    [
        "lambda b: pd.concat([pd.DataFrame(b)] * 2)",
        "lambda b: np.concatenate([b] * 2)",
        "lambda b: mine.concat([b, b])",
        "lambda b: pd.DataFrame(b)",
        "lambda b: pd.get_dummies(b['a'])",
        "lambda b: pd.concat([other])",
    ],
)
def test_what_need_not_be_a_frame_is_left(function: str) -> None:
    assert "RM508" not in {code for code, _, _ in converted(f"{HEAD}x = ds.map_batches({function})\n").findings}
