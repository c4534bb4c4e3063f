"""RM723, RM701: methods that DataFrames and Series of pandas have no more, and `fillna(method=)`."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import pandas as pd
from job import other
from ray.air import session

frame = pd.read_csv("a.csv")
column = frame["a"]


def loop(config):
    session.report({{"a": 1}})


{line}
"""


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("print(list(frame.iteritems()))", "print(list(frame.items()))"),
        ("for name, one in column.iteritems():\n    print(one)", "in column.items():"),
        ("frame = frame.dropna().applymap(str)", "frame.dropna().map(str)"),
        ('frame = frame.fillna(method="ffill")', "frame = frame.ffill()"),
        ('frame.fillna(method="pad", limit=2, inplace=True)', "frame.ffill(limit=2, inplace=True)"),
        ('HOW = "bfill"\nfilled = column.fillna(method=HOW)', "filled = column.bfill()"),
        ("filled = frame.backfill()", "filled = frame.bfill()"),
    ],
)
def test_what_has_another_name(line: str, after: str) -> None:
    assert after in converted(SCRIPT.format(line=line)).text


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("frame = frame.append({'a': 1}, ignore_index=True)", "RM723"),
        ("frame = frame.append(other)\nframe = frame.append(other)", "RM723"),
        ("both = pd.DataFrame().append(other)", "RM723"),
        ("both = column.append(other)", "RM723"),
        ("print(frame.mad())", "RM723"),
        ("frame = frame.fillna(method=other)", "RM701"),
        ("frame = frame.fillna(value=None, method='ffill')", "RM701"),
        ("frame = frame.fillna(method='ffill', downcast='infer')", "RM701"),
    ],
)
def test_what_is_left_to_a_person(line: str, code: str) -> None:
    outcome = converted(SCRIPT.format(line=line))
    assert len(outcome.lines(code, Kind.MANUAL)) == line.count("append(other)\n") + 1
    assert line in outcome.text


@pytest.mark.parametrize(
    "line",
    [
        "rows = []\nrows.append(other)",
        "other.append(frame)",
        "print(other.iteritems())",
        "frame = frame.fillna(0)",
        "other.fillna(method='ffill')",
        "frame = [frame]\nframe.append(other)",
        "rows = pd.read_pickle('rows.pkl')\nrows.append(other)",
    ],
)
def test_other_code_is_left_alone(line: str) -> None:
    outcome = converted(SCRIPT.format(line=line))
    assert not {"RM701", "RM723"} & {code for code, *_ in outcome.findings}
    assert line in outcome.text
