"""RM506, RM508: what a preprocessor of Ray Data transforms is a Ray Dataset like any other."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import ray
from ray.data.preprocessors import Chain, LabelEncoder, StandardScaler

rows = ray.data.read_parquet("rows")
encoder = LabelEncoder("label")
both = Chain(encoder, StandardScaler(["a"]))
"""


@pytest.mark.parametrize(
    "made",
    [
        "encoder.fit_transform(rows)",
        "encoder.fit(rows).transform(rows)",
        "both.fit_transform(rows)",
        "Chain(encoder).fit_transform(ds=rows)",
        "encoder.fit_transform(rows).map_batches(len)",
        "both.transform(rows.limit(5)).random_shuffle()",
    ],
)
def test_what_a_preprocessor_gives_is_a_dataset(made: str) -> None:
    assert converted(f"{HEAD}{made}.window(blocks_per_window=4)\n").lines("RM506", Kind.MANUAL)
    named = f"{HEAD}encoder.fit(rows)\ndata = {made}\ndata.repeat(3)\n"
    assert converted(named).lines("RM506", Kind.MANUAL)
    mapped = converted(f"{HEAD}data = {made}.map_batches(lambda batch: batch[['a']])\n")
    assert 'batch_format="pandas"' in mapped.text


@pytest.mark.parametrize(
    "made", ["scaler.transform(rows)", "StandardScaler().fit_transform(rows)", "vectorizer.fit(rows).transform(rows)"]
)
def test_preprocessors_of_others_are_left_alone(made: str) -> None:
    script = (
        f"import ray\nfrom sklearn.preprocessing import StandardScaler\n\nrows = ray.data.range(5)\n{made}.window(4)\n"
    )
    assert converted(script).text == script and not converted(script).findings


def test_nor_is_what_is_transformed_by_other_data() -> None:
    script = f"{HEAD}encoder.transform(other).window(4)\n"
    assert not converted(script).findings
