"""What the tool has to say: rules, and findings at a place in a file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.families import Family, family_of
from raymigrate.base.words import one_line

# The lines that a message names, and their file, between characters that no script has.
NAMED_LINE = lazy_regex("\ue000([0-9,]+)\ue001([^\ue002]*)\ue002")


def named_line(path: str, *lines: int) -> str:
    """`line 12` or `lines 12, 15` for a message: the finding says other numbers once lines have moved.

    Args:
        path: The file; empty for that of the finding itself.
        lines: The lines.
    """
    return f"\ue000{','.join(map(str, lines))}\ue001{path}\ue002"


def lines_named(found: re.Match[str]) -> list[int]:
    """The lines that a match of `NAMED_LINE` names."""
    return [int(line) for line in found[1].split(",")]


def words_of_lines(lines: Sequence[int]) -> str:
    """How a message names lines."""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"


class Kind(str, Enum):
    """What became of a finding."""

    CONVERTED = "converted"  # the edit was made, or would be made by a run without --check
    UNSAFE = "unsafe"  # an edit exists, --unsafe applies it
    MANUAL = "manual"  # no sure edit: a person has to decide
    ERROR = "error"  # the file could not be read, parsed or written
    NOTE = "note"  # nothing is wrong, but something was skipped, or an edit needs a word
    SKIPPED = "skipped"  # a comment in the file keeps it as it is


@dataclass(frozen=True)
class Rule:
    """One thing that no longer works, declared beside the codemod that fixes it.

    Args:
        code: Stable code, `RM` and three digits, the first of which say its family (docs/how-it-works.md#findings).
        title: One line: what is wrong with the legacy code.
        why: What happens at run time on current libraries, in full sentences.
        fix: What the codemod does, or what a person has to do.
        link: The document of Ray or Hugging Face that the rule rests on.
        errors: Texts that a user sees at run time of what the rule fixes: a few words of an error or a log, in which
            `*` stands for characters without blanks; `raymigrate explain` finds the rule by them.
        unproven: Why no fixture is run to show that the legacy code fails and what came of it works; empty where one
            is (tests/test_proofs.py).
    """

    code: str
    title: str
    why: str
    fix: str
    link: str
    errors: tuple[str, ...] = ()
    unproven: str = ""

    @property
    def family(self) -> Family:
        """What it is about."""
        return family_of(self.code)


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule met at one place. Its texts are one line each, whatever names and strings of a script they quote.

    Args:
        code: Code of the rule.
        kind: What became of it.
        message: One sentence: what happens at run time, or what was changed.
        advice: What to do; empty where nothing is left to do.
        line: Line, counted from 1; in a notebook that of the cell.
        column: Column in characters, counted from 1.
        path: File, as the user named it.
        cell: In a notebook the cell, counted from 1 over all cells, those with prose too; else 0.
        reason: Why it is skipped, in the words of the comment that skips it.
        templates: The message and the advice as they came, if they name lines by `named_line` and still say the same.
    """

    code: str
    kind: Kind
    message: str
    advice: str = ""
    line: int = 1
    column: int = 1
    path: str = ""
    cell: int = 0
    reason: str = ""
    templates: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        texts = self.message, self.advice
        if self.templates or any(map(NAMED_LINE.search, texts)):
            # `replace` may have given one of the texts new words: then what it was made from is no longer what it says.
            known = self.templates or texts
            came = tuple(old if _plain(old) == text else text for old, text in zip(known, texts, strict=True))
            object.__setattr__(self, "templates", came if any(map(NAMED_LINE.search, came)) else ())
            object.__setattr__(self, "message", _plain(self.message))
            object.__setattr__(self, "advice", _plain(self.advice))
        # Thousands of findings, which come from other processes, say the same: each text is kept once.
        for name in ("code", "message", "advice", "path", "reason"):
            text = getattr(self, name)
            object.__setattr__(self, name, sys.intern(text if name == "path" else one_line(text)))

    def __reduce__(self) -> tuple[type[Finding], tuple[object, ...]]:
        return Finding, tuple(getattr(self, each.name) for each in fields(self))

    @property
    def family(self) -> Family:
        """What its rule is about."""
        return family_of(self.code)

    @property
    def template(self) -> str:
        """The message as it came: another one that is made of it knows the lines that it names, too."""
        return self.templates[0] if self.templates else self.message

    @property
    def words(self) -> str:
        """The message, which is the same wherever the lines are that it names."""
        return NAMED_LINE.sub(r"\2", self.template)

    def with_own_lines(self, moved: Callable[[int], int]) -> Finding:
        """The same finding in a text where the lines of its own file have other numbers."""
        if not self.templates:
            return self

        def there(found: re.Match[str]) -> str:
            return found[0] if found[2] else named_line("", *map(moved, lines_named(found)))

        message, advice = (NAMED_LINE.sub(there, text) for text in self.templates)
        return replace(self, message=message, advice=advice)

    def skipped(self, reason: str) -> Finding:
        """The same finding, which a comment silences."""
        return replace(self, kind=Kind.SKIPPED, advice="", reason=reason)


def _plain(text: str) -> str:
    """A text with the numbers of the lines that it names, as it is shown."""
    return one_line(NAMED_LINE.sub(lambda found: words_of_lines(lines_named(found)), text))
