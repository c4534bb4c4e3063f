"""Install commands of notebooks that go on behind a backslash: each version is found on its own line (RM731)."""

import json
from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.documents import open_document
from raymigrate.run.conversion import convert_document
from scripts.update_twins import converted
from tests.documents.notebooks import SERIALISATIONS, notebook, sources

INSTALL = "!pip install -q \\\n    'ray[air]==2.6.3' \\\n    transformers==4.30.2"
USE = "import ray\nfrom ray.air import session\n\nsession.report({})"


@pytest.mark.parametrize("form", SERIALISATIONS)
def test_a_command_of_several_lines(form: str) -> None:
    before = SERIALISATIONS[form](notebook([INSTALL, USE])).encode()
    after, result = converted(Path("x.ipynb"), Options(unsafe=True), before)
    # In quotes, because the shell would take the sign for a redirection.
    assert "".join(sources(after)[1]) == "!pip install -q \\\n    'ray[air]>=2.51' \\\n    'transformers>=5.0'"
    told = [(f.cell, f.line, f.column) for f in result.findings if f.code == "RM731"]
    assert told == [(2, 2, 6), (2, 3, 5)]


def test_a_command_of_several_lines_in_a_databricks_source() -> None:
    install = INSTALL.replace("!pip", "# MAGIC %pip").replace("\n", "\n# MAGIC ")
    before = f"# Databricks notebook source\n{install}\n\n# COMMAND ----------\n\n{USE}\n"
    after, _ = converted(Path("x.py"), Options(unsafe=True), before.encode())
    assert "# MAGIC     'ray[air]>=2.51' \\\n# MAGIC     'transformers>=5.0'\n" in after.decode()


def test_a_comment_above_the_command_keeps_its_versions() -> None:
    before = json.dumps(notebook([f"# raymigrate: skip -- the old cluster\n{INSTALL}", USE]), indent=1).encode()
    after, result = converted(Path("x.ipynb"), Options(unsafe=True), before)
    assert sources(after)[1] == sources(before)[1]
    assert {(f.kind.value, f.reason) for f in result.findings if f.code == "RM731"} == {("skipped", "the old cluster")}


TRAINS = """from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments

def make(train_dataset, eval_dataset=None, **config):
    return Trainer(model=model(), args=TrainingArguments("out"), train_dataset=train_dataset)

TransformersTrainer(make, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={"train": rows}).fit()"""
LACKING = {
    "percent": (["%pip install datasets transformers"], (2, 1, 23)),
    "exclamation mark": (["!pip -q install transformers"], (2, 1, 17)),
    "automagic": (["pip install transformers"], (2, 1, 13)),
    "shell cell": (["%%bash\nset -e\npip install transformers"], (2, 3, 13)),
    "behind a backslash": (["!pip install \\\n  datasets \\\n  'transformers>=4.30'"], (2, 3, 4)),
    "not in a comment": (["!pip install transformers", "# !pip install accelerate"], (2, 1, 14)),
    "in another cell": (["!pip install transformers", "%pip install accelerate"], None),
    "an extra": (["!pip install transformers[torch]"], None),
    "from its repository": (["!pip install transformers git+https://github.com/huggingface/accelerate.git@main"], None),
    "without transformers": (["!pip install datasets"], None),
}


@pytest.mark.parametrize("rewrite", [True, False])
@pytest.mark.parametrize(("cells", "place"), LACKING.values(), ids=LACKING)
def test_a_needed_package_that_no_cell_installs_is_told_at_the_command(
    cells: list[str], place: tuple[int, int, int] | None, rewrite: bool
) -> None:
    """RM732, also by the run that converts, whose findings have their places in the new file."""
    document = open_document(json.dumps(notebook([*cells, TRAINS])).encode(), "x.ipynb")
    result = convert_document(document, "x.ipynb", Options(), rewrite=rewrite)
    written = result.written()
    for outcome in (result, written):
        told = [(f.cell, f.line, f.column) for f in outcome.in_cells().findings if f.code == "RM732"]
        assert told == ([place] if place else [])
    assert written.told_once == bool(place and rewrite)


def test_a_comment_at_the_command_silences_what_it_lacks() -> None:
    cells = ["%pip install transformers  # raymigrate: skip[RM732] -- the image has it", TRAINS]
    result = convert_document(open_document(json.dumps(notebook(cells)).encode(), "x.ipynb"), "x.ipynb", Options())
    assert [f.reason for f in result.in_cells().findings if f.code == "RM732"] == ["the image has it"]


def test_a_script_that_a_cell_writes_needs_packages_too() -> None:
    cells = ["!pip install transformers", f"%%writefile train.py\n{TRAINS}\n"]
    result = convert_document(open_document(json.dumps(notebook(cells)).encode(), "x.ipynb"), "x.ipynb", Options())
    assert [f.cell for f in result.in_cells().findings if f.code == "RM732"] == [2]


@pytest.mark.parametrize(
    ("install", "argument", "told"),
    [
        ("!pip install ray[default]==2.5.0 transformers==4.30.2", "num_worker_nodes=2", 1),
        ("!pip install ray[default]==2.5.0", "max_worker_nodes=2", 1),  # converted without --unsafe
        ("!pip install 'ray<2.40'", "max_worker_nodes=2", 0),
        ("!pip install transformers==4.30.2", "num_worker_nodes=2", 0),
    ],
)
def test_a_cluster_on_spark_needs_the_ray_that_it_is_written_for(install: str, argument: str, told: int) -> None:
    use = f"from ray.util.spark import setup_ray_cluster\n\nsetup_ray_cluster({argument})"
    page = json.dumps(notebook([install, use]), indent=1).encode()
    source = f"# Databricks notebook source\n# MAGIC {install}\n\n# COMMAND ----------\n\n{use}\n".replace(
        "!pip", "%pip"
    )
    for name, before in (("x.ipynb", page), ("x.py", source.encode())):
        _, result = converted(Path(name), Options(), before)
        assert [f.kind.value for f in result.findings if f.code == "RM731"] == ["unsafe"] * told
