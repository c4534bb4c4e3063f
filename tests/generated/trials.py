"""A generated program is converted, run, and held against what it means."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from raymigrate.base.findings import Kind
from raymigrate.run.job import Job
from tests.generated.libraries import Notes, run
from tests.projects.files import convert

PARTS = 40  # tests that share the programs of a grammar


def judged(
    files: Mapping[str, str],
    folder: Path,
    job: Job,
    wanted: Notes,
    left: frozenset[str] = frozenset(),
    arguments: tuple[str, ...] = (),
) -> str:
    """What is wrong with the conversion of a program; empty if nothing is.

    Args:
        files: Its texts by the names of its files.
        folder: An empty folder.
        job: How it is converted.
        wanted: What it means.
        left: Where something is left for a person, the rules of which one has to say so; it is not run then.
        arguments: Of its command line.
    """
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    found = convert(folder, job=job).findings
    told = {finding.code for finding in found if finding.kind in (Kind.MANUAL, Kind.ERROR)}
    if left:
        return "" if told & left else "something is left, and not reported"
    try:
        notes = run(folder, arguments=arguments)
    except Exception as error:
        return f"it fails: {error!r}; told: {sorted(told)}"
    if notes != wanted:
        return f"it does\n  {notes}\nand not\n  {wanted}\ntold: {sorted(told)}"
    return "a second conversion changes it again" if convert(folder, job=job).changed else ""


def problems_of(problem: Callable[[int, Path], str], seeds: Iterable[int], folder: Path) -> str:
    """What is wrong with some programs, and how they look after conversion; empty if nothing is."""
    texts = []
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        if found := problem(seed, place):
            after = "\n".join(path.read_text(encoding="utf-8") for path in sorted(place.glob("*.py")))
            texts.append(f"program {seed}: {found}\n{after}")
    return "\n\n".join(texts)


def try_out(problem: Callable[[int, Path], str], count: int) -> None:
    """Tries so many programs, and prints those that are converted wrongly."""
    wrong = 0
    for seed in range(count):
        with tempfile.TemporaryDirectory() as name:
            if found := problem(seed, Path(name)):
                wrong += 1
                print(f"program {seed}: {found}")
    print(f"{count} programs, {wrong} converted wrongly")
