"""`--helpers module`: what several converted scripts of a folder need stands in one module."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.cli.commands import main
from raymigrate.facts.syntax.execution import unbound_names
from raymigrate.facts.syntax.module import Module
from raymigrate.run.job import Job
from raymigrate.run.outcome import Summary
from raymigrate.run.session import run
from scripts.update_twins import found_in, options_of
from tests.conftest import SCRIPTS
from tests.projects.files import DRIVER, INIT, convert, write

MODULE = "ray_train_helpers.py"
JOB = Job(Options(helpers="module"))
SCRIPT = INIT + DRIVER.format(imports="", init="init")
IMPORT = "from ray_train_helpers import ReportCallback\n"


def texts(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_two_scripts_share_a_module_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"one.py": SCRIPT, "two.py": SCRIPT})
    summary = convert(tmp_path, job=JOB)
    assert "class ReportCallback" in (tmp_path / MODULE).read_text()
    for name in ("one.py", "two.py"):
        text = (tmp_path / name).read_text()
        assert IMPORT in text
        assert "class ReportCallback" not in text
    [told] = [finding for finding in summary.findings if finding.code == "RM909"]
    assert (Path(told.path).name, told.kind, told.line) == (MODULE, Kind.CONVERTED, 1)
    assert "one.py and two.py" in told.message
    before = texts(tmp_path)
    assert not convert(tmp_path, job=JOB).changed
    assert texts(tmp_path) == before


def test_inline_is_the_default(tmp_path: Path) -> None:
    write(tmp_path, {"one.py": SCRIPT, "two.py": SCRIPT})
    convert(tmp_path)
    assert not (tmp_path / MODULE).exists()


def test_a_script_alone_in_its_folder_and_a_notebook_keep_their_helpers(tmp_path: Path) -> None:
    notebook = {"cells": [{"cell_type": "code", "source": SCRIPT, "metadata": {}, "outputs": []}]}
    write(tmp_path, {"one.py": SCRIPT, "other/two.py": SCRIPT})
    (tmp_path / "three.ipynb").write_text(json.dumps({**notebook, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    convert(tmp_path, job=JOB)
    assert not list(tmp_path.rglob(MODULE))
    for name in ("one.py", "other/two.py", "three.ipynb"):
        assert "class ReportCallback" in (tmp_path / name).read_text()


# -- how it is imported --------------------------------------------------------------------------------

PACKAGE = {"pkg/__init__.py": "", "pkg/rows.py": "def make_data():\n    return []\n"}
FORMS = {
    "relative": ("from .rows import make_data\n", "from .ray_train_helpers import ReportCallback\n"),
    "by the package": ("from pkg.rows import make_data\n", "from pkg.ray_train_helpers import ReportCallback\n"),
    "from the package": ("from pkg import rows\n", "from pkg.ray_train_helpers import ReportCallback\n"),
    "by its name": ("import rows\n", "from ray_train_helpers import ReportCallback\n"),
}


@pytest.mark.parametrize(("own", "expected"), FORMS.values(), ids=FORMS)
def test_the_module_is_imported_as_its_neighbours_are(tmp_path: Path, own: str, expected: str) -> None:
    write(tmp_path, {**PACKAGE, "pkg/one.py": own + SCRIPT, "pkg/two.py": own + SCRIPT})
    convert(tmp_path, job=JOB)
    assert expected in (tmp_path / "pkg/one.py").read_text()
    assert expected in (tmp_path / "pkg/two.py").read_text()


def test_a_file_that_others_import_from_a_folder_is_found_there_with_its_helpers(tmp_path: Path) -> None:
    driver = DRIVER.format(imports="from models.{0} import init", init="init")
    write(
        tmp_path,
        {
            "models/a.py": INIT,
            "models/b.py": INIT,
            "a.py": driver.replace("{0}", "a"),
            "b.py": driver.replace("{0}", "b"),
        },
    )
    summary = convert(tmp_path, job=JOB)
    for name in ("a", "b"):
        assert "from models.ray_train_helpers import ReportCallback" in (tmp_path / f"models/{name}.py").read_text()
    together = {frozenset(Path(path).name for path in group) for group in summary.together}
    assert together == {frozenset({MODULE, "a.py", "b.py"})}


def test_in_a_package_that_does_not_show_how_it_is_imported_helpers_stay_and_that_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"pkg/__init__.py": "", "pkg/one.py": SCRIPT, "pkg/two.py": SCRIPT})
    summary = convert(tmp_path, job=JOB)
    assert not (tmp_path / "pkg" / MODULE).exists()
    told = [finding for finding in summary.findings if finding.code == "RM909"]
    assert [(Path(f.path).name, f.kind) for f in told] == [("one.py", Kind.NOTE), ("two.py", Kind.NOTE)]


# -- what is there already -----------------------------------------------------------------------------


def test_a_file_of_that_name_is_never_overwritten(tmp_path: Path) -> None:
    write(tmp_path, {"one.py": SCRIPT, "two.py": SCRIPT, MODULE: "class ReportCallback:\n    mine = True\n"})
    convert(tmp_path, job=JOB)
    assert "mine = True" in (tmp_path / MODULE).read_text()
    assert "class ReportCallback(" in (tmp_path / "ray_train_helpers_2.py").read_text()
    assert "from ray_train_helpers_2 import ReportCallback" in (tmp_path / "one.py").read_text()


def test_a_later_script_imports_from_the_module_that_is_there(tmp_path: Path) -> None:
    write(tmp_path, {"one.py": SCRIPT, "two.py": SCRIPT})
    convert(tmp_path, job=JOB)
    module = (tmp_path / MODULE).read_bytes()
    write(tmp_path, {"three.py": SCRIPT})
    convert(tmp_path, job=JOB)
    assert IMPORT in (tmp_path / "three.py").read_text()
    assert (tmp_path / MODULE).read_bytes() == module
    assert not (tmp_path / "ray_train_helpers_2.py").exists()


def test_a_helper_with_another_body_stays_in_its_script(tmp_path: Path) -> None:
    plain = """
    from transformers import Trainer, TrainingArguments

    trainer = Trainer(make_model(), TrainingArguments("out"), train_dataset=make_data())
    trainer.train()
    """
    write(tmp_path, {"one.py": SCRIPT, "plain.py": plain, "two.py": SCRIPT})
    options = Options(helpers="module", to_ray=True)
    run(found_in(tmp_path, options), Job(options))
    text = (tmp_path / "plain.py").read_text()
    assert "class ReportCallback(RayTrainReportCallback):" in text
    assert "ray_train_helpers" not in text
    assert IMPORT in (tmp_path / "one.py").read_text()


def test_a_name_that_is_taken_gets_another_one_in_the_import(tmp_path: Path) -> None:
    write(tmp_path, {"one.py": SCRIPT, "two.py": "class ReportCallback:\n    pass\n\n\n" + SCRIPT.lstrip()})
    convert(tmp_path, job=JOB)
    text = (tmp_path / "two.py").read_text()
    assert "from ray_train_helpers import ReportCallback as ReportCallback_2\n" in text
    assert "trainer.add_callback(ReportCallback_2())" in text


# -- one run, one result -------------------------------------------------------------------------------


def test_the_module_and_its_scripts_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    write(tmp_path, {"one.py": SCRIPT, "two.py": SCRIPT})
    (tmp_path / "two.py").chmod(0o444)
    before = texts(tmp_path)
    summary = convert(tmp_path, job=JOB)
    assert {Path(f.path).name for f in summary.findings if f.kind is Kind.ERROR} == {"one.py", "two.py", MODULE}
    assert texts(tmp_path) == before


def test_diff_and_check_say_what_a_run_writes(tmp_path: Path) -> None:
    folder, copy = tmp_path / "job", tmp_path / "copy"
    write(folder, {"one.py": SCRIPT, "two.py": SCRIPT})
    shutil.copytree(folder, copy)
    command = [sys.executable, "-m", "raymigrate", "--helpers", "module", "--output-format", "json", "--isolated", "."]
    told = []
    for flags in (["--check"], []):
        outcome = subprocess.run([*command, *flags], cwd=folder, capture_output=True, text=True, check=False)
        told.append({(f["path"], f["code"], f["message"]) for f in json.loads(outcome.stdout)["findings"]})
    assert told[0] == told[1]
    diff = subprocess.run([*command, "--diff"], cwd=copy, capture_output=True, check=False)
    assert b"--- /dev/null\n+++ b/ray_train_helpers.py\n" in diff.stdout
    subprocess.run(["git", "init", "-q", "."], cwd=copy, check=True)
    subprocess.run(["git", "apply", "-"], cwd=copy, input=diff.stdout, check=True)
    shutil.rmtree(copy / ".git")
    assert texts(copy) == texts(folder)


def test_a_report_and_todo_comments_know_the_module(tmp_path: Path) -> None:
    write(tmp_path, {"job/one.py": SCRIPT, "job/two.py": SCRIPT})
    arguments = ["--helpers", "module", "--todo", "--report", str(tmp_path / "report.md"), str(tmp_path / "job")]
    CliRunner().invoke(main, arguments)
    assert MODULE in (tmp_path / "report.md").read_text()
    assert IMPORT in (tmp_path / "job/one.py").read_text()


@pytest.mark.parametrize("arguments", [["-"], ["--interactive", "."]], ids=["stdin", "interactive"])
def test_where_one_file_is_converted_it_is_refused(arguments: list[str]) -> None:
    outcome = CliRunner().invoke(main, ["--helpers", "module", *arguments], input="")
    assert outcome.exit_code == 2
    assert "--helpers module" in outcome.output


def test_it_is_a_setting_of_a_project(tmp_path: Path) -> None:
    write(tmp_path, {"one.py": SCRIPT, "two.py": SCRIPT, "pyproject.toml": '[tool.raymigrate]\nhelpers = "module"\n'})
    CliRunner().invoke(main, [str(tmp_path)])
    assert (tmp_path / MODULE).exists()


# -- every fixture -------------------------------------------------------------------------------------


def told_of(summary: Summary, folder: Path) -> Counter[tuple[str, str, str]]:
    return Counter(
        (Path(f.path).name, f.code, f.message.replace(str(folder), "")) for f in summary.findings if f.code != "RM909"
    )


@pytest.mark.parametrize("before", SCRIPTS[::6], ids=lambda path: path.parent.name)
def test_the_form_changes_nothing_but_the_place_of_the_helpers(before: Path, tmp_path: Path) -> None:
    """A fixture twice in one folder: the same findings as inline, all names bound, and no second change."""
    told = []
    for form in ("inline", "module"):
        folder = tmp_path / form
        shutil.copytree(before.parent, folder, ignore=shutil.ignore_patterns("before*", "after*", "*.json", "*.txt"))
        for name in ("one.py", "two.py"):
            shutil.copy(before, folder / name)
        options = Options(**{**vars(options_of(before)), "helpers": form})
        first = told_of(run(found_in(folder, options), Job(options)), folder)
        converted = texts(folder)
        told.append((first, told_of(run(found_in(folder, options), Job(options)), folder)))
        assert texts(folder) == converted
    assert told[0] == told[1]
    module = folder / MODULE
    if module.exists():
        assert not list(unbound_names(Module(module.read_text(), str(module))))
        check = [sys.executable, "-m", "pyflakes", str(module)]
        assert not subprocess.run(check, capture_output=True, text=True, check=False, env=os.environ).stdout
