"""Verifies one plain script under two versions of its libraries, and writes down what came of it.

    python scripts/verify_upgrades.py            # all
    python scripts/verify_upgrades.py 4.57       # what begins with this version
    python scripts/verify_upgrades.py --table    # runs nothing; writes the table anew from the reports

The requirements files beside the reports in `docs/verification/upgrade/` become environments first, which takes minutes
and a package index.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from raymigrate.runtime.verify.reporting.json import json_verification
from raymigrate.runtime.verify.reporting.wording import headline
from raymigrate.runtime.verify.results import Verification
from scripts.verify_bundled_jobs import SIGNS, explanations

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs/verification/upgrade"
SCRIPT = "fixtures/to_ray/trainer_fsdp_file/before.py"
TO = "5.23"
HEAD = f"""# Does an upgrade change a training?

A script that trains GPT-2 with a Trainer on rows of unequal length, `{SCRIPT}`, is run
as it is under two versions of transformers, on the CPU, with model and data of the offline hub. "equal" means equal
bits of every step. Written by `python scripts/verify_upgrades.py`; the requirements files and the reports lie beside
this file.
"""


@dataclass(frozen=True)
class Upgrade:
    """A version to come from, and how the script is started.

    Args:
        version: Of transformers.
        processes: How many train.
    """

    version: str
    processes: int

    @property
    def name(self) -> str:
        """Name of its reports."""
        return f"gpt2-{self.version}-{TO}-{self.processes}"

    @property
    def command(self) -> list[str]:
        """What is run."""
        folder = FOLDER.relative_to(ROOT)
        launch = ["--launch", f"torchrun --nproc-per-node {self.processes}"] if self.processes > 1 else []
        return [
            *("raymigrate", "verify", SCRIPT, "--offline", "--device", "cpu", *launch),
            *("--environment-before", f"{folder}/transformers-{self.version}.txt"),
            *("--environment-after", f"{folder}/transformers-{TO}.txt"),
            *("--report", f"{folder}/{self.name}.json", "--report", f"{folder}/{self.name}.md"),
        ]


UPGRADES = (Upgrade("4.57", 1), Upgrade("4.57", 2), Upgrade("4.49", 1), Upgrade("4.49", 2))


def table() -> str:
    """The page over the reports that are there."""
    found = {}
    for upgrade in UPGRADES:
        path = FOLDER / f"{upgrade.name}.json"
        if path.exists():
            found[upgrade] = json_verification(path.read_text(encoding="utf-8"))
    gates = [gate.name for gate in next(iter(found.values())).comparisons[0].gates]
    lines = [HEAD, f"| from | to | processes | {' | '.join(gates)} |", f"|---|---|---|{'---|' * len(gates)}"]
    for upgrade, verification in found.items():
        signs = [SIGNS[gate.status] for gate in verification.comparisons[0].gates]
        lines.append(f"| {' | '.join([*_versions(verification), str(upgrade.processes), *signs])} |")
    for upgrade, verification in found.items():
        lines += ["", f"## {upgrade.version} to {TO}, {upgrade.processes} process{'es'[: 2 * (upgrade.processes > 1)]}"]
        lines += ["", f"{headline(verification)} [Report]({upgrade.name}.md)."]
        told = explanations(verification.comparisons[0])
        lines += ["", *(f"* {text}" for text in told)] if told else []
    return "\n".join(lines) + "\n"


def _versions(verification: Verification) -> list[str]:
    """The libraries of both sides."""
    names = ("transformers", "accelerate", "torch")
    return [", ".join(f"{name} {arm.versions[name]}" for name in names) for arm in verification.arms]


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--table", action="store_true", help="only write the table")
    options = parser.parse_args()
    for upgrade in () if options.table else UPGRADES:
        if not options.versions or upgrade.version in options.versions:
            print("$", *upgrade.command, flush=True)
            if subprocess.run([sys.executable, "-m", *upgrade.command], cwd=ROOT, check=False).returncode == 2:
                raise SystemExit(f"{upgrade.name} could not be verified")
    (FOLDER / "README.md").write_text(table(), encoding="utf-8")


if __name__ == "__main__":
    main()
