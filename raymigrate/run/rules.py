"""All rules, and what `raymigrate rules` and `raymigrate explain` say of them."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.findings import Rule
from raymigrate.codemods import all_rules
from raymigrate.documents import remarks
from raymigrate.knowledge.error_texts import rules_for, rules_naming
from raymigrate.run import file_rules

EXAMPLES = (
    Path(__file__).parent.parent / "knowledge" / "examples.json"
)  # scripts/update_twins.py takes them from the fixtures
NAME = lazy_regex(r"[A-Za-z_][\w.]{2,}")
COLOURS = {"+": "green", "-": "red"}


@cache
def every_rule() -> tuple[Rule, ...]:
    """The rules of the codemods, of files and of documents, by code."""
    return tuple(sorted([*all_rules(), *file_rules.RULES, *remarks.RULES], key=lambda rule: rule.code))


@cache
def _by_code() -> dict[str, Rule]:
    return {rule.code: rule for rule in every_rule()}


def rule_by_code(code: str) -> Rule:
    """The rule with a code.

    Raises:
        KeyError: If there is none.
    """
    return _by_code()[code]


def rules_by_text(text: str) -> list[Rule]:
    """The rules that the text of an error leads to, the most specific first."""
    return rules_for(text, every_rule())


def rules_by_name(text: str) -> list[Rule]:
    """The rules that speak of a name of Python: `TransformersTrainer`, `session.report`; none for other texts."""
    return rules_naming(text, every_rule()) if NAME.fullmatch(text) else []


def line_of(rule: Rule) -> str:
    """A rule in one line."""
    return f"{rule.code}  {rule.title}"


def explanation(rule: Rule) -> str:
    """What a rule is about, for a terminal."""
    paragraphs = [
        f"{rule.code}: {rule.title}",
        f"At run time: {rule.why}",
        f"What to do: {rule.fix}",
        *([f"Not proven by a run of the tests: {rule.unproven}"] if rule.unproven else []),
        *_example(rule.code),
        f"See {rule.link}",
    ]
    return "\n\n".join(paragraphs)


def _example(code: str) -> Iterator[str]:
    """What the tool does, or leaves, in a script of its own tests; nothing for a rule that none of them meets."""
    example = json.loads(EXAMPLES.read_text(encoding="utf-8")).get(code)
    if example is not None:
        lines = (click.style(line, fg=COLOURS.get(line[:1])) for line in example["lines"])
        yield "\n".join([f"In {example['source']}:", "", *(f"    {line}" for line in lines)])
