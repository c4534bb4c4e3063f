"""`--report`: which file it may be, and that no other is ever replaced by it."""

import errno
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main
from tests.test_bad_input import SMALL

PAGE = "# How to\n\n```python\nfrom ray.air import session\n\nsession.report({})\n```\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.py", "b.py", "c.py"):
        Path(name).write_text(SMALL)
    Path("docs").mkdir()
    Path("docs/guide.md").write_text(PAGE)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("a.py", "b.py", "c.py"), "a.py: a report ends in .md or .html"),  # as the shell spells out src/*.py
        (("a.ipynb", "."), "a report ends in .md or .html"),
        (("report", "."), "a report ends in .md or .html"),
        (("report.json", "."), "a report ends in .md or .html"),
        (("/dev/stdout", "."), "a report ends in .md or .html"),
        (("missing/report.md", "."), "there is no such folder"),
        (("docs", "."), "a report ends in .md or .html"),
        (("folder.md", "."), "not a regular file"),
        (("pipe.md", "."), "not a regular file"),
        (("device.html", "."), "not a regular file"),
        (("docs/guide.md", "--docs", "."), "one of the files to convert"),
        (("docs/guide.md", "docs/guide.md"), "one of the files to convert"),
        (("link.md", "--docs", "docs"), "one of the files to convert"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--check",), ("--diff",)], ids=" ".join)
def test_what_can_be_no_report_is_refused_before_anything_is_written(
    folder: Path, arguments: tuple[str, ...], reason: str, options: tuple[str, ...]
) -> None:
    Path("folder.md").mkdir()
    os.mkfifo("pipe.md")
    Path("device.html").symlink_to("/dev/null")
    Path("link.md").symlink_to("docs/guide.md")
    result = invoke(*options, "--report", *arguments)
    assert result.exit_code == 2
    assert reason in " ".join(result.stderr.split())
    assert [Path(name).read_text() for name in ("a.py", "b.py", "c.py", "docs/guide.md")] == [SMALL] * 3 + [PAGE]


def test_the_report_of_an_earlier_run_is_replaced_and_never_converted() -> None:
    for _ in range(2):
        assert invoke("--check", "--docs", "--report", "report.md", ".").exit_code == 1
        report = Path("report.md").read_text()
        assert report.startswith("# raymigrate\n")
        assert "`report.md`" not in report


def test_a_report_that_cannot_be_written_leaves_the_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    invoke("--check", "--report", "report.md", "a.py")
    earlier = Path("report.md").read_text()

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for name in ("report.md", "new.md"):
            result = invoke("--check", "--report", name, ".")
            assert result.exit_code == 2
            assert f"{name}: the report cannot be written: No space left on device" in result.stderr
    assert Path("report.md").read_text() == earlier
    assert sorted(path.name for path in Path().iterdir()) == ["a.py", "b.py", "c.py", "docs", "report.md"]


def test_a_new_report_has_the_usual_mode_and_an_earlier_one_keeps_its_own() -> None:
    before = os.umask(0o027)
    try:
        invoke("--check", "--report", "report.md", "a.py")
    finally:
        os.umask(before)
    assert Path("report.md").stat().st_mode & 0o777 == 0o640
    Path("report.md").chmod(0o600)
    invoke("--check", "--report", "report.md", "a.py")
    assert Path("report.md").stat().st_mode & 0o777 == 0o600
