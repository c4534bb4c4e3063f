"""The requirements of `pyproject.toml` and `Pipfile`.

A TOML parser tells values, not places. So the strings of the file are found with their places by a small scanner, and a
parser (see `project.py`) only proves that the file is TOML, before and after.
"""

import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.knowledge.versions import LOWEST, Pin, package, poetry_specifier, requirement_pins

TOKEN = lazy_regex(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|#[^\n]*'
    r"|^[ \t]*\[\[?(?P<table>[^\[\]\n]+)\]\]?[ \t]*(?=\r?$|#)"
    r"|^[ \t]*(?P<key>[A-Za-z0-9_.\"'-]+)[ \t]*=(?!=)"
    r"|(?<![\w-])(?P<inner>[A-Za-z0-9_-]+)[ \t]*=[ \t]*(?=[\"'\[{])"
    r'|"(?P<basic>(?:\\.|[^"\\\n])*)"|\'(?P<literal>[^\'\n]*)\'',
    re.MULTILINE | re.DOTALL,
)
# Tables whose values are lists of requirements, for pip: each of their keys, or one key of a table.
LISTS = lazy_regex(
    r"project\.(?:dependencies|optional-dependencies\..+)|dependency-groups\..+|build-system\.requires"
    r"|tool\.uv\.(?:dev|constraint|override)-dependencies|tool\.pdm\.dev-dependencies\..+"
    r"|tool\.hatch\.envs\..+\.(?:extra-)?dependencies"
)
# Tables of the form `name = "range"` or `name = {version = "range"}`.
POETRY = lazy_regex(
    r"(?:tool\.poetry\.(?:(?:dev-)?dependencies|group\.[^.]+\.dependencies)|packages|dev-packages)\.(?P<name>[^.]+)"
    r"(?:\.version)?"
)
PIPENV_PYTHON = ("requires.python_version", "requires.python_full_version")  # of a Pipfile: one version, no range


def toml_pins(text: str) -> Iterator[Pin]:
    """The pins of a `pyproject.toml` or `Pipfile`."""
    table = key = inner = ""
    for token in TOKEN.finditer(text):
        if token["table"] is not None:
            table, key, inner = _plain(token["table"]), "", ""
        elif token["key"] is not None:
            key, inner = _plain(token["key"]), ""
        elif token["inner"] is not None:
            inner = token["inner"]
        else:
            group = "basic" if token["basic"] is not None else "literal"
            if token[group] is not None:
                path = ".".join(filter(None, (table, key, inner)))
                yield from _pins_at(path, token[group], token.start(group))


def _plain(key: str) -> str:
    return re.sub(r"[\s\"']", "", key)


def _pins_at(path: str, value: str, start: int) -> Iterator[Pin]:
    """The pin in a string.

    Args:
        path: Table and keys, joined by dots.
        start: Where it starts.
    """
    poetry = POETRY.fullmatch(path)
    if LISTS.fullmatch(path):
        yield from requirement_pins(value, start)
    elif path == "project.requires-python":
        yield from range_pins("python", value, start, value)
    elif path in PIPENV_PYTHON:
        yield Pin("python", f"python {value}", start, f"=={value}.*", (start, start + len(value)), LOWEST["python"])
    elif poetry is not None:
        yield from range_pins(package(poetry["name"]), value, start, poetry_specifier(value))


def range_pins(name: str, value: str, start: int, specifier: str) -> Iterator[Pin]:
    """The pin that a range is where it stands apart from the name of its package.

    Args:
        name: The package.
        value: The range as it is written.
        start: Where it starts.
        specifier: The range as pip writes it.
    """
    if name in LOWEST and specifier:
        yield Pin(name, f"{name} {value}", start, specifier, (start, start + len(value)), f">={LOWEST[name]}")
