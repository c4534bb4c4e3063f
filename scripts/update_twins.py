"""Writes the converted twin of every fixture anew: `after.py` beside each `before.py`, and what the tool said of it.

The shortest example of each rule goes to `raymigrate explain`.

Run it after a change to a codemod, and read the difference: the twins are the specification.
"""

import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.documents import open_document
from raymigrate.files.discovery import SUFFIXES, Discovery, discover
from raymigrate.files.needles import needles
from raymigrate.run.conversion import convert_document
from raymigrate.run.job import Job
from raymigrate.run.outcome import FileResult
from raymigrate.run.rules import EXAMPLES
from raymigrate.run.session import run
from scripts.pages.examples import examples, shortened

FIXTURES = Path(__file__).parent.parent / "fixtures"


def told(findings: list[Finding]) -> str:
    """The findings as text: place, code, what became of it, message."""
    places = [f"cell {f.cell}:{f.line}:{f.column}" if f.cell else f"{f.line}:{f.column}" for f in findings]
    return "".join(f"{p} {f.code} {f.kind.value}: {f.message}\n" for p, f in zip(places, findings, strict=True))


def converted(path: Path, options: Options, data: bytes | None = None) -> tuple[bytes, FileResult]:
    """Converts a file, or other bytes under its name; gives the new bytes and what was said of the old ones."""
    document = open_document(path.read_bytes() if data is None else data, str(path))
    result = convert_document(document, str(path), options)
    return document.encode(result.before) if result.after is None else result.new_bytes, result.in_cells()


def options_of(before: Path) -> Options:
    """The options of a case: none, unless `options.json` is beside its script."""
    path = before.with_name("options.json")
    return Options(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Options()


def update_case(before: Path) -> None:
    """Converts one file."""
    after, result = converted(before, options_of(before))
    before.with_name(f"after{before.suffix}").write_bytes(after)
    before.with_name("findings.txt").write_text(told(result.findings), encoding="utf-8")


def found_in(folder: Path, options: Options) -> Discovery:
    """The files of a folder that a run with these options looks at."""
    wanted = needles(to_ray=options.to_ray, to_accelerate=options.to_accelerate)
    return discover([str(folder)], needles=wanted, suffixes=SUFFIXES)


def project_findings(folder: Path, options: Options) -> str:
    """Converts a folder, and gives the findings of each file, with paths as seen from the folder."""
    summary = run(found_in(folder, options), Job(options))
    text = "".join(f"{Path(r.path).relative_to(folder)}\n{told(r.findings)}\n" for r in summary.results)
    return text.replace(f"{folder}/", "")


def update_project(before: Path) -> None:
    """Converts a folder of scripts as one run does."""
    after = before.with_name("after")
    shutil.rmtree(after, ignore_errors=True)
    # Away from this repository, whose other files are not part of the project.
    with TemporaryDirectory() as folder:
        copy = Path(folder, "project")
        shutil.copytree(before, copy, ignore=shutil.ignore_patterns("__pycache__"))
        text = project_findings(copy, options_of(before))
        shutil.copytree(copy, after)
    before.with_name("findings.txt").write_text(text, encoding="utf-8")


def examples_text() -> str:
    """The shortest example of each rule, which `raymigrate explain` shows, as JSON; changes go before all else."""
    chosen = {}
    for code, found in sorted(examples().items()):
        kind = next(kind for kind in Kind if kind in found)
        lines = shortened(found[kind].lines)
        filled = [number for number, line in enumerate(lines) if line.strip()]
        chosen[code] = {"source": found[kind].source, "lines": lines[filled[0] : filled[-1] + 1]}
    return json.dumps(chosen, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Updates all fixtures, or those whose path holds one of the words given."""
    words = sys.argv[1:]
    every = sorted(FIXTURES.rglob("before*"))
    wanted = [path for path in every if not words or any(word in str(path.relative_to(FIXTURES)) for word in words)]
    if not wanted:
        sys.exit(f"no fixture is called {' or '.join(words)}")
    for before in wanted:
        (update_project if before.is_dir() else update_case)(before)
        print(before.relative_to(FIXTURES))
    EXAMPLES.write_text(examples_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
