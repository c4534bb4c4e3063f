"""The packages that shell commands install: in a cell, a Dockerfile, a docstring."""

import re
from collections.abc import Iterator
from dataclasses import replace

from raymigrate.base.expressions import lazy_regex
from raymigrate.knowledge.versions import Pin, conda_pins, requirement_pins

NESTED = "The command is in a string: write {name}>={lowest} there, with quotes around it for the inner shell."
HANDED_ON = "The words of this command go to another shell, without quotes: write \"'{name}>={lowest}'\" there."
# What makes one text of its words, which a shell reads once more; it takes the sign `>` for a redirection then.
TO_ANOTHER_SHELL = lazy_regex(r"(?<![\w-])(?:ssh|pdsh|clush|eval|ray[ \t]+exec)(?=[ \t])")
# A word of a shell command, which may be quoted, after `pip install` or `conda create` up to the end of that command.
INSTALL = lazy_regex(
    r"\b(?:(?:pip[\d.]*|uv pip|conda|mamba)(?:[ \t]+-[\w-]+)*[ \t]+install|(?:conda|mamba)[ \t]+create)\b"
    r"(?P<words>(?:[^\n;&|#\\]|\\(?:[ \t]*\r?\n|.))*)"
)
SIGNS = ("install", "conda", "mamba")  # one of them is in each command, and in few files
WORD = lazy_regex(r"(?P<quote>\\?[\"'])(?P<quoted>[^\"'\n\\]*)(?P=quote)|(?P<plain>[^\s\"'\\]+)")

OF_RANGES = frozenset("<>=!~,[")


def install_commands(text: str) -> Iterator[Pin]:
    """The requirements that shell commands name: `pip install -q "ray[air]==2.6.3" transformers==4.30.2`."""
    for command in commands(text):
        line = _line_before(command)
        within_string = line.count('"') % 2 + line.count("'") % 2 > 0
        yield from _command_pins(command, NESTED if within_string else HANDED_ON if _is_handed_on(command) else "")


def _is_handed_on(command: re.Match[str]) -> bool:
    """Whether a command is the end of one that hands its words to another shell: `ssh host pip install ...`."""
    before = (
        command.string[max(0, command.start() - 1000) : command.start()].replace("\\\r\n", " ").replace("\\\n", " ")
    )
    return bool(TO_ANOTHER_SHELL.search(re.split(r"[\n;&|]", before)[-1]))


# What makes a comment of a command of a notebook: `# !pip install ray`, `#%pip install ray`.
COMMENTED = lazy_regex(r"[ \t]*#[# \t]*(?=[!%])")


def uncommented(text: str) -> str:
    """The commands of a notebook that its comments hold, as they were before, at their places; all else is blank."""
    kept: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        mark = COMMENTED.match(line) or (re.match(r"[ \t]*#+", line) if goes_on else None)
        kept.append(" " * mark.end() + line[mark.end() :] if mark else "")
        goes_on = bool(mark) and line.rstrip().endswith("\\")
    return "\n".join(kept)


def commands(text: str) -> Iterator[re.Match[str]]:
    """The install commands of a text, as matches of `INSTALL`; those in comments are none."""
    for command in INSTALL.finditer(text) if any(word in text for word in SIGNS) else ():
        if not _line_before(command).lstrip().startswith("#"):
            yield command


def _line_before(command: re.Match[str]) -> str:
    """What comes before a command on its line; of a line without end, the last part."""
    text, end = command.string, command.start()
    return text[max(text.rfind("\n", max(0, end - 1000), end) + 1, end - 1000, 0) : end]


def _command_pins(command: re.Match[str], obstacle: str) -> Iterator[Pin]:
    """The pins in an install command.

    Args:
        command: A match of `INSTALL`.
        obstacle: What stands in the way of an edit, and what to do; empty if nothing does.
    """
    text, first = command.string, command.start("words")
    read = conda_pins if command[0].startswith(("conda", "mamba")) else requirement_pins
    for parts in words(command["words"]):
        is_whole = len(parts) == 1
        start = first + parts[0].start("quoted" if is_whole and parts[0]["quoted"] is not None else 0)
        said = "".join(map(_said, parts))
        for pin in read(said, start):
            if obstacle and pin.replacement:
                yield replace(pin, replacement="", obstacle=obstacle.format(name=pin.name, lowest=pin.lowest))
            elif not pin.replacement or (is_whole and text[start - 1] in "\"'"):
                yield pin
            else:  # a shell would take the sign `>` for a redirection
                head, rest = said[: pin.place[0] - start], said[pin.place[1] - start :]
                end = pin.place[1] if is_whole else first + parts[-1].end()
                replacement = f"'{head}{pin.replacement}{'' if is_whole else rest}'"
                yield replace(pin, place=(start, end), replacement=replacement)


def words(text: str) -> Iterator[list[re.Match[str]]]:
    """The words of a shell command, each as the parts of which some are quoted: `ray=="2.5.0"` has two.

    Parts belong together where a version range goes on: what follows a word in prose does not, `"ray==2.5.0".`
    """
    parts: list[re.Match[str]] = []
    for part in WORD.finditer(text):
        edge = _said(parts[-1])[-1:] + _said(part)[:1] if parts and parts[-1].end() == part.start() else ""
        if parts and OF_RANGES.isdisjoint(edge):
            yield parts
            parts = []
        parts.append(part)
    if parts:
        yield parts


def _said(part: re.Match[str]) -> str:
    """What a part of a word says, without quotes."""
    return part["plain"] or part["quoted"] or ""
