"""Attacks in the middle of a run: the disk fails, or somebody else changes what is there.

The command runs in a child of this process, in which something happens at one call of the system; each call has its
own run.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

from raymigrate.base.isolation import apart
from raymigrate.cli import main
from raymigrate.run import session
from tests.attack.command import CONVERTED, SMALL, Ended, attack, got, run

CALLS = ("open", "fstat", "stat", "scandir", "write", "fsync", "ftruncate", "replace", "unlink")
FEWEST, MOST = 40, 500  # calls of a run over three files; there are 133
TOLD = 2
NAMES = ("a.py", "m.py", "p/z.py", "second name")
WHOLE = "each file old or new, no other file"
Act = Callable[[], None]


def command(*arguments: str) -> Ended:
    """Runs the command in this process and folder."""
    result = CliRunner().invoke(main, arguments)
    ended = not isinstance(result.exception, SystemExit | None)
    text = "".join(traceback.format_exception(result.exception)) if ended and result.exception else ""
    return Ended(result.exit_code, result.stdout_bytes, result.stderr_bytes + text.encode(), 0, 0)


def _acting_at(folder: Path, number: int, act: Act) -> list[str]:
    """Has something happen at one call that concerns a folder; gives the names of the calls so far, as they grow."""
    names: list[str] = []
    descriptors = set[object]()

    def watch(name: str) -> None:
        real = getattr(os, name)

        def called(*arguments: object, **options: object) -> object:
            target = arguments[0] if arguments else "."
            is_inside = target in descriptors
            if isinstance(target, str | os.PathLike):
                is_inside = Path(folder, target).is_relative_to(folder)
            if is_inside:
                names.append(name)
                if len(names) == number:
                    act()
            outcome = real(*arguments, **options)
            if name == "open" and is_inside:
                descriptors.add(outcome)
            return outcome

        setattr(os, name, called)

    for name in CALLS:
        watch(name)
    return names


def _run(folder: Path, number: int, act: Act) -> tuple[Ended, list[str]]:
    """Runs the command in this process, which is a child; what came, and the names of the calls."""
    os.chdir(folder)
    session.apart = lambda work: work()  # else the calls of two processes would have to be counted together
    names = _acting_at(folder, number, act)
    return command("--jobs", "1", "."), names


def at_every_call(
    folder: Path,
    fill: Callable[[Path], None],
    act: Callable[[Path], None],
    wrong: Callable[[Path, Ended, str], list[str]],
) -> list[str]:
    """What is wrong after runs over a folder, in each of which something happens at another call.

    Args:
        folder: Where there is room for folders.
        fill: Fills a new one.
        act: What happens; it is given the folder.
        wrong: What is wrong afterwards; it is given the folder, what came, and the name of the call.
    """
    folder = folder.resolve()
    found: list[str] = []
    _import_all(folder / "first", fill)
    for number in range(1, MOST):
        place = folder / str(number)
        place.mkdir()
        fill(place)
        ended, calls = apart(lambda place=place, number=number: _run(place, number, lambda: act(place)))  # type: ignore[misc]
        name = calls[number - 1] if number <= len(calls) else ""
        found += [f"{name}, call {number}: {problem}" for problem in (*ended.problems, *wrong(place, ended, name))]
        shutil.rmtree(place)
        if not name:
            return found if number > FEWEST else [*found, f"only {number} calls"]
    return [*found, "no end of calls"]


def _import_all(place: Path, fill: Callable[[Path], None]) -> None:
    """Runs the command here, so that its children need not import what it needs."""
    place.mkdir()
    fill(place)
    with patch.object(session, "apart", lambda work: work()):
        command("--jobs", "1", str(place))


def _three_files(place: Path) -> None:
    """A file, one of two names, which is overwritten in place, and one in a folder."""
    (place / "p").mkdir()
    for name in ("a.py", "m.py", "p/z.py"):
        (place / name).write_text(SMALL)
    (place / NAMES[-1]).hardlink_to(place / "m.py")
    (place / ".gitignore").write_text("b.py\n")


def _fail(_: Path) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def _texts(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}


@attack("an input/output error at every call", f"{WHOLE}, told")
def input_output_error(folder: Path) -> str:
    def wrong(place: Path, ended: Ended, call: str) -> list[str]:
        texts = _texts(place)
        others = set(texts) - {*NAMES, ".gitignore"}
        if call == "unlink":  # then a copy of the old text cannot be removed
            others -= {name for name in others if name.startswith(".raymigrate-") and texts[name] == SMALL}
        new = {texts.get(name, "gone") for name in NAMES}
        return [
            *([f"damaged: {new}"] if new - {SMALL, CONVERTED} else []),
            *([f"other files: {others}"] if others else []),
            *(["not told"] if SMALL in new and ended.code != TOLD else []),
        ]

    return got(at_every_call(folder, _three_files, _fail, wrong), well=f"{WHOLE}, told")


def _changed_meanwhile(folder: Path, change: Callable[[Path], None]) -> str:
    """Changes the folder of a script while the command is at work; what somebody put outside has the same text."""
    outside = folder / "outside"
    outside.mkdir()

    def fill(place: Path) -> None:
        (place / "p").mkdir()
        (place / "a.py").write_text(SMALL)
        (place / "p/z.py").write_text(SMALL)
        (outside / "z.py").write_text(SMALL)

    def wrong(place: Path, _: Ended, __: str) -> list[str]:
        texts = _texts(place)
        others = {name for name in texts if not name.startswith("old/")} - {*NAMES, ".gitignore"}
        return [
            *(["a damaged file"] if set(texts.values()) - {SMALL, CONVERTED, "b.py\n"} else []),
            *([f"other files: {others}"] if others else []),
            *(["a file outside is written"] if _texts(outside) != {"z.py": SMALL} else []),
        ]

    return got(at_every_call(folder, fill, change, wrong), well=WHOLE)


@attack("a folder that is removed at any moment", WHOLE, slow=True)
def removed_folder(folder: Path) -> str:
    return _changed_meanwhile(folder, lambda place: shutil.rmtree(place / "p"))


@attack("a script that is replaced by a link to another one at any moment", WHOLE)
def replaced_file(folder: Path) -> str:
    def change(place: Path) -> None:
        (place / "p/z.py").unlink()
        (place / "p/z.py").symlink_to(folder.resolve() / "outside/z.py")

    return _changed_meanwhile(folder, change)


@attack("a folder that is replaced by a link to another one at any moment", WHOLE, slow=True)
def replaced_folder(folder: Path) -> str:
    def change(place: Path) -> None:
        (place / "p").rename(place / "old")
        (place / "p").symlink_to(folder.resolve() / "outside")

    return _changed_meanwhile(folder, change)


# -- another user -----------------------------------------------------------------------------------------

NOBODY, GROUP = 65_534, 4_321
REFUSED = {"of somebody else.py", "read-only.py", "unreadable.py", "closed/f.py", "of root/f.py"}
DONE = {"own.py", "writable/f.py", "of the group.py"}


def _files_of_several(place: Path) -> None:
    """Files and folders of a user who may do little, and of root."""
    for name in (*REFUSED, *DONE):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(SMALL)
        if name != "of somebody else.py":
            os.chown(place / name, NOBODY, NOBODY)
    for name in ("writable", "closed", ""):
        os.chown(place / name, NOBODY, NOBODY)
    os.chown(place / "of the group.py", 0, GROUP)
    for name, mode in {"read-only.py": 0o444, "unreadable.py": 0, "closed": 0, "of the group.py": 0o660}.items():
        (place / name).chmod(mode)


def _run_as_nobody(place: Path) -> Ended:
    os.setgroups([GROUP])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    os.chdir(place)
    return command("--jobs", "1", ".")


@attack("a user who may not write, read or enter everything", "his own converted, the others as they were and told")
def unprivileged(folder: Path) -> str:
    expected = "his own converted, the others as they were and told"
    if os.geteuid():
        return f"{expected} (not tried: no right to be somebody else)"
    _import_all(folder / "first", _three_files)
    with tempfile.TemporaryDirectory() as name:  # others may not enter the folder of the test
        place = Path(name)
        _files_of_several(place)
        ended = apart(lambda: _run_as_nobody(place))
        texts, group = _texts(place), (place / "of the group.py").stat()
    told = {name for name in REFUSED if name.split("/")[0].encode() in ended.stderr}
    return got(
        ended.problems,
        (ended.code != TOLD, f"exit code {ended.code}"),
        (told != REFUSED, f"not told: {REFUSED - told}"),
        (texts != dict.fromkeys(REFUSED, SMALL) | dict.fromkeys(DONE, CONVERTED), f"other files: {texts}"),
        (group.st_gid != GROUP, "of another group"),
        well=expected,
    )


# -- names and numbers ------------------------------------------------------------------------------------


@attack("names that differ in the case of a letter", "each converted, told by its name")
def cases(folder: Path) -> str:
    names = ["train.py", "Train.py", "TRAIN.py", "p/f.py", "P/f.py"]
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(SMALL)
    there = sorted(_texts(folder))  # where case counts for nothing these are fewer
    ended = run(folder, "-v", ".")
    told = [name for name in there if f"\n{name}:" not in f"\n{ended.stdout.decode()}"]
    return got(
        ended.problems,
        (set(_texts(folder).values()) != {CONVERTED}, "not all converted"),
        (bool(told), f"not told: {told}"),
        well="each converted, told by its name",
    )


@attack("200,000 files, of which 100 are legacy", "converted in less than 20 s of CPU and 200 MB", slow=True)
def many(folder: Path) -> str:
    for number in range(400):
        place = folder / f"d{number}"
        place.mkdir()
        for n in range(500):
            (place / f"f{n}.py").write_text("x = 1\n" if n or number % 4 else SMALL)
    ended = run(folder, ".", limit=600)
    done = all((folder / f"d{number}/f0.py").read_text() == CONVERTED for number in range(0, 400, 4))
    return got(
        ended.problems,
        (ended.seconds > 20, f"{ended.seconds:.0f} s"),
        (ended.megabytes > 200, f"{ended.megabytes:.0f} MB"),
        (not done, "not all converted"),
        well="converted in less than 20 s of CPU and 200 MB",
    )
