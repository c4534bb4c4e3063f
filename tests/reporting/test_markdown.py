"""The Markdown report."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Finding, Kind
from raymigrate.cli import main
from raymigrate.reporting.markdown import markdown_text
from raymigrate.run.outcome import FileResult, Summary
from tests.conftest import FIXTURES

LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"


def test_it_says_what_was_converted_and_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(LEGACY.read_text())
    assert CliRunner().invoke(main, ["--report", "report.md", "."]).exit_code == 1
    report = (tmp_path / "report.md").read_text()
    assert "1 file converted, 2 places left for a person" in report
    assert "## Left for a person (2)" in report
    assert re.search(r"^\| `train.py`:\d+ \| \[RM406\]\(https://\S+\) \| A second run .* \| Keep", report, re.M)
    assert "<code>train.py</code>" in report
    assert "## Per rule" in report


def test_a_dry_run_says_so(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    CliRunner().invoke(main, ["--check", "--report", str(report), str(LEGACY)])
    assert "Would be converted" in report.read_text()


def test_it_is_written_even_if_nothing_was_found(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import os\n")
    report = tmp_path / "report.md"
    assert CliRunner().invoke(main, ["--report", str(report), str(tmp_path)]).exit_code == 0
    assert report.read_text() == "# raymigrate\n\nnothing legacy found (1 file scanned).\n"


def test_nothing_in_a_message_breaks_a_table() -> None:
    finding = Finding("RM101", Kind.MANUAL, "a | b <img> `c`\n_d_", "*e*", 1, 1, "x|y.py")
    row = markdown_text(Summary([FileResult("x|y.py", [finding])]), dry_run=True).splitlines()[8]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert "a \\| b &lt;img&gt; \\`c\\`\\\\n\\_d\\_" in row


def test_a_report_that_cannot_be_written_exits_2(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--check", "--report", str(tmp_path / "no/where.md"), str(LEGACY)])
    assert result.exit_code == 2
    assert "where.md" in result.stderr
