"""`python -m tests.attack [WORD]`: runs the attacks (those whose name holds the word) and prints a table."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.attack.cases import CASES


def main() -> int:
    """1 if something came that was not expected."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    failed = 0
    print("| attack | expected | got |\n|---|---|---|")
    for case in CASES:
        if word in case.name:
            with tempfile.TemporaryDirectory() as folder:
                got = case.act(Path(folder))
            well = got.startswith(case.expected)
            failed += not well
            print(f"| {case.name} | {case.expected} | {'the same' if got == case.expected else got} |", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
