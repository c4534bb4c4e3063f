"""Texts that are written for a terminal, as Markdown."""

import re

# What is code in a sentence: an option, a call, a dotted or keyword name, a word with an underscore, a class name.
CODE = re.compile(
    r"""(?<![\w`/])(?:
        --[a-z][a-z-]+
      | [A-Za-z][\w-]*(?:\[[\w,]+\])?(?:[=<>!~]=|[<>])\d[\w.]*
      | \*{1,2}[a-z]\w*
      | [A-Za-z_][\w.]*\((?:[^()]|\([^()]*\))*\)
      | [A-Za-z_][\w.]*\[[\w."']+\]
      | [A-Za-z_]\w*=(?:"[^"]*"|\w+(?:\.\w+)*)?
      | [A-Za-z_]\w*(?:\.\w+)+
      | \w*[A-Za-z]_\w*
      | [A-Z][a-z]+[A-Z]\w*
    )(?![\w`])""",
    re.VERBOSE,
)
RULE = re.compile(r"\bRM\d{3}\b")
# Names that look like a class and are none, and abbreviations that look like a dotted name.
WORDS = frozenset({"PyTorch", "DeepSpeed", "GitHub", "HuggingFace", "DataFrame", "e.g", "i.e"})


def markdown(text: str, known: frozenset[str] = frozenset()) -> str:
    """A sentence with its code in code spans, and the rules that it names as links.

    Args:
        text: Plain text.
        known: Codes of rules that have a page beside the one that this is written on.
    """
    parts, end = [], 0
    for match in CODE.finditer(text):
        if match[0] not in WORDS:
            parts += [_plain(text[end : match.start()], known), f"`{match[0]}`"]
            end = match.end()
    return "".join([*parts, _plain(text[end:], known)])


def cell(text: str) -> str:
    """Markdown that may be in a table."""
    return text.replace("|", r"\|")


def _plain(text: str, known: frozenset[str]) -> str:
    escaped = re.sub(r"([*_\[\]])", r"\\\1", text).replace("<", "&lt;")
    return RULE.sub(lambda match: f"[{match[0]}]({match[0]}.md)" if match[0] in known else match[0], escaped)
