"""Runs the scripts of fixtures before and after conversion, and writes down what came of it: `proof.json` beside each.

    python -m scripts.prove               # those whose record is missing or no longer fits what it was made from
    python -m scripts.prove tracking/     # those whose name begins so
    python -m scripts.prove --all
    python -m scripts.prove --check       # runs nothing; exit code 1 if a record is missing or does not fit

A fixture with a `runs.json` takes part. It says how both scripts end and what they print, as a regular expression that
is searched in all of their output:

    {"before": {"exit": 1, "prints": "ImportError: .*TransformersTrainer"},
     "after": {"exit": 0, "prints": "loss 0[.]6"}}

`"needs": ["mlflow"]` beside them leaves a case out where that library is not installed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click

from raymigrate.runtime.hub import HubServer, cached_hub
from raymigrate.runtime.hub.assets import assets_version
from tests.jobs import CACHE, run_python

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
CASES = sorted(path.parent for path in FIXTURES.rglob("runs.json"))
SCRIPTS = ("before", "after")
RECORD = "proof.json"
# Beside the scripts, but read by none of them.
NO_INPUT = {RECORD, "findings.txt", "options.json"}
# Our own code that takes part in a run: what sets its variables, and what its processes begin with.
HELPERS = [
    ROOT / "tests/jobs.py",
    ROOT / "tests/startup/sitecustomize.py",
    ROOT / "raymigrate/runtime/inject/raymigrate_cluster.py",
    ROOT / "raymigrate/runtime/inject/raymigrate_workers.py",
    ROOT / "raymigrate/runtime/inject/raymigrate_template.py",
]
LIBRARIES = (
    "accelerate",
    "datasets",
    "evaluate",
    "huggingface_hub",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "ray",
    "safetensors",
    "tokenizers",
    "torch",
    "transformers",
)
# The distribution of a library that `needs` names.
DISTRIBUTIONS = {"mlflow": "mlflow-skinny"}
# Ray gives its raylet 30 seconds (ray/_private/node.py), which are too few now and then where much else runs.
RAY_DID_NOT_START = "The current node timed out during startup"
PARTS = 10  # of all records, one part is run again each day
Case = TypeVar("Case", str, Path)


@dataclass(frozen=True)
class Run:
    """What came of a script.

    Args:
        exit: Its exit code.
        prints: What it printed; in a record, the lines in which the expression of `runs.json` is found.
        seconds: How long it took.
    """

    exit: int
    prints: str
    seconds: int


def expected(case: Path) -> dict[str, Any]:
    """The `runs.json` of a case."""
    runs: dict[str, Any] = json.loads((case / "runs.json").read_text(encoding="utf-8"))
    return runs


def missing_libraries(case: Path) -> list[str]:
    """Libraries that a case needs and that are not installed."""
    return [library for library in expected(case).get("needs", []) if find_spec(library) is None]


def libraries(case: Path) -> dict[str, str]:
    """The installed versions of what the scripts of a case run on."""
    names = [*LIBRARIES, *(DISTRIBUTIONS.get(name, name) for name in expected(case).get("needs", []))]
    return {name: installed(name) for name in sorted(names)}


@cache
def installed(distribution: str) -> str:
    """The public part of an installed version, without the `+cpu` of a build; empty if there is none."""
    try:
        return version(distribution).partition("+")[0]
    except PackageNotFoundError:
        return ""


def inputs(case: Path) -> str:
    """A hash of everything that what comes of a case depends on."""
    digest = hashlib.sha256()
    files = [path for path in sorted(case.rglob("*")) if path.is_file() and path.name not in NO_INPUT]
    for path in files:
        if "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(case).as_posix()} {hash_of(path)}\n".encode())
    digest.update("".join(map(hash_of, HELPERS)).encode())
    digest.update(assets_version().encode())  # the models and datasets that it may load
    digest.update(json.dumps(libraries(case)).encode())
    digest.update(".".join(platform.python_version_tuple()[:2]).encode())
    return digest.hexdigest()


def hash_of(path: Path) -> str:
    """The hash of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def record(case: Path) -> dict[str, Run] | None:
    """What the record of a case says of both scripts; None if it is missing or does not fit what it was made from."""
    try:
        proof = json.loads((case / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if proof["inputs"] != inputs(case):
        return None
    return {which: Run(**proof[which]) for which in SCRIPTS}


def due(cases: Sequence[Case], day: datetime.date, parts: int = PARTS) -> list[Case]:
    """The part of the cases that is run on a day, whatever is known of them; another one each day."""
    return [case for number, case in enumerate(sorted(cases)) if number % parts == day.toordinal() % parts]


def run_script(case: Path, which: str, hub_url: str, folder: Path) -> Run:
    """Runs the script of a case, in a copy of its folder; once more if Ray did not come up.

    Args:
        case: Folder of the fixture.
        which: "before" or "after".
        hub_url: Where the offline hub answers.
        folder: An empty folder.
    """
    started = time.monotonic()
    code, log = _run_copy(case, which, hub_url, folder / "case")
    if RAY_DID_NOT_START in log:
        code, log = _run_copy(case, which, hub_url, folder / "again/case")
    return Run(code, log, round(time.monotonic() - started))


def _run_copy(case: Path, which: str, hub_url: str, copy: Path) -> tuple[int, str]:
    """The exit code of a script, and what it printed."""
    shutil.copytree(case, copy)  # scripts read and write beside themselves
    return run_python([sys.executable, str(copy / f"{which}.py")], hub_url, copy)


def difference(wanted: dict[str, Any], run: Run) -> str:
    """In what a run, or the record of one, is not as `runs.json` wants it; empty if it is."""
    if (run.exit != 0) != (wanted["exit"] != 0):
        return f"it ended with exit code {run.exit}, not {wanted['exit']}:\n{run.prints[-6000:]}"
    if not re.search(wanted["prints"], run.prints):
        return f"{wanted['prints']} was not printed:\n{run.prints[-6000:]}"
    return ""


def excerpt(expression: str, printed: str, folder: Path) -> str:
    """The fewest lines of an output in which an expression is still found, without the places of this machine.

    Args:
        expression: What is found in the output.
        printed: The output.
        folder: The folder of the run.
    """
    found = re.search(expression, printed)
    assert found is not None
    lines = found[0].splitlines(keepends=True)
    for number in reversed(range(len(lines))):
        without = lines[:number] + lines[number + 1 :]
        if re.search(expression, "".join(without)):
            lines = without
    text = "".join(lines)
    for place, name in ((folder, "/run"), (Path(sys.prefix), "/venv"), (ROOT, "/raymigrate")):
        text = text.replace(str(place), name)
    assert re.search(expression, text), f"{expression} is found in the output, but not in what it matched: {text}"
    return text


def prove(case: Path, hub_url: str) -> str:
    """Runs both scripts of a case and writes its record.

    Returns:
        In what a run is not as `runs.json` wants it; empty if the record is written.
    """
    wanted, runs = expected(case), {}
    made_from = inputs(case)  # before the runs: a file that changes meanwhile makes the record stale
    for which in SCRIPTS:
        with tempfile.TemporaryDirectory(prefix="prove-") as name:
            folder = Path(name).resolve()
            run = run_script(case, which, hub_url, folder)
            if problem := difference(wanted[which], run):
                return f"{which}.py: {problem}"
            runs[which] = Run(run.exit, excerpt(wanted[which]["prints"], run.prints, folder), run.seconds)
    proof = {
        "inputs": made_from,
        "python": platform.python_version(),
        "libraries": libraries(case),
        **{which: asdict(run) for which, run in runs.items()},
    }
    (case / RECORD).write_text(json.dumps(proof, indent=2) + "\n", encoding="utf-8")
    return ""


def case_name(case: Path) -> str:
    """A case as it is called on the command line."""
    return case.relative_to(FIXTURES).as_posix()


@click.command()
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Run every case, also those whose record fits.")
@click.option("--check", is_flag=True, help="Run nothing; name the records that are missing or do not fit.")
@click.option("--jobs", default=2, show_default=True, help="How many cases run at once.")
def main(names: tuple[str, ...], every: bool, check: bool, jobs: int) -> None:
    """Writes the proof records of fixtures."""
    cases = [case for case in CASES if not names or case_name(case).startswith(names)]
    chosen = cases if every else [case for case in cases if record(case) is None]
    chosen = [case for case in chosen if not missing_libraries(case)]
    if check:
        for case in chosen:
            click.echo(f"{case_name(case)}: {RECORD} is missing or does not fit")
        sys.exit(1 if chosen else 0)
    os.environ["XDG_CACHE_HOME"] = str(CACHE)
    failed = 0
    with HubServer(cached_hub()) as hub, ThreadPoolExecutor(jobs) as pool:
        problems = pool.map(partial(prove, hub_url=hub.url), chosen)
        for number, (case, problem) in enumerate(zip(chosen, problems, strict=True), 1):
            failed += bool(problem)
            click.echo(f"{number} of {len(chosen)}: {case_name(case)}{': ' + problem if problem else ''}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
