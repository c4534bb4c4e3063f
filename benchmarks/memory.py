"""How much memory a run takes at most, as its files grow in number."""

import json
import subprocess
import sys
from pathlib import Path

import inputs
from measure import environment
from reports import Report, Target
from scenarios import Settings

LEGACY = (500, 2_000)
CLEAN = (1_000, 10_000)
MOST = {"legacy": 100, "clean": 60}  # megabytes, for the larger number of files
# VmHWM starts anew with a program, where ru_maxrss remembers that of the process that started it.
PEAKS = """
import json, os, re, resource, sys
from pathlib import Path
from raymigrate.cli import main
try:
    main(sys.argv[2:])
finally:
    own = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
    largest_worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    Path(sys.argv[1]).write_text(json.dumps([int(own), largest_worker]))
"""


def memory(settings: Settings) -> Report:
    """Peaks of the main process and of its largest worker, converting legacy scripts and searching clean files."""
    report = Report(
        "memory, at its peak", ("", "files", "main process, MB", "largest worker, MB", "kB more for a file")
    )
    for name, counts, arguments in (("legacy", LEGACY, ()), ("clean", CLEAN, ("--check",))):
        totals = []
        for count in counts:
            if name == "legacy":
                folder = inputs.legacy_scripts(settings.cache / f"legacy-{count}", count)
            else:
                folder = inputs.clean_tree(settings.cache, count)
            own, worker = peaks(settings, *arguments, folder)
            totals.append(own + worker)
            more = 1024 * (totals[-1] - totals[0]) / (count - counts[0]) if count > counts[0] else 0
            report.rows.append((name, f"{count:,}", f"{own:.1f}", f"{worker:.1f}", f"{more:.1f}" if more else ""))
        report.targets.append(Target(f"{counts[-1]:,} {name} files", totals[-1], MOST[name], "MB"))
    return report


def peaks(settings: Settings, *arguments: str | Path) -> tuple[float, float]:
    """Megabytes that the main process and its largest worker take at most."""
    result = settings.cache / "peaks.json"
    subprocess.run(
        [sys.executable, "-c", PEAKS, result, *arguments],
        env=environment(settings.cache),
        capture_output=True,
        check=False,
    )
    own, worker = json.loads(result.read_text())
    result.unlink()
    return own / 1024, worker / 1024
