"""What IPython adds to Python: magics, shell lines and help, masked by names so that the rest can be parsed.

https://ipython.readthedocs.io/en/stable/interactive/python-ipython-diff.html. A statement of Python never begins with
`%`, `!` or `?`, nor ends with `?`; so a line that does, and is not inside a string or brackets, is IPython's.
"""

import ast
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from raymigrate.base.expressions import lazy_regex

# Strings (the closing quote may be missing), comments, brackets, and a backslash at the end of the line.
TOKEN = lazy_regex(
    r"(?P<comment>\#.*)"
    r"|(?P<triple>\"{3}|'{3})"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])"
    r"|(?P<continued>\\$)"
)
ESCAPED = lazy_regex(r"\s*(?:[%!?]|[,;/](?=\w)|\#\ MAGIC\b)")
# What is assigned to: `files`, `first, *rest`, `(first, second)`, `found["files"]`.
ASSIGNED = lazy_regex(
    r"""(\s*(?:\(\s*)?[*A-Za-z_](?:[\w.,\s*\[\]]|(?<=\[)(?:"[^"\n=]*"|'[^'\n=]*')(?=\]))*(?:\)\s*)?=\s*)[%!](?!=)"""
)
# Magics whose argument is a statement that runs in the notebook: it is read, and only the head is masked.
STATEMENT = lazy_regex(r"(\s*)(%(?:time|timeit|prun|memit)[ \t]+(?:-\w\s*\d*[ \t]+)*)(?=\S)")
# Commands that IPython takes without their percent sign; looked for only where a cell is not Python without it.
AUTOMAGIC = lazy_regex(r"(?:pip|conda|mamba|uv|ls|ll|cd|cat|pwd|mkdir|rm|cp|mv|clear|whos?)\b(?!\s*[=(.\[,:])")

CELL_MAGIC = lazy_regex(r"%%(\w+)")
# Cell magics whose body is Python that runs in the notebook.
PYTHON_CELL_MAGICS = frozenset({"time", "timeit", "capture", "prun", "memit", "wandb"})


@dataclass
class Masked:
    """Lines of Python in which names stand for what is not Python.

    Args:
        lines: The lines.
        origins: For each line, the index of the source line that it comes from.
        shifts: For each line, how many characters further right its Python is in the source.
        originals: What each name stands for.
    """

    lines: list[str] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    shifts: list[int] = field(default_factory=list)
    originals: dict[str, str] = field(default_factory=dict)

    def add(self, line: str, origin: int, shift: int = 0) -> None:
        """Appends a line."""
        self.lines.append(line)
        self.origins.append(origin)
        self.shifts.append(shift)


def masked(lines: Sequence[str], fresh: Callable[[], str], *, automagic: bool = False) -> Masked:
    """Masks what is not Python in the lines of a cell.

    Args:
        lines: Source lines.
        fresh: Gives a name that is used nowhere else.
        automagic: Whether commands may lack their percent sign.
    """
    result = Masked()
    quote, depth, continued = "", 0, False
    index = 0
    while index < len(lines):
        line = lines[index]
        starts_statement = not (quote or depth or continued)
        if starts_statement and _is_magic(line, automagic):
            last = index
            while lines[last].endswith("\\") and last + 1 < len(lines):
                last += 1
            _mask(result, list(lines[index : last + 1]), index, fresh())
            index = last + 1
            continue
        result.add(line, index)
        quote, depth, continued = _after(line, quote, depth)
        index += 1
    return result


def _is_magic(line: str, automagic: bool) -> bool:
    if ESCAPED.match(line) or ASSIGNED.match(line) or (automagic and AUTOMAGIC.match(line)):
        return True
    if "?" not in line or '"""' in line or "'''" in line:
        return False
    return TOKEN.sub(_blanked, line).rstrip(" ;").endswith("?")


def _blanked(match: re.Match[str]) -> str:
    """Takes strings and comments out of the way; brackets stay."""
    return match[0] if match["open"] or match["close"] else " " * len(match[0])


def _mask(result: Masked, lines: list[str], index: int, name: str) -> None:
    first = lines[0]
    statement = STATEMENT.match(first)
    if statement and len(lines) == 1 and syntax_error(first[statement.end() :]) is None:
        indent, head = statement[1], statement[2]
        result.originals[f"{name}; "] = head
        result.add(f"{indent}{name}; {first[statement.end() :]}", index, len(head) - len(name) - 2)
        return
    assigned = ASSIGNED.match(first)
    start = assigned.end(1) if assigned else len(first) - len(first.lstrip())
    result.originals[name] = "\n".join([first[start:], *lines[1:]])
    result.add(first[:start] + name, index)


def _after(line: str, quote: str, depth: int) -> tuple[str, int, bool]:
    """Where the end of a line stands: in a long string, how deep in brackets, before a continuation."""
    position, continued = 0, False
    while position < len(line):
        if quote:
            end = _closing(line, quote, position)
            if end < 0:
                return quote, depth, False
            quote, position = "", end
            continue
        match = TOKEN.search(line, position)
        if match is None:
            break
        position = match.end()
        quote = match["triple"] or ""
        depth += bool(match["open"]) - (bool(match["close"]) and depth > 0)
        continued = bool(match["continued"])
    return quote, depth, continued


def _closing(line: str, quote: str, position: int) -> int:
    """Where a long string ends in a line, or -1; an escaped quote does not end it."""
    while position < len(line):
        if line[position] == "\\":
            position += 2
        elif line.startswith(quote, position):
            return position + len(quote)
        else:
            position += 1
    return -1


def syntax_error(text: str) -> SyntaxError | None:
    """What Python's parser says against a text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:  # lone surrogates, NUL, deep nesting
        return SyntaxError(str(error) or "nested too deeply")
    return None
