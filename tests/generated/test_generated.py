"""Generated programs do after conversion what they mean, in every spelling; what is not converted is reported.

`python -m tests.generated --help` tries more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.generated.grammars import program
from tests.generated.libraries import Notes
from tests.generated.trials import judged

PROGRAMS = 2000
PARTS = 40
FOUND = (400731, 400812, 402410, 402430, 405495, 405909)  # came out wrong once


def problems_of(numbers: Iterable[int]) -> str:
    """What is wrong with some programs, and how they look after conversion; empty if nothing is."""
    verdicts = {number: judged(program(number)) for number in numbers}
    return "\n\n".join(
        "\n".join([f"program {number}: {verdict.wrong}", *verdict.after.values()])
        for number, verdict in verdicts.items()
        if verdict.wrong
    )


@pytest.mark.rotating(4)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_generated_program_does_what_it_means(part: int) -> None:
    assert not problems_of(range(part, PROGRAMS, PARTS))


@pytest.mark.parametrize("number", FOUND)
def test_a_program_that_came_out_wrong_once_does_what_it_means(number: int) -> None:
    assert not problems_of([number])


@pytest.mark.parametrize("number", range(3))
def test_a_wrong_answer_is_seen(number: int) -> None:
    right = replace(program(number), moves=(), left=frozenset())
    assert judged(replace(right, wanted=Notes())).wrong
