"""Rewrites through excerpts, compared with rewrites of the whole module, over fixtures that are made stranger."""

from __future__ import annotations

import ast
import random
import re
import textwrap
from collections import Counter
from collections.abc import Callable

from raymigrate.base.options import Options
from raymigrate.edits import rewriter
from raymigrate.edits.excerpt import Excerpt, NotFilled
from raymigrate.edits.imports import place_imports
from raymigrate.edits.plan import Plan, RewriteError
from raymigrate.edits.stand_ins import NothingHidden, untouched
from raymigrate.facts.syntax.module import Module
from raymigrate.run.engine import convert

OPTIONS = {
    "auto": Options(),
    "inline": Options(style="inline"),
    "adapter": Options(style="adapter"),
    "guide": Options(guide=True),
    "unsafe": Options(unsafe=True),
}
ODD_COMMENTS = ["# odd", "", "#", "# x \\", "   "]
MARGINS = ["", "    ", "        ", "  ", "            ", "\t"]
ENDS = ["    # end", "\n    # in\n# out\n", "\n\n\n        # deep\n    # in", "\n   \n\t# c\n", " \n"]
FILLERS = re.split(
    "---\n",
    """\
def filler(a, b=1):
    '''Text.'''
    if a:
        return [
            a,
        ]
    # below

---
class Filler:
  x = 1

  def f(self): return 2
---
@(
  staticmethod
)
def decorated():
    pass
---
match x:
    case 1:
        pass
    case _:
        pass
    # in match

---
match x:
    case 1: pass
    # behind a case
---
text = '''
  a
    b'''; y = 2
---
for _ in (): pass
else:
   pass
   # below
---
async def coroutine():
	await x
---
if x: a = 1; b = 2
---
try:
    pass
except (A, B): pass
else:
    pass
finally:
    pass

---
if 1:
    pass
elif 2:
    pass
    # in elif
else:
        pass
---
with a as b:
    pass
---
'''only a string'''
---
x: int = 1 # a comment
""",
)


class Difference(AssertionError):
    """A rewrite through an excerpt is not that of the whole module."""


def outcome(excerpt: Callable[[], Excerpt], plan: Plan) -> str | Exception:
    """The new text, or why there is none."""
    try:
        return rewriter._rewritten(excerpt(), plan)
    except (RewriteError, NothingHidden, NotFilled) as error:
        return error


def compared(module: Module, plan: Plan, results: Counter[str]) -> str:
    """Stands for `rewrite`: does it in both ways, and counts what came of it.

    Raises:
        Difference: If both give a text, and not the same.
    """
    place_imports(module, plan)
    whole = outcome(lambda: Excerpt(module), plan)
    part = outcome(lambda: Excerpt(module, untouched(module, plan)), plan)
    if isinstance(whole, Exception):
        results["only the excerpt converts" if isinstance(part, str) else "neither converts"] += 1
        raise whole
    if isinstance(part, Exception):
        results["falls back"] += 1
    elif part == whole:
        results["equal"] += 1
    else:
        raise Difference
    return whole


# -- forms ---------------------------------------------------------------------------------------------


