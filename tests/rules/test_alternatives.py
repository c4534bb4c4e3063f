"""Legacy trainers that are imported in several ways convert: none of the ways is left on current Ray."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from accelerate import Accelerator
{imports}

def loop(config):
    accelerator = Accelerator()


trainer = {trainer}(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
trainer.fit()
"""
LATER = "from ray.train.huggingface import AccelerateTrainer"
FIRST = "from ray.train.huggingface.accelerate import AccelerateTrainer"
DEEP = "from ray.train.huggingface.accelerate.accelerate_trainer import AccelerateTrainer"
CONFIG = "from ray.air.config import ScalingConfig\n"


@pytest.mark.parametrize(
    ("imports", "trainer"),
    [
        (f"{CONFIG}try:\n    {LATER}\nexcept ImportError:\n    {FIRST}\n", "AccelerateTrainer"),
        (f"{CONFIG}try:\n    {LATER} as AT\nexcept Exception:  # 2.4\n    {FIRST} as AT\n", "AT"),
        (
            f"{CONFIG}try:\n    {LATER}\nexcept (ImportError, ModuleNotFoundError):\n    try:\n        {FIRST}\n"
            f"    except ImportError:\n        {DEEP}\n",
            "AccelerateTrainer",
        ),
        (
            f"try:\n    {LATER}\n    from ray.train import ScalingConfig\nexcept ImportError:\n    {FIRST}\n"
            "    from ray.air.config import ScalingConfig\n",
            "AccelerateTrainer",
        ),
        (
            f'{CONFIG}from packaging import version\nif version.parse(ray.__version__) >= version.parse("2.5"):\n'
            f"    {LATER}\nelse:\n    {FIRST}\n",
            "AccelerateTrainer",
        ),
    ],
)
def test_ways_that_are_all_gone_become_one_import(imports: str, trainer: str) -> None:
    outcome = converted(SCRIPT.format(imports=imports, trainer=trainer))
    assert not {"AccelerateTrainer", "except", "else:"} & set(outcome.text.replace("(", " ").split())
    assert outcome.text.count("from ray.train.torch import TorchTrainer\n") == 1
    assert "from ray.train import ScalingConfig\n" in outcome.text
    assert "trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))" in outcome.text


@pytest.mark.parametrize(
    "other",
    [
        "AccelerateTrainer = None",
        "from own import AccelerateTrainer",
        "from ray.train.torch import TorchTrainer as AccelerateTrainer",
        f"{FIRST}\n    OLD = True",
    ],
)
def test_other_ways_stay(other: str) -> None:
    imports = f"{CONFIG}try:\n    {LATER}\nexcept ImportError:\n    {other}\n"
    outcome = converted(SCRIPT.format(imports=imports, trainer="AccelerateTrainer"))
    assert LATER in outcome.text and other in outcome.text


@pytest.mark.parametrize("other", ["AccelerateTrainer = None", "AccelerateTrainer = object"])
def test_a_trainer_that_is_missing_and_called_is_told(other: str) -> None:
    imports = f"{CONFIG}try:\n    {LATER}\nexcept ImportError:\n    {other}\n"
    outcome = converted(SCRIPT.format(imports=imports, trainer="AccelerateTrainer"))
    assert outcome.lines("RM692", Kind.MANUAL)


def test_annotations_stay_with_a_trainer_that_stays() -> None:
    script = SCRIPT.replace("accelerate_config={{}}", "accelerate_config=ray.read()") + (
        "\ndef run(trainer: AccelerateTrainer):\n    other: AccelerateTrainer = trainer\n    return other.fit()\n"
    )
    outcome = converted(script.format(imports=f"{CONFIG}{LATER}\n", trainer="AccelerateTrainer"))
    assert "trainer: AccelerateTrainer" in outcome.text and "other: AccelerateTrainer" in outcome.text
    assert len(outcome.lines("RM209", Kind.MANUAL)) == 2
