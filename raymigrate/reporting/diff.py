"""Unified diffs that `git apply` takes, byte for byte."""

import difflib

from raymigrate.engine import FileResult
from raymigrate.script import Script

NO_NEWLINE = b"\\ No newline at end of file\n"


def unified_diff(result: FileResult) -> bytes:
    """The change of one file in its own bytes: encoding, byte order mark and line ends; empty if there is none."""
    if result.after is None:
        return b""
    script = result.script or Script(result.before, "utf-8", bom=False)
    before, after = (_lines(script.encode(text)) for text in (result.before, result.after))
    path = result.path.lstrip("/").encode("utf-8", "surrogateescape")
    # difflib compares bytes through strings; latin-1 gives each byte a character of its own.
    lines = difflib.unified_diff(
        [line.decode("latin-1") for line in before], [line.decode("latin-1") for line in after], "a", "b", n=3
    )
    next(lines, None), next(lines, None)
    head = b"--- a/%s\n+++ b/%s\n" % (path, path)
    return head + b"".join(_terminated(line.encode("latin-1")) for line in lines)


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends; only line feeds end a line for git."""
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _terminated(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n" + NO_NEWLINE
