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
bounds are measured and not guessed. Last come the negative controls. `--device cpu` tries it all without a GPU.
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

from verify_bundled_jobs import JOBS, ROOT

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


def run(reports: Path, minutes: float, device: str, only: str, archive: Path | None) -> bool:
    """Runs what has no report yet, as far as the time goes.

    Args:
        reports: Folder of the reports.
        minutes: How long it may take.
        device: "cpu" or "gpu".
        only: Part of the names of the pieces to run.
        archive: File that also gets all reports.

    Returns:
        Whether all that was asked for has its reports.
    """
    reports.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + minutes * 60
    longest = 60.0
    for name, command in _pieces(reports, device):
        if only not in name:
            continue
        left = deadline - time.monotonic()
        if left < longest:
            print(f"{name} and what follows is left for the next call")
            return False
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
            return False
        longest = max(longest, 1.2 * (time.monotonic() - started))
        print(f"exit code {status}: {log.read_text().rstrip().splitlines()[-1:]}", flush=True)
        if archive:
            with tarfile.open(archive, "w:gz") as tar:
                tar.add(reports, reports.name)
    return True


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


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("pack").add_argument("folder", type=Path)
    commands.add_parser("install").add_argument("part", type=Path)
    running = commands.add_parser("run")
    running.add_argument("--reports", type=Path, default=ROOT / "docs/verification/gpu")
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
        done = run(options.reports.resolve(), options.minutes, options.device, options.only, options.archive)
        print("all is done" if done else "call it again")


if __name__ == "__main__":
    main()
