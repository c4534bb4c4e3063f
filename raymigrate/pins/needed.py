"""Packages that converted code needs besides those that the legacy code needed, and where packages are listed."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.families import Family
from raymigrate.base.findings import Finding, Kind
from raymigrate.documents.install_commands import WORD, commands
from raymigrate.knowledge.versions import LOWEST, NAME, package
from raymigrate.pins.evidence import trains_as_converted

Where = TypeVar("Where")  # how a list tells the place of a package


@dataclass(frozen=True)
class Needed:
    """A package that converted code needs.

    Args:
        name: The package.
        companions: Packages in whose list it has to be; the first of them that is there counts.
        why: What asks for it, as the beginning of a sentence.
        requirement: What to add.
    """

    name: str
    companions: tuple[str, ...]
    why: str
    requirement: str


TRAINED_WITH = ("torch", "torchvision", "transformers")
# transformers 5.23, training_args.py: "Using the `Trainer` with `PyTorch` requires `accelerate>=1.1.0`"; 4.2x did not.
ACCELERATE = Needed(
    "accelerate",
    ("transformers",),
    f"The Trainer of transformers >= 5 needs accelerate >= {LOWEST['accelerate']} (ImportError)",
    f"accelerate>={LOWEST['accelerate']}",
)
# A native loop of torch that becomes one of accelerate.
LOOP = Needed("accelerate", TRAINED_WITH, "The converted loop runs with accelerate", ACCELERATE.requirement)
RAY = Needed(
    "ray",
    ("transformers", "accelerate", "trl", "peft", "datasets", *TRAINED_WITH[:-1]),
    "The converted code trains on Ray",
    f"ray[train]>={LOWEST['ray']}",
)
EVALUATE = Needed("evaluate", ("datasets",), "The converted code loads metrics with evaluate", "evaluate")
IMPORTED = replace(EVALUATE, why="The code imports evaluate")
# datasets 5.2, features/audio.py: "To support decoding audio data, please install 'torchcodec'."; 3.x took soundfile.
TORCHCODEC = Needed(
    "torchcodec", ("datasets",), "datasets >= 4 decodes audio with torchcodec (ImportError)", "torchcodec"
)
# Extras that bring these along (metadata of transformers 5.23 and of datasets 5.2).
BRINGS = {
    "transformers": (ACCELERATE, lazy_regex(r"\[[^\]]*\b(?:torch|accelerate|deepspeed|serving)\b")),
    "datasets": (TORCHCODEC, lazy_regex(r"\[[^\]]*\baudio\b")),
}
# The last is all that is left to see where another file makes the Trainer.
TRAINS = lazy_regex(
    r"\b(?:(?:Seq2Seq)?TrainingArguments|(?:HuggingFace|Transformers)Trainer|ray\.train\.huggingface\.transformers)\b"
)
METRICS, NATIVE = "RM713", "RM850"  # of layers above
# At the left edge: what a function imports may be for another way than the one that is taken.
IMPORTS_EVALUATE = lazy_regex(r"^(?:import evaluate|from evaluate import)\b", re.MULTILINE)
SPELLS_AUDIO = lazy_regex(r"Audio\b(?<=\bAudio)")  # a search for a fixed start is much faster
AUDIO = lazy_regex(
    r"\bdatasets\.(?:features\.)?Audio\(|^from datasets[\w.]* import (?:\([^)]*|[^\n(]*)\bAudio\b", re.MULTILINE
)
# A requirement at the start of a line or of a string: `transformers`, `- transformers[torch]`, `"datasets>=2",`.
LISTED = lazy_regex(
    rf"(?:^[ \t]*(?:-[ \t]+)?|[\"'])(?P<requirement>{NAME}(?P<extras>[ \t]*\[[^\]\n]*\])?)(?=[\"'<>=!~;,@\s]|$)",
    re.MULTILINE,
)
# `git+https://github.com/huggingface/accelerate.git@main`: the last part of the address is the name.
REPOSITORY = r"git\+\w+://[^/\s]+/(?:[^/\s@]+/)*(?P<name>[\w-]+?)(?:\.git)?(?:[@#].*)?$"
COMMENT = lazy_regex(r"^[ \t]*#[^\n]*|[ \t]#[^\n]*", re.MULTILINE)


def needed_by(text: str, findings: Iterable[Finding]) -> list[Needed]:
    """What a script needs once it is converted.

    Args:
        text: The legacy script.
        findings: What was found in it.
    """
    made = [finding for finding in findings if finding.kind is Kind.CONVERTED]
    converted = {finding.code for finding in made}
    needed = {
        ACCELERATE: TRAINS.search(text),
        LOOP: NATIVE in converted and not TRAINS.search(text),
        EVALUATE: METRICS in converted,
        RAY: any(finding.family is Family.TO_RAY for finding in made),
    }
    found = [package for package, is_needed in needed.items() if is_needed]
    return found + [still for still in needed_still(text) if still.name not in {package.name for package in found}]


def needed_still(text: str) -> list[Needed]:
    """What a script needs that may have been converted before, and that legacy code did not."""
    needed = {
        ACCELERATE: TRAINS.search(text) and trains_as_converted(text.encode(errors="replace")),
        IMPORTED: "evaluate" in text and IMPORTS_EVALUATE.search(text),
        TORCHCODEC: SPELLS_AUDIO.search(text) and AUDIO.search(text),
    }
    return [package for package, is_needed in needed.items() if is_needed]


def listed(text: str) -> dict[str, int]:
    """The packages that a file of requirements lists, each with its first place; those of extras among them."""
    return _places(LISTED.finditer(COMMENT.sub(lambda found: " " * len(found[0]), text)))


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
    needed: Iterable[Needed], names: Mapping[str, Where], others: Iterable[str] = ()
) -> Iterator[tuple[Needed, Where]]:
    """What a list lacks, with the place of the package beside which it has to be.

    Args:
        needed: What is needed.
        names: The packages of the list, with their places.
        others: Packages that other lists of the same scripts have.
    """
    there = {*names, *others}
    for package_ in needed:
        beside = next((name for name in package_.companions if name in names), None)
        if beside is not None and package_.name not in there:
            yield package_, names[beside]


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
    brought, extras = BRINGS.get(name, (None, None))
    return [name, brought.name] if brought and extras and extras.search(requirement) else [name]
