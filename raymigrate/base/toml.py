"""Reads TOML."""

from importlib import import_module
from typing import Any


def toml_values(text: str) -> dict[str, Any]:
    """What a text in TOML says.

    Raises:
        ValueError: If it is no TOML, or a number has thousands of digits.
        RecursionError: If it is nested too deeply.
    """
    try:
        library = import_module("tomllib")  # costs 10 ms
    except ModuleNotFoundError:  # Python 3.10
        library = import_module("tomli")
    values: dict[str, Any] = library.loads(text)
    return values
