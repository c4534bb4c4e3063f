"""Verifies the bundled jobs on a GPU, in pieces that a short loan of a machine allows.

Where packages can be installed, `run` is all there is to call:

    pip install -c constraints.txt ".[verify]"
    python scripts/gpu_verify.py run

For a machine that holds torch and transformers but reaches no package index, the rest is carried there in parts of at
most 50 MB, and a call takes at most the minutes it is given; what has a report is not run again:

    python scripts/gpu_verify.py pack .parts                           # here: .parts/part1, .parts/part2, ...
    python scripts/gpu_verify.py install .parts/part1                  # there, once for each part
    python scripts/gpu_verify.py run --minutes 9 --archive $OUT/reports.tar.gz   # there, until it says that all is done

The matrix: three jobs, float32 and bf16, one and two workers, tiny and full models; arms B and C, each twice, so that
bounds are measured and not guessed. Last come the negative controls. `--jobs 4` runs four at a time, each with a Ray of
its own, which makes throughput less certain. `--device cpu` tries it all without a GPU. The reports get a table over
them, README.md.
"""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, "/tmp/raymigrate-gpu/site")  # what `install` brings
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
UNUSED = ("ray/jars", "ray/dashboard/client")  # a sixth of Ray: its Java, and the page of its dashboard
PART_BYTES = 50_000_000
SHORTEST = 60.0  # seconds: none is begun with less time left
SITE = Path(sys.path[1])
CARRIED = SITE.parent / "parts"
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
    """Fetches the packages and cuts them into parts that can be carried one at a time."""
    site = folder / "site"
    shutil.rmtree(folder, ignore_errors=True)
    platforms = [part for platform in PLATFORMS for part in ("--platform", platform)]
    options = ["--no-deps", "--only-binary=:all:", "--python-version", PYTHON, "--implementation", "cp", *platforms]
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*command, *options, "--target", str(site), *PACKAGES], check=True)
    for name in UNUSED:
        shutil.rmtree(site / name)
    archive = folder / "site.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(site, ".")
    total = -(-archive.stat().st_size // PART_BYTES)
    with archive.open("rb") as stream:
        for number in range(1, total + 1):
            place = folder / f"part{number}"
            place.mkdir()
            (place / f"site.tar.xz.{number}").write_bytes(stream.read(PART_BYTES))
            (place / "total").write_text(str(total))
    archive.unlink()
    shutil.rmtree(site)
    print(f"{total} parts in {folder}")


def install(part: Path) -> None:
    """Takes in a part, and installs when all have come."""
    CARRIED.mkdir(parents=True, exist_ok=True)
    for path in part.iterdir():
        shutil.copy(path, CARRIED)
    total = int((CARRIED / "total").read_text())
    parts = [CARRIED / f"site.tar.xz.{number}" for number in range(1, total + 1)]
    missing = [path.name for path in parts if not path.exists()]
    if missing:
        print(f"still to come: {', '.join(missing)}")
        return
    archive = CARRIED / "site.tar.xz"
    with archive.open("wb") as stream:
        for path in parts:
            stream.write(path.read_bytes())
    with tarfile.open(archive) as tar:
        tar.extractall(SITE, filter="data")
    compileall.compile_dir(SITE, quiet=2, workers=0)  # else every process that starts at first does it
    print(f"installed in {SITE}")


@dataclass
class Pieces:
    """Runs pieces, several at a time, as far as the time goes.

    Args:
        reports: Folder of the reports.
        deadline: When all must have ended, in `time.monotonic()`.
        device: "cpu" or "gpu".
        archive: File that also gets all reports.

    Attributes:
        longest: Seconds that a piece may take, by those that have been run.
        left: Whether there was no time for one.
        failed: Names of those that failed.
    """

    reports: Path
    deadline: float
    device: str
    archive: Path | None = None
    longest: float = SHORTEST
    left: bool = False
    failed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, name: str, command: list[str]) -> None:
        """Runs one, if there is time for it."""
        left = self.deadline - time.monotonic()
        if left < self.longest:
            self.left = True
            print(f"{name} is left for the next call", flush=True)
            return
        started = time.monotonic()
        log = self.reports / f"{name}.txt"
        try:
            with log.open("w") as stream:
                status = subprocess.run(
                    command,
                    cwd=ROOT,
                    env=_environment(self.device),
                    stdout=stream,
                    stderr=stream,
                    timeout=left,
                    check=False,
                ).returncode
        except subprocess.TimeoutExpired:
            self.left = True
            print(f"{name} did not end in time, and is left for the next call", flush=True)
            return
        seconds = time.monotonic() - started
        with self.lock:
            self.longest = max(self.longest, 1.2 * seconds)
            if status:
                self.failed.append(name)
            print(
                f"{name}: {seconds:.0f} s, exit code {status}: {log.read_text().rstrip().splitlines()[-1:]}", flush=True
            )
            self._pack()

    def _pack(self) -> None:
        if self.archive is None:
            return
        with tarfile.open(self.archive, "w:gz") as tar:
            tar.add(self.reports, self.reports.name)


