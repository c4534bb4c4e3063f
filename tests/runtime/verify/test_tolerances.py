"""How far two runs may be apart: by device, precision and libraries, and by what repetitions of a job show."""

from __future__ import annotations

from typing import Any

import pytest

from raymigrate.runtime.verify.compare import compare, pair_of
from raymigrate.runtime.verify.pairs import DRIFT, EXACT, GPU_FLOAT32, HALF, TF32, tolerance_of
from raymigrate.runtime.verify.results import Gate, Status
from tests.runtime.verify.runs import VERSIONS, made_up

OLD = {**VERSIONS, "transformers": "4.30.2"}
GPU = {"device": "cuda"}
HALF_GPU = {"device": "cuda", "precision": "bf16"}


@pytest.mark.parametrize(
    ("left", "right", "tolerance"),
    [
        ({}, {}, EXACT),
        ({"precision": "bf16"}, {"precision": "bf16"}, EXACT),
        ({"versions": OLD}, {}, DRIFT),
        ({"versions": OLD, "precision": "bf16"}, {"precision": "bf16"}, HALF),
        (GPU, GPU, GPU_FLOAT32),
        ({"device": "cuda", "precision": "tf32"}, {"device": "cuda", "precision": "tf32"}, TF32),
        (HALF_GPU, HALF_GPU, HALF),
    ],
)
def test_device_precision_and_libraries_choose_it(left: dict[str, Any], right: dict[str, Any], tolerance: Any) -> None:
    assert tolerance_of(made_up("B", **left), made_up("C", **right))[0] is tolerance


def gates(kind: dict[str, Any], *, repeated: float, other: float) -> dict[str, Gate]:
    """B and C, whose losses differ by the factor `other`, while those of repetitions differ by `repeated`."""
    runs = [made_up("B", **kind), made_up("B2", scale=repeated, **kind), made_up("C", scale=other, **kind)]
    return {gate.name: gate for gate in compare(pair_of("B", "C", runs), "the conversion").gates}


def test_float32_on_a_gpu_may_differ_by_twice_the_spread_of_a_repetition() -> None:
    found = gates(GPU, repeated=1 + 2e-4, other=1 + 3e-4)
    assert found["self"].status is found["course"].status is Status.EXPLAINED
    assert "twice the spread of repeated runs: loss 0.0004" in found["course"].checks[0].figures
    assert gates(GPU, repeated=1 + 2e-4, other=1 + 5e-4)["course"].status is Status.FAIL


def test_float32_on_a_gpu_keeps_its_bound_where_a_repetition_is_equal() -> None:
    assert gates(GPU, repeated=1, other=1 + 5e-6)["course"].status is Status.EXPLAINED
    assert gates(GPU, repeated=1, other=1 + 5e-5)["course"].status is Status.FAIL


def test_half_precision_must_stay_within_twice_the_spread() -> None:
    assert gates(HALF_GPU, repeated=1.001, other=1.0015)["course"].status is Status.EXPLAINED
    assert gates(HALF_GPU, repeated=1.001, other=1.003)["course"].status is Status.FAIL
    assert gates(HALF_GPU, repeated=1, other=1.0001)["course"].status is Status.FAIL


def test_no_spread_excuses_a_job_that_moves_by_more_than_half_precision() -> None:
    assert gates(HALF_GPU, repeated=1.1, other=1.05)["course"].status is Status.FAIL
    assert gates(GPU, repeated=1.1, other=1)["self"].status is Status.FAIL


def test_on_the_cpu_a_job_that_does_not_repeat_itself_is_undecided() -> None:
    assert gates({}, repeated=1 + 1e-7, other=1)["self"].status is Status.FAIL
