"""The ladder of gates: each module has one `gate(pair) -> Gate`, and asks one question of two runs."""

from raymigrate.runtime.verify.gates import alive, contract, course, end, evaluation, failure, outcome, repeated, start

LADDER = (repeated, contract, start, course, end, evaluation, outcome, failure, alive)
