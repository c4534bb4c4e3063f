"""The text that people read at a terminal."""

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Finding, Kind
from raymigrate.cli import main
from raymigrate.reporting.output import Output
from raymigrate.reporting.text import full_lines, lines_by_rule, next_step
from raymigrate.run.outcome import FileResult, Summary
from tests.conftest import FIXTURES
from tests.reporting.test_terminal import Terminal

LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"


def finding(code: str, line: int, kind: Kind = Kind.MANUAL, advice: str = "Do it.", path: str = "a.py") -> Finding:
    return Finding(code, kind, f"message {line}.", advice, line, 1, path)


def test_full_shows_the_line_with_a_mark_below_the_place_and_the_document() -> None:
    shown = CliRunner().invoke(main, ["check", "--output-format", "full", "--select", "RM604", str(LEGACY)]).stdout
    lines = shown.splitlines()
    assert lines[1] == '   31 | print(result.metrics["eval_loss"], result.metrics["time_total_s"])'
    place = int(lines[0].split(": RM604")[0].rsplit(":", 1)[1])
    assert lines[2].index("^") == lines[1].index("|") + 1 + place
    assert lines[1][lines[2].index("^") :].startswith("result.metrics")
    assert lines[3].startswith('    "time_total_s": take time.monotonic()')
    assert lines[4].startswith("    https://")


def test_full_marks_the_place_behind_tabs_too_and_lets_no_line_command_the_terminal() -> None:
    shown = list(full_lines(Finding("RM604", Kind.MANUAL, "m", "", 1, 2, "a.py"), "\tx = '\x1b[2J'"))
    assert shown[1].endswith("\\tx = '\\x1b[2J'")
    assert shown[1][shown[2].index("^")] == "x"


def test_full_without_a_source_line_shows_none() -> None:
    assert len(list(full_lines(finding("RM902", 1), ""))) == 3


def test_after_a_conversion_full_shows_the_lines_of_the_new_text(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LEGACY.read_text())
    lines = CliRunner().invoke(main, ["--output-format", "full", str(script)]).stdout.splitlines()
    number, source = next(line for line in lines if "time_total_s" in line and "|" in line).split(" | ")
    assert script.read_text().splitlines()[int(number) - 1] == source


def test_by_rule_the_most_frequent_comes_first_and_says_once_what_to_do() -> None:
    findings = [
        finding("RM406", 1),
        finding("RM604", 2),
        finding("RM604", 3, path="b.py"),
        finding("RM604", 4, advice="Or."),
    ]
    lines = [click.unstyle(line) for line in lines_by_rule(findings)]
    assert [line.split()[0] for line in lines if " in " in line] == ["RM604", "RM406"]
    assert lines[0].endswith(": 3 in 2 files")
    assert lines[1:6] == [
        "a.py:2:1: RM604 manual: message 2.",
        "b.py:3:1: RM604 manual: message 3.",
        "    Do it.",
        "a.py:4:1: RM604 manual: message 4.",
        "    Or.",
    ]


def test_by_rule_no_finding_is_lost(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LEGACY.read_text())
    (tmp_path / "broken.py").write_text("from ray.air import session\nsession.report(\n")
    plain = CliRunner().invoke(main, ["check", str(tmp_path)])
    grouped = CliRunner().invoke(main, ["check", "--group-by", "rule", str(tmp_path)])
    heads = {line for line in plain.stdout.splitlines() if line.startswith(str(tmp_path))}
    assert heads == {line for line in grouped.stdout.splitlines() if line.startswith(str(tmp_path))}
    assert grouped.stderr == plain.stderr
    assert "broken.py:2" in grouped.stderr


def test_the_files_that_were_written_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("train.py", "a\n::error::.py", "readonly.py")

    def told(*options: str) -> list[str]:
        for name in names:
            Path(name).unlink(missing_ok=True)
            Path(name).write_text(LEGACY.read_text())
        Path("readonly.py").chmod(0o444)
        Path("clean.py").write_text("import ray\n")
        lines = CliRunner().invoke(main, [*options, "."]).stderr.splitlines()
        return [line for line in lines if line.startswith(("converted", "commented", "::"))]

    assert told() == ["converted a\\n::error::.py", "converted train.py"]
    assert told("-q") == told("--check") == told("--diff") == told("-v") == []
    assert "\ncommented train.py\n" in CliRunner().invoke(main, ["--todo", "."]).stderr


def test_a_run_that_writes_nothing_says_would_convert(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(LEGACY.read_text())
    checked = CliRunner().invoke(main, ["check", str(script)]).stdout
    assert "RM101 would convert: " in checked
    assert " converted: " not in checked
    assert "RM101 converted: " in CliRunner().invoke(main, ["--verbose", str(script)]).stdout


@pytest.mark.parametrize(
    ("changes", "dry_run", "kind", "expected"),
    [
        (
            True,
            True,
            Kind.CONVERTED,
            "Next: `raymigrate PATH` converts; `raymigrate verify a.py` compares the job before and after.",
        ),
        (
            True,
            False,
            Kind.CONVERTED,
            "Next: read the change (`git diff`); `raymigrate verify --original-rev HEAD a.py` compares the job before"
            " and after.",
        ),
        (False, False, Kind.MANUAL, "Next: `raymigrate explain RM101` tells more of what is left."),
        (False, False, Kind.NOTE, ""),
    ],
)
def test_a_run_ends_with_the_next_step(changes: bool, dry_run: bool, kind: Kind, expected: str) -> None:
    summary = Summary([FileResult("a.py", [finding("RM101", 1, kind)], changes=changes)])
    assert next_step(summary, dry_run=dry_run) == expected


def test_pins_that_wait_have_their_command() -> None:
    summary = Summary([FileResult("requirements.txt", [finding("RM731", 1, Kind.UNSAFE)], changes=False)])
    expected = "Next: `raymigrate --unsafe --select RM731 PATH` raises the pinned versions."
    assert next_step(summary, dry_run=False) == expected


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_next_step_is_for_terminals(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    Output().show(Summary([FileResult("a.py", [finding("RM604", 1)])]))
    assert ("Next: " in stream.getvalue()) is is_terminal