def starts(text: str) -> set[int]:
    """Indices of lines on which statements start, besides those inside another simple statement."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    found = {min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]) - 1 for node in nodes}
    return found - {line for node in nodes if not is_compound(node) for line in range(node.lineno, node.end_lineno)}


def is_compound(statement: ast.stmt) -> bool:
    return hasattr(statement, "body") or isinstance(statement, ast.Match)


def commented(text: str, rnd: random.Random) -> str:
    """Comments and blank lines with any indentation between statements."""
    result = []
    places = starts(text)
    for index, line in enumerate(text.split("\n")):
        if index in places and rnd.random() < 0.5:
            result += [rnd.choice(MARGINS) + rnd.choice(ODD_COMMENTS) for _ in range(rnd.randint(1, 3))]
        result.append(line)
    return "\n".join(result)


def ended(text: str, rnd: random.Random) -> str:
    """Something behind the last statement."""
    return text.rstrip("\n") + rnd.choice(ENDS)


def indented(unit: str) -> Callable[[str, random.Random], str]:
    """Another indentation, but in strings."""

    def form(text: str, rnd: random.Random) -> str:
        kept: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                kept.update(range(node.lineno, node.end_lineno))
        result = []
        for index, line in enumerate(text.split("\n")):
            depth = len(line) - len(line.lstrip(" "))
            result.append(line if index in kept else unit * (depth // 4) + " " * (depth % 4) + line.lstrip(" "))
        return "\n".join(result)

    return form


def joined(text: str, rnd: random.Random) -> str:
    """Neighbours on one line, with a semicolon."""
    lines = text.split("\n")
    simple = {
        node.lineno - 1
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and not is_compound(node) and node.lineno == node.end_lineno
    } & starts(text)
    simple -= {index for index in simple if "#" in lines[index] or lines[index].lstrip().startswith(("from", "import"))}
    result: list[str] = []
    index = 0
    while index < len(lines):
        line, following = lines[index], lines[index + 1] if index + 1 < len(lines) else ""
        same = len(line) - len(line.lstrip()) == len(following) - len(following.lstrip())
        both = {index, index + 1} <= simple and same and line[-1] not in "\\;"
        if both and rnd.random() < 0.4:
            result.append(line + rnd.choice(["; ", ";"]) + following.lstrip())
            index += 1
        else:
            result.append(line)
        index += 1
    return "\n".join(result)


def with_form_feeds(text: str, rnd: random.Random) -> str:
    places = starts(text)
    result = []
    for index, line in enumerate(text.split("\n")):
        at_start = index in places and not line[:1].isspace()
        if at_start and rnd.random() < 0.2:
            result.append("\f")
        result.append("\f" + line if at_start and rnd.random() < 0.1 else line)
    return "\n".join(result)


def with_backslashes(text: str, rnd: random.Random) -> str:
    places = starts(text)
    result = []
    for index, line in enumerate(text.split("\n")):
        if index in places and rnd.random() < 0.15:
            result.append(rnd.choice(["\\", "    \\"]))
        goes_on = index in places and index + 1 in places and "#" not in line and rnd.random() < 0.1
        result.append(f"{line} \\\n" if goes_on else line)
    return "\n".join(result)


def filled(text: str, rnd: random.Random) -> str:
    """Statements of all kinds between those of the module."""
    lines = text.split("\n")
    places = starts(text)
    result: list[str] = []
    for index, line in enumerate(lines):
        may = index in places and index > 0 and not line[:1].isspace() and not lines[index - 1].startswith("@")
        goes_on = re.match(r"else|elif|except|finally|from __future__", line)
        if may and not goes_on and index > sorted(places)[2] and rnd.random() < 0.35:
            for _ in range(rnd.randint(1, 4)):
                result += [*rnd.choice(FILLERS).split("\n")[:-1], *[""] * rnd.randint(0, 3)]
        result.append(line)
    return "\n".join(result)


def inside(head: str, foot: str = "", unit: str = "    ") -> Callable[[str, random.Random], str]:
    """The module as the block of something."""
    return lambda text, rnd: head + textwrap.indent(text, unit, lambda line: bool(line.strip())) + foot


def both(
    first: Callable[[str, random.Random], str], second: Callable[[str, random.Random], str]
) -> Callable[[str, random.Random], str]:
    return lambda text, rnd: second(first(text, rnd), rnd)


def with_ends(*ends: str) -> Callable[[str, random.Random], str]:
    return lambda text, rnd: "".join(line + rnd.choice(ends) for line in text.split("\n"))


FORMS: dict[str, Callable[[str, random.Random], str]] = {
    "plain": lambda text, rnd: text,
    "CRLF": with_ends("\r\n"),
    "CR": with_ends("\r"),
    "mixed line ends": with_ends("\n", "\r\n", "\n", "\r"),
    "odd comments": commented,
    "odd end": ended,
    "odd comments and end": both(commented, ended),
    "no last line end": lambda text, rnd: text.rstrip("\n"),
    "tabs": indented("\t"),
    "two blanks": indented("  "),
    "eight blanks": indented("        "),
    "semicolons": joined,
    "form feeds": with_form_feeds,
    "backslashes": with_backslashes,
    "in a function": inside("def main():\n"),
    "in an if": inside('x = 1\nif __name__ == "__main__":\n'),
    "in a try": inside("try:\n", "\nexcept ValueError:\n    pass\n"),
    "in a class": inside("class A:\n    def f(self): pass\n"),
    "in an elif": inside("if a:\n    pass\nelif b:\n", "\nelse:\n    pass\n"),
    "in an else": inside("for a in b:\n    pass\nelse:\n"),
    "in a case": inside("match a:\n    case 1:\n", unit="        "),
    "header": lambda text, rnd: "#!/usr/bin/python\n# -*- coding: utf-8 -*-\n\n# c\n\n\n" + text,
    "docstring": lambda text, rnd: '"""Doc\n\n   of it."""\nfrom __future__ import annotations\n' + text,
    "fillers": filled,
    "fillers and comments": both(filled, commented),
    "fillers and form feeds": both(filled, with_form_feeds),
    "fillers, CRLF": both(filled, with_ends("\r\n")),
    "fillers, two blanks": both(filled, indented("  ")),
    "fillers in a function": both(filled, inside("def main():\n")),
    "comments in a function": both(inside("def main():\n"), commented),
    "fillers and comments in a function": both(both(filled, commented), inside("def main():\n")),
}


def stressed(text: str, form: str, options: Options, seed: int = 1) -> Counter[str]:
    """What comes of a module in a form; nothing if it is not Python in it.

    Raises:
        Difference: See `compared`.
    """
    results: Counter[str] = Counter()
    original = rewriter.rewrite
    try:
        ast.parse(text := FORMS[form](text, random.Random(seed)))
        rewriter.rewrite = lambda module, plan: compared(module, plan, results)
        convert(text, "train.py", options)
    except SyntaxError:
        return Counter()
    finally:
        rewriter.rewrite = original
    return results
