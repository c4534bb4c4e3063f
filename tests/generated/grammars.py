"""All programs, each known by its number, which decides on grammar, meaning, spelling and moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.generated.answers import loop_program, trainer_program
from tests.generated.moves import cells, respelled
from tests.generated.surroundings import SURROUNDINGS, with_search
from tests.generated.trials import Program

GRAMMARS: dict[Callable[[Random], Program], int] = {trainer_program: 2, loop_program: 1}
MOVES = [0, 0, 1, 1, 2, 3, 4]  # of a program
SEARCHED = 0.3  # of the programs with a Tuner have a scheduler or a search algorithm
SURROUNDED = 0.25  # of all programs
NOTEBOOKS = 0.15  # of the programs that are moved


def program(number: int) -> Program:
    """The program with a number."""
    random, around = Random(f"program {number}"), Random(f"around {number}")  # two, so that numbers keep their programs
    made = random.choices(list(GRAMMARS), list(GRAMMARS.values()))[0](random)
    if around.random() < SEARCHED:
        made = with_search(around, made)
    texts, moves = respelled(random, made.files, random.choice(MOVES))
    if around.random() < SURROUNDED:
        texts, more = respelled(around, texts, around.choice([1, 1, 2]), SURROUNDINGS)
        moves += more
    if moves and random.random() < NOTEBOOKS:
        texts["train.ipynb"] = cells(random, texts.pop("train.py"))
        moves.append("cells")
    return replace(made, files=texts, moves=tuple(moves))
