"""Attacks on the processes of the command: signals, other runs beside it, other environments."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from tests.attack.command import CONVERTED, SMALL, attack, got, processes_left, run, start
from tests.conftest import FIXTURES


def _killed(folder: Path, number: signal.Signals, moments: int) -> str:
    """Ends the command at several moments."""
    wrong = []
    for moment in range(moments):
        for n in range(60):
            (folder / f"{n}.py").write_text(SMALL + "# x\n" * 2_000)
        new = CONVERTED + "# x\n" * 2_000
        process = start(folder, "-q", "--jobs", "2", ".")
        time.sleep(0.1 + 0.25 * moment)
        process.send_signal(number)
        process.communicate(timeout=60)
        if left := processes_left(process):
            wrong.append(f"{left} processes left")
        kept = _but_staged(folder.iterdir(), number)
        if {path.read_text() for path in kept} - {SMALL + "# x\n" * 2_000, new}:
            wrong.append("a damaged file")
        if len(kept) != 60:
            wrong.append("another file")
    return got(wrong, well="no process left, each file old or new")


for _number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL):
    attack(f"{_number.name} at 8 moments", "no process left, each file old or new", slow=True)(
        lambda folder, number=_number: _killed(folder, number, 8)
    )


@attack("SIGKILL at 8 moments of a project", "each file old or new, a second run completes it", slow=True)
def killed_project(folder: Path) -> str:
    fixture = FIXTURES / "projects/src_layout"
    wrong = []
    for moment in range(8):
        place = folder / str(moment)
        shutil.copytree(fixture / "before", place)
        process = start(place, "-q", "--unsafe", ".")
        time.sleep(0.2 + 0.15 * moment)
        process.kill()
        process.communicate(timeout=60)
        wrong += _completed(fixture, place)
    return got(wrong, well="each file old or new, a second run completes it")


@attack("SIGKILL between two files of a project", "a second run says how to get out, and that works", slow=True)
def killed_between(folder: Path) -> str:
    fixture = FIXTURES / "projects/src_layout"
    names = [path.relative_to(fixture / "after") for path in _files(fixture)]
    wrong = []
    for name in (
        name for name in names if (fixture / "before" / name).read_bytes() != (fixture / "after" / name).read_bytes()
    ):
        place = folder / name.name
        shutil.copytree(fixture / "before", place)
        shutil.copy(fixture / "after" / name, place / name)
        (place / "scripts/.raymigrate-0123456789abcdef.new").write_text("")
        wrong += _completed(fixture, place)
    return got(wrong, well="a second run says how to get out, and that works")


def _completed(fixture: Path, place: Path) -> list[str]:
    """What is wrong with a project after a kill, and after what a second run tells the user to do."""
    left = [path for path in place.rglob("*") if path.match(".raymigrate-*.new")]
    wrong = []
    for path in (path for path in place.rglob("*") if path.is_file() and path not in left):
        name = path.relative_to(place)
        if path.read_bytes() not in {(fixture / form / name).read_bytes() for form in ("before", "after")}:
            wrong.append(f"{name} is damaged")
    second = run(place, "-q", "--unsafe", ".")
    wrong += second.problems
    if left:
        if second.code != 2 or not all(path.name.encode() in second.stderr for path in left):
            wrong.append("what is left is not named")
        shutil.rmtree(place)
        shutil.copytree(fixture / "before", place)
        wrong += run(place, "-q", "--unsafe", ".").problems
    if any((place / p.relative_to(fixture / "after")).read_bytes() != p.read_bytes() for p in _files(fixture)):
        wrong.append("a second run gives something else")
    return wrong


def _but_staged(paths: Iterable[Path], number: signal.Signals) -> list[Path]:
    """The files less what SIGKILL leaves of a file that was being written: nobody can take that away."""
    return [path for path in paths if number is not signal.SIGKILL or not path.match(".raymigrate-*.new")]


def _files(fixture: Path) -> list[Path]:
    return [path for path in (fixture / "after").rglob("*") if path.is_file()]


@attack("other languages, times, masks, hashes and numbers of processes", "the same bytes", slow=True)
def environments(folder: Path) -> str:
    names = sorted(path.name for path in (FIXTURES / "ray_air").iterdir() if (path / "before.py").exists())
    ways: list[tuple[dict[str, str], list[str]]] = [
        ({}, ["--jobs", "1"]),
        ({"PYTHONHASHSEED": "1"}, ["--jobs", "2"]),
        ({"PYTHONHASHSEED": "12345"}, ["--jobs", "8"]),
        ({"LC_ALL": "C", "PYTHONUTF8": "1"}, []),
        ({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Asia/Tokyo", "COLUMNS": "20"}, []),
    ]
    told = []
    for number, (variables, options) in enumerate(ways):
        place = folder / str(number)
        for name in names:
            (place / name).mkdir(parents=True)
            shutil.copy(FIXTURES / "ray_air" / name / "before.py", place / name)
        forms = (("--check", "--output-format", "json"), ("--check", "--output-format", "sarif"), ("--diff",), ("-v",))
        outputs = [run(place, *options, *form, ".", variables=variables) for form in forms]
        texts = [path.read_bytes() for path in sorted(place.rglob("*.py"))]
        told.append([*((o.code, o.stdout, o.stderr) for o in outputs), texts])
    return got([], (any(other != told[0] for other in told), "others"), well="the same bytes")


@attack("two runs over one folder at once", "each file converted once", slow=True)
def at_once(folder: Path) -> str:
    for n in range(100):
        (folder / f"{n}.py").write_text(SMALL)
    both = [start(folder, "-q", "."), start(folder, "-q", ".")]
    problems = [f"exit code {p.returncode}" for p in both if p.communicate(timeout=120) and p.returncode not in (0, 2)]
    texts = [path.read_text() for path in folder.iterdir()]
    return got(problems, (texts != [CONVERTED] * 100, "other files"), well="each file converted once")
