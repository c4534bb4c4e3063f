"""Writes `raymigrate/knowledge/tables/*.txt`: what the pinned libraries offer, a line a module, class and function.

The wheels are downloaded, and only read: nothing of them is run. tests/test_libraries.py holds the tables against
the installed libraries.

    python -m scripts.generate_library_tables [--cache FOLDER] [LIBRARY ...]

The lines are read by `raymigrate/knowledge/libraries.py`:

    V VERSION
    * NAME ...          names that many of the models import from elsewhere: left out where a line has `*`
    ? MODULE            a module that is there; what it holds is not said
    M MODULE  NAME ...  NAME@MODULE where it is defined elsewhere, NAME=QUALIFIED under another name
    C CLASS  PARAMETERS  BASES  MEMBER ...
                        `-` for the parameters of a base, `?` for members that cannot be seen;
                        NAME:CLASS where the type of a member is known, NAME(PARAMETERS)CLASS for a method
    F FUNCTION  PARAMETERS  CLASS
                        CLASS is what a call gives, where that is known
    R NAME  PARAMETERS  ERROR  ADVICE
                        a class, method or function that raises ERROR when it is called; only if one of PARAMETERS is
                        given, where there are any (`!`: None too, `?`: what is true); an ERROR for each, with commas,
                        where they differ
"""

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from raymigrate.knowledge.libraries import APART, LIBRARIES, MODELS
from scripts.library_refusals import Refusal, of_class, refusals
from scripts.library_signatures import Describer
from scripts.library_sources import Definition, Libraries

ROOT = Path(__file__).parent.parent
OUTPUT = ROOT / "raymigrate" / "knowledge" / "tables"
CACHE = Path.home() / ".cache" / "raymigrate" / "wheels"
DOWNLOAD = ["--no-deps", "--only-binary=:all:", "--python-version=3.11", "--platform=manylinux2014_x86_64"]

# Modules that no training script imports from: they exist, and nothing more is said of them.
NOT_JUDGED = re.compile(
    r"""ray\.(tests|dashboard|thirdparty_files|cloudpickle|core|llm|scripts|includes)
    | ray\._private\.(thirdparty|runtime_env\.agent)
    | (.+\.)?(tests?|testing|commands|cli|_mcp|\w+_pb2)  # messages are defined as data, not in Python""",
    re.VERBOSE,
)
# Modules whose classes and functions are not described: there are thousands, and most of them take any keyword.
NAMES_ONLY = re.compile(
    r"""transformers\.models(\.(?!auto(\.|$)).*)?
    | transformers\.(quantizers|kernels|loss|fusion|exporters|distributed)(\..+)?
    | transformers\.(convert_slow_tokenizer|conversion_mapping)
    | ray\.rllib(\..+)?
    | ray\._private(\.(?!worker$).+)? | ray\.(autoscaler|experimental|dag)\..+ | ray\.serve\._private(\..+)?
    | ray\.data\._internal\..+ | ray\.train\.(v2\.)?_internal\.(?!session|data_config|syncer).*
    | huggingface_hub\.inference\._.+
    | peft\.tuners\..+\.(layer|bnb|gptq|awq|aqlm|eetq|hqq|tp_layer|inc|model)
    """,
    re.VERBOSE,
)
COMMON = 12  # a name that so many modules import is of no help to tell what is gone


