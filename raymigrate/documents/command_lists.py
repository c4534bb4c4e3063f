"""Commands that are written otherwise than a shell reads them: as lists (`CMD ["torchrun", "train.py"]`), by make."""

import json
import re
import shlex
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex

# The first part of a command, and what is put behind it: of Docker, of Compose, of Kubernetes.
FIRST, BEHIND = ("ENTRYPOINT", "entrypoint", "command"), ("CMD", "command", "args")
LIST = lazy_regex(
    rf"^[ \t-]*(?P<key>{'|'.join(dict.fromkeys((*FIRST, *BEHIND)))})(?P<sign>:?)[ \t]*(?P<list>\[[^\[\]]*\])",
    re.MULTILINE,
)
BLOCK = lazy_regex(
    rf"^[ \t-]*(?P<key>{'|'.join(key for key in dict.fromkeys((*FIRST, *BEHIND)) if key.islower())}):[ \t]*\n"
    r"(?P<items>(?:[ \t]*- [^\n]*\n)+)",
    re.MULTILINE,
)
ITEM = lazy_regex(r"^[ \t]*- (?P<word>\"[^\"\n]*\"|'[^'\n]*'|[^\s#:]+)[ \t]*(?:#[^\n]*)?$", re.MULTILINE)
VARIABLE = lazy_regex(
    r"^(?P<name>[A-Za-z_][\w-]*)[ \t]*(?::{1,3}|\?)?=[ \t]*(?P<value>[^\n#]*?)[ \t]*(?:#[^\n]*)?$", re.MULTILINE
)
READ = lazy_regex(r"\$(?:\((?P<round>[A-Za-z_][\w-]*)\)|\{(?P<curly>[A-Za-z_][\w-]*)\})")
NEAR = 3  # lines
DEEPEST = 4  # variables in the values of variables
LONGEST = 1000  # signs of a value: of those that hold each other, the length would double


def shell_of_lists(text: str) -> str:
    """A Dockerfile, or settings in YAML, with a shell's command in the line of each one that is a list.

    Args:
        text: The text.
    """
    lines = text.split("\n")
    last: tuple[str, int] | None = None
    for key, number, end, words in sorted(_lists(text), key=lambda found: found[1]):
        above, place = last or ("", -1)
        is_near = key == "CMD" or number - place <= NEAR  # in YAML another container may follow
        joins = is_near and above in FIRST and key in BEHIND and above != key
        command = " ".join(shlex.quote(word) for word in words)
        for blank in range(number, end):
            lines[blank] = ""
        if joins:
            lines[place] = f"{lines[place]} {command}"
        else:
            lines[number] = command
            place = number
        last = (key, place)
    return "\n".join(lines)


def _lists(text: str) -> Iterator[tuple[str, int, int, list[str]]]:
    """The commands that are lists: their keys, their first lines and those behind the last, their words."""
    for match in LIST.finditer(text):
        try:
            words = json.loads(match["list"].replace("\\\n", "\n"))
        except ValueError:
            words = [word.strip().strip("'\"") for word in match["list"][1:-1].split(",")]
        if all(isinstance(word, str) for word in words):
            yield match["key"], *_lines_of(text, match), words
    for match in BLOCK.finditer(f"{text}\n"):
        words = [item["word"].strip("'\"") for item in ITEM.finditer(match["items"])]
        if len(words) == len(match["items"].rstrip("\n").split("\n")):
            yield match["key"], *_lines_of(text, match), words


def _lines_of(text: str, match: re.Match[str]) -> tuple[int, int]:
    first = text.count("\n", 0, match.start())
    return first, first + 1 + match[0].rstrip("\n").count("\n")


def shell_of_make(text: str) -> str:
    """A Makefile with the values of its variables where they are read, each line where it was.

    Args:
        text: The Makefile.
    """
    values: dict[str, list[str]] = {}
    for match in VARIABLE.finditer(text):
        values.setdefault(match["name"], []).append(match["value"])
    known = {name: given[0] for name, given in values.items() if len(given) == 1 and "\\" not in given[0]}

    def value(match: re.Match[str]) -> str:
        given = known.get(match["round"] or match["curly"], match[0])
        return given if len(given) <= LONGEST else match[0]

    for _ in range(DEEPEST):
        known = {name: READ.sub(value, given) for name, given in known.items()}
    return READ.sub(value, text)
