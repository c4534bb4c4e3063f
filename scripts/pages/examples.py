"""What the tool did and said in the fixtures: the shortest real example for each rule."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from raymigrate.base.findings import Kind

ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "fixtures"
PROJECTS = FIXTURES / "projects"
TOLD = re.compile(r"(\d+):(\d+) (RM\d+) (\w+): (.*)")
CHANGES = (Kind.CONVERTED, Kind.UNSAFE)
CONTEXT = 1  # unchanged lines shown around a change
LONGEST = 26  # lines of an example; longer ones are cut in the middle


@dataclass(frozen=True)
class Example:
    """One finding of a fixture with the lines that it is about.

    Args:
        source: The fixture's file, from the root of the repository.
        line: Line of the finding in that file.
        kind: What became of it.
        message: What the tool said.
        language: Language of `lines`: diff, or that of the file.
        lines: The change around the finding, or, where nothing changes, the code itself.
    """

    source: str
    line: int
    kind: Kind
    message: str
    language: str
    lines: tuple[str, ...]


def examples() -> dict[str, dict[Kind, Example]]:
    """For each rule's code and each kind the shortest example; changes go before code that stays."""
    found: defaultdict[str, dict[Kind, Example]] = defaultdict(dict)
    for before, after, findings in _fixtures():
        pair = _Pair(before, after, written=before.is_relative_to(PROJECTS))
        for line, column, code, word, message in findings:
            kind = Kind(word)
            if kind is Kind.SKIPPED:  # tells of a comment in the file, not of the rule
                continue
            language, lines = pair.around(line, column, changes=kind in CHANGES)
            source = before if before.is_file() else after  # a file that the run added
            example = Example(str(source.relative_to(ROOT)), line, kind, message, language, lines)
            known = found[code].get(example.kind)
            if known is None or _length(code, example) < _length(code, known):
                found[code][example.kind] = example
    return dict(found)


def shortened(lines: tuple[str, ...]) -> list[str]:
    """The lines, cut in the middle where they are too many."""
    if len(lines) <= LONGEST:
        return list(lines)
    head = LONGEST * 2 // 3
    return [*lines[:head], "  [...]", *lines[head - LONGEST + 1 :]]


def _length(code: str, example: Example) -> tuple[bool, bool, bool, int, str]:
    moved = example.source.startswith("fixtures/to_ray/") and not code.startswith(("RM80", "RM82"))
    return (
        moved,  # a change of another rule among the lines of a whole script that move
        example.kind in CHANGES and example.language != "diff",
        len(example.lines) < 2,
        len(example.lines),
        example.source,
    )


def _fixtures() -> Iterator[tuple[Path, Path, list[tuple[int, int, str, str, str]]]]:
    """Every file of a fixture, its twin, and its findings; those in cells of notebooks are left out."""
    for told in sorted(FIXTURES.rglob("findings.txt")):
        path = next(told.parent.glob("before*")).name
        found = defaultdict(list)
        for text in told.read_text(encoding="utf-8").splitlines():
            match = TOLD.fullmatch(text)
            if match:
                found[path].append((int(match[1]), int(match[2]), match[3], match[4], match[5]))
            elif text:
                path = f"before/{text}"  # a project: its findings stand below the name of each file
        for path, findings in found.items():
            before, after = told.parent / path, told.parent / path.replace("before", "after", 1)
            if after.is_file():
                yield before, after, findings


class _Pair:
    """A file and its twin, line by line.

    Args:
        before: The file.
        after: Its twin.
        written: Whether findings have their places in the twin, as those of a project that was converted.
    """

    def __init__(self, before: Path, after: Path, *, written: bool) -> None:
        self.language = "python" if before.suffix == ".py" else "text"
        self.before, self.after = (
            path.read_text(encoding="utf-8").splitlines() if path.is_file() else [] for path in (before, after)
        )
        self.told = self.after if written else self.before
        self.ends = (2, 3) if written else (0, 1)
        matcher = SequenceMatcher(None, self.before, self.after, autojunk=False)
        self.changes = [change[1:] for change in matcher.get_opcodes() if change[0] != "equal"]
        self.nodes: dict[tuple[int, int], int] = {}
        for node in self._walk() if self.language == "python" else ():
            if isinstance(node, (ast.expr, ast.stmt)):
                place = (node.lineno, node.col_offset + 1)
                self.nodes[place] = max(self.nodes.get(place, 0), _last_line(node))

    def _walk(self) -> Iterator[ast.AST]:
        with suppress(SyntaxError):  # a notebook as a script, with magics
            yield from ast.walk(ast.parse("\n".join(self.told)))

    def around(self, line: int, column: int, changes: bool) -> tuple[str, tuple[str, ...]]:
        """The change at a place, or the code where it stays as it is, with its language."""
        first, last = line - 1, self.nodes.get((line, column), line)
        if changes:
            start, end = self.ends
            touched = [c for c in self.changes if c[start] < last and max(c[end], c[start] + 1) > first]
            if touched:
                return "diff", tuple(self._diff(touched))
        return self.language, tuple(_dedented(self.told[first:last]))

    def _diff(self, changes: list[tuple[int, int, int, int]]) -> Iterator[str]:
        start = max(changes[0][0] - CONTEXT, 0)
        for old, old_end, new, new_end in changes:
            yield from (f" {text}" for text in self.before[start:old])
            yield from (f"-{text}" for text in self.before[old:old_end])
            yield from (f"+{text}" for text in self.after[new:new_end])
            start = old_end
        yield from (f" {text}" for text in self.before[start : start + CONTEXT])


def _last_line(node: ast.stmt | ast.expr) -> int:
    """The last line of a node; of a compound statement, the one before its body."""
    body = getattr(node, "body", None)
    if isinstance(node, ast.stmt) and isinstance(body, list) and body:
        return max(node.lineno, body[0].lineno - 1)
    return node.end_lineno or node.lineno


def _dedented(lines: list[str]) -> list[str]:
    indent = min((len(text) - len(text.lstrip()) for text in lines if text.strip()), default=0)
    return [text[indent:] for text in lines]
