"""Lists what converted scripts use of the libraries although it is not there, and nothing tells so.

It looks in its own way, and not in raymigrate's tables: each script is converted in memory, the names, attributes and
keywords of the result are read from its syntax tree, and the installed libraries are imported and asked. (Those that
are not installed are passed over.)

    python -m scripts.names_in_use FILE_OR_FOLDER ...
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.documents import open_document
from raymigrate.run.conversion import convert_document
from scripts.installed_names import LIBRARIES, Answers, Use, ask, uses

SUFFIXES = (".py", ".ipynb")


def converted(path: Path) -> tuple[str, list[Finding]]:
    """The Python of a script once it is converted, and what raymigrate says of that."""
    document = open_document(path.read_bytes(), str(path))
    result = convert_document(document, str(path), Options())
    rewritten = document if result.after is None else open_document(result.new_bytes, str(path))
    again = convert_document(rewritten, str(path), Options())
    return rewritten.text, [finding for finding in again.findings if finding.kind is not Kind.CONVERTED]


def untold(scripts: Mapping[Path, tuple[str, list[Finding]]]) -> list[str]:
    """The uses of what is not there that no finding refers to.

    Args:
        scripts: The Python of each file, and the findings on it.
    """
    found = {path: uses(text) for path, (text, _) in scripts.items()}
    keywords: dict[str, set[str]] = defaultdict(set)
    for use in (use for in_file in found.values() for use in in_file):
        if find_spec(use.name.partition(".")[0]) is not None:
            keywords[use.name].update(use.keywords)
    installed = ask(sorted(keywords), {name: sorted(given) for name, given in keywords.items() if given})
    return [
        f"{path}:{line}"
        for path, (_, findings) in scripts.items()
        for line in untold_in([use for use in found[path] if use.name in keywords], findings, installed)
    ]


def untold_in(found: list[Use], findings: list[Finding], installed: Answers) -> list[str]:
    """The same for one file: line and name of each."""
    lines = {finding.line for finding in findings}
    said = [use for use in found if use.line in lines]
    names = sorted(
        {
            f"{use.line}: {use.name}"
            for use in found
            if installed["names"][use.name] == "gone"
            and use not in said
            and not any(is_of_import(use, other) or is_of_import(other, use) for other in said)
        }
    )
    wrong = sorted(
        f"{use.line}: {use.name}({keyword}=)"
        for use in found
        for keyword in use.keywords
        if is_refused(installed["arguments"][use.name], keyword)
        and not any(keyword in finding.message for finding in findings)
    )
    return [*names, *wrong]


def is_refused(told: Mapping[str, object], keyword: str) -> bool:
    """Whether a callable does not take a keyword, or takes it only to raise."""
    parameters, raises = told["parameters"], told["raises"]
    assert isinstance(parameters, list) and isinstance(raises, list)
    return keyword in raises or not (keyword in parameters or told["takes any"])


def is_of_import(use: Use, other: Use) -> bool:
    """Whether a use is of what the other imports: it is enough that the tool says something about one of the two."""
    return other.is_import and f"{use.name}.".startswith(f"{other.name}.")


def main() -> int:
    """Prints what nothing tells, a line each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER")
    paths = parser.parse_args().paths
    files = [f for p in paths for f in ([p] if p.is_file() else sorted(p.rglob("*"))) if f.suffix in SUFFIXES]
    missing = [library for library in LIBRARIES if find_spec(library) is None]
    if missing:
        print(f"not installed, and passed over: {', '.join(missing)}")
    found = untold({path: converted(path) for path in files})
    print(*found, f"{len(files)} files, {len(found)} uses of what is not there and not told", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
