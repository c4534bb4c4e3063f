"""Leads from the text of an error to the rules that fix it: `raymigrate explain "<error text>"`.

A rule lists the texts beside its declaration (`Rule.errors`); tests/test_error_texts.py makes the libraries raise them.
"""

import re
from collections.abc import Iterable
from functools import cache

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule

ANSI = lazy_regex(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What Ray puts before each line that comes from another process: `(RayTrainWorker pid=71, ip=10.0.0.2)`.
RAY_PREFIX = lazy_regex(r"^\s*\([^()]*(?:\([^()]*\))?[^()]*\bpid=\d+[^()]*\) ?")
MARKERS = lazy_regex(r"^[\s~^]*$")  # the line below a line of code in a traceback
# Shells and web pages lose quotation marks, or exchange them for curved ones.
QUOTES = dict.fromkeys(map(ord, "`'\"\u2018\u2019\u201c\u201d"))
LONGEST_STAR = 200


def refused_arguments(function: str, *names: str) -> tuple[str, ...]:
    """What Python says of arguments that a function does not have.

    Args:
        function: Name of a function, or of a class for its `__init__`.
        names: The arguments; none stands for any.
    """
    callee = f"{function}.__init__()" if function.lstrip("*")[:1].isupper() else f"{function}()"
    return tuple(f"{callee} got an unexpected keyword argument '{name}'" for name in names or ("*",))


def gone_names(module: str, *names: str) -> tuple[str, ...]:
    """What Python says of names that a module no longer has, however they are looked up."""
    texts = ("cannot import name '{name}' from '{module}'", "module '{module}' has no attribute '{name}'")
    return tuple(text.format(name=name, module=module) for name in names for text in texts)


def rules_for(text: str, rules: Iterable[Rule]) -> list[Rule]:
    """The rules whose errors a text holds, the most specific match first.

    Of matches that overlap only the most specific count: an import of TransformersTrainer that fails is not reported as
    a failing import of anything as well.

    Args:
        text: A message, a traceback or a log.
        rules: The rules to look through.
    """
    plain = plain_text(text)
    lowered = plain.lower()
    found: list[tuple[int, int, int, Rule]] = []
    for rule in rules:
        for error in rule.errors:
            # Most texts are not there at all, and searching for a string is a hundred times faster than a pattern.
            if not all(part.lower() in lowered for part in _parts(error)):
                continue
            weight = len(error.replace("*", ""))
            found += [(weight, *match.span(), rule) for match in _pattern(error).finditer(plain)]
    found.sort(key=lambda match: (-match[0], match[1]))
    kept: list[tuple[int, int, int, Rule]] = []
    for weight, start, end, rule in found:
        if not any(weight < other and start < stop and begin < end for other, begin, stop, _ in kept):
            kept.append((weight, start, end, rule))
    return list(dict.fromkeys(rule for *_, rule in kept))


def rules_naming(name: str, rules: Iterable[Rule]) -> list[Rule]:
    """The rules that speak of a name: first those that have it in their title, then those that explain it."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    titled = [rule for rule in rules if word.search(rule.title)]
    told = (rule for rule in rules if word.search(" ".join((rule.why, rule.fix, *rule.errors))))
    return list(dict.fromkeys((*titled, *told)))


def plain_text(text: str) -> str:
    """A pasted text without colours, Ray's prefixes, markers, quotes and line ends, as the patterns expect it."""
    lines = (RAY_PREFIX.sub("", line) for line in ANSI.sub("", text).splitlines())
    words = " ".join(line for line in lines if not MARKERS.match(line)).split()
    return " ".join(words).translate(QUOTES)


def _parts(error: str) -> list[str]:
    """What stands between the `*` of an error's text."""
    return error.translate(QUOTES).strip("*").split("*")


@cache
def _pattern(error: str) -> re.Pattern[str]:
    """The regular expression for an error: `*` is any run of characters without blanks."""
    text = error.translate(QUOTES)
    middle = rf"\S{{0,{LONGEST_STAR}}}?".join(re.escape(part) for part in _parts(error))
    before = r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\w)" if re.search(r"\w$", text) else ""
    return re.compile(before + middle + after, re.IGNORECASE)
