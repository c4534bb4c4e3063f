"""Verifies the job of each fixture that can run here, and writes down what came of it: `verified.json` beside it.

    python scripts/verify_patterns.py               # those whose record is missing or no longer fits
    python scripts/verify_patterns.py tracking/     # those whose name begins so
    python scripts/verify_patterns.py --table       # runs nothing; writes the table of all records

A fixture takes part that has a `runs.json` and whose converted script ends well. Arm B is the original under the
stand-in for the old trainers, arm C the conversion; of plain scripts, arm P is the original in processes of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import click

from raymigrate.runtime.verify.reporting.json import json_verification
from raymigrate.runtime.verify.reporting.wording import headline, overall
from raymigrate.runtime.verify.results import Status, Verification
from scripts.prove import CASES, ROOT, case_name, expected, inputs, libraries, missing_libraries
from tests.jobs import CACHE

RECORD = "verified.json"
TABLE = ROOT / "docs/verification/patterns.md"
# Our own code that decides what an arm does; the gates judge what is recorded, and may become stricter.
ARMS = ROOT / "raymigrate/runtime/inject"
OPTIONS = {"to_ray": ["--to-ray", "--workers", "2"], "to_accelerate": ["--to-accelerate"]}
HEAD = """# Patterns, before and after

Each line is a job of the fixtures, run by `raymigrate verify` with the offline hub on the CPU: the original under the
stand-in for the old trainers (arm B), or as it is in processes of its own (arm P), against its conversion (arm C), on
the libraries of today. "equal" means equal bits in the data, losses, gradients and weights of every step on every
worker. Written by `python scripts/verify_patterns.py`; the records stand beside the fixtures.

"""


def cases() -> list[Path]:
    """The fixtures that take part."""
    return [case for case in CASES if expected(case)["after"]["exit"] == 0 and not missing_libraries(case)]


def made_from(case: Path) -> str:
    """A hash of what a record depends on."""
    digest = hashlib.sha256(inputs(case).encode())
    for path in sorted(ARMS.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def record(case: Path) -> dict[str, Any] | None:
    """The record of a case; None if it has none."""
    path = case / RECORD
    found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return found


def verify(case: Path, home: Path) -> dict[str, Any]:
    """Runs both arms of a case.

    Args:
        case: Folder of the fixture.
        home: For the runs: an empty folder.
    """
    report = home / "report.json"
    options = OPTIONS.get(case.parent.name, [])
    command = [sys.executable, "-m", "raymigrate", "verify", "--offline", "--device", "cpu", *options]
    environment = {**os.environ, "HOME": str(home), "RAY_TMPDIR": str(home / "r"), "XDG_CACHE_HOME": str(CACHE)}
    digest = made_from(case)  # before the runs: a file that changes meanwhile makes the record stale
    subprocess.run(
        [*command, "--report", str(report), str(case / "before.py")],
        cwd=case,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=900,
        check=False,
    )
    found = json_verification(report.read_text(encoding="utf-8"))
    return {"inputs": digest, "date": date.today().isoformat(), "libraries": libraries(case), **outcome(found)}


def outcome(found: Verification) -> dict[str, Any]:
    """What of a verification is kept: verdict, gates, and why an arm did not run."""
    if not found.comparisons:
        return {"status": "not compared", "verdict": found.not_covered[0].strip()}
    (comparison,) = found.comparisons
    return {
        "status": overall(found).value,
        "verdict": headline(found),
        "arms": f"{comparison.left}, {comparison.right}",
        "gates": {gate.name: gate.status.value for gate in comparison.gates},
    }


def table() -> str:
    """All records, one line each; those that could not be compared below, with the reason."""
    rows, others = [], []
    for case in cases():
        found = record(case)
        if found is None:
            continue
        name = f"`{case_name(case)}`"
        if found["status"] == "not compared":
            others.append(f"* {name}: {found['verdict']}")
            continue
        codes = ", ".join(sorted(_codes(case)))
        gates = found["gates"]
        passed = sum(status in (Status.PASS.value, Status.EXPLAINED.value) for status in gates.values())
        word = "equal" if found["status"] == Status.PASS.value else f"**{found['status']}**"
        rows.append(f"| {name} | {codes} | {found['arms']} | {passed} | {word} | {found['date']} |")
    head = "| pattern | rules | arms | gates passed | outcome | date |\n|---|---|---|---|---|---|\n"
    text = HEAD + f"{len(rows)} patterns were compared.\n\n" + head + "\n".join(rows) + "\n"
    return text + ("\nNot compared:\n\n" + "\n".join(others) + "\n" if others else "")


def _codes(case: Path) -> set[str]:
    """The rules that find something in a fixture."""
    findings = case / "findings.txt"
    words = findings.read_text(encoding="utf-8").split() if findings.exists() else []
    return {word.strip(":,") for word in words if word.startswith("RM") and word.strip(":,")[2:].isdigit()}


@click.command()
@click.argument("names", nargs=-1)
@click.option("--table", "only_table", is_flag=True, help="Run nothing; write the table of all records.")
def main(names: tuple[str, ...], only_table: bool) -> None:
    """Writes the records of fixtures, and their table."""
    chosen = [case for case in cases() if not names or case_name(case).startswith(names)]
    for case in [] if only_table else chosen:
        found = record(case)
        if found is not None and found["inputs"] == made_from(case):
            continue
        with tempfile.TemporaryDirectory(prefix="vp-", dir="/tmp") as name:
            found = verify(case, Path(name).resolve())
        (case / RECORD).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        click.echo(f"{case_name(case)}: {found['verdict']}")
    TABLE.write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    main()
