"""How long raymigrate takes, side by side with its peers, and how much memory. See benchmarks/README.md."""

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

import scenarios
from memory import memory
from peers import Peers

SCENARIOS = {
    "a": scenarios.tree,
    "b": scenarios.one_file,
    "c": scenarios.legacy_scripts,
    "d": scenarios.long_file,
    "memory": memory,
}


def main() -> int:
    options = parse_arguments()
    options.cache.mkdir(parents=True, exist_ok=True)
    settings = scenarios.Settings(options.cache.resolve(), options.runs, Peers(options.cache.resolve()))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, fastest of up to {options.runs} runs\n")
    reports = []
    for name in options.scenarios or SCENARIOS:
        reports.append(SCENARIOS[name](settings))
        print(reports[-1], flush=True)
    print(f"Load of the machine in the last minute: {os.getloadavg()[0]:.1f}")
    missed = [target for report in reports for target in report.targets if not target.met]
    return 1 if options.assert_targets and missed else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", choices=[[], *SCENARIOS], help="which; default: all")
    parser.add_argument("--assert", action="store_true", dest="assert_targets", help="exit 1 if a target is missed")
    parser.add_argument(
        "--runs", type=int, default=20, help="runs of quick commands, the fastest counts; default: %(default)s"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "raymigrate-benchmark",
        help="where inputs and peers are kept between runs; default: %(default)s",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
