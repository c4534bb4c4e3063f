"""Text out of text: lines, tokens, bytes, encodings, line ends, comments and white space that were not meant so."""

from __future__ import annotations

import io
import re
import tokenize
from random import Random

PIECES = [
    "#", "\\", '"""', "'", "(", ")", "[", "{", ":", ",", "=", "*", "**", "@", ";", "\f", "\t", "\v", "\u2028", "\x85",
    "\ufeff", "é", "\U0001f600", "\x00", "\r", "\n\n", "\\\n", "    ",
    "ray", "session", "air", "lambda", "async ", "del ", "from ray.air import session\n",
    "# raymigrate: skip\n", "# raymigrate: skip-file\n", "# raymigrate: skip[RM3", "# TODO(raymigrate): RM604 x\n",
    "# %%\n", "# fmt: off\n", "# type: ignore", "%pip install ray==2.6\n", "!ls\n", "%%bash\n",
    "&a ", "*a", "<<: ", "- ", "!!python/object/apply:os.system ", "${x}", "{{ x }}",
    "```python\n", "```", "> ", "::\n\n    ",
    "==", ">=2,<3", "~=", "; python_version < '3'", "9" * 5_000, "ray[tune]", "-r x.txt\n", "--hash=sha256:0",
]  # fmt: skip
SIGNS = "#=-_*.,:;!?/\\|~+<>()[]{}'\"`@$%^& \t"
RUNS = (3, 80, 2_000, 50_000)  # how often one sign follows itself: a heading, a rule, and what nobody wrote by hand
ENCODINGS = [
    "latin-1",
    "cp1252",
    "utf-16",
    "utf-16-le",
    "utf-8-sig",
    "shift_jis",
    "utf-7",
    "iso2022_jp",
    "punycode",
    "idna",
]


def mutated_text(random: Random, text: str) -> str:
    """A text, changed in a few places."""
    for _ in range(random.randint(1, 5)):
        text = random.choice([_lines, _lines, _token, _piece, _comment, _cut, _repeated, _run])(random, text)
    return text


def encoded(random: Random, text: str) -> bytes:
    """The bytes of a text, mostly those that one expects."""
    choice = random.random()
    if choice < 0.1:
        text = text.replace("\n", "\r\n")
    elif choice < 0.13:
        text = text.replace("\n", "\r")
    elif choice < 0.16:
        text = re.sub("\n", lambda _: random.choice(["\n", "\r\n", "\r"]), text)
    elif choice < 0.19:
        text = text.rstrip("\n")
    if choice > 0.93:
        encoding = random.choice(ENCODINGS)
        if random.random() < 0.7:
            text = f"# coding: {encoding}\n{text}"
        try:
            return text.encode(encoding, "replace")
        except (UnicodeError, LookupError):
            pass
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    if choice > 0.9 and data:
        for _ in range(random.randint(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
    return bytes(data)


def _lines(random: Random, text: str) -> str:
    lines = text.split("\n")
    start = random.randrange(len(lines))
    block = lines[start : start + random.choice([1, 1, 2, 5])]
    where = random.randrange(len(lines) + 1)
    what = random.randrange(5)
    if what == 0:
        del lines[start : start + len(block)]
    elif what == 1:
        lines[where:where] = block
    elif what == 2:
        lines[where:where] = [f"    {line}" for line in block]
    elif what == 3:
        lines[start : start + len(block)] = [line.removeprefix("    ") for line in block]
    else:
        lines[start : start + len(block)] = block[::-1]
    return "\n".join(lines)


def _token(random: Random, text: str) -> str:
    try:
        tokens = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.string.strip()]
    except (tokenize.TokenError, SyntaxError):
        tokens = text.split()
    if not tokens:
        return text
    old, new = random.choice(tokens), random.choice([random.choice(tokens), random.choice(PIECES), ""])
    start = text.find(old, random.randrange(len(text)))
    return text if start < 0 else text[:start] + new + text[start + len(old) :]


def _piece(random: Random, text: str) -> str:
    start = random.randint(0, len(text))
    return text[:start] + random.choice(PIECES) + text[start:]


def _comment(random: Random, text: str) -> str:
    lines = text.split("\n")
    comments = [
        "  # raymigrate: skip",
        "  # raymigrate: skip[RM302]",
        "  # noqa",
        "  # type: ignore",
        " \\",
        ";",
        "  # é",
        " ;x=1",
    ]
    lines[random.randrange(len(lines))] += random.choice(comments)
    return "\n".join(lines)


def _cut(random: Random, text: str) -> str:
    start = random.randint(0, len(text))
    return text[:start] + text[start + random.choice([1, 3, 20]) :]


def _repeated(random: Random, text: str) -> str:
    start = random.randint(0, len(text))
    piece = text[start : start + random.choice([1, 2, 10])]
    return text[:start] + piece * random.choice([2, 3, 50]) + text[start:]


def _run(random: Random, text: str) -> str:
    """A long run of one sign: as a comment of its own or behind a line, around words, in a string, or anywhere."""
    run = random.choice([random.choice(SIGNS), "#", "#"]) * random.choice(RUNS)
    lines = text.split("\n")
    where = random.randrange(len(lines))
    what = random.randrange(5)
    if what == 0:
        lines.insert(where, f"#{run}")
    elif what == 1:
        lines[where] += f"  #{run} x {run}"
    elif what == 2:
        lines.insert(where, f"x = {run!r}")
    elif what == 3:
        lines[where:where] = [f"#{run}", "# A part", f"#{run}"]
    else:
        start = random.randint(0, len(text))
        return text[:start] + run + text[start:]
    return "\n".join(lines)
