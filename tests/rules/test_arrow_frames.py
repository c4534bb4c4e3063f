"""RM515: DataFrames of Ray Data with columns of Arrow."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.projects.files import convert as convert_files
from tests.rules.scripts import converted

SETTING = "DataContext.get_current().enable_arrow_backed_pandas_conversion = False"
SCRIPT = """
import numpy as np
import pandas as pd
import ray
import torch
from ray.air import session


def prepare(frame):
    {body}


ds = ray.data.read_csv("rows.csv").map_batches(prepare, batch_format="pandas")
"""


@pytest.mark.parametrize(
    "body",
    [
        'frame["odd"] = frame["n"] % 2\n    return frame',
        'n = frame.n\n    return {"odd": n % 2}',
        'frame["n"] %= 2\n    return frame',
        'return frame[frame["n"].mod(2) == 0]',
        'return {"x": torch.tensor(frame[["a", "b"]].to_numpy())}',
        'return {"x": torch.from_numpy(frame["a"].values)}',
        'frame["a"] = frame["a"].where(frame["a"] > 0, 0.5)\n    return frame',
        'frame.loc[frame["a"] > 0, "a"] = 0.5\n    return frame',
        'return {"text": ["" if text is None else text for text in frame["text"]]}',
        'return {"sum": [tokens.sum() for tokens in frame["tokens"]]}',
        'return {"x": frame["a"].apply(lambda cell: cell.mean())}',
        'return {"x": (frame["a"] > 0) * 1}',
        'assert frame["a"].dtype == "int64"\n    return frame',
        "return unseen(frame)",
        "class Table(Base, rows=frame):\n        pass\n\n    return frame",
        'return helper(rows=frame)\n\n\ndef helper(*, rows):\n    return rows["a"] % 2',
        "return Helper()(frame)\n\n\nclass Helper:\n    def __call__(self, rows):\n        return rows['a'] % 2",
        "return {'odd': column(frame) % 2}\n\n\ndef column(rows):\n    return rows['a']",
        "first, second = column(frame), column(frame) % 2\n    return {'a': first, 'b': second}\n\n\n"
        "def column(rows):\n    return rows['a']",
        'yield frame["a"] % 2',
        "for column in frame.columns:\n        frame[column] = unseen(frame[column])\n    return frame",
    ],
)
def test_what_may_come_out_differently_keeps_columns_of_numpy(body: str) -> None:
    outcome = converted(SCRIPT.format(body=body))
    assert outcome.lines("RM515", Kind.CONVERTED)
    assert (
        f"\n# DataFrames with columns of NumPy, as before Ray 2.56\nray.data.{SETTING}\nds = ray.data" in outcome.text
    )


@pytest.mark.parametrize(
    "body",
    [
        'return tokenizer(list(frame["text"]), truncation=True)',
        'return tokenizer([text for text in frame["text"] if text != "none"])',
        'encoded = tokenizer(frame["a"].tolist(), frame["b"].to_list())\n    return {**encoded, "labels": frame["n"]}',
        'return tokenizer(frame["text"].values.tolist())',
        'frame["text"] = frame["text"].str.lower().str.strip()\n    return frame',
        'frame = frame.rename(columns={"a": "b"})[["b", "c"]]\n    return frame.dropna().reset_index(drop=True)',
        'frame["area"] = frame["a"] * frame["b"] / 2 - 1\n    return frame',
        'frame["label"] = (frame["stars"] > 3).astype(int)\n    return frame[["label"]]',
        'return {"ids": [tokenizer(text)["input_ids"] for text in frame["text"]]}',
        'return {"text": [f"{a}: {b}" for a, b in zip(frame["a"], frame["b"])]}',
        'frame["label"] = frame["label"].map({"no": 0, "yes": 1})\n    return frame',
        'frame["words"] = frame["text"].apply(lambda text: text.split())\n    return frame',
        'return frame[frame["a"] > 0].drop(columns=["a"])',
        'return {"labels": frame["n"].to_numpy(), "x": np.array(frame["a"])}',
        'return helper(frame)\n\n\ndef helper(rows):\n    return rows[["a"]]',
        "return helper(frame)\n\n\nclass Helper:\n    def __call__(self, rows):\n        return rows[['a']]\n\n\n"
        "helper = Helper()",
        "return Helper(3)(frame)\n\n\nclass Helper:\n    def __init__(self, length):\n        self.length = length\n\n"
        "    def __call__(self, rows):\n        return {'text': [text[: self.length] for text in rows['text']]}",
        'return {**frame, "length": frame["text"].str.len()}',
        'frame["a"] += 1\n    return frame',
        'return pd.concat([frame, pd.DataFrame(tokenizer(list(frame["text"])))], axis=1)',
        'frame["text"] = frame["text"].fillna("")\n    return frame.loc[frame["a"] > 0, ["text"]]',
    ],
)
def test_what_comes_out_the_same_stays(body: str) -> None:
    outcome = converted(SCRIPT.format(body=body))
    assert "RM515" not in [code for code, _, _ in outcome.findings]
    assert SETTING not in outcome.text


HEAD = """
import functools
import ray
from ray.air import session
from ray.data.preprocessors import BatchMapper
from ray.train.torch import TorchTrainer
from ray.tune import Tuner


