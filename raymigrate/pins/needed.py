"""Packages that converted code needs besides those that the legacy code needed, and where packages are listed."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from raymigrate.base.findings import Finding, Kind, is_to_ray
from raymigrate.documents.install_commands import WORD, commands
from raymigrate.knowledge.versions import LOWEST, NAME, package


@dataclass(frozen=True)
class Needed:
    """A package that converted code needs.

    Args:
        name: The package.
        companion: The package in whose list it has to be.
        why: What asks for it, as the beginning of a sentence.
        requirement: What to add.
    """

    name: str
    companion: str
    why: str
    requirement: str


# transformers 5.23, training_args.py: "Using the `Trainer` with `PyTorch` requires `accelerate>=1.1.0`"; 4.2x did not.
ACCELERATE = Needed(
    "accelerate",
    "transformers",
    f"The Trainer of transformers >= 5 needs accelerate >= {LOWEST['accelerate']} (ImportError)",
    f"accelerate>={LOWEST['accelerate']}",
)
RAY = Needed("ray", "transformers", "The converted code trains on Ray", f"ray[train]>={LOWEST['ray']}")
EVALUATE = Needed("evaluate", "datasets", "The converted code loads metrics with evaluate", "evaluate")
IMPORTED = replace(EVALUATE, why="The code imports evaluate")
# Extras of transformers that bring accelerate along (metadata of transformers 5.23).
WITH_ACCELERATE = re.compile(r"\[[^\]]*\b(?:torch|accelerate|deepspeed|serving)\b")
TRAINS = re.compile(r"\b(?:(?:Seq2Seq)?TrainingArguments|(?:HuggingFace|Transformers)Trainer)\b")
METRICS = "RM713"
# At the left edge: what a function imports may be for another way than the one that is taken.
IMPORTS_EVALUATE = re.compile(r"^(?:import evaluate|from evaluate import)\b", re.MULTILINE)
# A requirement at the start of a line or of a string: `transformers`, `- transformers[torch]`, `"datasets>=2",`.
LISTED = re.compile(
    rf"(?:^[ \t]*(?:-[ \t]+)?|[\"'])(?P<requirement>{NAME}(?P<extras>[ \t]*\[[^\]\n]*\])?)(?=[\"'<>=!~;,@\s]|$)",
    re.MULTILINE,
)
# `git+https://github.com/huggingface/accelerate.git@main`: the last part of the address is the name.
REPOSITORY = r"git\+\w+://[^/\s]+/(?:[^/\s@]+/)*(?P<name>[\w-]+?)(?:\.git)?(?:[@#].*)?$"
COMMENT = re.compile(r"^[ \t]*#[^\n]*|[ \t]#[^\n]*", re.MULTILINE)


def needed_by(text: str, findings: Iterable[Finding]) -> list[Needed]:
    """What a script needs once it is converted.

    Args:
        text: The legacy script.
        findings: What was found in it.
    """
    converted = {f.code for f in findings if f.kind is Kind.CONVERTED}
    needed = {ACCELERATE: TRAINS.search(text), EVALUATE: METRICS in converted, RAY: any(map(is_to_ray, converted))}
    found = [package for package, is_needed in needed.items() if is_needed]
    return found + [still for still in needed_still(text) if still.name not in {package.name for package in found}]


def needed_still(text: str) -> list[Needed]:
    """What a script needs that may have been converted before, and that legacy code did not."""
    return [IMPORTED] if IMPORTS_EVALUATE.search(text) else []


def listed(text: str) -> dict[str, int]:
    """The packages that a file of requirements lists, each with its first place; those of extras among them."""
    blank = COMMENT.sub(lambda found: " " * len(found[0]), text)
    return _places(LISTED.finditer(blank))


def installed(text: str) -> dict[str, int]:
    """The packages that the shell commands of a text install, each with its first place."""
    found: dict[str, int] = {}
    for command in commands(text):
        for word in WORD.finditer(command["words"]):
            group = "quoted" if word["quoted"] is not None else "plain"
            for name in _names(word[group]):
                found.setdefault(name, command.start("words") + word.start(group))
    return found


def missing(
    needed: Iterable[Needed], names: dict[str, int], others: Iterable[str] = ()
) -> Iterator[tuple[Needed, int]]:
    """What a list lacks, with the place of the package beside which it has to be.

    Args:
        needed: What is needed.
        names: The packages of the list, with their places.
        others: Packages that other lists of the same scripts have.
    """
    there = {*names, *others}
    for package_ in needed:
        if package_.companion in names and package_.name not in there:
            yield package_, names[package_.companion]


def _places(matches: Iterable[re.Match[str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for match in matches:
        for name in _names(match["requirement"]):
            found.setdefault(name, match.start("requirement"))
    return found


def _names(requirement: str) -> list[str]:
    """The package that a requirement names, and what its extras are known to bring along."""
    match = re.match(REPOSITORY, requirement) or re.match(NAME, requirement)
    if match is None:
        return []
    name = package(match["name"])
    brings = name == ACCELERATE.companion and WITH_ACCELERATE.search(requirement)
    return [name, ACCELERATE.name] if brings else [name]
