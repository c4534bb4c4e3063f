"""Data that draws random numbers in the main process, beside a loop that draws too, is told; other data is not."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """\
import random

import numpy as np
import torch
import torchvision
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset
from torchvision import transforms
from transformers import DataCollatorForLanguageModeling


class Rows(Dataset):
    def __init__(self, transform=None):
        self.rows = torch.randn(8, 3)
        self.transform = transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.shown(self.rows[index])

    def shown(self, row):
        return {row}


def noisy(row):
    return row + torch.randn(3)


def collate(rows):
    return {collated}


rows = {dataset}
model = nn.Sequential(nn.Linear(3, 3){dropout})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(rows, batch_size=4{more})
for epoch in range(3):
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        {step}
"""
USUAL = {
    "row": "row",
    "collated": "torch.stack(rows)",
    "dataset": "Rows()",
    "dropout": ", nn.Dropout(0.1)",
    "more": "",
    "step": "pass",
}
CROP = "transforms.Compose([transforms.RandomCrop(3), transforms.ToTensor()])"


def told(**parts: str) -> list[str]:
    outcome = converted(SCRIPT.format(**{**USUAL, **parts}), to_accelerate=True)
    assert "accelerator.backward" in outcome.text
    return [message for message in outcome.messages if "in the main process" in message]


@pytest.mark.parametrize(
    "parts",
    [
        {"row": "row + torch.randn_like(row)"},
        {"row": "noisy(row)"},
        {"row": "row.clone().normal_()"},
        {"row": "row * random.random()", "step": "random.shuffle(order)"},
        {"row": "row + np.random.rand()", "step": "order = np.random.permutation(3)", "dropout": ""},
        {"dataset": "Rows(noisy)"},
        {"dataset": "Rows(lambda row: row + torch.rand(3))"},
        {"dataset": f"Rows(transform={CROP})"},
        {"dataset": f"Subset(torchvision.datasets.MNIST('data', transform={CROP}), range(3))"},
        {"collated": "torch.stack(rows) + torch.rand(1)", "more": ", collate_fn=collate"},
        {"more": ", collate_fn=DataCollatorForLanguageModeling(tokenizer)"},
        {"row": "noisy(row)", "dropout": "", "step": "noise = torch.randn(3)"},
        {"row": "noisy(row)", "more": ", num_workers=0"},
        {"row": "noisy(row)", "more": ", num_workers=settings.workers"},
    ],
)
def test_rows_and_steps_that_draw_from_one_generator_are_told(parts: dict[str, str]) -> None:
    (message,) = told(**parts)
    assert message.startswith("Where `settings.workers` is 0, the rows") == ("settings" in parts.get("more", ""))


@pytest.mark.parametrize(
    "parts",
    [
        {},  # random numbers of a constructor are drawn once, before
        {"row": "noisy(row)", "dropout": ""},
        {"row": "noisy(row)", "dropout": ", Rows()"},  # a class that is seen, and has none
        {"row": "noisy(row)", "more": ", num_workers=2"},
        {"row": "row * random.random()"},  # dropout draws from torch
        {"row": "row + torch.randn(3, generator=self.generator)"},
        {"row": "row.normal_(generator=self.generator)"},
        {"dataset": "Rows(transforms.ToTensor())"},
        {"more": ", collate_fn=DataCollatorForLanguageModeling(tokenizer, mlm=False)"},
        {"more": ", collate_fn=collate"},
    ],
)
def test_other_data_is_not_told(parts: dict[str, str]) -> None:
    assert told(**parts) == []


MODEL = "model = nn.Sequential(nn.Linear(3, 3){dropout})\n"
MADE = """def make(config):
    return BertModel(config)


model = make(BertConfig())
"""
HELD = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = AutoModel.from_pretrained("bert")

    def forward(self, rows):
        return self.bert(rows).pooler_output


model = Net()
"""
PLAIN = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Linear(3, 3)

    def forward(self, rows):
        return self.layer(rows)


model = Net()
"""


@pytest.mark.parametrize(
    ("model", "is_told"),
    [
        ("model = BertModel(BertConfig())\n", True),
        (MADE, True),
        (HELD, True),
        ("model = Ours()\n", True),  # not seen
        ("model = nn.Sequential(Ours(), nn.Linear(3, 3))\n", True),
        ("def make():\n    return Ours()\n\n\nmodel = make()\n", True),
        (PLAIN, False),
    ],
)
def test_an_imported_model_may_drop_wherever_it_is_made(model: str, *, is_told: bool) -> None:
    imports = "from transformers import AutoModel, BertConfig, BertModel\nfrom torch.nn import Linear\n"
    imports += "from ours import Ours\n"
    script = imports + SCRIPT.replace(MODEL, model)
    parts = {**USUAL, "row": "noisy(row)"}
    outcome = converted(script.format(**parts), to_accelerate=True)
    assert "accelerator.backward" in outcome.text
    assert any("in the main process" in message for message in outcome.messages) is is_told
