# ruff: noqa: PTH113, PTH118, PTH120 - works on strings, as project.py does
"""Where modules and packages lie in folders."""

import os
from collections.abc import Iterator

LEVELS = 8  # folders above a file in which something is looked for


def upwards(folder: str) -> Iterator[str]:
    """A folder and those above it."""
    for _ in range(LEVELS):
        yield folder
        if os.path.dirname(folder) == folder:
            return
        folder = os.path.dirname(folder)


def is_below(folder: str, top: str) -> bool:
    """Whether a folder is another one, or below it."""
    return folder == top or folder.startswith(os.path.join(top, ""))


def package_root(folder: str) -> str:
    """The folder that a package is in; for a folder that is not a package, the folder itself."""
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def module_file(place: str) -> str | None:
    """The file of the module that lies at a path without its suffix; a package before a file, as for Python."""
    package, module = os.path.join(place, "__init__.py"), f"{place}.py"
    return package if os.path.isfile(package) else module if os.path.isfile(module) else None
