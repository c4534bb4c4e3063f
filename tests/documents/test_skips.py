"""Skip comments and --ignore hold for what is said of a notebook, page or list of requirements itself too."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.documents.notebooks import notebook

INSTALL = "!pip install -q 'ray[air]==2.6'"
SESSION = "import ray\nfrom ray.air import session\n\nsession.report({})"
WRITTEN = "%%writefile job.py\nfrom ray.air import session"
BROKEN = "from ray.air import ("
SKIP_FILE = "# raymigrate: skip-file -- for the old cluster\n"


def findings(path: Path, *options: str) -> set[tuple[str, str, str]]:
    """Code, kind and reason of each."""
    outcome = CliRunner().invoke(main, ["--output-format", "json", *options, str(path)])
    return {(f["code"], f["kind"], f["reason"]) for f in json.loads(outcome.stdout)["findings"]}


def write_notebook(folder: Path, *cells: str) -> Path:
    path = folder / "train.ipynb"
    path.write_text(json.dumps(notebook(cells), indent=1))
    return path


def test_a_notebook_that_is_skipped_is_never_written(tmp_path: Path) -> None:
    path = write_notebook(tmp_path, INSTALL, SKIP_FILE + SESSION, WRITTEN)
    before = path.read_bytes()
    skipped = {(code, "skipped", "for the old cluster") for code in ("RM302", "RM731", "RM905")}
    assert findings(path, "--unsafe") == skipped
    assert path.read_bytes() == before
    assert CliRunner().invoke(main, ["--check", str(path)]).exit_code == 0


@pytest.mark.parametrize(
    "cells", [(INSTALL, f"{SKIP_FILE}import ray.train"), (f"{SKIP_FILE}import ray.train", WRITTEN)]
)
def test_a_comment_that_silences_only_what_is_said_of_the_file_is_not_stale(tmp_path: Path, cells: list[str]) -> None:
    assert {kind for _, kind, _ in findings(write_notebook(tmp_path, *cells))} == {"skipped"}


def test_a_skipped_notebook_need_not_be_python(tmp_path: Path) -> None:
    path = write_notebook(tmp_path, SKIP_FILE + SESSION, BROKEN)
    before = path.read_bytes()
    assert findings(path) == {("RM901", "skipped", "for the old cluster")}
    assert path.read_bytes() == before


def test_a_comment_for_other_rules_skips_nothing_else(tmp_path: Path) -> None:
    comment = SKIP_FILE.replace("file", "file[RM401]")
    assert ("RM901", "error", "") in findings(write_notebook(tmp_path, comment + SESSION, BROKEN))
    (tmp_path / "train.py").write_text(comment + BROKEN)
    assert findings(tmp_path / "train.py") == {("RM901", "error", "")}


@pytest.mark.parametrize(
    "install",
    [f"{INSTALL}  # raymigrate: skip[RM731] -- as there", f"# raymigrate: skip -- as there\n{INSTALL}"],
    ids=["behind", "above"],
)
@pytest.mark.parametrize("options", [("--check",), ("--unsafe",)], ids=["check", "unsafe"])
def test_a_line_that_installs_can_be_kept(tmp_path: Path, install: str, options: tuple[str, ...]) -> None:
    path = write_notebook(tmp_path, install, SESSION)
    assert findings(path, *options) == {("RM302", "converted", ""), ("RM731", "skipped", "as there")}
    assert "ray[air]==2.6" in path.read_text()


@pytest.mark.parametrize("options", [("--ignore", "RM731,RM905"), ("--select", "RM3")])
def test_rules_are_chosen_for_the_whole_document(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = write_notebook(tmp_path, INSTALL, SESSION, WRITTEN)
    assert findings(path, "--check", *options) == {("RM302", "converted", "")}


REQUIREMENTS = {
    "requirements.txt": "ray[air]==2.6.3{}\ntransformers==4.30.0\n",
    "pyproject.toml": '[project]\ndependencies = [\n  "ray==2.6.3",{}\n  "transformers==4.30.0",\n]\n',
    "environment.yml": "dependencies:\n  - ray-core=2.6.3{}\n  - transformers=4.30.0\n",
    "setup.py": 'from setuptools import setup\n\nsetup(install_requires=[\n    "ray==2.6.3",{}\n'
    '    "transformers==4.30.0",\n])\n',
}


@pytest.mark.parametrize(("name", "text"), REQUIREMENTS.items(), ids=REQUIREMENTS)
def test_a_pinned_version_can_be_kept(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "train.py").write_text(SESSION + "\nray.train.torch.TorchTrainer(print, preprocessor=1)\n")
    (tmp_path / name).write_text(text.format("  # raymigrate: skip[RM731] -- as there"))
    found = {f for f in findings(tmp_path, "--unsafe") if f[0] in ("RM731", "RM906")}
    assert found == {("RM731", "skipped", "as there"), ("RM731", "converted", "")}
    new = (tmp_path / name).read_text()
    assert "2.6.3" in new and "4.30.0" not in new


def test_a_list_of_requirements_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SESSION + "\nray.train.torch.TorchTrainer(print, preprocessor=1)\n")
    (tmp_path / "requirements.txt").write_text(f"{SKIP_FILE}ray==2.6.3\ntransformers==4.30.0\n")
    found = {f for f in findings(tmp_path, "--unsafe") if f[0] == "RM731"}
    assert found == {("RM731", "skipped", "for the old cluster")}
