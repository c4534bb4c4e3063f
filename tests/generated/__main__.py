"""`python -m tests.generated`: converts programs from a number on, runs them, and prints those that come out wrong."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.generated.grammars import program
from tests.generated.trials import judged


def main() -> int:
    """Prints each failure with the command that makes it again, and the figures; 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.generated", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="number of the first program")
    parser.add_argument("--programs", type=int, default=1000, help="how many")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="or as many as there is time for")
    parser.add_argument("--refusals", action="store_true", help="print also those that convert before their moves only")
    parser.add_argument("--show", action="store_true", help="print every program, before and after")
    given = parser.parse_args()
    started = time.monotonic()
    spellings, moves, refused = set[int](), Counter[str](), Counter[str]()
    tried = left = failed = 0
    while tried < given.programs and time.monotonic() - started < given.seconds:
        number = given.seed + tried
        tried += 1
        made = program(number)
        verdict = judged(made)
        spellings.add(hash(tuple(made.files.items())))
        moves.update(made.moves or ["none"])
        refuses = bool(verdict.refused and not made.left)
        left += bool(verdict.refused and made.left)
        refused.update([" ".join(verdict.refused)] if refuses else [])
        failed += bool(verdict.wrong)
        if verdict.wrong or given.show or (given.refusals and refuses):
            print(f"python -m tests.generated --seed {number} --programs 1 --show   # {' '.join(made.moves)}")
            print(verdict.wrong or f"right; refused: {verdict.refused}", flush=True)
        if given.show:
            for title, texts in (("before", made.files), ("after", verdict.after)):
                for name, text in texts.items():
                    print(f"--- {name} {title}\n{text}")
    print(
        f"{tried} programs from {given.seed} on, {len(spellings)} different texts, {time.monotonic() - started:.0f} s"
    )
    print(f"moves: {dict(moves.most_common())}")
    print(f"{left} leave something as they are first spelled, and tell it; by moves do: {dict(refused.most_common())}")
    print(f"{failed} wrong")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
