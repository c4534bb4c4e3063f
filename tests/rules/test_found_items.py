"""RM603: pipelines that find as many things in a row as there are, and a table of them."""

import ast
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tests.rules.scripts import converted

SCRIPT = """
import pandas as pd
import ray
from ray.train import Checkpoint
from ray.train.huggingface import TransformersPredictor

p = TransformersPredictor.from_checkpoint(Checkpoint.from_directory("/m"), task="{task}")
print(p.predict(pd.DataFrame({{"text": ["a", "b"]}})))
"""
ONE, TWO = {"word": "a"}, {"word": "b"}


def predictions(task: str, found: list[list[dict[str, str]]]) -> dict[str, list[object]]:
    """What the class of the converted script makes of what a pipeline finds in two rows."""
    pandas = pytest.importorskip("pandas")
    tree = ast.parse(converted(SCRIPT.format(task=task), unsafe=True).text)
    parts = [part for part in tree.body if isinstance(part, (ast.ClassDef, ast.FunctionDef))]
    names = {"pd": pandas, "os": __import__("os"), "pipeline": lambda **_: lambda _inputs, **_options: found}
    exec(compile(ast.Module(parts, []), "converted", "exec"), names)
    checkpoint = SimpleNamespace(as_directory=lambda: nullcontext("/m"))
    predictor = names["PipelinePredictor"](checkpoint, task=task)
    return predictor.predict(pandas.DataFrame({"text": ["a", "b"]})).to_dict("list")  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore:Constructing a DataFrame")
@pytest.mark.parametrize("task", ["ner", "token-classification", "object-detection"])
def test_a_row_with_one_thing_beside_one_with_several(task: str) -> None:
    assert predictions(task, [[ONE], [ONE, TWO]]) == {"0": [ONE, ONE], "1": [None, TWO]}
    assert predictions(task, [[ONE], [TWO]]) == {"word": ["a", "b"]}


@pytest.mark.parametrize("task", ["text-classification", "zero-shot-classification"])
def test_pipelines_with_an_item_for_each_row_have_no_second_way(task: str) -> None:
    assert "except" not in converted(SCRIPT.format(task=task), unsafe=True).text
    assert predictions(task, [[ONE], [TWO]]) == {"word": ["a", "b"]}
