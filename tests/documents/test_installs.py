"""Install commands of notebooks that go on behind a backslash: each version is found on its own line (RM731)."""

import json
from pathlib import Path

import pytest

from raymigrate.base.options import Options
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
