"""Verifies the bundled jobs on a GPU, in pieces that a short loan of a machine allows.

Where packages can be installed, `run` is all there is to call:

    pip install -c constraints.txt ".[verify]"
    python scripts/gpu_verify.py run

For a machine that holds torch and transformers but reaches no package index, the rest is carried there in parts of at
most 50 MB, and each piece of the matrix takes at most the minutes it is given; what has a report is not run again:

    python scripts/gpu_verify.py pack .wheels                          # here: .wheels/part1, .wheels/part2, ...
    python scripts/gpu_verify.py install .wheels/part1                 # there, once for each part
    python scripts/gpu_verify.py run --minutes 9 --archive $OUT/reports.tar.gz   # there, until it says that all is done

The matrix: three jobs, float32 and bf16, one and two workers, tiny and full models; arms B and C, each twice, so that
bounds are measured and not guessed. Last come the negative controls. `--device cpu` tries it all without a GPU. The
reports get a table over them, README.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # raymigrate is carried, and installed nowhere

from verify_bundled_jobs import JOBS, ROOT, SIGNS, explanations

from raymigrate.runtime.verify.reporting.json import json_verification
from raymigrate.runtime.verify.reporting.wording import memory_text
from raymigrate.runtime.verify.results import ArmRun, Verification

PYTHON = "3.12"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
# What `raymigrate verify` needs beyond a machine with torch, transformers, accelerate, tokenizers, pyarrow, rich,
# psutil, matplotlib and jinja2. Versions are those of constraints.txt.
PACKAGES = (
    *("ray", "datasets", "evaluate", "libcst", "dill", "multiprocess"),
    *("jsonschema", "jsonschema-specifications", "referencing", "rpds-py"),  # needed by ray
    *("pydantic", "pydantic-core", "annotated-types", "typing-inspection", "tensorboardX"),  # by ray[train]
)
PART_BYTES = 50_000_000
SHORTEST = 60.0  # seconds: none is begun with less time left
SITE = Path("/tmp/raymigrate-gpu/site")
CARRIED = Path("/tmp/raymigrate-gpu/parts")
CONTROLS = "tests/runtime/verify/test_wrong_conversions.py"


@dataclass(frozen=True)
class Cell:
    """One verification of the matrix."""

    job: str
    size: str
    precision: str
    workers: int

    @property
    def name(self) -> str:
        """Of its reports."""
        return f"{self.job}-{self.size}-{self.precision}-{self.workers}"


# What matters most comes first: a loan may end early.
MATRIX = [
    Cell(job, size, precision, workers)
    for size, workers, precision, job in product(("full", "tiny"), (2, 1), ("fp32", "bf16"), JOBS)
]


def pack(folder: Path) -> None:
    """Downloads the wheels and cuts them into parts that can be carried one at a time."""
    wheels = folder / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    wheels.mkdir(parents=True)
    platforms = [part for platform in PLATFORMS for part in ("--platform", platform)]
    options = ["--no-deps", "--only-binary=:all:", "--python-version", PYTHON, "--implementation", "cp", *platforms]
    command = [sys.executable, "-m", "pip", "download", "-q", "-c", str(ROOT / "constraints.txt"), *options]
    subprocess.run([*command, "-d", str(wheels), *PACKAGES], check=True)
    archive = folder / "wheels.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(wheels, "wheels")
    with archive.open("rb") as stream:
        for number, part in enumerate(iter(lambda: stream.read(PART_BYTES), b""), start=1):
            place = folder / f"part{number}"
            place.mkdir()
            (place / f"wheels.tar.{number}").write_bytes(part)
    total = -(-archive.stat().st_size // PART_BYTES)
    for number in range(1, total + 1):
        (folder / f"part{number}" / "total").write_text(str(total))
    archive.unlink()
    shutil.rmtree(wheels)
    print(f"{total} parts in {folder}")


def install(part: Path) -> None:
    """Takes in a part, and installs when all have come."""
    CARRIED.mkdir(parents=True, exist_ok=True)
    for path in part.iterdir():
        shutil.copy(path, CARRIED)
    total = int((CARRIED / "total").read_text())
    parts = [CARRIED / f"wheels.tar.{number}" for number in range(1, total + 1)]
    missing = [path.name for path in parts if not path.exists()]
    if missing:
        print(f"still to come: {', '.join(missing)}")
        return
    archive = CARRIED / "wheels.tar"
    with archive.open("wb") as stream:
        for path in parts:
            stream.write(path.read_bytes())
    with tarfile.open(archive) as tar:
        tar.extractall(CARRIED, filter="data")
    wheels = map(str, sorted((CARRIED / "wheels").glob("*.whl")))
    options = ["--no-index", "--no-deps", "--no-compile", "--no-cache-dir", "--upgrade", "--target", str(SITE)]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *options, *wheels], check=True)
    print(f"installed in {SITE}")


def run(reports: Path, minutes: float, device: str, only: str, archive: Path | None) -> tuple[bool, list[str]]:
    """Runs what has no report yet, as far as the time goes.

    Args:
        reports: Folder of the reports.
        minutes: How long it may take.
        device: "cpu" or "gpu".
        only: Part of the names of the pieces to run.
        archive: File that also gets all reports.

    Returns:
        Whether all that was asked for has its reports, and the pieces that failed in this call.
    """
    reports.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + minutes * 60
    longest = SHORTEST
    failed = []
    for name, command in _pieces(reports, device):
        if only not in name:
            continue
        left = deadline - time.monotonic()
        if left < longest:
            print(f"{name} and what follows is left for the next call")
            return False, failed
        started = time.monotonic()
        print(f"== {name}", flush=True)
        log = reports / f"{name}.txt"
        try:
            with log.open("w") as stream:
                status = subprocess.run(
                    command, cwd=ROOT, env=_environment(device), stdout=stream, stderr=stream, timeout=left, check=False
                ).returncode
        except subprocess.TimeoutExpired:
            print(f"{name} did not end in time, and is left for the next call")
            return False, failed
        longest = max(longest, 1.2 * (time.monotonic() - started))
        if status:
            failed.append(name)
        print(f"exit code {status}: {log.read_text().rstrip().splitlines()[-1:]}", flush=True)
        if archive:
            with tarfile.open(archive, "w:gz") as tar:
                tar.add(reports, reports.name)
    return True, failed


def _pieces(reports: Path, device: str) -> Iterator[tuple[str, list[str]]]:
    """Name and command of everything that has not been done."""
    for cell in MATRIX:
        if not (reports / f"{cell.name}.json").exists():
            yield cell.name, _command(cell, reports, device)
    if not (reports / "controls.xml").exists():
        report = f"--junit-xml={reports / 'controls.xml'}"
        yield "controls", [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", report, CONTROLS]


def _command(cell: Cell, reports: Path, device: str) -> list[str]:
    script = f"fixtures/{JOBS[cell.job][1]}/before.py"
    options = ["--device", device, "--workers", str(cell.workers), "--precision", cell.precision, "--repeat", "2"]
    written = [part for end in (".json", ".md", ".html") for part in ("--report", str(reports / f"{cell.name}{end}"))]
    command = [sys.executable, "-m", "raymigrate", "verify", script, "--offline", "--hub-size", cell.size]
    return [*command, *options, *written]


def _environment(device: str) -> dict[str, str]:
    folders = [str(ROOT), str(SITE) if SITE.exists() else "", os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, folders))
    return {**os.environ, "PYTHONPATH": path, "RAYMIGRATE_TEST_DEVICE": device}


HEAD = """# The bundled jobs, original and converted, on {device}