def run(
    reports: Path, minutes: float, device: str, only: str, archive: Path | None, jobs: int = 1
) -> tuple[bool, list[str]]:
    """Runs what has no report yet, as far as the time goes.

    Args:
        reports: Folder of the reports.
        minutes: How long it may take.
        device: "cpu" or "gpu".
        only: Part of the names of the pieces to run.
        archive: File that also gets all reports.
        jobs: How many run at a time.

    Returns:
        Whether all that was asked for has its reports, and the pieces that failed in this call.
    """
    reports.mkdir(parents=True, exist_ok=True)
    pieces = Pieces(reports, time.monotonic() + minutes * 60, device, archive)
    wanted = [piece for piece in _pieces(reports, device) if only in piece[0]]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda piece: pieces.run(*piece), wanted))
    return not pieces.left, pieces.failed


def _pieces(reports: Path, device: str) -> Iterator[tuple[str, list[str]]]:
    """Name and command of everything that has not been done."""
    for cell in MATRIX:
        if not _compared(reports / f"{cell.name}.json"):
            yield cell.name, _command(cell, reports, device)
    if not (reports / "controls.xml").exists():
        report = f"--junit-xml={reports / 'controls.xml'}"
        yield "controls", [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", report, CONTROLS]


def _compared(report: Path) -> bool:
    """Whether a report is there, and not that of an arm that did not run."""
    return report.exists() and bool(json_verification(report.read_text("utf-8")).comparisons)


def _command(cell: Cell, reports: Path, device: str) -> list[str]:
    script = f"fixtures/{JOBS[cell.job][1]}/before.py"
    options = ["--device", device, "--workers", str(cell.workers), "--precision", cell.precision, "--repeat", "2"]
    written = [part for end in (".json", ".md", ".html") for part in ("--report", str(reports / f"{cell.name}{end}"))]
    command = [sys.executable, "-m", "raymigrate", "verify", script, "--offline", "--hub-size", cell.size]
    return [*command, *options, *written]


def _environment(device: str) -> dict[str, str]:
    from tests.jobs import RAY_SETTINGS  # noqa: PLC0415 - imports what `install` brings

    folders = [str(ROOT), str(SITE) if SITE.exists() else "", os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, folders))
    return {**os.environ, **RAY_SETTINGS, "PYTHONPATH": path, "RAYMIGRATE_TEST_DEVICE": device}


HEAD = """# The bundled jobs, original and converted, on {device}

B is the original script under the stand-in for the old Ray, C the converted one; each ran twice, on one machine with
the same libraries. "equal" means equal bits, in every step on every worker; "explained" means within the bound that the
arms' own repetitions give, or with a named cause. Throughput is that of C divided by that of B, the faster run of each;
memory is the most that a worker of C used. Of tiny models, whose steps take milliseconds, throughput is mostly noise.
"At once" is how many of these verifications shared the machine, by the times in their reports; the more, the less
throughput says.

{versions}. Ran {when}. Written by `python scripts/gpu_verify.py run{option}`.
"""


