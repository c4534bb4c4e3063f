"""RM421: positional arguments of the configuration classes become keywords."""

import pytest

from tests.rules.scripts import converted

IMPORTS = "from ray.air.config import RunConfig, ScalingConfig\n\n"


@pytest.mark.parametrize(
    ("given", "then"),
    [
        ('ScalingConfig({"CPU": 0}, 2)', "ScalingConfig(num_workers=2)"),
        ("ScalingConfig(...)", "ScalingConfig(...)"),
        ("ScalingConfig(..., 2)", "ScalingConfig(..., 2)"),
        ("RunConfig(...)", "RunConfig(...)"),
    ],
)
def test_a_sketch_with_dots_stays(given: str, then: str) -> None:
    outcome = converted(f"{IMPORTS}print({given})\n")
    assert outcome.text.endswith(f"print({then})\n")
