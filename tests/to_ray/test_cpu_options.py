"""RM803, RM821: an option that chose the CPU, beside ScalingConfig(use_gpu=), which chooses it now."""

import pytest

from tests.rules.scripts import converted

PARSER = """\
import argparse, os, torch
parser = argparse.ArgumentParser()
parser.add_argument("--cpu", action="store_true")
args = parser.parse_args()
no_gpu = not torch.cuda.is_available()
"""
TRAINER = """\
from transformers import AutoModel, Trainer, TrainingArguments
trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("/out", GIVEN))
trainer.train()
"""
ACCELERATE = """\
from accelerate import Accelerator
accelerator = Accelerator(GIVEN)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(2):
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
    print(epoch)
"""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("args.cpu", True),
        ("bool(args.cpu)", True),
        ("args.cpu or not torch.cuda.is_available()", True),
        ("vars(args)['cpu']", True),
        ("bool(os.environ.get('CPU'))", True),
        ("not torch.cuda.is_available()", False),
        ("no_gpu", False),
        ("True", False),
        ("False", False),
        ("None", False),
    ],
)
@pytest.mark.parametrize(("script", "names"), [(TRAINER, ("use_cpu", "no_cuda")), (ACCELERATE, ("cpu",))])
@pytest.mark.parametrize("gpu", [None, False, True])
def test_an_option_for_the_cpu_is_told(
    value: str, told: bool, script: str, names: tuple[str, ...], gpu: bool | None
) -> None:
    for name in names:
        outcome = converted(PARSER + script.replace("GIVEN", f"{name}={value}"), to_ray=True, gpu=gpu)
        assert "TorchTrainer(" in outcome.text, outcome.messages
        said = [message for message in outcome.messages if message.startswith((f"`{value}` ", f"Where `{value}` "))]
        assert len(said) == told
        assert all(("hold a GPU" in message) is bool(gpu) for message in said)
