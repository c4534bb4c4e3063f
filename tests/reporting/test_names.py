"""Names of files and folders, and texts of scripts, in the output: none of them ends a line or commands a terminal."""

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.words import one_line
from raymigrate.cli import main
from tests.projects.files import DRIVER, INIT, write
from tests.test_bad_input import SMALL

COMMAND = "::warning file=a.py,line=1::PWNED"
NAMES = [
    f"p\n{COMMAND}\n",
    f"p\r{COMMAND}\r",
    f"p\x0b{COMMAND}",
    f"p\x85{COMMAND}",
    f"p\u2028{COMMAND}",
    "p\x1b[2J\x1b]0;title\x07",
    "p\u202egnp",
    os.fsdecode(b"p\xff\xfe"),
    "p`|<img src=x onerror=alert(1)>",
    "p``<img src=x onerror=alert(1)>",
    "%0A::error::",
    "p é 训练",
]
FORMATS = [("text",), ("github",), ("json",), ("sarif",), ("text", "--diff"), ("text", "--statistics", "-v")]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """For each name a project, a script and a broken script below a folder of this name, and named so themselves."""
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        files = {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")}
        write(Path(name), {**files, f"{name}.py": SMALL, f"bad {name}.py": SMALL + "(", "requirements.txt": "ray==2.4"})
    return [Path(name) for name in NAMES]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def assert_plain(text: str) -> None:
    """Each line begins as ours do, and no line holds what is not printable."""
    for line in text.split("\n"):
        assert line.isprintable(), ascii(line)
        assert COMMAND not in line[: len(COMMAND)], line


@pytest.mark.parametrize("options", FORMATS, ids=" ".join)
def test_no_name_begins_a_line_of_its_own(options: tuple[str, ...]) -> None:
    result = invoke("--check", "--output-format", *options, ".")
    assert result.exit_code == 2
    assert_plain(result.stderr)
    if "--diff" not in options:  # git has a form of its own for names
        assert_plain(result.stdout)
    if "sarif" in options or "json" in options:
        assert json.loads(result.stdout_bytes.decode("utf-8"))


def test_json_gives_the_name_itself(folders: list[Path]) -> None:
    document = json.loads(invoke("--check", "--output-format", "json", ".").stdout_bytes.decode("utf-8"))
    assert {Path(finding["path"]).parent for finding in document["findings"]} == set(folders)
    assert all(Path(finding["path"]).exists() for finding in document["findings"])
    assert {Path(project["folder"]) for project in document["projects"]} == set(folders)


@pytest.mark.parametrize("suffix", ["md", "html"])
def test_reports_are_text(suffix: str) -> None:
    assert invoke("--check", "--report", f"r.{suffix}", ".").exit_code == 2
    text = Path(f"r.{suffix}").read_text(encoding="utf-8")
    assert "<img" not in text
    if suffix == "md":
        assert_plain(text)


def test_messages_of_the_command_line_are_one_line(folders: list[Path]) -> None:
    for folder in folders:
        table = f'[tool.raymigrate]\n{json.dumps(folder.name, ensure_ascii=True)} = "{COMMAND}"\n'
        (folder / "pyproject.toml").write_text(table)
        assert_plain(invoke("--check", str(folder / "train.py")).stderr)
        assert_plain(invoke("--report", f"{folder}/missing/r.md", "--isolated", ".").stderr)


def test_comments_in_the_code_are_one_line(folders: list[Path]) -> None:
    invoke("--todo", ".")
    for folder in folders:
        for path in folder.rglob("*.py"):
            assert not re.search(rf"^{COMMAND}", path.read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_finding_holds_lines(name: str) -> None:
    finding = Finding("RM101", Kind.MANUAL, f"a {name} b", f"do {name}", reason=f"as {name}")
    for text in (finding.message, finding.advice, finding.reason, finding.skipped(name).reason):
        assert text.isprintable()


def test_what_is_printable_stays() -> None:
    assert one_line("p é 训练 😀 \\n") == "p é 训练 😀 \\n"
