"""Comments that keep code as it is: `# raymigrate: skip` at a statement or line, `# raymigrate: skip-file` for a file.

Both take codes, `skip[RM302,RM4]`, and a reason behind two dashes: `# raymigrate: skip -- runs on the old cluster`.
"""

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.comments.tokens import Comment, LogicalLine, logical_line_from, read_comments

MARK = "raymigrate:"
COMMENT = lazy_regex(
    r"#\s*raymigrate:\s*(?P<word>skip-file|skip)(?![\w-])\s*(?:\[(?P<codes>[^\]]*)\])?\s*(?:--\s*(?P<reason>.*\S)\s*)?"
)

# What looks as if it spoke to raymigrate, and comments for other tools that name rules of it.
MEANT = lazy_regex(
    r"#\s*(?P<text>raymigrate\s*:\s*[\w-]*|raymigrate\s+(?:skip|ignore|disable|off|noqa)\b)", re.IGNORECASE
)
FOREIGN = lazy_regex(r"#\s*(?P<text>noqa|(?:ruff|flake8)\s*:\s*noqa|pylint|type|nosec|pragma)\b[^#\n]*?\bRM\d", re.I)
CODE = lazy_regex(r"\bRM\d+")

RM906 = Rule(
    "RM906",
    "a skip comment that silences nothing",
    "Nothing changes at run time. But a comment that has no effect now would hide a finding in code that is"
    " written there later, and a misspelt one has no effect at all.",
    "Delete the comment, or the codes in it that are not needed; or write it as `# raymigrate: skip[RM302]`.",
    "https://docs.python.org/3/reference/lexical_analysis.html#comments",
)


@dataclass
class Skip:
    """One such comment.

    Args:
        lines: The lines that it covers; all lines for a whole file.
        codes: Codes or prefixes that it silences; empty means all.
        reason: What it says after the dashes.
        line: Its own line, counted from 1.
        column: Its column, counted from 1.
        whole_file: Whether it refers to the whole file.
        used: The codes that it did silence; "" if it names none.
    """

    lines: range
    codes: tuple[str, ...]
    reason: str
    line: int
    column: int
    whole_file: bool = False
    used: set[str] = field(default_factory=set)

    def silences(self, code: str, line: int) -> bool:
        """Whether it covers a finding, which is noted."""
        if line not in self.lines:
            return False
        fitting = {name for name in self.codes if code.startswith(name)} if self.codes else {""}
        self.used |= fitting
        return bool(fitting)

    def stale(self) -> str:
        """What it says in vain, as a sentence; empty if nothing."""
        if not self.used:
            return "This comment silences nothing."
        vain = [code for code in self.codes if code not in self.used]
        return f"This comment names {', '.join(vain)}, which is not found there." if vain else ""


class Skips:
    """All such comments of a module."""

    def __init__(self, text: str) -> None:
        speaks = MEANT.search(text) or FOREIGN.search(text)
        comments, logical_lines = read_comments(text) if speaks else ([], [])
        self._skips = list(_read(text, comments, logical_lines))
        self._misspelt = list(_misspelt(comments))
        self._of_file = [skip for skip in self._skips if skip.whole_file]
        self._by_first_line: dict[int, list[Skip]] = {}
        for skip in self._skips:
            if not skip.whole_file:
                self._by_first_line.setdefault(skip.lines.start, []).append(skip)
        self._statements = sorted({skip.lines.start for skip in self._skips if len(skip.lines) > 1})

    def of(self, code: str, line: int) -> Skip | None:
        """The comment that silences a rule on a line, if there is one; every one that does is noted as used."""
        statement = self._statements[bisect(self._statements, line) - 1] if self._statements else line
        near = [skip for first in {line, statement} for skip in self._by_first_line.get(first, ())]
        found = [skip for skip in (*self._of_file, *near) if skip.silences(code, line)]
        return min(found, key=lambda skip: (skip.line, skip.column), default=None)

    def of_file(self, code: str) -> Skip | None:
        """The comment for the whole file that silences a rule, if there is one."""
        return next((skip for skip in self._of_file if skip.silences(code, 1)), None)

    def stale(self, path: str) -> Iterator[Finding]:
        """Findings about the comments that silenced nothing; to be asked when all rules have been applied."""
        for skip in self._skips:
            if message := skip.stale():
                yield Finding(RM906.code, Kind.MANUAL, message, RM906.fix, skip.line, skip.column, path)
        for comment, message in self._misspelt:
            yield Finding(RM906.code, Kind.MANUAL, message, RM906.fix, comment.line, comment.column, path)


def _misspelt(comments: Sequence[Comment]) -> Iterator[tuple[Comment, str]]:
    """Comments that were meant for raymigrate and that it does not understand, with what to say of them."""
    for comment in comments:
        skip = COMMENT.search(comment.text)
        if skip is not None:
            rest = comment.text[skip.end() :].partition("#")[0]
            if not skip["codes"] and (outside := CODE.findall(rest)):
                yield comment, f"This comment silences every rule: {', '.join(outside)} has to be in brackets."
        elif found := MEANT.search(comment.text) or FOREIGN.search(comment.text):
            yield comment, f"raymigrate does not know `{found['text']}`: this comment keeps nothing as it is."


def _read(text: str, comments: Sequence[Comment], logical_lines: list[LogicalLine]) -> Iterator[Skip]:
    for comment in comments:
        match = COMMENT.search(comment.text)
        if match is None:
            continue
        whole_file = match["word"] == "skip-file"
        if whole_file:
            covered = range(1, text.count("\n") + 2)
        else:
            covered = _covered(comment.line, logical_lines, alone=comment.alone)
        column = comment.column + match.start()
        yield Skip(covered, _codes(match), match["reason"] or "", comment.line, column, whole_file)


def _codes(match: re.Match[str]) -> tuple[str, ...]:
    return tuple(code.strip() for code in (match["codes"] or "").split(",") if code.strip())


def _covered(line: int, logical_lines: list[LogicalLine], *, alone: bool) -> range:
    """The lines that a comment refers to.

    At the start or the end of a statement it is the whole statement, amid it that line; on a line of its own before a
    statement it is that statement, amid one the next line.
    """
    logical = logical_line_from(logical_lines, line)
    if logical is None:
        return range(line, line)
    if logical.first < line < logical.last:
        return range(line + 1, line + 2) if alone else range(line, line + 1)
    return range(logical.first, logical.last + 1)


def comment_at(lines: Sequence[str], line: int, code: str) -> Skip | None:
    """The comment that silences a rule on a line that is not Python, such as one that installs something.

    Args:
        lines: The lines around it.
        line: Which one, counted from 1; the comment is on it, or alone above it or above the command it ends.
        code: Code of the rule.
    """
    for number in range(line, 0, -1):
        text = lines[number - 1]
        if number < line and not text.lstrip().startswith("#") and not text.endswith("\\"):
            return None
        match = COMMENT.search(text)
        if match is not None and match["word"] == "skip":
            skip = Skip(range(line, line + 1), _codes(match), match["reason"] or "", number, match.start() + 1)
            if skip.silences(code, line):
                return skip
    return None


def skipped_whole(text: str, code: str) -> Skip | None:
    """The skip-file comment that silences a rule in a text that may not be Python."""
    for match in COMMENT.finditer(text) if MARK in text else ():
        line = text.count("\n", 0, match.start()) + 1
        skip = Skip(range(line, line + 1), _codes(match), match["reason"] or "", line, 1, whole_file=True)
        if match["word"] == "skip-file" and skip.silences(code, line):
            return skip
    return None
