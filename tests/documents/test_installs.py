"""Install commands of notebooks that go on behind a backslash: each version is found on its own line (RM731)."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
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


IN_COMMENTS = {
    "exclamation mark": (["# !pip install transformers"], (2, 1, 16)),
    "in front": (['#! pip install "datasets" "transformers>=4.19.0"'], (2, 1, 28)),
    "percent": (["#%pip install transformers"], (2, 1, 15)),
    "indented": (["if True:\n    # %pip install -q transformers\n    pass"], (2, 2, 23)),
    "by the interpreter": (["# !{sys.executable} -m pip install transformers"], (2, 1, 36)),
    "behind a backslash": (["# !pip install \\\n#   datasets \\\n#   'transformers>=4.30'"], (2, 3, 6)),
    "with prose": (["# Uncomment and run:\n# !pip install transformers  # the libraries"], (2, 2, 16)),
    "prose": (["# pip install transformers first"], None),
    "prose with a mark": (["# Run !pip install transformers first"], None),
    "all that is needed": (["# !pip install transformers accelerate"], None),
    "in another comment": (["# !pip install transformers", "# !pip install accelerate"], None),
    "below a line of signs": ([f"# {'#' * 5_000}\n# # !pip install transformers"], (2, 2, 18)),
    "by a command": (["# !pip install transformers", "!pip install accelerate"], None),
    "no package of ours": (["# !pip install pandas"], None),
}


@pytest.mark.parametrize("rewrite", [True, False])
@pytest.mark.parametrize(("cells", "place"), IN_COMMENTS.values(), ids=IN_COMMENTS)
def test_what_a_command_in_a_comment_lacks_is_a_note(
    cells: list[str], place: tuple[int, int, int] | None, rewrite: bool
) -> None:
    document = open_document(json.dumps(notebook([*cells, TRAINS])).encode(), "x.ipynb")
    result = convert_document(document, "x.ipynb", Options(), rewrite=rewrite)
    for outcome in (result, result.written()):
        told = [(f.kind, f.cell, f.line, f.column) for f in outcome.in_cells().findings if f.code == "RM732"]
        assert told == ([(Kind.NOTE, *place)] if place else [])
    assert not result.written().told_once


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["# !pip install ray==2.6.3 'transformers[torch]==4.30.2'"], [(2, 16), (2, 28)]),
        (["# %conda install ray-default=2.6.3"], [(2, 18)]),
        (["# !pip install ray==2.6.3", "!pip install 'ray>=2.51'"], []),
        (["# !pip install ray==2.60"], []),
        (["# It ran with ray==2.6.3: pip install ray==2.6.3"], []),
        (["# !pip install ray==2.6.3  # raymigrate: skip[RM731]"], []),
    ],
)
def test_versions_in_comments_are_notes_and_stay(cells: list[str], told: list[tuple[int, int]]) -> None:
    before = json.dumps(notebook([*cells, TRAINS]), indent=1).encode()
    after, result = converted(Path("x.ipynb"), Options(unsafe=True), before)
    found = [f for f in result.findings if f.code == "RM731" and f.kind is Kind.NOTE]
    assert [(f.cell, f.column) for f in found] == told
    assert sources(after)[1] == sources(before)[1]


def test_a_command_in_a_comment_of_a_databricks_source() -> None:
    before = f"# Databricks notebook source\n# MAGIC # %pip install transformers\n\n# COMMAND ----------\n\n{TRAINS}\n"
    _, result = converted(Path("x.py"), Options(), before.encode())
    assert [(f.kind, f.line, f.column) for f in result.findings if f.code == "RM732"] == [(Kind.NOTE, 2, 24)]


LISTS = 'import ray\nray.init(runtime_env={"pip": ["transformers", "accelerate"]})\n'
IN_LOOP = """from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments

def loop():
    Trainer(model(), TrainingArguments("out", evaluation_strategy="epoch", report_to="none")).train()

TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()"""
FOR_WORKERS = {
    "in the loop": ([f"{LISTS}{IN_LOOP}"], False),
    "in another cell": ([LISTS, IN_LOOP], False),
    "by a helper": ([LISTS, IN_LOOP.replace("def loop():", "def loop():\n    train()\n\ndef train():")], False),
    "imported in the loop": ([LISTS, IN_LOOP.replace("():", "():\n    import accelerate")], False),
    "another list": ([LISTS.replace(', "accelerate"', ""), IN_LOOP], True),
    "imported": ([LISTS, f"from accelerate import Accelerator\n{IN_LOOP}"], True),
    "made by the driver": ([LISTS, IN_LOOP, 'args = TrainingArguments("o", report_to="none")'], True),
}


@pytest.mark.parametrize(("cells", "told"), FOR_WORKERS.values(), ids=FOR_WORKERS)
def test_a_package_that_only_the_workers_need_may_come_by_their_list(cells: list[str], *, told: bool) -> None:
    cells = ["! pip install ray transformers", *cells]
    result = convert_document(open_document(json.dumps(notebook(cells)).encode(), "x.ipynb"), "x.ipynb", Options())
    assert [f.cell for f in result.in_cells().findings if f.code == "RM732" and f.cell == 2] == [2] * told


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