B is the original script under the stand-in for the old Ray, C the converted one; each ran twice, on one machine with
the same libraries. "equal" means equal bits, in every step on every worker; "explained" means within the bound that the
arms' own repetitions give, or with a named cause. Throughput is that of C divided by that of B, the faster run of each;
memory is the most that a worker of C used. Of tiny models, whose steps take milliseconds, throughput is mostly noise.

{versions}. Written by `python scripts/gpu_verify.py run{option}`.
"""


def table(reports: Path, device: str) -> str:
    """The reports that are there: a row for each cell of the matrix, a column for each gate.

    Args:
        reports: Folder of the reports.
        device: "cpu" or "gpu".
    """
    paths = {cell: reports / f"{cell.name}.json" for cell in MATRIX}
    found = {cell: json_verification(path.read_text("utf-8")) for cell, path in paths.items() if path.exists()}
    if not found:
        return "No report is there yet.\n"
    first = next(iter(found.values()))
    columns = ["job", "size", "precision", "workers", *(gate.name for gate in first.comparisons[0].gates)]
    columns += ["throughput", "memory", "report"]
    lines = [_head(first, device), f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [_row(cell, verification) for cell, verification in found.items()]
    told = {cell.name: explanations(verification.comparisons[0]) for cell, verification in found.items()}
    notes = [f"* {name}: {text}" for name, texts in told.items() for text in texts]
    return "\n".join([*lines, "", *notes, *([""] if notes else [])])


def _head(found: Verification, device: str) -> str:
    versions = [f"{library} {version}" for library, version in found.arms[0].versions.items()]
    return HEAD.format(
        device=found.arms[0].versions.get("device", "an unknown device"),
        versions=", ".join([*versions, *found.machine.values()]),
        option="" if device == "gpu" else f" --device {device}",
    )


def _row(cell: Cell, verification: Verification) -> str:
    arms = {letter: [arm for arm in verification.arms if arm.letter[0] == letter] for letter in "BC"}
    steps = {letter: _step_seconds(runs) for letter, runs in arms.items()}
    throughput = f"{steps['B'] / steps['C']:.2f}" if steps["B"] and steps["C"] else "unknown"
    memory = memory_text(max((run.memory or 0 for run in arms["C"]), default=0) or None)
    gates = [SIGNS[gate.status] for gate in verification.comparisons[0].gates]
    report = f"[{cell.name}]({cell.name}.md)"
    cells = [JOBS[cell.job][0], cell.size, cell.precision, str(cell.workers), *gates, throughput, memory, report]
    return f"| {' | '.join(cells)} |"


def _step_seconds(runs: list[ArmRun]) -> float | None:
    return min((run.step_seconds for run in runs if run.step_seconds), default=None)


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("pack").add_argument("folder", type=Path)
    commands.add_parser("install").add_argument("part", type=Path)
    running = commands.add_parser("run")
    running.add_argument("--reports", type=Path, help="default: docs/verification/gpu, or cpu")
    running.add_argument("--minutes", type=float, default=600)
    running.add_argument("--device", choices=["cpu", "gpu"], default="gpu")
    running.add_argument("--only", default="", help="part of the names of the pieces to run: tiny, bert-full, controls")
    running.add_argument("--archive", type=Path, help="also put all reports into this file, after each piece")
    options = parser.parse_args()
    if options.command == "pack":
        pack(options.folder)
    elif options.command == "install":
        install(options.part)
    else:
        reports = (options.reports or ROOT / "docs/verification" / options.device).resolve()
        done, failed = run(reports, options.minutes, options.device, options.only, options.archive)
        (reports / "README.md").write_text(table(reports, options.device), encoding="utf-8")
        print("all is done" if done else "call it again")
        if failed:
            raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
