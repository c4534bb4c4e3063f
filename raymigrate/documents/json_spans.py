"""Where values are in JSON text. The text has to be valid: let `json.loads` have a look at it first."""

import json
import re

from raymigrate.base.expressions import lazy_regex

SPACE = lazy_regex(r"[ \t\r\n]*")
STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
ITEM = lazy_regex(f"{STRING}|[\\[\\]{{}}]", re.DOTALL)
SCALAR = lazy_regex(f"{STRING}|[^\\s,\\]}}]+", re.DOTALL)

Span = tuple[int, int]


def start_of_value(text: str, position: int = 0) -> int:
    """Where the next value starts."""
    match = SPACE.match(text, position)
    assert match is not None  # it matches the empty text
    return match.end()


def end_of_value(text: str, start: int) -> int:
    """Where the value ends that starts at a place."""
    if text[start] not in "[{":
        match = SCALAR.match(text, start)
        assert match is not None
        return match.end()
    depth = 0
    for match in ITEM.finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    raise ValueError("the text is not valid JSON")


def elements(text: str, start: int) -> list[Span]:
    """The spans of the values of an array that starts at a place."""
    spans: list[Span] = []
    position = start_of_value(text, start + 1)
    while text[position] != "]":
        end = end_of_value(text, position)
        spans.append((position, end))
        position = start_of_value(text, end)
        if text[position] == ",":
            position = start_of_value(text, position + 1)
    return spans


def members(text: str, start: int) -> dict[str, Span]:
    """The spans of the values of an object that starts at a place, by key; of equal keys the last counts."""
    spans: dict[str, Span] = {}
    position = start_of_value(text, start + 1)
    while text[position] != "}":
        end = end_of_value(text, position)
        key = json.loads(text[position:end]) if "\\" in text[position:end] else text[position + 1 : end - 1]
        position = start_of_value(text, start_of_value(text, end) + 1)  # after the colon
        end = end_of_value(text, position)
        spans[key] = (position, end)
        position = start_of_value(text, end)
        if text[position] == ",":
            position = start_of_value(text, position + 1)
    return spans