def odd(frame, of="n"):
    frame["odd"] = frame[of] % 2
    return frame


"""


@pytest.mark.parametrize(
    "rest",
    [
        'trainer = TorchTrainer(print, datasets={"train": ray.data.read_csv("x")}, preprocessor=BatchMapper(odd))',
        'ray.data.range(3).groupby("id").map_groups(odd, batch_format="pandas")',
        'ray.data.range(3).map_batches(functools.partial(odd, of="id"), batch_format="pandas")',
        'ray.data.range(3).map_batches(lambda frame: frame[["id"]] % 2)',
        'print(ray.data.range(3).to_pandas()["id"] % 2)',
        'def run():\n    frame = ray.data.range(3).to_pandas()\n    return frame["id"] % 2',
        'for frame in ray.data.range(3).iter_batches(batch_format="pandas"):\n    print(frame["id"] % 2)',
        'batches = iter(ray.data.range(3).iter_batches(batch_format="pandas"))\nprint(next(batches)["id"] % 2)',
        "class Odd:\n    def __call__(self, frame):\n        return frame % 2\n\n\n"
        'ray.data.range(3).map_batches(Odd, batch_format="pandas")',
        "from ray.data.preprocessor import Preprocessor\n\n\nclass Odd(Preprocessor):\n"
        "    def _transform_pandas(self, frame):\n        return frame % 2\n\n\nOdd().transform(ray.data.range(3))",
        "class Job:\n    def odd(self, frame):\n        return frame % 2\n\n    def run(self):\n"
        '        return ray.data.range(3).map_batches(self.odd, **{"batch_format": "pandas"})',
        "def make():\n    def inner(frame):\n        return frame % 2\n\n    return inner\n\n\n"
        'ray.data.range(3).map_batches(make(), batch_format="pandas")',
        "def run(options):\n    return ray.data.range(3).map_batches(lambda frame: frame[['id']] % 2, **options)",
        "import ray.data as rd\n\nds = rd.range(3).map_batches(odd, batch_format='pandas')",
        "from ray.data import range as rows\n\nds = rows(3).map_batches(odd, batch_format='pandas')",
    ],
)
def test_every_way_to_a_data_frame(rest: str) -> None:
    outcome = converted(HEAD + rest)
    assert outcome.lines("RM515", Kind.CONVERTED)
    assert outcome.text.count(SETTING) == 1
    again = converted(outcome.text)
    assert again.text == outcome.text
    assert "RM515" not in [code for code, _, _ in again.findings]


@pytest.mark.parametrize(
    ("rest", "before"),
    [
        (
            "def main(csv):\n    if csv:\n        ds = ray.data.read_csv(csv)\n    else:\n"
            "        ds = ray.data.range(3)\n"
            '    return ds.map_batches(odd, batch_format="pandas")',
            "    if csv:\n",
        ),
        (
            "def main(files):\n    found = []\n    for file in files:\n"
            '        found.append(ray.data.read_csv(file).map_batches(odd, batch_format="pandas"))\n    return found',
            "    for file in files:\n",
        ),
        (
            'def train():\n    return ray.data.range(3).map_batches(odd, batch_format="pandas")\n\n\n'
            "def test():\n    return ray.data.range(2)",
            "def train():\n",
        ),
        (
            'def load(): return ray.data.range(3).map_batches(odd, batch_format="pandas")',
            "def load():",
        ),
        (
            'print("once"); ds = ray.data.range(3).map_batches(odd, batch_format="pandas")',
            'print("once"); ds',
        ),
        (
            'try:\n    ds = ray.data.read_csv("x")\nexcept OSError:\n    ds = ray.data.range(3)\n'
            'ds = ds.map_batches(odd, batch_format="pandas")',
            "try:\n",
        ),
        (
            'if __name__ == "__main__":\n    import ray as r\n\n'
            '    ds = r.data.range(3).map_batches(odd, batch_format="pandas")',
            "    ds = r.data",
        ),
    ],
)
def test_the_line_stands_before_the_first_dataset_and_once(rest: str, before: str) -> None:
    text = converted(HEAD + rest).text
    lines = text.splitlines()
    place = next(number for number, line in enumerate(lines) if SETTING in line)
    assert "\n".join(lines[place + 1 :]).lstrip("\n").startswith(before)
    assert text.count(SETTING) == 1


@pytest.mark.parametrize(
    "rest",
    [
        'def prepare(ds):\n    return ds.map_batches(odd, batch_format="pandas")',
        'def prepare(ds):\n    return ds.map_batches(odd, batch_format="pandas")\n\n\ntest = ray.data.range(3)',
        'from rows import ds\n\nds.map_batches(odd, batch_format="pandas")',
        "mapper = BatchMapper(odd)",
        'class Job:\n    ds = ray.data.range(3).map_batches(odd, batch_format="pandas")',
        "def loop(config):\n    for frame in session.get_dataset_shard('train').iter_batches(batch_format='pandas'):\n"
        '        print(frame["id"] % 2)\n\n\nTuner(TorchTrainer(loop, datasets={"train": ray.data.range(3)})).fit()',
    ],
)
def test_where_the_place_is_not_sure_it_is_told(rest: str) -> None:
    outcome = converted(HEAD + rest)
    assert outcome.lines("RM515", Kind.MANUAL)
    assert SETTING not in outcome.text


@pytest.mark.parametrize(
    "rest",
    [
        "import pandas as pd\n\nds = ray.data.from_pandas(pd.DataFrame()).map_batches(odd, batch_format='pandas')",
        "import pandas as pd\n\nprint(ray.data.from_pandas(pd.DataFrame()).limit(3).to_pandas()['n'] % 2)",
        f"ray.data.{SETTING}\nds = ray.data.range(3).map_batches(odd, batch_format='pandas')",
        "ds = ray.data.range(3).map_batches(lambda batch: {'odd': batch['id'] % 2}, batch_format='numpy')",
        "ds = ray.data.range(3).map_batches(lambda batch: {'odd': batch['id'] % 2})",
        "from datasets import load_dataset\n\nprint(load_dataset('glue')['train'].to_pandas()['n'] % 2)",
        "from features import Predictor\n\n\nclass Odd(Predictor):\n    def _predict_pandas(self, frame):\n"
        "        return frame % 2",
    ],
)
def test_frames_of_numpy_are_left_alone(rest: str) -> None:
    outcome = converted(HEAD + rest)
    assert "RM515" not in [code for code, _, _ in outcome.findings]


def test_a_script_of_today_is_left_alone() -> None:
    text = "import ray\n\n\ndef odd(frame):\n    return frame % 2\n\n\n"
    text += 'ds = ray.data.range(3).map_batches(odd, batch_format="pandas")\n'
    result = convert(text, options=Options())
    assert not result.findings and result.after is None


def _frame(*, of_arrow: bool) -> Any:
    """A DataFrame as Ray Data makes it of a block."""
    pyarrow = pytest.importorskip("pyarrow")
    block = pytest.importorskip("ray.data.block")
    context = pytest.importorskip("ray.data.context").DataContext.get_current()
    before = context.enable_arrow_backed_pandas_conversion
    context.enable_arrow_backed_pandas_conversion = of_arrow
    try:
        table = pyarrow.table(
            {"n": [1, 2, 3], "x": [0.5, 1.0, 2.0], "text": ["a b", "c", "d"], "ids": [[1, 2], [3], [4]]}
        )
        return block.BlockAccessor.for_block(table).to_pandas()
    finally:
        context.enable_arrow_backed_pandas_conversion = before


DIFFERENT: dict[str, Callable[[Any], Any]] = {
    "where": lambda frame: frame["n"].where(frame["n"] > 1, 0.5).tolist(),
    "values": lambda frame: type(frame["n"].values).__name__,
    "several": lambda frame: str(frame[["n", "x"]].to_numpy().dtype),
    "cells": lambda frame: type(frame["ids"].tolist()[0]).__name__,
    "dtype": lambda frame: frame["n"].dtype == "int64",
    "letters": lambda frame: (frame["text"] + "\u00e9").str.replace(r"[^\w ]", "", regex=True).tolist(),
    "blanks": lambda frame: (frame["text"] + "\u00a0").str.count(r"\s").tolist(),
    "end of a line": lambda frame: (frame["text"] + "\n").str.contains("c$").tolist(),
    "split at blanks": lambda frame: [len(words) for words in (frame["text"] + " ").str.split()],
}
SAME: dict[str, Callable[[Any], Any]] = {
    "list": lambda frame: list(frame["text"]),
    "values": lambda frame: frame["text"].values.tolist(),
    "to_numpy": lambda frame: (frame["n"].to_numpy().tolist(), str(frame["n"].to_numpy().dtype)),
    "arithmetic": lambda frame: (frame["n"] / 2 + frame["x"] * 3 - 1).tolist(),
    "mask": lambda frame: frame[(frame["n"] > 1) & (frame["x"] < 2)]["text"].tolist(),
    "astype": lambda frame: str((frame["n"] > 1).astype(int).dtype),
    "map": lambda frame: frame["text"].map({"a b": 1, "c": 2, "d": 3}).tolist(),
    "str": lambda frame: frame["text"].str.replace(" ", "").str.upper().tolist(),
    "pattern": lambda frame: (frame["text"] + "\u00e9").str.replace("[^a-c ]+", "_", regex=True).tolist(),
    "case": lambda frame: (frame["text"] + "\u0130\u00df").str.upper().str.lower().tolist(),
    "split at a text": lambda frame: [list(parts) for parts in frame["text"].str.split(" ")],
    "loc": lambda frame: frame.loc[frame["n"] > 1, "text"].tolist(),
    "divided by nothing": lambda frame: (frame["n"] / 0).tolist(),
}


@pytest.mark.ray
@pytest.mark.parametrize("use", DIFFERENT)
def test_what_the_rule_speaks_of_is_different(use: str) -> None:
    assert DIFFERENT[use](_frame(of_arrow=True)) != DIFFERENT[use](_frame(of_arrow=False))


@pytest.mark.ray
@pytest.mark.parametrize("use", SAME)
def test_what_the_rule_takes_for_the_same_is(use: str) -> None:
    assert SAME[use](_frame(of_arrow=True)) == SAME[use](_frame(of_arrow=False))


@pytest.mark.ray
def test_a_remainder_is_not_implemented() -> None:
    assert (_frame(of_arrow=False)["n"] % 2).tolist() == [1, 0, 1]
    with pytest.raises(NotImplementedError, match="mod not implemented"):
        _frame(of_arrow=True)["n"] % 2


OWN_CLASS = """
import ray
from ray.air import session
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import pipeline


