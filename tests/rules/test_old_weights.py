"""RM602: reads of pytorch_model.bin and adapter_model.bin, which transformers and peft of today do not write."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os
from pathlib import Path
import torch
from ray.air import session
from transformers import AutoModel
from transformers.utils import WEIGHTS_NAME
from other import download

model = AutoModel.from_pretrained("gpt2")
{save}
{use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "state = torch.load(os.path.join('/o', 'pytorch_model.bin'))",
        "state = torch.load(f'{download.folder}/pytorch_model.bin', map_location='cpu')",
        "state = torch.load(os.path.join('/o', WEIGHTS_NAME))",
        "state = torch.load(download.folder + '/adapter_model.bin')",
        "state = torch.load(Path('/o') / 'adapter_model.bin')",
        "there = os.path.exists('/o/pytorch_model.bin')",
        "with open('/o/pytorch_model.bin', 'rb') as file:\n    print(file)",
        "path = os.path.join('/o', 'adapter_model.bin')\nif os.path.isfile(path):\n    torch.load(path)",
        "NAME = 'pytorch_model.bin'\nstate = torch.load(os.path.join('/o', NAME))",
        "there = Path('/o/pytorch_model.bin').exists()",
        "there = (Path('/o') / 'adapter_model.bin').is_file()",
        "there = Path('/o').joinpath('pytorch_model.bin').exists()",
        "path = Path('/o') / 'pytorch_model.bin'\nif path.exists():\n    torch.load(path)",
        "there = 'pytorch_model.bin' in os.listdir('/o')",
        "size = os.path.getsize('/o/pytorch_model.bin')",
    ],
)
def test_a_read_of_old_weights_is_told_once(use: str) -> None:
    outcome = converted(SCRIPT.format(save="model.save_pretrained('/o')", use=use))
    assert len(outcome.lines("RM602", Kind.MANUAL)) == 1
    assert ("adapter_model.safetensors" in " ".join(outcome.messages)) == ("adapter" in use)


READ = "state = torch.load('/o/pytorch_model.bin')"
ADAPTER = "state = torch.load('/o/adapter_model.bin')"
OF_PEFT = "from peft.utils import WEIGHTS_NAME\ntorch.save(model.state_dict(), os.path.join('/o', WEIGHTS_NAME))"


@pytest.mark.parametrize(
    ("save", "use"),
    [
        ("", READ),
        ("model.save_pretrained('/o')\ntorch.save(model.state_dict(), '/o/pytorch_model.bin')", READ),
        ("model.save_pretrained('/o', safe_serialization=False)", ADAPTER),
        (f"model.save_pretrained('/o')\n{OF_PEFT}", ADAPTER),
        ("model.save_pretrained('/o')", "state = torch.load(download('repository', 'pytorch_model.bin'))"),
        ("model.save_pretrained('/o')", "print('pytorch_model.bin')"),
        (
            "model.save_pretrained('/o')",
            "from diffusers.utils import WEIGHTS_NAME as NAME\nstate = torch.load(os.path.join('/o', NAME))",
        ),
        ("model.save_pretrained('/o')", "there = download.path.endswith('pytorch_model.bin')"),
        ("model.save_pretrained('/o')", "there = 'pytorch_model.bin' in download.names()"),
        ("model.save_pretrained('/o')", "name = 'pytorch_model.bin'.replace('.bin', '.txt')"),
    ],
)
def test_files_from_elsewhere_are_left_alone(save: str, use: str) -> None:
    assert not converted(SCRIPT.format(save=save, use=use)).lines("RM602", Kind.MANUAL)


@pytest.mark.parametrize(
    ("save", "use"),
    [
        ("torch.save({}, '/o/pytorch_model.bin')", ADAPTER),
        (OF_PEFT, READ),
        ("model.base_model.save_pretrained('/o', safe_serialization=False)", READ),
    ],
)
def test_a_script_that_writes_one_kind_of_weights_is_told_of_the_other(save: str, use: str) -> None:
    outcome = converted(SCRIPT.format(save=f"model.save_pretrained('/o')\n{save}", use=use))
    assert len(outcome.lines("RM602", Kind.MANUAL)) == 1


PLAIN = """
import os
import torch
from transformers import AutoModel, Trainer, TrainingArguments

