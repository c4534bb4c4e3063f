# ruff: noqa: PTH119 - works on strings, as discovery.py does
"""Whether Ray is installed with its dashboard, as far as lists of packages and images beside a script show."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from raymigrate.base.expressions import lazy_regex
from raymigrate.pins.files import Dated, decode, read
from raymigrate.pins.needed import COMMENT
from raymigrate.pins.written_for import files_near

if TYPE_CHECKING:
    from raymigrate.facts.syntax.module import Module

# Extras with the packages of the dashboard (metadata of Ray 2.60, and setup.py of 2.6.3, where llm is missing).
EXTRAS = r"\b(?:default|air|all|llm|serve)\b"
WITH_DASHBOARD = lazy_regex(
    rf"\bray\s*\[[^\]]*{EXTRAS}"  # requirements
    rf"|\bray\b[^\n]*\bextras\s*=\s*\[[^\]]*{EXTRAS}"  # Poetry, Pipfile
    rf"|\bray-{EXTRAS}"  # conda-forge
    r"|\brayproject/ray"  # the images hold ray[all]
    r"|\bopencensus\b(?!-)"  # of the dashboard's own packages, where lists name all that is installed
)
INSTALLS = lazy_regex(r"\b(?:pip3?|conda|mamba|uv|poetry)\b.*\b(?:install|add|sync)\b.*")
PACKAGE = lazy_regex(r"\s*(?:ray\s*\[|rayproject/ray)\S*\s*\Z")  # of a list of packages in code, or an image


def has_dashboard(module: Module, path: str) -> bool:
    """Whether the script, or a list of packages in its folder or above it, shows Ray with its dashboard.

    Args:
        module: The script, which may install packages itself.
        path: Its file; "" for text without one.
    """
    if any(map(WITH_DASHBOARD.search, _installed_by(module, path))):
        return True
    return any(map(_lists_it, files_near(module, path) if path else ()))


@lru_cache(maxsize=256)  # by folder: each script of one asks
def _lists_it(files: tuple[Dated, ...]) -> bool:
    """Whether one of these files, unless it only constrains what others install, shows Ray with its dashboard."""
    installed = [file.path for file in files if "constraint" not in os.path.basename(file.path).lower()]
    return any(WITH_DASHBOARD.search(COMMENT.sub("", _text(path))) for path in installed)


def _installed_by(module: Module, path: str) -> Iterator[str]:
    """The lines of a script or notebook that install packages, and its strings that name one; prose does neither."""
    for text in (module.text, _text(path)):  # a %pip is no code
        yield from (found[0] for found in INSTALLS.finditer(text))
    for node in module.of_type(ast.Constant):
        if isinstance(node.value, str) and PACKAGE.match(node.value):
            yield node.value


def _text(path: str) -> str:
    return decode(read(path) or b"").text if path else ""
