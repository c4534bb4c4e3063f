"""YAML that others wrote, read within bounds: a few lines of aliases can stand for gigabytes of values."""

import os.path
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raymigrate.files.contents import read_bytes

MAX_CHARACTERS = 100_000  # PyYAML reads some 500,000 in a second
MAX_VALUES = 10_000  # with each alias counted as often as it is used


def _library() -> Any:
    import yaml  # noqa: PLC0415 - only for jobs with such files

    return yaml


def settings_text(path: Path, written: Mapping[str, str | None] | None = None) -> str:
    """The text of a file with settings.

    Args:
        path: The file.
        written: What cells of the notebook write to files, by path; None where that is not known.

    Raises:
        OSError: If it cannot be read, or is far larger than such a file is.
        ValueError: If what it holds is not text, or is not known.
    """
    name = os.path.normpath(path)
    if not written or name not in written:
        return read_bytes(str(path), at_most=MAX_CHARACTERS).decode()
    text = written[name]
    if text is None:
        raise ValueError("is written by several cells, or in parts")
    return text


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
