"""--to-accelerate: `model.module if hasattr(model, "module") else model`, where the model is prepared and elsewhere."""

import pytest

from tests.rules.test_to_accelerate import LOOP, accelerated

FORMS = [
    'model.module if hasattr(model, "module") else model',
    'model if not hasattr(model, "module") else model.module',
    "model.module if isinstance(model, nn.DataParallel) else model",
]
SCRIPT = """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from job import data


def train(model, device):
    loader = DataLoader(data, batch_size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).to(device)
if torch.cuda.device_count() > 1:
    model = nn.DataParallel(model)
train(model, device)
"""


@pytest.mark.parametrize("form", FORMS)
def test_a_prepared_model_is_unwrapped(form: str) -> None:
    assert "inner = accelerator.unwrap_model(model)\n" in accelerated(LOOP, f"inner = {form}\nprint(inner)\n").text


@pytest.mark.parametrize("form", FORMS)
def test_a_model_without_a_wrapper_is_itself(form: str) -> None:
    text = accelerated(SCRIPT, f"inner = {form}\nprint(inner)\n", head="").text
    assert "train(model, accelerator)\ninner = model\n" in text


LOAD = "state = torch.load('m.pt')\nmodel.load_state_dict(state['model']{strict})\n"
OLD_FILES = "In files that were saved from the model in its wrapper"


def _told_of_old_files(load: str, *, wrapped: bool = True) -> list[str]:
    text = SCRIPT.replace("train(model, device)\n", f"{load}train(model, device)\n")
    text = text if wrapped else text.replace("nn.DataParallel(model)", "model.train()")
    return [message for message in accelerated(text, head="").messages if message.startswith(OLD_FILES)]


def test_files_of_a_wrapped_model_have_other_names() -> None:
    assert len(_told_of_old_files(LOAD.format(strict=""))) == 1
    assert "takes nothing out of them" in _told_of_old_files(LOAD.format(strict=", strict=False"))[0]
    assert not _told_of_old_files(LOAD.format(strict=""), wrapped=False)
    assert not _told_of_old_files(LOAD.format(strict="").replace("model.load", "model.module.load"))
    inner = LOAD.format(strict="").replace("model.load", "inner.load")
    assert not _told_of_old_files(f"inner = model.module if hasattr(model, 'module') else model\n{inner}")
    stripped = "clean = {k.replace('module.', ''): v for k, v in torch.load('m.pt').items()}\n"
    assert not _told_of_old_files(stripped + "model.load_state_dict(clean)\n")


@pytest.mark.parametrize(
    ("save", "told"),
    [
        ("torch.save({'model': model.module.state_dict(), 'optimizer': 1}, 'm.pt')", 0),
        ("inner = model.module\ntorch.save(inner.state_dict(), 'm.pt')", 0),
        ("inner = model.module if hasattr(model, 'module') else model\ntorch.save(inner.state_dict(), 'm.pt')", 0),
        ("torch.save(model.state_dict(), 'm.pt')", 1),
        ("torch.save(other.module.state_dict(), 'other.pt')", 1),
        ("torch.save(model.state_dict(), 'm.pt')\ntorch.save(model.module.state_dict(), 'inner.pt')", 1),
    ],
)
def test_files_that_the_script_saves_from_the_inner_model_have_no_other_names(save: str, told: int) -> None:
    load = LOAD.format(strict="")
    assert len(_told_of_old_files(f"{load}train(model, device)\n{save}\n")) == told


@pytest.mark.parametrize(
    ("reads", "unwrapped"),
    [
        ("for name, weight in model.named_parameters():\n    print(name, weight)", True),
        ("print({name for name, _ in model.named_modules()})", True),
        ("print(dict(model.named_buffers()))", True),
        ("for _, weight in model.named_parameters():\n    print(weight)", False),
        ("print([weight for name, weight in model.named_parameters()])", False),
        ("print(list(model.parameters()))", False),
    ],
)
@pytest.mark.parametrize("indent", ["", "    "])
def test_names_are_those_of_the_model_itself(reads: str, unwrapped: bool, indent: str) -> None:
    """They begin with "module." on the wrapper."""
    lines = "".join(f"{indent}{line}\n" for line in reads.splitlines())
    assert ("accelerator.unwrap_model(model).named_" in accelerated(LOOP, lines).text) is unwrapped
