"""Annotations for GitHub Actions."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Finding, Kind
from raymigrate.cli import main
from raymigrate.reporting.github import annotation

LEGACY = "from ray.air import session\n\nsession.report({})\n"


def test_what_github_gives_a_meaning_is_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finding = Finding("RM101", Kind.MANUAL, "50% of: a,\r\nb", "Do it.", 3, 7, str(tmp_path / "a,b:c%.py"))
    assert list(annotation(finding)) == [
        "::error file=a%2Cb%3Ac%25.py,line=3,col=7,title=raymigrate RM101 (manual)::50%25 of: a,\\r\\nb%0ADo it."
    ]


def test_check_prints_an_annotation_for_each_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(LEGACY)
    result = CliRunner().invoke(main, ["--check", "--output-format", "github", "."])
    assert result.exit_code == 1
    assert [line[: line.index("::", 2)] for line in result.stdout.splitlines()] == [
        "::notice file=train.py,line=3,col=1,title=raymigrate RM302 (converted)"
    ]


def test_errors_are_annotations_too(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("from ray.air import session\nsession.report(\n")
    result = CliRunner().invoke(main, ["--check", "--output-format", "github", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr.startswith("::error file=")
