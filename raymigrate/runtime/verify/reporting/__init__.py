"""Reports of `raymigrate verify`: a module per format, imported only when its report is made."""

from collections.abc import Callable
from pathlib import Path

from raymigrate.files.contents import write_file
from raymigrate.runtime.verify.results import Verification

SUFFIXES = (".html", ".md", ".json", ".xml")


def check_suffix(path: Path) -> None:
    """Refuses a name that no format belongs to; to be asked before a long run, not after it.

    Raises:
        ValueError: If the suffix is none of SUFFIXES; the text is one sentence for the user.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"No report can be written to {path}: its name must end in .html, .md, .json or .xml.")


def write_report(verification: Verification, path: Path) -> None:
    """Writes a report in the format that the suffix of the path names; whatever happens, never half of one.

    Args:
        verification: What was found.
        path: The file; it is replaced if it is there, and its folder is made if it is not.

    Raises:
        ValueError: If no format belongs to the suffix.
        OSError: If the file could not be written; an old report is unchanged then.
    """
    check_suffix(path)
    text = _format(path.suffix.lower())(verification)
    data = text.encode("utf-8", "backslashreplace")  # names of files may hold bytes that are not UTF-8
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(str(path), data)


def _format(suffix: str) -> Callable[[Verification], str]:
    if suffix == ".html":
        from raymigrate.runtime.verify.reporting.html import html_text  # noqa: PLC0415 - loads matplotlib

        return html_text
    if suffix == ".md":
        from raymigrate.runtime.verify.reporting.markdown import markdown_text  # noqa: PLC0415

        return markdown_text
    if suffix == ".json":
        from raymigrate.runtime.verify.reporting.json import json_text  # noqa: PLC0415

        return json_text
    from raymigrate.runtime.verify.reporting.junit import junit_text  # noqa: PLC0415

    return junit_text
