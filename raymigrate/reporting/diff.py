"""Unified diffs that `git apply` takes, byte for byte."""

import os
from pathlib import Path

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents import Plain
from raymigrate.documents.line_changes import LineMatcher
from raymigrate.files.script import Script
from raymigrate.reporting.paths import relative_posix
from raymigrate.run.outcome import FileResult

CONTEXT = 3
QUOTED = lazy_regex(rb'[\x00-\x1f"\\\x7f]')  # what git puts into quotation marks
NO_NEWLINE = b"\\ No newline at end of file\n"


def unified_diff(result: FileResult) -> bytes:
    """The change of one file in its own bytes: encoding, byte order mark and line ends; empty if there is none."""
    if result.after is None:
        return b""
    document = result.document or Plain(Script(result.before, "utf-8", bom=False))
    before = _lines(document.encode(result.before))
    after = _lines(result.new_bytes if result.document else document.encode(result.after))
    matcher = LineMatcher(before, after)
    old, new = _name("a/", result.path), _name("b/", result.path)
    lines = [b"--- %s\n+++ %s\n" % (b"/dev/null" if result.is_new else old, new)]
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        lines.append(b"@@ -%s +%s @@\n" % (_range(first[1], last[2]), _range(first[3], last[4])))
        for tag, start, stop, new_start, new_stop in group:
            if tag == "equal":
                lines += [_terminated(b" " + line) for line in before[start:stop]]
                continue
            lines += [_terminated(b"-" + line) for line in before[start:stop]]
            lines += [_terminated(b"+" + line) for line in after[new_start:new_stop]]
    return b"".join(lines)


def _name(prefix: str, path: str) -> bytes:
    """How git names a file: below the current folder, and not by a link, which git would patch itself."""
    real = relative_posix(os.path.realpath(path))
    name = path.lstrip("/") if Path(real).is_absolute() else real
    data = (prefix + name).encode("utf-8", "surrogateescape")
    return b'"%s"' % QUOTED.sub(lambda match: b"\\%03o" % ord(match[0]), data) if QUOTED.search(data) else data


def _range(start: int, stop: int) -> bytes:
    """The lines of a hunk as a unified diff writes them: the first, counted from 1, and how many."""
    length = stop - start
    if length == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if length else start, length)


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends; only line feeds end a line for git."""
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _terminated(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n" + NO_NEWLINE