def table(reports: Path, device: str) -> str:
    """The reports that are there: a row for each cell of the matrix, a column for each gate.

    Args:
        reports: Folder of the reports.
        device: "cpu" or "gpu".
    """
    paths = {cell: reports / f"{cell.name}.json" for cell in MATRIX}
    found = {cell: json_verification(path.read_text("utf-8")) for cell, path in paths.items() if _compared(path)}
    if not found:
        return "No report is there yet.\n"
    first = next(iter(found.values()))
    columns = ["job", "size", "precision", "workers", *(gate.name for gate in first.comparisons[0].gates)]
    columns += ["at once", "throughput", "memory", "ran", "report"]
    lines = [_head(first, device, _when(found)), f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    crowds = _at_once(found)
    lines += [_row(cell, verification, crowds[cell]) for cell, verification in found.items()]
    told = {cell.name: explanations(verification.comparisons[0]) for cell, verification in found.items()}
    notes = [f"* {name}: {text}" for name, texts in told.items() for text in texts]
    return "\n".join([*lines, "", *notes, *([""] if notes else []), *_controls(reports / "controls.xml")])


def _controls(report: Path) -> list[str]:
    """What became of the negative controls, if they ran, and when: it may have been with an older state of main."""
    if not report.exists():
        return []
    suites = list(ElementTree.parse(report).iter("testsuite"))
    counts = {
        name: sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    }
    passed = 2 * counts["tests"] - sum(counts.values())
    began = [datetime.fromisoformat(suite.get("timestamp", "")) for suite in suites if suite.get("timestamp")]
    when = f", begun {min(began):%Y-%m-%d %H:%M} UTC" if began else ""
    what = "wrong conversions, each of which has to fail at the right gate, and right ones, which have to pass"
    return [f"Controls (`{CONTROLS}`): {what}. {passed} of {counts['tests']} did{when}.", ""]


def _when(found: Mapping[Cell, Verification]) -> str:
    spans = [_span(verification) for verification in found.values()]
    first, last = min(begin for begin, _ in spans), max(end for _, end in spans)
    return f"from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def _head(found: Verification, device: str, when: str) -> str:
    versions = [f"{library} {version}" for library, version in found.arms[0].versions.items()]
    return HEAD.format(
        device=found.arms[0].versions.get("device", "an unknown device"),
        versions=", ".join([*versions, *(fact for name, fact in found.machine.items() if name != "gpu")]),
        option="" if device == "gpu" else f" --device {device}",
        when=when,
    )


def _at_once(found: Mapping[Cell, Verification]) -> dict[Cell, int]:
    """How many verifications ran while one did, at most, itself included."""
    spans = {cell: _span(verification) for cell, verification in found.items()}
    crowds = {}
    for cell, (begin, end) in spans.items():
        moments = [begin, *(other for other, _ in spans.values() if begin < other < end)]
        crowds[cell] = max(sum(start <= moment < stop for start, stop in spans.values()) for moment in moments)
    return crowds


def _span(verification: Verification) -> tuple[datetime, datetime]:
    begin = datetime.fromisoformat(verification.started)
    return begin, begin + timedelta(seconds=verification.seconds)


def _row(cell: Cell, verification: Verification, at_once: int) -> str:
    arms = {letter: [arm for arm in verification.arms if arm.letter[0] == letter] for letter in "BC"}
    steps = {letter: _step_seconds(runs) for letter, runs in arms.items()}
    throughput = f"{steps['B'] / steps['C']:.2f}" if steps["B"] and steps["C"] else "unknown"
    memory = memory_text(max((run.memory or 0 for run in arms["C"]), default=0) or None)
    gates = [SIGNS[gate.status] for gate in verification.comparisons[0].gates]
    report = f"[{cell.name}]({cell.name}.md)"
    cells = [JOBS[cell.job][0], cell.size, cell.precision, str(cell.workers), *gates]
    ran = f"{_span(verification)[0]:%Y-%m-%d}"  # the rows may be of several loans, and of several states of main
    return f"| {' | '.join([*cells, str(at_once), throughput, memory, ran, report])} |"


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
    running.add_argument("--jobs", type=int, default=1, help="how many run at a time")
    running.add_argument("--archive", type=Path, help="also put all reports into this file, after each piece")
    options = parser.parse_args()
    if options.command == "pack":
        pack(options.folder)
    elif options.command == "install":
        install(options.part)
    else:
        reports = (options.reports or ROOT / "docs/verification" / options.device).resolve()
        done, failed = run(reports, options.minutes, options.device, options.only, options.archive, options.jobs)
        (reports / "README.md").write_text(table(reports, options.device), encoding="utf-8")
        print("all is done" if done else "call it again")
        if failed:
            raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
