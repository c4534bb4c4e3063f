"""Converts a copy of a folder and writes one page for the person who reads the result, file by file.

    python scripts/review.py FOLDER page.html [--unsafe]

The page is that of `raymigrate --report page.html`, with one line more for each file: whether a reader has something to
decide, and what a look at the result by other means says (Python's compiler, pyflakes, a second run). FOLDER itself is
never written.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from pyflakes.checker import Checker

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.files.discovery import PAGES, SUFFIXES, Discovery, discover
from raymigrate.files.needles import NEEDLES
from raymigrate.reporting.html import html_text
from raymigrate.run.job import Job
from raymigrate.run.outcome import FileResult, Summary
from raymigrate.run.session import run

# What pyflakes says of scripts as people write them, and of nothing that a conversion can break.
STYLE = (
    "ImportStarUsed",
    "ImportStarUsage",
    "UnusedImport",
    "UnusedVariable",
    "FStringMissingPlaceholders",
    "RedefinedWhileUnused",
)


def review(folder: Path, options: Options) -> tuple[Summary, dict[str, str]]:
    """Converts a copy of a folder.

    Returns:
        What the run found, with paths below the folder, and a verdict for each file.
    """
    with tempfile.TemporaryDirectory() as temporary:
        copy = shutil.copytree(folder, Path(temporary) / folder.resolve().name)
        summary = run(found(copy), Job(options), jobs=1)
        again = run(found(copy), Job(options, write=False), jobs=1)
        unstable = {result.path for result in again.changed}
        verdicts = {result.path: verdict(result, unstable=result.path in unstable) for result in summary.results}

        def shown(path: str) -> str:
            return str(folder / Path(path).relative_to(copy))

        summary.results = [
            replace(r, path=shown(r.path), findings=[replace(f, path=shown(f.path)) for f in r.findings])
            for r in summary.results
        ]
        return summary, {shown(path): text for path, text in verdicts.items()}


def found(folder: Path) -> Discovery:
    """The scripts, notebooks and pages of a folder that concern the tool."""
    return discover([str(folder)], needles=NEEDLES, suffixes=(*SUFFIXES, *PAGES))


def verdict(result: FileResult, *, unstable: bool) -> str:
    """One line on a file: whether it could be converted, and what speaks against the result."""
    kinds = [finding.kind for finding in result.findings]
    against = ["a second run changes it again"] if unstable else []
    if result.after is not None and result.path.endswith((".py", ".ipynb")):
        against += sorted(complaints(result.after) - complaints(result.before))
    if Kind.ERROR in kinds:
        against.append("something could not be done")
    left = sum(kind in (Kind.MANUAL, Kind.UNSAFE) for kind in kinds)
    state = f"{left} left for a person" if left else "nothing left for a person"
    return f"{state}; against it: {', '.join(against)}" if against else f"{state}; nothing found against it"


def complaints(text: str) -> set[str]:
    """What pyflakes says of a text, without places, which a conversion moves."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return {f"does not compile: {error.msg}"}
    messages = Checker(tree).messages
    return {m.message % m.message_args for m in messages if type(m).__name__ not in STYLE}


def main() -> None:
    """Reads the command line and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--unsafe", action="store_true", help="also apply rewrites that can change behaviour")
    arguments = parser.parse_args()
    summary, verdicts = review(arguments.folder, Options(unsafe=arguments.unsafe))
    arguments.page.write_text(html_text(summary, dry_run=False, verdicts=verdicts), encoding="utf-8")
    for path, text in verdicts.items():
        print(f"{path}: {text}")


if __name__ == "__main__":
    main()
