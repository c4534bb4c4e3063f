"""The file of `--report`: what may be one, and how it is written."""

# ruff: noqa: PTH110, PTH112, PTH113, PTH120, PTH121, PTH123 - works on strings, as discovery.py does

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from raymigrate.base.errors import CannotWorkError
from raymigrate.base.extras import install
from raymigrate.base.words import one_line
from raymigrate.files.contents import write_file

if TYPE_CHECKING:
    from raymigrate.files.discovery import Discovery

HEADING = "# raymigrate\n"
PAGES = (".html", ".htm")
SUFFIXES = (".md", ".markdown", *PAGES)


def is_page(report: str | None) -> bool:
    """Whether a report is an HTML page, which shows the new texts."""
    return report is not None and report.lower().endswith(PAGES)


def refuse_unfit(report: str) -> None:
    """Says before anything is written that a report cannot be.

    Raises:
        click.UsageError: If the name is not that of a report, or no file can have it.
    """
    name = one_line(report)
    if not report.lower().endswith(SUFFIXES):
        raise click.UsageError(f"--report {name}: a report ends in .md or .html; was the name of the report forgotten?")
    if os.path.exists(report) and not os.path.isfile(report):
        raise click.UsageError(f"--report {name}: this is not a regular file.")
    if not os.path.isdir(os.path.dirname(report) or "."):
        raise click.UsageError(f"--report {name}: there is no such folder.")
    if is_page(report):
        _refuse_page_without_libraries()


def _refuse_page_without_libraries() -> None:
    if missing := [library for library in ("jinja2", "pygments") if find_spec(library) is None]:
        raise click.UsageError(f"An HTML report needs {' and '.join(missing)}: {install('report')}.")


def refuse_among(report: str, found: Discovery) -> None:
    """Says before anything is written that a report would replace what is to be converted.

    An earlier report that `--docs` finds in a folder is not a page of the user: it is left out.

    Raises:
        click.UsageError: If the file is one of those that were named or found.
    """
    if not os.path.exists(report):
        return
    for path in (*found.named, *found.candidates):
        if os.path.samefile(path, report):
            if path in found.named or not _is_report(report):
                raise click.UsageError(f"--report {one_line(report)}: this is one of the files to convert.")
            found.candidates.remove(path)
            return


def _is_report(path: str) -> bool:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.readline() == HEADING


def write_report(path: str, text: str) -> None:
    """Writes a report; an earlier one stays until the whole of the new one is there.

    Raises:
        CannotWorkError: If it cannot be written.
    """
    try:
        write_file(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        message = f"{one_line(path)}: the report cannot be written: {error.strerror or error}."
        raise CannotWorkError(message) from None
