"""How CPU time and memory grow with all that there can be many of in a file or a project. See benchmarks/README.md."""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from measure import REPOSITORY, environment
from reports import Report, Target

sys.path.insert(0, str(REPOSITORY))

from benchmarks.growth_cases import CASES
from benchmarks.growth_inputs import Case

EXPONENT = 1.2
MEGABYTES = 1_000
REPEATS = 3  # of a case that misses its target
SECONDS = 300  # of CPU time, after which a command is ended


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only cases whose names hold one of them; default: all")
    parser.add_argument("--assert", action="store_true", dest="assert_targets", help="exit 1 if a target is missed")
    options = parser.parse_args()
    cases = [case for case in CASES if not options.words or any(word in case.name for word in options.words)]
    report = growth(cases)
    print(report)
    return int(options.assert_targets and not all(target.met for target in report.targets))


def growth(cases: Iterable[Case]) -> Report:
    """CPU time of the command for inputs of three sizes, and the memory that the largest of them takes."""
    report = Report("growth", ("", "n", "s at n", "s at 2n", "s at 4n", "exponent", "MB at 4n"))
    for case in cases:
        times, peaks = _measured(case)
        for _ in range(REPEATS):
            if _exponent(times) > EXPONENT:  # other work makes a command slower, never faster: the fastest run counts
                times = list(map(min, times, _measured(case)[0]))
        exponent = _exponent(times)
        seconds = [f"{time:.2f}" for time in times[1:]]
        report.rows.append((case.name, f"{case.size:,}", *seconds, f"{exponent:.2f}", f"{peaks[-1]:.0f}"))
        print(*report.rows[-1], sep="\t", file=sys.stderr, flush=True)
        if exponent > EXPONENT:
            report.targets.append(Target(f"exponent of {case.name}", exponent, EXPONENT, ""))
        if peaks[-1] > MEGABYTES:
            report.targets.append(Target(f"memory for {case.name}", peaks[-1], MEGABYTES, "MB"))
    return report


def _measured(case: Case) -> tuple[list[float], list[float]]:
    """CPU seconds and megabytes for one, n, 2n and 4n."""
    times, peaks = zip(*(used(case, number) for number in (1, case.size, 2 * case.size, 4 * case.size)), strict=True)
    return list(times), list(peaks)


def _exponent(times: list[float]) -> float:
    """Of the power of the number with which a time grows; none where it hardly takes longer than to start.

    Args:
        times: For one, n, 2n and 4n.
    """
    less, more = times[1] - times[0], times[3] - times[0]
    return math.log(more / less, 4) if less > 0.05 and more > 0.2 else 0.0


def used(case: Case, number: int) -> tuple[float, float]:
    """CPU seconds and megabytes that the command takes for so many; the seconds are infinite if it takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        case.write(Path(folder, "job"), number)
        command = [sys.executable, "-m", "raymigrate", "-q", "--jobs", "1", *case.arguments, "job"]
        process = subprocess.Popen(
            ["prlimit", f"--cpu={SECONDS}", *command],
            cwd=folder,
            env=environment(Path(tempfile.gettempdir())),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode < 0:
        return math.inf, usage.ru_maxrss / 1024
    if process.returncode > 1:
        sys.exit(f"{case.name}, {number:,}: ended with {process.returncode}\n{said.decode()[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