class Predictor:
    def __init__(self):
        self.pipeline = pipeline("sentiment-analysis")

    def predict(self, data, **options):
        {body}

    def __call__(self, batch, **options):
        return self.predict(batch, **options)


predicted = ray.data.read_csv("rows.csv").map_batches(Predictor, batch_format="pandas")
TorchTrainer(print, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


@pytest.mark.parametrize(
    ("body", "differs"),
    [
        ('return {"label": self.pipeline(data["text"].to_list())}', False),
        ("inputs = [data[column].to_list() for column in data.columns]\n        return self.pipeline(inputs)", False),
        ('return {"odd": data["n"] % 2}', True),
    ],
)
def test_a_frame_is_followed_into_another_method(body: str, differs: bool) -> None:
    assert bool(converted(OWN_CLASS.format(body=body)).lines("RM515", Kind.CONVERTED)) is differs


OWN = """
import ray
from ray.train.batch_predictor import BatchPredictor
from ray.train.predictor import Predictor

{note}
class Odd(Predictor):
    @classmethod
    def from_checkpoint(cls, checkpoint, **kwargs){hint}:
        return cls()

    def _predict_pandas(self, frame):
        return frame["n"] % 2


ds = ray.data.read_csv("rows.csv")
BatchPredictor.from_checkpoint(checkpoint, Odd).predict(ds)
"""


@pytest.mark.parametrize(
    ("hint", "note", "kind"),
    [
        ("", "", Kind.CONVERTED),
        (' -> "Odd"', "", Kind.CONVERTED),
        (' -> "list[Odd]"', "", Kind.CONVERTED),
        ("", "known: 'Odd' = None\n", Kind.CONVERTED),
        ("", 'CLASS = "Odd"\n', Kind.MANUAL),  # which may be looked up by its name
    ],
)
def test_a_class_that_names_itself_as_a_type_is_not_used_elsewhere(
    tmp_path: Path, hint: str, note: str, kind: Kind
) -> None:
    (tmp_path / "predict.py").write_text(OWN.format(hint=hint, note=note))
    (finding,) = [found for found in convert_files(tmp_path).findings if found.code == "RM515"]
    assert finding.kind is kind


def test_what_else_a_class_is_used_for_takes_no_frames_from_it() -> None:
    assert converted(f"{OWN.format(hint='', note='')}print(Odd.__name__)\n").lines("RM515", Kind.CONVERTED)
