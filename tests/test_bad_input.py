"""Bad input: one clear line each, exit code 2, the other files converted, nothing half-written."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main
from raymigrate.run import conversion, job
from raymigrate.run.engine import convert
from tests.conftest import FIXTURES, ROOT

LEGACY = (FIXTURES / "transformers_trainer/gpt2_wikitext_ray_data/before.py").read_text()
TWIN = (FIXTURES / "transformers_trainer/gpt2_wikitext_ray_data/after.py").read_text()
SMALL = "from ray.air import session\n\nsession.report({})\n"


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A legacy script beside the bad ones."""
    path = tmp_path / "zz_good.py"
    path.write_text(LEGACY)
    return path


BAD_FILES = {
    "syntax error": (b"from ray.air import session\nsession.report(\n", "cannot be parsed"),
    "Python 2": (b"from ray.air import session\nprint 'x'\n", "cannot be parsed"),
    "wrong encoding": ("from ray.air import session  # é\n".encode("latin-1"), "save it as UTF-8"),
    "unknown encoding": (b"# -*- coding: klingon -*-\nfrom ray.air import session\n", "klingon"),
    "NUL bytes": (b"from ray.air import session\n\0\n", "NUL bytes"),
    "nested parentheses": (
        b"from ray.air import session\nx = " + b"(" * 1500 + b")" * 1500 + b"\n",
        "cannot be parsed",
    ),
    "line ends of old Macs": (b"from ray.air import session\rsession.report({})\r", "carriage return alone"),
    "one such line": (b"from ray.air import session\rsession.report({})", "carriage return alone"),
    "star in a function": (
        b"from ray.air import session\n\ndef g():\n    ray.air.Result\n\n"
        b"def f():\n    from ray.air import *\n    session.report({})\n",
        "cannot be compiled: import * only allowed at module level",
    ),
    "long sum": (b"from ray.air import session\nsession.report(" + b"+".join([b"1"] * 10_000) + b")\n", ""),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_one_bad_file_is_named_and_costs_one_file(name: str, tmp_path: Path, good: Path) -> None:
    data, message = BAD_FILES[name]
    bad = tmp_path / "bad.py"
    bad.write_bytes(data)
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert f"{bad}:" in result.stderr
    assert message in result.stderr
    assert bad.read_bytes() == data
    assert good.read_text() == TWIN


def test_an_empty_file_is_fine(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_bytes(b"")
    assert invoke(tmp_path).exit_code == 0


def test_a_missing_path_is_named_before_anything_is_written(tmp_path: Path, good: Path) -> None:
    result = invoke(tmp_path / "nowhere", good)
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
    assert good.read_text() == LEGACY


def test_a_folder_with_a_link_loop(tmp_path: Path, good: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self.py").symlink_to(tmp_path / "self.py")
    assert invoke(tmp_path).exit_code in (0, 2)
    assert good.read_text() == TWIN


def test_a_read_only_file_is_refused(tmp_path: Path, good: Path) -> None:
    locked = tmp_path / "locked.py"
    locked.write_text(SMALL)
    locked.chmod(0o444)
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert f"{locked}:" in result.stderr
    assert locked.read_text() == SMALL
    assert good.read_text() == TWIN


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_named(tmp_path: Path, good: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text(SMALL)
    secret.chmod(0)
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert "secret.py" in result.stderr


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(SMALL)
    read = job.read_bytes

    def read_or_fail(path: str) -> bytes:
        if path.endswith("broken.py"):
            raise OSError(5, "Input/output error")
        return read(path)

    monkeypatch.setattr(job, "read_bytes", read_or_fail)
    result = invoke("--jobs", "1", tmp_path)
    assert result.exit_code == 2
    assert "broken.py" in result.stderr
    assert "Input/output error" in result.stderr
    assert good.read_text() == TWIN


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    result = invoke("--jobs", "1", good)
    monkeypatch.undo()
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert good.read_text() == LEGACY
    assert sorted(path.name for path in tmp_path.iterdir()) == ["zz_good.py"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
@pytest.mark.parametrize("buffered", [True, False], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", ["--check train.py", "--diff train.py", "-", "rules"])
def test_output_that_finds_the_disk_full_is_an_error(tmp_path: Path, command: str, buffered: bool) -> None:
    """Not the exit code 1 of findings: `raymigrate - < old.py > new.py` would be taken for done."""
    (tmp_path / "train.py").write_text(SMALL)
    with Path("/dev/full").open("wb") as full:
        outcome = subprocess.run(
            [sys.executable, "-m", "raymigrate", *command.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "" if buffered else "1"},
            input=SMALL.encode(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert outcome.returncode == 2
    assert outcome.stderr.endswith(
        b"Error: The output could not be written (No space left on device); make room and run raymigrate again.\n"
    )


def test_a_file_that_changes_meanwhile_is_left(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = convert

    def convert_and_edit(*arguments: object, **options: object) -> object:
        good.write_text("edited = True\n")
        return original(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(conversion, "convert", convert_and_edit)
    result = invoke("--jobs", "1", good)
    assert result.exit_code == 2
    assert "changed while it was being converted" in result.stderr
    assert good.read_text() == "edited = True\n"


ENCODINGS = {
    "CRLF": SMALL.replace("\n", "\r\n").encode(),
    "BOM": b"\xef\xbb\xbf" + SMALL.encode(),
    "latin-1 with a cookie": ("# coding: latin-1\n# é\n" + SMALL).encode("latin-1"),
    "no newline at the end": SMALL.rstrip("\n").encode(),
    "tabs and trailing blanks": b"from ray.air import session\n\n\ndef f():  \n\tsession.report({})\t\n",
    "blanks behind a block": b"from ray.air import session\n\n\ndef f(n):\n    session.report({})\n   \n",
    "blanks as the last line": b"from ray.air import session\n\n\ndef f(n):\n    session.report({})\n\n  ",
    "a comment behind a block": b"from ray.air import session\n\n\ndef f(n):\n    session.report({})\n  # done\n",
    "form feed": b"from ray.air import session\n\x0c\nsession.report({})\n",
    "CJK": "# 训练\nfrom ray.air import session\n\nx = '训练'; session.report({'训': 1})  # 报告\n".encode(),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_bytes_outside_the_edit_stay(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    data = ENCODINGS[name]
    path.write_bytes(data)
    assert invoke(path).exit_code == 0
    expected = data.replace(b"from ray.air import session", b"import ray.train").replace(
        b"session.report", b"ray.train.report"
    )
    assert path.read_bytes() == expected


def test_mode_and_links_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(SMALL)
    path.chmod(0o755)
    link = tmp_path / "link.py"
    link.symlink_to(path)
    assert invoke(link).exit_code == 0
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert "ray.train.report" in path.read_text()


def test_a_tree_full_of_bad_files_still_converts_the_good_ones_in_processes(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"bad{number}.py").write_bytes(BAD_FILES["syntax error"][0])
    shutil.copytree(FIXTURES / "ray_air", tmp_path / "ray_air")
    result = invoke("--jobs", "2", tmp_path)
    assert result.exit_code == 2
    for script in (tmp_path / "ray_air").rglob("before.py"):
        assert script.read_bytes() == script.with_name("after.py").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_at_any_moment_leaves_each_file_old_or_new(tmp_path: Path, jobs: str) -> None:
    """The files are large enough for a pool of processes, and the run too long to end by itself."""
    old = [LEGACY.encode() + b"# %d\n" % number for number in range(150)]
    new = [TWIN.encode() + b"# %d\n" % number for number in range(150)]
    command = [sys.executable, "-m", "raymigrate", "--jobs", jobs, str(tmp_path)]
    interrupted = 0
    for seconds in (0.4, 0.8, 1.2, 1.6, 2.0):
        paths = [tmp_path / f"{number}.py" for number in range(150)]
        for path, data in zip(paths, old, strict=True):
            path.write_bytes(data)
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the command
        _, errors = process.communicate(timeout=60)
        interrupted += errors == "Error: Interrupted; every file is either converted or as it was.\n"
        assert all(path.read_bytes() in pair for path, *pair in zip(paths, old, new, strict=True))
        assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert interrupted >= 3  # the first may come before the command line is there
