"""Unified diffs that `git apply` takes, byte for byte."""

import difflib
import re

from raymigrate.engine import FileResult

NO_NEWLINE = "\\ No newline at end of file"


def unified_diff(result: FileResult) -> str:
    """The change of one file; empty if there is none. Line ends stay as they are in the file."""
    if result.after is None:
        return ""
    before, after = _lines(result.before), _lines(result.after)
    path = result.path.lstrip("/")
    lines = difflib.unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm="\n")
    return "".join(line if line.endswith(("\n", "\r")) else f"{line}\n{NO_NEWLINE}\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Lines with their ends; only line feeds end a line for git."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