model = AutoModel.from_pretrained("gpt2")
name = os.path.join("/o/checkpoint-4", "{file}")
{use}
trainer = Trainer(model=model, args=TrainingArguments("/o"))
trainer.train()
"""
RESUME = "if os.path.exists(name):\n    model.load_state_dict(torch.load(name))"


@pytest.mark.parametrize(
    ("file", "use", "told"),
    [
        ("pytorch_model.bin", RESUME, 1),
        ("adapter_model.bin", RESUME, 1),
        ("model.bin", RESUME, 0),
        ("pytorch_model.bin", "torch.save(model.state_dict(), name)", 0),
        ("pytorch_model.bin", "print(name)", 0),
    ],
)
def test_a_plain_script_is_told_where_it_moves_to_ray(file: str, use: str, told: int) -> None:
    text = PLAIN.format(file=file, use=use)
    assert len(converted(text, to_ray=True).lines("RM602", Kind.MANUAL)) == told
    assert not converted(text).lines("RM602", Kind.MANUAL)


def test_a_plain_script_that_cannot_move_is_told_in_a_note() -> None:
    text = PLAIN.format(file="pytorch_model.bin", use=RESUME) + "trainer.train()\n"
    outcome = converted(text, to_ray=True)
    assert outcome.lines("RM802", Kind.MANUAL)
    assert outcome.lines("RM602", Kind.NOTE)
    assert not converted(text).findings


@pytest.mark.parametrize(
    ("head", "told_times"),
    [
        (
            "from ray.train.huggingface import TransformersTrainer\nresult = TransformersTrainer(init).fit()",
            1,
        ),
        ("from ray.train.huggingface import TransformersCheckpoint\nresult = TransformersCheckpoint('/o')", 0),
        (
            "from ray.train.huggingface import TransformersCheckpoint\n"
            "def look(checkpoint: TransformersCheckpoint):\n    folder = checkpoint.to_directory('/tmp/there')\n",
            1,
        ),
    ],
)
def test_the_checkpoint_of_a_run_holds_no_old_weights(head: str, told_times: int) -> None:
    indented = "    " if "def " in head else ""
    outcome = converted(f"import os\n{head}\n{indented}assert os.path.exists('/tmp/there/pytorch_model.bin')\n")
    told = "transformers >= 5 writes no pytorch_model.bin: this file is not found."
    assert sum(text.startswith(told) for text in outcome.messages) == told_times


DELETING = """import os

from transformers import Trainer, TrainerCallback


class Adapters(TrainerCallback):
    def on_save(self, args, state, control, **kwargs):
        weights = os.path.join(args.output_dir, "last", "pytorch_model.bin")
{body}


trainer = Trainer(model, args, callbacks=[Adapters()])
trainer.train()
trainer.save_model("out")
"""


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ("        if os.path.exists(weights):\n            os.remove(weights)", Kind.NOTE, "no such file to delete"),
        ("        if os.path.isfile(weights):\n            os.unlink(weights)", Kind.NOTE, "no such file to delete"),
        ("        os.remove(weights)", Kind.MANUAL, "no such file to delete"),
        ("        if os.path.exists(weights):\n            print(1)", Kind.MANUAL, "this file is not found"),
        ("        torch.load(weights)\n        os.remove(weights)", Kind.MANUAL, "this file is not found"),
    ],
)
def test_what_is_only_deleted_is_not_to_be_read(body: str, kind: Kind, told: str) -> None:
    outcome = converted("import torch\n" + DELETING.format(body=body), to_ray=True)
    assert len(outcome.lines("RM602", kind)) == 1
    assert [told in message for message in outcome.messages if "writes no pytorch_model.bin" in message] == [True]


NEW = "state = load_file('/o/model.safetensors')"


@pytest.mark.parametrize(
    "use",
    [
        f"try:\n    {READ}\nexcept FileNotFoundError:\n    {NEW}",
        f"if os.path.exists('/o/pytorch_model.bin'):\n    {READ}\nelse:\n    {NEW}",
        f"if os.path.exists('/o/model.safetensors'):\n    {NEW}\nelse:\n    {READ}",
        "name = 'pytorch_model.bin' if os.path.exists('/o/pytorch_model.bin') else SAFE_WEIGHTS_NAME\ntorch.load(name)",
        f"path = '/o/model.safetensors'\nif os.path.exists(path):\n    state = load_file(path)\nelse:\n    {READ}",
        f"def read(path='/o'):\n    if os.path.exists('/o/model.safetensors'):\n        return None\n    {READ}",
        "for name in ('model.safetensors', 'pytorch_model.bin'):\n    state = torch.load(f'/o/{{name}}')",
        "path = '/o/pytorch_model.bin'\nif state:\n    path = '/o/model.safetensors'\ntorch.load(path)",
    ],
)
def test_one_that_reads_the_new_ones_else_is_ready(use: str) -> None:
    assert not converted(SCRIPT.format(save="model.save_pretrained('/o')", use=use)).lines("RM602", Kind.MANUAL)


@pytest.mark.parametrize(
    "use",
    [
        f"try:\n    {READ}\nexcept FileNotFoundError:\n    state = None",
        f"try:\n    {READ}\n    {NEW}\nexcept FileNotFoundError:\n    state = None",
        f"{NEW}\nif state:\n    {READ}",
        f"if state:\n    {READ}\nelse:\n    state = load_file('/o/vectors.safetensors')",
    ],
)
def test_one_that_does_without_them_is_told(use: str) -> None:
    assert converted(SCRIPT.format(save="model.save_pretrained('/o')", use=use)).lines("RM602", Kind.MANUAL)
