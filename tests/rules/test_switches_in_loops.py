"""RM203 where a loop gives the switch of the GPUs one value after the other: a function outside reads the last one."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
from accelerate import Accelerator
from ray.train import ScalingConfig
from ray.train.huggingface import AccelerateTrainer


def main():
{body}
"""
LOOP = "def loop(config):\n    accelerator = Accelerator(mixed_precision='no')\n"
TRAINER = "AccelerateTrainer(loop, accelerate_config={}, scaling_config=ScalingConfig(num_workers=2, use_gpu=gpu))\n"
BY_DEVICE = 'cpu=ray.train.torch.get_device().type == "cpu"'


def indented(text: str) -> str:
    """A text as the body of something."""
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("body", "decided"),
    [
        (f"{LOOP}made = []\nfor gpu in (True, False):\n    made.append({TRAINER.strip()})\n", BY_DEVICE),
        (f"{LOOP}for name, gpu in read():\n    {TRAINER}", BY_DEVICE),
        (f"{LOOP}while True:\n    gpu = bool(1)\n    {TRAINER}", BY_DEVICE),
        (f"{LOOP}gpu = read.gpu\n{TRAINER}", "cpu=not gpu"),
        (f"for gpu in (True, False):\n{indented(LOOP + TRAINER)}", "cpu=not gpu"),
        (
            f"for one in (1, 2):\n    def run():\n        gpu = one.gpu\n{indented(indented(LOOP + TRAINER))}",
            "cpu=not gpu",
        ),
    ],
)
def test_a_switch_of_a_loop_is_read_in_the_loop_only(body: str, decided: str) -> None:
    assert decided in converted(SCRIPT.format(body=indented(body))).text
