"""A GPU that a script names, in whatever way, is one that its workers need."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
import argparse
import torch
from transformers import AutoModel, Trainer, TrainingArguments, pipeline

{before}
model = AutoModel.from_pretrained("bert")
trainer = Trainer(model, TrainingArguments("out"), train_dataset=rows)
trainer.train()
{behind}
"""
MOVED = "model = model.to(device)"


@pytest.mark.parametrize(
    ("before", "behind", "needed"),
    [
        ('device = "cuda"', MOVED, True),
        ('device = torch.device("cuda")', MOVED, True),
        ('device = torch.device("cuda", 0)', MOVED, True),
        ('name = "cuda:0"\ndevice = torch.device(name)', MOVED, True),
        ('number = 1\ndevice = f"cuda:{number}"', MOVED, True),
        ('def place(model, device="cuda"):\n    return model.to(device)', "place(model)", True),
        ("", 'model.to(torch.device("cuda"), non_blocking=True)', True),
        ("", 'x = torch.zeros(3, device="cuda")', True),
        ("", 'pipe = pipeline("fill-mask", model=model, device="cuda:0")', True),
        ("", 'pipe = pipeline("fill-mask", model=model, device=0)', True),
        ("number = 1", 'pipe = pipeline("fill-mask", model=model, device=number)', True),
        ("", 'pipe = pipeline("fill-mask", model=model, device=-1)', False),
        ("", 'pipe = pipeline("fill-mask", model=model, device=0 if torch.cuda.is_available() else -1)', False),
        ("", "show(model, device=0)", False),
        ('device = "cpu"', MOVED, False),
        ('device = "cuda" if torch.cuda.is_available() else "cpu"', MOVED, False),
        ('device = torch.device("cuda" if torch.cuda.is_available() else "cpu")', MOVED, False),
        ('device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda"', MOVED, False),
        ("device = choose()", MOVED, False),
        ('device = "cuda"', "print(device)", False),
        ("", "model = model.to(torch.float16)", False),
    ],
)
def test_a_gpu_by_its_name_is_asked_for(before: str, behind: str, *, needed: bool) -> None:
    outcome = converted(SCRIPT.format(before=before, behind=behind), to_ray=True)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    assert (f"use_gpu={needed}" in outcome.text, "use_cpu=True" in outcome.text) == (True, not needed)
