"""Docstrings of functions that lose parameters and their result: in the styles of Google, NumPy and Sphinx."""

import re
from collections.abc import Collection, Sequence

from raymigrate.base.expressions import lazy_regex

LITERAL = lazy_regex(r"""(?P<start>[rRuU]?(?P<quotes>\"{3}|'{3}|"|'))(?P<text>.*)(?P=quotes)""", re.DOTALL)
PARAMETERS = lazy_regex(r"\s*(?:Args|Arguments|Parameters|Params|Keyword Args|Other Parameters):?\s*")
RESULT = lazy_regex(r"\s*(?:Returns?|Yields?):?\s*")
UNDERLINE = lazy_regex(r"\s*-{3,}\s*")
ENTRY = lazy_regex(r"\s*(?P<stars>\*{0,2})(?P<name>\w+)\s*(?:\([^)]*\))?\s*(?::|$)")
FIELD = lazy_regex(r"\s*:(?:(?P<result>returns?|rtype)|(?:param|type)\s(?:[^:]*\s)?\*{0,2}(?P<name>\w+))\s*:")


def adapted(literal: str, gone: Collection[str]) -> str | None:
    """A docstring without what it says of these parameters and of the result; None if nothing is left of it.

    Args:
        literal: The string as it is in the source.
        gone: The parameters that the function does not have any more.
    """
    parts = LITERAL.fullmatch(literal)
    if parts is None:
        return literal
    lines = parts["text"].split("\n")
    kept = _without_sections(lines, gone)
    if kept == lines:
        return literal
    text = re.sub(r"\n\s*\n(?=\s*$)", "\n", "\n".join(kept))  # no blank line before the closing quotes
    if not text.strip():
        return None
    if "\n" not in text.strip() and kept[0].strip():
        text = kept[0].rstrip()  # a single line
    elif lines[-1].strip():  # the quotes stood on the line of the last words
        text = text.rstrip()
    elif kept[-1].strip():
        text = f"{text}\n{lines[-1]}"
    return f"{parts['start']}{text}{parts['quotes']}"


def _without_sections(lines: Sequence[str], gone: Collection[str]) -> list[str]:
    kept: list[str] = []
    at = 0
    while at < len(lines):
        underlined = at + 1 < len(lines) and UNDERLINE.fullmatch(lines[at + 1]) is not None
        is_header = underlined or lines[at].rstrip().endswith(":")
        if is_header and PARAMETERS.fullmatch(lines[at]):
            start = at + 1 + underlined
            end = _section_end(lines, at, start, underlined=underlined)
            entries = _without_entries(lines[start:end], gone)
            if any(line.strip() for line in entries) or start == end:
                kept += [*lines[at:start], *entries]
            at = end
        elif is_header and RESULT.fullmatch(lines[at]):
            at = _section_end(lines, at, at + 1 + underlined, underlined=underlined)
        elif (field := FIELD.match(lines[at])) and (field["result"] or field["name"] in gone):
            at = _deeper_end(lines, at)
        else:
            kept.append(lines[at])
            at += 1
    return kept


def _without_entries(lines: Sequence[str], gone: Collection[str]) -> list[str]:
    """The entries of a section about parameters that stay.

    What is wrapped without an indent belongs to the entry above it.
    """
    kept: list[str] = []
    at, goes = 0, False
    while at < len(lines):
        entry = ENTRY.match(lines[at])
        end = _deeper_end(lines, at) if entry else at + 1
        goes = entry["name"] in gone if entry else goes and bool(lines[at].strip())
        if not goes:
            kept += lines[at:end]
        at = end
    return kept


def _section_end(lines: Sequence[str], header: int, start: int, *, underlined: bool) -> int:
    """The line after a section: the next header, or the first line that is not deeper, without the closing quotes."""
    if not underlined:
        return _deeper_end(lines, header, start)
    for at in range(start, len(lines)):
        if at + 1 < len(lines) and UNDERLINE.fullmatch(lines[at + 1]):
            return at
    return len(lines) if lines[-1].strip() else len(lines) - 1


def _deeper_end(lines: Sequence[str], first: int, start: int | None = None) -> int:
    """The line behind all that is indented more than a line, blank lines included."""
    depth = _indent(lines[first])
    at = first + 1 if start is None else start
    while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) > depth):
        at += 1
    return at if at < len(lines) or lines[-1].strip() else len(lines) - 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
