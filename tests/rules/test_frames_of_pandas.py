"""RM508 where a function hands its batch to pandas as a DataFrame; RM515 where it gets those of from_pandas()."""

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


LEFT = """
import pandas as pd
import ray
from ray.air import session
from ray.air.config import ScalingConfig
from ray.data.preprocessors import BatchMapper
from ray.train.torch import TorchTrainer


def odd(frame):
    frame["odd"] = frame["number"] % 2
    return frame


{datasets}
preprocessor = BatchMapper(odd, batch_format="pandas")
TorchTrainer(loop, datasets={{"train": train, "valid": valid}}, preprocessor=preprocessor,
    scaling_config=ScalingConfig(num_workers=2)).fit()
print(session)  # which stays, so that a later run knows the script for an old one too
"""
MADE = "ray.data.from_pandas(pd.read_csv({0!r}))"


@pytest.mark.parametrize(
    ("datasets", "of_arrow"),
    [
        (f"train = {MADE.format('a')}\nvalid = {MADE.format('b')}", False),
        (f"train = valid = {MADE.format('a')}", False),
        (f"train, valid = {MADE.format('a')}.random_shuffle(seed=1).train_test_split(0.2)", False),
        (f"train = {MADE.format('a')}.repartition(8)\nvalid = {MADE.format('b')}.limit(9)", False),
        (f"train = {MADE.format('a')}\nvalid = {MADE.format('b')}.sort('number')", True),
        (f"train = valid = {MADE.format('a')}\n" + "valid = valid.repartition(2)\n" * 400, False),
        (f"train = valid = {MADE.format('a')}\nfor _ in range(n):\n    valid = valid.random_shuffle()", False),
        (f"train = {MADE.format('a')}.random_sample(0.5)\nvalid = {MADE.format('b')}", True),
        (f"train = valid = {MADE.format('a')}\nfor _ in range(n):\n    valid = valid.map(f).limit(9)", True),
        (f"train = {MADE.format('a')}\nvalid = ray.data.read_csv('b')", True),
    ],
)
def test_a_mapper_gets_the_frames_themselves_in_a_later_run_too(datasets: str, of_arrow: bool) -> None:
    outcome = converted(LEFT.format(datasets=datasets))
    assert outcome.lines("RM501", Kind.CONVERTED)
    assert bool(outcome.lines("RM515", Kind.CONVERTED)) is of_arrow
    assert ("enable_arrow_backed_pandas_conversion = False" in outcome.text) is of_arrow
