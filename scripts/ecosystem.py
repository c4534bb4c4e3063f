"""Looks at libraries' own sources with raymigrate, and compares what it finds with `scripts/ecosystem.json`.

The current libraries are right on the current libraries by definition: what is told there as gone or refused is wrong.
Old Ray uses what is gone, so that the rules about it have something to find. The wheels are fetched once, and only
read.

    python -m scripts.ecosystem [--cache FOLDER] [--update] [--show RULE] [WHEEL ...]
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from raymigrate.config import Options
from raymigrate.engine import convert
from raymigrate.findings import Finding, Kind
from raymigrate.gates import NEEDLES, concerns
from scripts.generate_library_tables import CACHE, download, pinned

COUNTS = Path(__file__).with_suffix(".json")
OLD_RAY = ("2.4.0", "2.6.3", "2.7.2", "2.9.3")
# Rules that say that a name, an argument or an attribute is not there.
GONE = re.compile(r"RM(69\\d|70[12]|717|723|506|507)")
SKIPPED = re.compile(r"(.*/)?(thirdparty|thirdparty_files|rllib)/.*")


def wheels() -> dict[str, tuple[str, str]]:
    """Every wheel by the name that it has in the counts, as library and version."""
    old = {f"ray {version}": ("ray", version) for version in OLD_RAY}
    return old | {f"{library} {version}": (library, version) for library, version in pinned().items()}


def findings(wheel: Path, *, current: bool) -> Iterator[Finding]:
    """What raymigrate says of the modules of a wheel.

    Args:
        wheel: The wheel.
        current: Whether each module is looked at as part of a job: rules for companions of Ray then speak as well.
    """
    options = Options(part_of_job=current)
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith(".py") or SKIPPED.fullmatch(name):
                continue
            data = archive.read(name)
            if current or (any(needle in data for needle in NEEDLES) and concerns(data)):
                yield from convert(data.decode(), name, options, rewrite=False).findings


def counted(found: list[Finding]) -> dict[str, int]:
    """Findings by rule and kind."""
    counts = Counter(f"{finding.code} {finding.kind.value}" for finding in found)
    return dict(sorted(counts.items()))


def main() -> int:
    """Compares, or writes the counts anew."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--update", action="store_true", help="write the counts")
    parser.add_argument("--show", default="", metavar="RULE", help="also show the findings of rules that start so")
    parser.add_argument("wheels", nargs="*", metavar="WHEEL", help='such as "ray 2.6.3"; by default all')
    arguments = parser.parse_args()
    known = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    different = False
    for name, (library, version) in wheels().items():
        if arguments.wheels and name not in arguments.wheels:
            continue
        current = pinned()[library] == version
        found = list(findings(download(arguments.cache, library, version), current=current))
        for finding in found:
            wrong = current and (GONE.match(finding.code) or finding.kind is Kind.ERROR)
            if wrong or (arguments.show and finding.code.startswith(arguments.show)):
                print(f"{name}: {finding.path}:{finding.line}: {finding.code} {finding.kind.value}: {finding.message}")
        counts = counted(found)
        if counts != known.get(name):
            different = True
            print(f"{name}: {counts}\n  in {COUNTS.name}: {known.get(name)}")
        known[name] = counts
    if arguments.update:
        COUNTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        return 0
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
