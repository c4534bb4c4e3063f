"""A GPU that a script names, in whatever way, is one that its workers need."""

from pathlib import Path

import pytest

from tests.projects.files import write
from tests.rules.scripts import converted
from tests.test_cli import invoke

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


NATIVE = """
import torch
{before}
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(rows, batch_size=2)
{place}
for epoch in range(2):
    for batch in loader:
        batch = batch.to(device)
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
    print(f"epoch {{epoch}}")
"""


@pytest.mark.parametrize(
    ("before", "place", "needed"),
    [
        ('device = torch.device("cuda")', "model.to(device)", True),
        ('device = "cuda:0"', "model = model.to(device)", True),
        ("device = torch.cuda.current_device()", "model.cuda()", True),
        ('device = torch.device("cuda" if torch.cuda.is_available() else "cpu")', "model.to(device)", False),
        ('device = "cpu"', "model.to(device)", False),
    ],
)
def test_a_gpu_that_a_native_loop_names_is_one_of_its_workers(before: str, place: str, *, needed: bool) -> None:
    outcome = converted(NATIVE.format(before=before, place=place), to_accelerate=True, to_ray=True)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    assert (f"use_gpu={needed}" in outcome.text, "cpu=True" in outcome.text) == (True, not needed)


ACCELERATE = """
import torch
from accelerate import Accelerator{imports}
def train({parameters}):
    accelerator = Accelerator(mixed_precision={precision})
    model, optimizer, loader = accelerator.prepare(*make())
    for epoch in range(2):
        for batch in loader:
            accelerator.backward(model(batch).sum())
            optimizer.step()
        accelerator.print(f"epoch {{epoch}}")
{call}
"""
LAUNCHER = ", notebook_launcher"
SETTINGS = "class Config:\n    half = 'fp16'\n"


@pytest.mark.parametrize(
    ("imports", "parameters", "precision", "call", "needed"),
    [
        ("", "", '"fp16"', "train()", True),
        ("", "precision", "precision", 'train("fp16")', True),
        ("", 'precision="fp16"', "precision", "train()", True),
        (LAUNCHER, 'precision="fp16"', "precision", "notebook_launcher(train, (), num_processes=1)", True),
        (LAUNCHER, 'precision="fp16"', "precision", "args = ()\nnotebook_launcher(train, args)", True),
        ("", 'precision="fp16"', "precision", 'train("no")', False),
        ("", 'precision="bf16"', "precision", "train()", False),
        (LAUNCHER, "config", "config.half", f"{SETTINGS}notebook_launcher(train, (Config(),))", True),
        (LAUNCHER, "config", "config['half']", "given = dict(half='fp16')\nnotebook_launcher(train, [given])", True),
        (LAUNCHER, "config", "config['half']", "notebook_launcher(train, args=given)", False),
        (", debug_launcher", "half", "half", "debug_launcher(train, args=('fp16',))", False),  # whatever is given
        ("", "", 'None, **{"split_batches": True}', "train()", False),
    ],
)
def test_half_precision_that_only_gpus_have_asks_for_one(
    imports: str, parameters: str, precision: str, call: str, *, needed: bool
) -> None:
    script = ACCELERATE.format(imports=imports, parameters=parameters, precision=precision, call=call)
    outcome = converted(script, to_ray=True)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    assert f"use_gpu={needed}" in outcome.text


@pytest.mark.parametrize(
    ("precision", "told"),
    [
        ('"fp16"', "fp16 does nothing on workers without a GPU: they train in float32."),
        ("settings()", "If mixed_precision= is fp16, it does nothing on workers without a GPU: they train in float32."),
        ('"bf16"', ""),
        ("None", ""),
    ],
)
def test_fp16_on_workers_without_a_gpu_is_told(precision: str, told: str) -> None:
    script = ACCELERATE.format(imports="", parameters="", precision=precision, call="train()")
    outcome = converted(script, to_ray=True, gpu=False)
    assert [m.strip() for m in outcome.messages if "fp16" in m] == ([told] if told else [])
    assert not any("fp16" in message for message in converted(script, to_ray=True, gpu=True).messages)


WITH_HELPERS = """
from transformers import Trainer, TrainingArguments
{imports}

trainer = Trainer({model}, TrainingArguments("out"), train_dataset=rows)
trainer.train()
"""
HELPERS = """
import torch
from transformers import AutoModel

DEVICE = torch.device("cuda")


def move(model):
    return model.to(DEVICE)


def load():
    return move(AutoModel.from_pretrained("bert"))


def spread():
    return AutoModel.from_pretrained("bert", device_map="auto")


def plain(device=None):
    return AutoModel.from_pretrained("bert").to(device or "cpu")


class Loader:
    def load(self):
        return AutoModel.from_pretrained("bert").cuda()
"""


@pytest.mark.parametrize(
    ("imports", "model", "needed"),
    [
        ("from helpers import load", "load()", True),
        ("from helpers import load as make", "make()", True),
        ("import helpers", "helpers.spread()", True),
        ("from helpers import Loader", "Loader().load()", True),
        ("from helpers import plain", "plain()", False),
        ("from helpers import load, plain", "plain()", False),
    ],
)
def test_a_gpu_that_a_helper_of_another_file_asks_for(imports: str, model: str, needed: bool, tmp_path: Path) -> None:
    script = WITH_HELPERS.format(imports=imports, model=model)
    write(tmp_path, {"pyproject.toml": "", "train.py": script, "helpers.py": HELPERS})
    invoke("--to-ray", tmp_path / "train.py")
    assert f"use_gpu={needed}" in (tmp_path / "train.py").read_text()
