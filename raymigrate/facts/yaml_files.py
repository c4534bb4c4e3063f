"""YAML that others wrote, read within bounds: a few lines of aliases can stand for gigabytes of values."""

from __future__ import annotations

from typing import Any

MAX_CHARACTERS = 100_000  # PyYAML reads some 500,000 in a second
MAX_VALUES = 10_000  # with each alias counted as often as it is used


def _library() -> Any:
    import yaml  # noqa: PLC0415 - only for jobs with such files

    return yaml


def load_yaml(text: str) -> object:
    """The value of a YAML document; no tag of it makes an object of Python.

    Raises:
        ValueError: If it is not YAML, or too large; the message is half a sentence.
    """
    yaml = _library()
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"has more than {MAX_CHARACTERS:,} characters")
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        _refuse_many(root)
        return None if root is None else loader.construct_document(root)
    except yaml.YAMLError as error:
        raise ValueError(f"is not YAML: {error}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def composed(text: str) -> list[Any]:
    """The nodes of PyYAML at the top of the documents of a text, of which nothing is made.

    Raises:
        ValueError: If it is not YAML, or too large.
    """
    yaml = _library()
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"has more than {MAX_CHARACTERS:,} characters")
    try:
        roots = [root for root in yaml.compose_all(text, yaml.SafeLoader) if root is not None]
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"is not YAML: {error}") from error
    for root in roots:
        _refuse_many(root)
    return roots


def _refuse_many(root: object) -> None:
    """Counts the nodes as a reader would who writes each alias out: that comes to an end even where one is circular."""
    nodes = [root]
    for _ in range(MAX_VALUES):
        if not nodes:
            return
        value = getattr(nodes.pop(), "value", None)
        for child in value if isinstance(value, list) else ():
            nodes += child if isinstance(child, tuple) else (child,)
    raise ValueError(f"holds more than {MAX_VALUES:,} values")