def pinned() -> dict[str, str]:
    """The versions in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    return {library: pins[library] for library in LIBRARIES}


def download(cache_folder: Path, library: str, version: str) -> Path:
    """The wheel of a version, fetched once."""
    pattern = f"{library}-{version}-*.whl"
    if not list(cache_folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", *DOWNLOAD, f"--dest={cache_folder}"]
        subprocess.run([*command, f"{library}=={version}"], check=True)
    return next(cache_folder.glob(pattern))


class Table:
    """The lines of one library."""

    def __init__(self, library: str, libraries: Libraries, describer: Describer) -> None:
        self.library = library
        self.libraries = libraries
        self.describer = describer
        below = (library, f"{library}.")
        found = (m for m in libraries.modules if m == below[0] or m.startswith(below[1]))
        self.modules = sorted(module for module in found if not self.is_gone(module))
        self.common = self._common()
        self.classes: set[str] = set()  # that have a line
        self.bases: set[str] = set()  # that need one

    def is_gone(self, module: str) -> bool:
        """Whether importing a module raises."""
        return module in self.libraries.sources and self.libraries.is_gone(module)

    def _common(self) -> set[str]:
        counts: Counter[str] = Counter()
        for module in self.modules:
            if module.startswith(f"{MODELS}.") and module in self.libraries.sources:
                names = self.libraries.names(module)
                counts.update(name for name, bound in names.items() if bound.definition is None)
        return {name for name, count in counts.items() if count >= COMMON}

    def lines(self, version: str) -> Iterator[str]:
        """The table."""
        yield f"V\t{version}"
        if self.common:
            yield f"*\t{' '.join(sorted(self.common))}"
        for module in self.modules:
            if NOT_JUDGED.fullmatch(module):
                yield f"? {module}"
            elif not any(NOT_JUDGED.fullmatch(module[: dot.start()]) for dot in re.finditer(r"\.", module)):
                yield from self.module(module)
        while missing := sorted(self.bases - self.classes):
            yield from map(self.class_line, missing)

    def module(self, module: str) -> Iterator[str]:
        """The line of a module, and those of what it defines."""
        if module not in self.libraries.sources:
            yield f"? {module}" if module in self.libraries.extensions else f"M {module}\t"
            return
        names = self.libraries.names(module)
        entries = sorted(self.entry(module, name) for name in names)
        if module.startswith(f"{MODELS}."):
            entries = ["*", *(entry for entry in entries if re.split("[@=]", entry)[0] not in self.common)]
        yield f"M {module}\t{' '.join(entries)}"
        for name, bound in sorted(names.items()):
            if NAMES_ONLY.fullmatch(module) or bound.definition is None:
                continue
            if isinstance(bound.definition, ast.ClassDef):
                yield self.class_line(f"{module}.{name}")
            elif not name.startswith("_"):
                given, result = self.describer.function(module, bound.definition)
                yield f"F {module}.{name}\t{','.join(given)}\t{result}"
            yield from self.refused(module, name, bound.definition)

    def refused(self, module: str, name: str, definition: Definition) -> Iterator[str]:
        """The lines of what a class or function refuses."""
        constants = partial(self.libraries.constant, module)
        found: Iterator[tuple[str, Refusal]]
        if isinstance(definition, ast.ClassDef):
            found = of_class(definition, constants)
        else:
            found = (("", refusal) for refusal in refusals(definition, constants))
        lines: dict[str, Refusal] = {}
        for member, refusal in found:
            qualified = f"{module}.{name}.{member}" if member else f"{module}.{name}"
            lines[qualified] = lines[qualified].beside(refusal) if qualified in lines else refusal
        yield from (f"R {n}\t{','.join(r.parameters)}\t{r.error}\t{r.advice}" for n, r in lines.items())

    def entry(self, module: str, name: str) -> str:
        """A name, and where it is defined."""
        place, definition = self.libraries.resolve(module, name)
        parent, _, leaf = place.rpartition(".")
        elsewhere = place in self.libraries.modules and place != f"{module}.{name}"
        if place.partition(".")[0] not in LIBRARIES or parent == module or not (definition or elsewhere):
            return name
        if definition is not None and NAMES_ONLY.fullmatch(parent):
            return name
        return f"{name}@{parent}" if leaf == name else f"{name}={place}"

    def class_definition(self, qualified: str) -> ast.ClassDef | None:
        """The statement that defines a class; None if it is in an extension module, or cannot be seen otherwise."""
        module, _, name = qualified.rpartition(".")
        bound = self.libraries.names(module).get(name) if module in self.libraries.sources else None
        return bound.definition if bound is not None and isinstance(bound.definition, ast.ClassDef) else None

    def class_line(self, qualified: str) -> str:
        """The line of a class; its bases get one as well, wherever they are defined."""
        definition = self.class_definition(qualified)
        assert definition is not None, qualified
        described = self.describer.describe(qualified.rpartition(".")[0], definition)
        self.classes.add(qualified)
        own = {base for base in described.bases if base.startswith(f"{self.library}.")}
        self.bases |= {base for base in own if self.class_definition(base) is not None}
        given = "-" if described.parameters is None else ",".join(described.parameters)
        members = []
        for name, kind in sorted(described.members.items()) if not described.is_open else ():
            if name in described.methods:
                taken, result = described.methods[name]
                members.append(f"{name}({','.join(taken)}){result}")
            elif not (name.startswith("__") and name.endswith("__")):
                members.append(f"{name}:{kind}" if kind else name)
        bases = " ".join(described.bases)
        return f"C {qualified}\t{given}\t{bases}\t{'?' if described.is_open else ' '.join(members)}"


def write(library: str, version: str, table: Table) -> None:
    """Writes the table of a library; what the packages hold that few scripts use goes to files of their own."""
    kept: dict[str, list[str]] = {library: []}
    for line in table.lines(version):
        start = line.partition("\t")[0]
        package = MODELS if start == "*" else next((name for name in APART if f" {name}." in start), library)
        kept.setdefault(package, []).append(line)
    for name, lines in kept.items():
        text = "\n".join(lines) + "\n"
        (OUTPUT / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"{name} {version}: {len(lines)} lines, {len(text) // 1000} KB")


def main() -> None:
    """Writes the tables anew."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("libraries", nargs="*", default=LIBRARIES, metavar="LIBRARY", help="by default all of them")
    arguments = parser.parse_args()
    wheels = {library: download(arguments.cache, library, version) for library, version in pinned().items()}
    libraries = Libraries(wheels.values())
    describer = Describer(libraries)
    OUTPUT.mkdir(exist_ok=True)
    for library in arguments.libraries:
        write(library, pinned()[library], Table(library, libraries, describer))


if __name__ == "__main__":
    main()
