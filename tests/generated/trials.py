"""A generated program is converted, run, and held against what it means."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.generated.libraries import Notes, run
from tests.projects.files import convert

OURS = frozenset({"RM901", "RM902", "RM903", "RM904"})  # our own checks refuse what we wrote, or we crash
REMARKS = frozenset({"RM406", "RM605"})  # of what a second run does, and of what metrics are called


@dataclass(frozen=True)
class Program:
    """A program, and what is known of it.

    Args:
        files: Its texts by the names of its files.
        wanted: What it means.
        job: How it is converted.
        left: Where something is left for a person, the rules of which one has to say so; it is not run then.
        arguments: Of its command line.
        moves: The names of the moves that respelled it.
    """

    files: Mapping[str, str]
    wanted: Notes
    job: Job = field(default_factory=lambda: Job(Options()))
    left: frozenset[str] = frozenset()
    arguments: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What came of a program.

    Args:
        wrong: What is wrong with its conversion; empty if nothing is.
        refused: The rules that say so where the conversion leaves something for a person; empty if it does not.
        after: The converted texts by the names of their files.
    """

    wrong: str = ""
    refused: tuple[str, ...] = ()
    after: Mapping[str, str] = field(default_factory=dict)


def judged(program: Program) -> Verdict:
    """Converts a program and runs it.

    Moves may take it to where the tool refuses: then it has to say so. As the grammar wrote it, it has to convert.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in program.files.items():
            (folder / file).write_text(text, encoding="utf-8")
        try:
            verdict = _judged(program, folder)
        except Exception as error:
            verdict = Verdict(f"the tool fails: {error!r}")
        return replace(verdict, after={file: (folder / file).read_text(encoding="utf-8") for file in program.files})


def _judged(program: Program, folder: Path) -> Verdict:
    found = list(convert(folder, job=program.job).findings)
    told = tuple(sorted({finding.code for finding in found if finding.kind in (Kind.MANUAL, Kind.ERROR)} - REMARKS))
    if refused := [f.message for f in found if f.code in OURS]:
        return Verdict(f"our own checks refuse it: {refused}")
    if program.left and not program.moves:
        return Verdict(refused=told) if program.left & {*told} else Verdict("something is left, and not reported")
    wrong = _difference(program, folder)
    if wrong and program.moves and told:
        return Verdict(refused=told)
    if wrong:
        return Verdict(f"{wrong}\ntold: {told}")
    return Verdict("a second conversion changes it again" if convert(folder, job=program.job).changed else "")


def _difference(program: Program, folder: Path) -> str:
    """How what a converted program does differs from what it means; empty if it does not."""
    try:
        notes = run(folder, arguments=program.arguments)
    except Exception as error:
        return f"it fails: {error!r}"
    does, means = vars(notes), vars(program.wanted)
    return "\n".join(f"its {key}:\n  {does[key]}\nand not\n  {means[key]}" for key in means if does[key] != means[key])
