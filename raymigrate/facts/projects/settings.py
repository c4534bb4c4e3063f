"""Settings in YAML and JSON files of a project: which keys stand together, and where."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from raymigrate.facts.projects.yaml_files import composed

TARGET = "_target_"  # the key with the class that hydra makes an object of


@dataclass(frozen=True)
class Key:
    """One key of a mapping.

    Args:
        name: The key.
        value: Its value as it is written, without quotes; None where that is not a scalar.
        targets: Of a list: for each item the class that it names with `_target_`; empty where it names none.
        line: The line, from one.
        column: The column, from one.
    """

    name: str
    value: str | None
    line: int
    column: int
    targets: tuple[str, ...] = ()


def mappings(text: str) -> Iterator[list[Key]]:
    """The keys of each mapping of a YAML or JSON document, those of inner ones too; none of a text that is neither.

    JSON is YAML, once the tabs between its tokens are spaces: no string of JSON has a tab. A file is composed once,
    however many rules ask for its keys.
    """
    return iter(_mappings(text))


@lru_cache(maxsize=256)
def _mappings(text: str) -> list[list[Key]]:
    return list(_composed(text))


def _composed(text: str) -> Iterator[list[Key]]:
    try:
        nodes = composed(text.replace("\t", " "))
    except ValueError:
        return
    seen = set[int]()
    for node in nodes:  # which grows meanwhile
        held = node.value
        if id(node) in seen or not isinstance(held, list):
            continue
        seen.add(id(node))
        pairs = [part for part in held if isinstance(part, tuple)]
        if pairs:
            yield [_key(key, value) for key, value in pairs if isinstance(key.value, str)]
        nodes += [value for _, value in pairs] if pairs else held


def targets(text: str) -> Iterator[tuple[str, Key]]:
    """Each key `_target_`, with the name of the key behind which its mapping stands; an empty one at the top."""
    try:
        waiting = [("", node) for node in composed(text.replace("\t", " "))]
    except ValueError:
        return
    seen = set[int]()
    for name, node in waiting:  # which grows meanwhile
        if id(node) in seen or not isinstance(node.value, list):
            continue
        seen.add(id(node))
        for part in node.value:
            if not isinstance(part, tuple):
                waiting.append((name, part))
                continue
            key, value = part
            if key.value == TARGET:
                yield name, _key(key, value)
            waiting.append((key.value if isinstance(key.value, str) else "", value))


def _key(key: Any, value: Any) -> Key:  # nodes of PyYAML
    written = value.value if isinstance(value.value, str) else None
    items = value.value if isinstance(value.value, list) else []
    listed = tuple(_target(item) for item in items if not isinstance(item, tuple))
    return Key(key.value, written, key.start_mark.line + 1, key.start_mark.column + 1, listed)


def _target(item: Any) -> str:
    pairs = item.value if isinstance(item.value, list) else []
    named = (value.value for key, value in filter(_is_pair, pairs) if key.value == TARGET)
    return next((name for name in named if isinstance(name, str)), "")


def _is_pair(part: object) -> bool:
    return isinstance(part, tuple)
