"""Looks at the libraries' own sources with raymigrate, and compares what it says with `scripts/ecosystem.json`.

The current libraries are right about themselves: what is reported in them as gone, raising or refused is listed in
`wrong`, and is looked into. What stays there is true: the command line of evaluate imports Repository, which its
huggingface_hub no longer has; Ray's wheel lacks what was generated (`_pb2`) or only tests use, its examples use what
transformers dropped, and its classes for Train V1 raise where V2 is in force, as it is by default; load_dataset() of a
name that a caller gives raises if that has no namespace; its benchmarks trust the code of any model's repository. Two
are not, both inside Ray: a method that it adds to its own class, and the RunConfig of `base_trainer.py`, of which
nothing can be seen. Old Ray uses what is gone, so that the rules have something to find. Wheels are fetched once and
only read.

    python -m scripts.ecosystem [--cache FOLDER] [--update] [--show RULE] [WHEEL ...]
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.files.needles import NEEDLES
from raymigrate.run.engine import convert
from raymigrate.run.gates import concerns
from scripts.generate_library_tables import CACHE, download, pinned

COUNTS = Path(__file__).with_suffix(".json")
OLD_RAY = ("2.4.0", "2.6.3", "2.7.2", "2.9.3")
# How findings say that a name, an attribute or an argument is not there.
NOT_THERE = re.compile(r"\b(gone|raises?|refuse[sd]?|no such|lost|has no|fails)\b")
THIRD_PARTY = re.compile(r"(.*/)?(thirdparty|thirdparty_files)/.*")


def wheels() -> dict[str, tuple[str, str]]:
    """Every wheel by the name that it has in the counts, as library and version."""
    old = {f"ray {version}": ("ray", version) for version in OLD_RAY}
    return old | {f"{library} {version}": (library, version) for library, version in pinned().items()}


def sources(wheel: Path) -> Iterator[tuple[str, str]]:
    """The modules of a wheel: path and text of each."""
    with ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".py") and not THIRD_PARTY.fullmatch(name):
                yield name, archive.read(name).decode()


def findings(modules: Iterable[tuple[str, str]], *, current: bool) -> Iterator[Finding]:
    """What raymigrate says of the modules of a library.

    Args:
        modules: Path and text of each.
        current: Whether each module is looked at as part of a job, so that rules for companions of Ray speak as well.
    """
    for path, text in modules:
        data = text.encode()
        if current or (any(needle in data for needle in NEEDLES) and concerns(data)):
            yield from convert(text, path, Options(part_of_job=current), rewrite=False).findings


def summary(found: list[Finding], *, current: bool) -> dict[str, Any]:
    """Findings counted by rule and kind; of a current library, those that say that something is not there as well."""
    counts = Counter(f"{finding.code} {finding.kind.value}" for finding in found)
    counted: dict[str, Any] = dict(sorted(counts.items()))
    return {"findings": counted, "wrong": wrong(found)} if current else {"findings": counted}


def wrong(found: Iterable[Finding]) -> list[str]:
    """What is reported in a current library as gone, raising or refused although the library itself does it."""
    return [
        f"{finding.path}:{finding.line}: {finding.code} {finding.message}"
        for finding in found
        if finding.kind is Kind.ERROR or NOT_THERE.search(finding.message)
    ]


def main() -> int:
    """Compares, or writes the counts anew."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--update", action="store_true", help="write the counts")
    parser.add_argument("--show", default="-", metavar="RULE", help="also show the findings of rules that start so")
    parser.add_argument("wheels", nargs="*", metavar="WHEEL", help='such as "ray 2.6.3"; by default all')
    arguments = parser.parse_args()
    known = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    different = False
    for name, (library, version) in wheels().items():
        if arguments.wheels and name not in arguments.wheels:
            continue
        current = pinned()[library] == version
        found = list(findings(sources(download(arguments.cache, library, version)), current=current))
        for finding in found:
            if finding.code.startswith(arguments.show):
                print(f"{name}: {finding.path}:{finding.line}: {finding.code} {finding.kind.value}: {finding.message}")
        said = summary(found, current=current)
        if said != known.get(name):
            different = True
            print(f"{name}: {json.dumps(said, indent=1)}\n  in {COUNTS.name}: {known.get(name)}", flush=True)
        known[name] = said
    if arguments.update:
        COUNTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        return 0
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
