"""--baseline: known findings stay quiet, new ones are reported."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main
from tests.conftest import FIXTURES

LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"
NOTEBOOK = FIXTURES / "notebooks/gpt2_own_data/before.ipynb"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments, "--isolated"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a legacy script and a notebook, and a baseline of both."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(LEGACY, tmp_path / "train.py")
    shutil.copy(NOTEBOOK, tmp_path / "train.ipynb")
    made = call("check", "--write-baseline", "known.json", ".")
    assert made.exit_code == 0
    assert "written to known.json." in made.stderr
    return tmp_path


def test_known_findings_are_quiet_and_the_run_passes(folder: Path) -> None:
    checked = call("check", "--baseline", "known.json", ".")
    assert (checked.exit_code, checked.stdout) == (0, "")
    entries = json.loads((folder / "known.json").read_text())["findings"]
    count = sum(entry["count"] for entry in entries)
    assert checked.stderr == f"nothing new, {count} in the baseline (2 files scanned)\n"


def test_lines_that_come_and_go_make_nothing_new(folder: Path) -> None:
    script = folder / "train.py"
    script.write_text("# one\n# two\n\n" + script.read_text().replace("\n\n\n", "\n\n\n\n"))
    assert call("check", "--baseline", "known.json", ".").exit_code == 0


def test_a_new_finding_fails_and_is_the_only_one_shown(folder: Path) -> None:
    script = folder / "train.py"
    script.write_text(script.read_text() + 'print(result.metrics["date"])\n')
    checked = call("check", "--baseline", "known.json", "--output-format", "json", ".")
    assert checked.exit_code == 1
    assert [(f["code"], f["line"]) for f in json.loads(checked.stdout)["findings"]] == [("RM604", 32)]


def test_of_equal_lines_as_many_are_known_as_there_were(folder: Path) -> None:
    script = folder / "train.py"
    last = script.read_text().splitlines()[-1]
    script.write_text(script.read_text() + last + "\n")
    checked = call("check", "--baseline", "known.json", "--output-format", "json", ".")
    assert [f["code"] for f in json.loads(checked.stdout)["findings"]] == ["RM604"]


def test_a_finding_in_another_file_is_new(folder: Path) -> None:
    shutil.copy(LEGACY, folder / "other.py")
    checked = call("check", "--baseline", "known.json", ".")
    assert checked.exit_code == 1
    assert all(line.startswith(("other.py:", "    ")) for line in checked.stdout.splitlines())
    assert call("diff", "--baseline", "known.json", ".").stdout.count("+++ ") == 1


def test_files_are_named_from_the_folder_of_the_baseline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert call("check", "--baseline", "../known.json", str(folder)).exit_code == 0


def test_a_conversion_leaves_what_is_known_quiet(folder: Path) -> None:
    converted = call("--write-baseline", "left.json", ".")
    assert converted.exit_code == 0
    assert "TorchTrainer" in (folder / "train.py").read_text()
    entries = json.loads((folder / "left.json").read_text())["findings"]
    lines = {entry["line"] for entry in entries if (entry["file"], entry["rule"]) == ("train.py", "RM604")}
    assert lines == {'print(result.metrics["eval_loss"], result.metrics["time_total_s"])'}
    assert call("--baseline", "left.json", ".").exit_code == 0
    assert call("check", ".").exit_code == 1


def test_an_error_is_never_known(folder: Path) -> None:
    (folder / "broken.py").write_text("from ray.air import session\nsession.report(\n")
    assert call("check", "--write-baseline", "known.json", ".").exit_code == 2
    assert call("check", "--baseline", "known.json", ".").exit_code == 2


def test_pyproject_names_a_baseline_beside_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pyproject.toml").write_text('[tool.raymigrate]\nbaseline = "known.json"\n')
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert CliRunner().invoke(main, ["check", str(folder)]).exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory. --write-baseline makes one."),
        ("[]", "this is not a baseline"),
        ("{", "this is not a baseline"),
        ('{"version": 2, "findings": []}', "another version"),
    ],
)
def test_what_is_no_baseline_is_refused_and_not_taken_for_an_empty_one(
    folder: Path, text: str | None, message: str
) -> None:
    if text is not None:
        (folder / "other.json").write_text(text)
    before = (folder / "train.py").read_bytes()
    checked = call("--baseline", "other.json", ".")
    assert checked.exit_code == 2
    assert message in checked.stderr
    assert (folder / "train.py").read_bytes() == before
