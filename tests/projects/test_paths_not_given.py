"""Files of a job that were not named, and what the reports say of a job as a whole."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.projects.files import DRIVER, INIT, convert, write


@pytest.mark.parametrize("given", ["train.py", "--exclude", ".gitignore", "venv"])
def test_files_that_were_not_given_are_read_and_named_but_not_written(tmp_path: Path, given: str) -> None:
    write(
        tmp_path, {"lib/model.py": INIT, "train.py": DRIVER.format(imports="from lib.model import init", init="init")}
    )
    if given == ".gitignore":
        (tmp_path / ".gitignore").write_text("/lib/\n")
    if given == "venv":
        (tmp_path / "lib").rename(tmp_path / "dist")
        (tmp_path / "train.py").write_text((tmp_path / "train.py").read_text().replace("lib.model", "dist.model"))
    model = next(tmp_path.glob("*/model.py"))
    before = model.read_text()
    named = tmp_path / "train.py" if given == "train.py" else tmp_path
    summary = convert(named, exclude=("/lib/",) if given == "--exclude" else ())
    assert model.read_text() == before
    assert "trainer = init(None, None, **config)" in (tmp_path / "train.py").read_text()
    finding = next(f for f in summary.findings if f.code == "RM908")
    assert "model.py" in finding.message and "RM701" in finding.message
    assert Path(finding.path).name == "train.py"
    assert "import init" in (tmp_path / "train.py").read_text().splitlines()[finding.line - 1]
    assert [p.outside for p in summary.projects] == [1]


def test_the_text_output_sums_a_project_up(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    outcome = CliRunner().invoke(main, [str(tmp_path)])
    assert f"project {tmp_path}: 2 files read, 2 converted" in outcome.output
    assert outcome.exit_code == 0, outcome.output


def test_json_and_the_report_sum_a_project_up(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    report = tmp_path / "report.md"
    outcome = CliRunner().invoke(main, ["--check", "--output-format", "json", "--report", str(report), str(tmp_path)])
    assert json.loads(outcome.stdout)["projects"] == [
        {"folder": str(tmp_path), "read": 2, "converted": 2, "left": 0, "outside": 0}
    ]
    assert "2 files read, 2 would be converted" in report.read_text()
