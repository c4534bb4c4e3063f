"""How reports for other programs name files."""

import os
from pathlib import Path
from urllib.parse import quote


def relative_posix(path: str) -> str:
    """The path below the current folder, with slashes; a path elsewhere stays absolute.

    CI checks a repository out and runs in it, so this is what GitHub calls relative to the root.
    """
    absolute = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links
    here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
    return Path(absolute.removeprefix(here)).as_posix()


def uri(path: str) -> str:
    """A URI for a file: relative below the current folder, else `file://...`."""
    relative = relative_posix(path)
    if Path(relative).is_absolute():
        return Path(relative).as_uri()
    return quote(relative.encode("utf-8", "surrogateescape"))
