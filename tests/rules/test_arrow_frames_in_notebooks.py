"""RM515 in notebooks, which no other file imports."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main

MADE = """\
import ray
from ray.air import session


def load():
    return ray.data.read_parquet("a")


train = load()
"""
MAPPED = """\
class Stream:
    def __init__(self):
        self.rows = {rows}

    def permuted(self, dataset, order):
        class Permute:
            def __call__(self, batch):
                batch["image"] = batch["image"].map(lambda image: image.reshape(-1)[order])
                return batch

        return dataset.map_batches(Permute, batch_format="pandas", concurrency=1)

    def both(self):
        return self.permuted({given}, [1, 0])
"""
FRAME = "frame = train.to_pandas() % 2\n"
SETTING = "enable_arrow_backed_pandas_conversion = False"


def converted(folder: Path, *cells: str) -> tuple[str, str]:
    """What is said of a notebook, and what it holds then."""
    described = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    path = folder / "job.ipynb"
    path.write_text(json.dumps({"cells": described, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    return CliRunner().invoke(main, [str(path)]).output, path.read_text()


@pytest.mark.parametrize("given", ["self.rows", "train"])
def test_a_later_cell_keeps_what_an_earlier_one_sets(tmp_path: Path, given: str) -> None:
    said, text = converted(tmp_path, MADE, FRAME, MAPPED.format(rows="load()", given=given))
    assert SETTING in text
    assert "RM515 manual" not in said


def test_what_a_file_beside_it_or_another_library_makes_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import ray\n\nrows = ray.data.read_csv('b')\n")
    imported = f"from mine import rows\n{MADE}"
    said, _ = converted(tmp_path, imported, FRAME, MAPPED.format(rows="rows", given="self.rows"))
    assert "RM515 manual" in said
