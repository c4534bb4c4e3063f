"""`python -m tests.fuzz`: makes cases until the time is over, and keeps those that fail."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import ROOT
from tests.fuzz.cases import made
from tests.fuzz.checks import check


def main() -> int:
    """Prints each failure with the command that makes it again; 1 if there was one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--keep", type=Path, default=ROOT / "build/fuzz", help="where the files of failed cases go")
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    end = time.monotonic() + given.seconds
    failed = number = 0
    while (given.case is None and time.monotonic() < end) or number == 0:
        case = made(given.seed, given.case if given.case is not None else number)
        number += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(case, Path(folder))
            except Exception as error:  # of the engine, or a FailedError
                failed += 1
                kept = given.keep / case.name.split()[0].replace(":", "-")
                shutil.rmtree(kept, ignore_errors=True)
                for name, data in case.files.items():
                    (kept / name).parent.mkdir(parents=True, exist_ok=True)
                    (kept / name).write_bytes(data)
                print(f"{case.name} {' '.join(case.options)}: {type(error).__name__}: {error}\n    {kept}", flush=True)
    print(f"{number} cases, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
