"""RM711: names that are found elsewhere today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted


@pytest.mark.parametrize(
    "script",
    [
        "from transformers.deepspeed import is_deepspeed_zero3_enabled\nprint(is_deepspeed_zero3_enabled(), ray)\n",
        "from transformers.deepspeed import HfDeepSpeedConfig as C, deepspeed_init as init\nprint(C, init)",
        "import transformers.deepspeed\nprint(transformers.deepspeed.is_deepspeed_zero3_enabled())\n",
        "from transformers import deepspeed as ds\nprint(ds.is_deepspeed_available())\n",
    ],
)
def test_the_names_of_transformers_deepspeed_are_in_its_integrations(script: str) -> None:
    outcome = converted(f"import ray\n{script}")
    assert "transformers.integrations import" in outcome.text or "transformers.integrations." in outcome.text
    assert not outcome.lines("RM692", Kind.MANUAL)


@pytest.mark.parametrize(
    ("script", "gone"),
    [
        ("import ray.air.checkpoint\nprint(ray.air.checkpoint.Checkpoint('/a'))\n", "import ray.air.checkpoint\n"),
        ("import ray, transformers.deepspeed\nprint(transformers.deepspeed.deepspeed_config())\n", "deepspeed\n"),
    ],
)
def test_an_import_of_a_module_goes_with_the_last_use_of_its_names(script: str, gone: str) -> None:
    outcome = converted(script)
    assert gone not in outcome.text and not outcome.lines("RM692", Kind.MANUAL)
