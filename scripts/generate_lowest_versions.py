"""Writes `raymigrate/knowledge/tables/lowest_versions.txt`: what the lowest versions of the libraries ask of others.

A file that pins typing-extensions==4.5.0 beside torch has to change with torch, which asks for 4.10 from 2.6 on. With
converted code comes some version of a library between the lowest that the code runs on and the newest. So a package is
listed where both ask for it, with the lower of the two bounds: what is pinned below it goes with none of them.

The metadata is what pip reads of the wheels, none is installed. tests/test_lowest_versions.py holds the table against
the installed libraries.

    python -m scripts.generate_lowest_versions

A line names a package, the lowest version, and the library that asks for it. `raymigrate/knowledge/versions.py` reads
them.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from raymigrate.knowledge.versions import BY_HAND, LOWEST_VERSIONS
from scripts.generate_library_tables import ROOT

# The libraries of converted code, and what transformers asks for at such a distance that its requirements count too.
LIBRARIES = ("ray", "transformers", "accelerate", "datasets", "torch", "huggingface-hub", "tokenizers")
EXTRAS = {"ray": ("train", "data")}
PYTHON = "3.11"
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_28_x86_64")
ENVIRONMENT = {
    "python_version": PYTHON,
    "python_full_version": f"{PYTHON}.0",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
}


class Bound(NamedTuple):
    """The lowest version of a package that a library takes."""

    version: Version
    library: str


def newest() -> dict[str, str]:
    """The versions of the libraries in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    by_name = {canonicalize_name(name): version for name, version in pins.items()}
    return {library: by_name[library] for library in LIBRARIES}


def requirements(versions: dict[str, str]) -> dict[str, list[str]]:
    """What wheels of PyPI require, by library; pip says it of versions that it would install."""
    # A build for CPUs alone, which a folder of wheels may offer, requires less.
    wanted = [f"{library}=={version},!={version}+cpu" for library, version in versions.items()]
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    options = ["--quiet", "--dry-run", "--no-deps", "--ignore-installed", "--only-binary=:all:"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        places = [f"--target={folder}", f"--report={report}", f"--python-version={PYTHON}"]
        subprocess.run([sys.executable, "-m", "pip", "install", *options, *platforms, *places, *wanted], check=True)
        found = [item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
    return {canonicalize_name(metadata["name"]): metadata.get("requires_dist", []) for metadata in found}


def bounds(required: dict[str, list[str]]) -> dict[str, Bound]:
    """The lowest version of each package that all the libraries take."""
    found: dict[str, Bound] = {}
    for library, texts in required.items():
        for requirement in map(Requirement, texts):
            lowest = lower_bound(requirement.specifier) if is_asked(requirement, EXTRAS.get(library, ())) else None
            name = canonicalize_name(requirement.name)
            if lowest is not None and (name not in found or lowest > found[name].version):
                found[name] = Bound(lowest, library)
    return found


def is_asked(requirement: Requirement, extras: Iterable[str]) -> bool:
    """Whether a requirement is one of a library with these extras on a usual machine."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({**ENVIRONMENT, "extra": extra}) for extra in ("", *extras))


def lower_bound(specifier: SpecifierSet) -> Version | None:
    """The version that a range begins with."""
    starts = [
        Version(clause.version.removesuffix(".*")) for clause in specifier if clause.operator in (">=", "==", "~=")
    ]
    return max(starts, default=None)


def lines() -> Iterator[str]:
    """The lines of the table."""
    low = bounds(requirements({library: BY_HAND[library] for library in LIBRARIES}))
    high = bounds(requirements(newest()))
    for name in sorted(low.keys() & high.keys() - BY_HAND.keys()):
        bound = min(low[name], high[name], key=lambda bound: bound.version)
        yield f"{name} {short(bound.version)} {bound.library}\n"


def short(version: Version) -> str:
    """A version without zeros at its end: 4.10 for 4.10.0."""
    parts = list(version.release)
    while len(parts) > 2 and not parts[-1]:
        del parts[-1]
    return ".".join(map(str, parts)) + str(version)[len(version.base_version) :]


def main() -> None:
    """Writes the table anew."""
    LOWEST_VERSIONS.write_text("".join(lines()), encoding="utf-8")


if __name__ == "__main__":
    main()
