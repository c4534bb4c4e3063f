"""What has to hold whatever the input is."""

from __future__ import annotations

import ast
import json
import os
import signal
from pathlib import Path
from types import FrameType
from typing import Any

from click.testing import CliRunner

from raymigrate.cli import main
from raymigrate.documents import open_document
from raymigrate.facts.syntax.execution import unbound_names
from raymigrate.facts.syntax.module import Module
from tests.fuzz.cases import Case

SECONDS = 5.0  # of CPU
HANGS_AFTER = 120  # of wall clock, on a machine that does other things too
EXIT_CODES = (0, 1, 2)


class FailedError(Exception):
    """Something that has to hold does not."""


class HangError(BaseException):
    """It does not end."""


def check(case: Case, folder: Path) -> None:
    """Converts a case three times: without writing, in earnest, and once more.

    Args:
        case: The case.
        folder: An empty folder for it.

    Raises:
        FailedError: If something does not hold.
    """
    for name, data in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    looked = _run(folder, ["--check", *case.options])
    if _contents(folder) != case.files:
        raise FailedError("--check writes")
    converted = _run(folder, case.options)
    after = _contents(folder)
    if converted is None or looked is None:  # a mistake in the settings, of which the message tells
        if after != case.files or (converted, looked) != (None, None):
            raise FailedError("--check and a conversion differ")
        return
    if sorted(after) != sorted(case.files):
        raise FailedError(f"other files: {sorted(after)}")
    _agree(looked, converted, set(case.options))
    for name, data in after.items():
        if data != case.files[name]:
            _whole(name, case.files[name], data)
    again = _run(folder, case.options)
    if _contents(folder) != after or again is None or again["changed"]:
        raise FailedError(f"a second run changes {again and again['changed']}")


def _run(folder: Path, options: list[str]) -> dict[str, Any] | None:
    """Runs the command in the folder; gives its document, or None where it could not begin."""
    here = Path.cwd()
    os.chdir(folder)
    before = sum(os.times()[:4])
    old = signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(HANGS_AFTER)
    try:
        result = CliRunner().invoke(
            main, ["--output-format", "json", "--jobs", "1", *options, "."], catch_exceptions=False
        )
    except HangError:
        raise FailedError(f"does not end in {HANGS_AFTER} s") from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        os.chdir(here)
    spent = sum(os.times()[:4]) - before
    if spent > SECONDS:
        raise FailedError(f"takes {spent:.1f} s")
    if result.exit_code not in EXIT_CODES or "Traceback" in result.stderr:
        raise FailedError(f"exit code {result.exit_code}: {result.stderr}")
    if not result.stdout:
        if result.exit_code != 2 or not result.stderr:
            raise FailedError("no output")
        return None
    document: dict[str, Any] = json.loads(result.stdout)
    for finding in document["findings"]:
        # A script that reads names which nothing binds may be refused: the imports of the result would bind them.
        if finding["code"] == "RM903" and not _reads_unbound(folder / finding["path"]):
            raise FailedError(f"{finding['path']}: {finding['message']}")
    return document


def _reads_unbound(path: Path) -> bool:
    return bool(unbound_names(Module(open_document(path.read_bytes(), str(path)).text)))


def _hangs(number: int, frame: FrameType | None) -> None:
    raise HangError


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _agree(looked: dict[str, Any], converted: dict[str, Any], options: set[str]) -> None:
    """`--check` announces what a conversion does, except that only this one finds what cannot be written."""
    if "--todo" in options or any(finding["kind"] == "error" for finding in converted["findings"]):
        return
    if looked["changed"] != converted["changed"]:
        raise FailedError(f"--check announces {looked['changed']}, changed is {converted['changed']}")


def _is_python(data: bytes) -> bool:
    try:
        ast.parse(data)
    except (SyntaxError, ValueError):
        return False
    return True


def _without_source(cell: Any) -> Any:
    return {key: value for key, value in cell.items() if key != "source"} if isinstance(cell, dict) else cell


def _keeps_cells(old: list[Any], new: list[Any]) -> bool:
    """Whether all cells are there in their order, but for those of which nothing but code is lost."""
    rest = [_without_source(cell) for cell in new]
    lost = []
    for cell in map(_without_source, old):
        if rest and cell == rest[0]:
            del rest[0]
        else:
            lost.append(cell)
    return not rest and not any(map(_holds_more, lost))


def _holds_more(cell: Any) -> bool:
    """Whether more than code would be lost with a cell, all of whose code moved elsewhere."""
    return not isinstance(cell, dict) or any(cell.get(name) for name in ("outputs", "attachments"))


def _whole(name: str, before: bytes, after: bytes) -> None:
    """A file that was changed is still what it was: Python, a notebook with the same outputs, TOML, YAML."""
    try:
        if name.endswith(".py"):
            if _is_python(before) and not _is_python(after):
                raise FailedError(f"{name}: no Python any more")
        elif name.endswith(".ipynb"):
            old, new = json.loads(before), json.loads(after)
            if not _keeps_cells(old.pop("cells"), new.pop("cells")) or old != new:
                raise FailedError(f"{name}: more than the source has changed")
        elif before.count(b"\n") != after.count(b"\n") and not name.endswith((".md", ".rst")):
            raise FailedError(f"{name}: has other lines")
    except (SyntaxError, ValueError) as error:
        raise FailedError(f"{name}: damaged: {error}") from error
