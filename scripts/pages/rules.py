"""A page for each rule, and the index of them by the first digit of their codes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from raymigrate.base.findings import Kind, Rule
from raymigrate.run.rules import every_rule
from scripts.pages.examples import Example, examples, shortened
from scripts.pages.prose import cell, markdown


@dataclass(frozen=True)
class Chapter:
    """The rules whose codes have the same first digit.

    Args:
        title: What they are about.
        guide: Heading of docs/migration-guide.md that tells the same by hand; empty where there is none.
    """

    title: str
    guide: str = ""


# By the first digit of the code.
CHAPTERS = {
    "1": Chapter("TransformersTrainer and HuggingFaceTrainer", "transformerstrainer-and-huggingfacetrainer"),
    "2": Chapter("AccelerateTrainer and its configuration", "acceleratetrainer"),
    "3": Chapter("ray.air", "rayair"),
    "4": Chapter("Arguments that Train V2 refuses, Tuner, tracking", "arguments-that-train-v2-refuses"),
    "5": Chapter("Data and preprocessors", "data-and-preprocessors"),
    "6": Chapter("Results, checkpoints, predictors", "results-and-checkpoints"),
    "7": Chapter("transformers, datasets, accelerate", "transformers-datasets-accelerate"),
    "8": Chapter("Plain scripts"),
    "9": Chapter("Files and scripts that are not converted"),
}


class Outcome(NamedTuple):
    """How the pages name what became of a finding: in the index, below a title, and above an example."""

    word: str
    words: str
    heading: str


OUTCOMES = {
    Kind.CONVERTED: Outcome("converted", "converted", "What it converts"),
    Kind.UNSAFE: Outcome("`--unsafe`", "converted with `--unsafe`", "What `--unsafe` converts"),
    Kind.MANUAL: Outcome("person", "left for a person", "What it leaves for a person"),
    Kind.NOTE: Outcome("note", "noted", "What it notes"),
    Kind.ERROR: Outcome("error", "reported as an error", "What it reports"),
}


def chapters() -> list[tuple[Chapter, list[Rule]]]:
    """The rules by chapter, in the order of their codes."""
    return [(CHAPTERS[digit], list(rules)) for digit, rules in groupby(every_rule(), key=lambda rule: rule.code[2])]


def pages() -> dict[str, str]:
    """Markdown of the index and of every rule, by path in the site."""
    found = examples()
    written = {f"rules/{rule.code}.md": page(rule, found.get(rule.code, {})) for rule in every_rule()}
    return {"rules/index.md": index(found), **written}


def index(found: dict[str, dict[Kind, Example]]) -> str:
    """The index: a table for each chapter."""
    lines = [
        "# Rules",
        "",
        f"{len(every_rule())} rules. `raymigrate explain RM203` prints what a page tells, and"
        " `raymigrate explain \"cannot import name 'AdamW'\"` finds the rule by the text of an error.",
        "",
        "The last column says what the tool did with what it met in the [fixtures](../contributing.md): **converted**,"
        " converted only with **`--unsafe`**, because training could change, or left for a **person**, with a sentence"
        " that says what happens at run time. A dash: no fixture meets it.",
        "",
    ]
    for chapter, rules in chapters():
        lines += [f"## {chapter.title}", "", "| code | what | what the tool does |", "|---|---|---|"]
        lines += [
            f"| [{rule.code}]({rule.code}.md) | {cell(markdown(rule.title))} | {kinds(rule, found)} |" for rule in rules
        ]
        lines.append("")
    return "\n".join(lines)


def kinds(rule: Rule, found: dict[str, dict[Kind, Example]]) -> str:
    """What became of the findings of a rule in the fixtures."""
    return ", ".join(OUTCOMES[kind].word for kind in OUTCOMES if kind in found.get(rule.code, {})) or "-"


def page(rule: Rule, found: dict[Kind, Example]) -> str:
    """The page of one rule."""
    codes = frozenset(other.code for other in every_rule()) - {rule.code}
    chapter = CHAPTERS[rule.code[2]]
    done = ", ".join(OUTCOMES[kind].words for kind in OUTCOMES if kind in found)
    lines = [
        f"# {rule.code}: {markdown(rule.title)}",
        "",
        f"{chapter.title}{f' · {done}' if done else ''}",
        "{ .rule-family }",
        "",
        "## What happens at run time",
        "",
        markdown(rule.why, codes),
        "",
        "## What to do",
        "",
        markdown(rule.fix, codes),
        "",
        *(["## Not proven by a run of the tests", "", markdown(rule.unproven, codes), ""] if rule.unproven else []),
        *_errors(rule),
        *(line for kind in OUTCOMES if kind in found for line in _example(found[kind], codes)),
        "## See also",
        "",
        f"* [{_link_text(rule.link)}]({rule.link})",
    ]
    if chapter.guide:
        lines.append(f"* [The migration guide](../migration-guide.md#{chapter.guide}), to do it by hand")
    lines += [
        f"* `raymigrate --select {rule.code} path/` for this rule alone, `--ignore {rule.code}` for all others",
        "",
    ]
    return "\n".join(lines)


def _errors(rule: Rule) -> Iterator[str]:
    if rule.errors:
        yield from ("## Errors and logs that lead here", "")
        # In these texts `*` stands for what differs from case to case.
        yield from ("```text", *(text.replace("*", "...") for text in rule.errors), "```", "")


def _example(example: Example, codes: frozenset[str]) -> Iterator[str]:
    yield from (f"## {OUTCOMES[example.kind].heading}", "")
    source = Path(example.source)
    title = source.parent if example.language == "diff" and source.stem == "before" else source
    yield from (f'```{example.language} title="{title}"', *shortened(example.lines), "```", "")
    yield from (f"> {source.name}, line {example.line}: {markdown(example.message, codes)}", "")


def _link_text(link: str) -> str:
    """The title of a link: its host and the last words of its path or fragment."""
    parts = urlsplit(link)
    path = parts.path.strip("/").removesuffix(".html").removesuffix("/index")
    return f"{parts.netloc}: {path}{f', {parts.fragment}' if parts.fragment else ''}"
