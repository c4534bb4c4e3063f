"""RM855, --to-accelerate: rows are gathered before what makes one value, or rows of another kind, of them."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification

from job import data, test_data


def own_loss(given, wanted):
    return F.cross_entropy(given, wanted)


model = AutoModelForSequenceClassification.from_pretrained("bert").cuda()
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(data, batch_size=4, shuffle=True)
test_loader = DataLoader(test_data, batch_size=4)
for batch in loader:
    batch = {k: v.cuda() for k, v in batch.items()}
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
found = []
for batch in test_loader:
    batch = {k: v.cuda() for k, v in batch.items()}
    with torch.no_grad():
        made = VALUE
    found.append(made)
"""
LOGITS = "model(**batch).logits"


@pytest.mark.parametrize(
    "value",
    [
        f"torch.einsum('bc->', {LOGITS})",
        *(f"{LOGITS}{more}" for more in (".view(-1)", ".view(-1, 2)", ".t()", ".T", "[0]", ".mean(dim=(0, 1))")),
        *(f"{LOGITS}{more}" for more in (".mean(-2)", ".flatten()", ".max(AXIS)")),
        f"own_loss({LOGITS}, batch['labels'])",
    ],
)
def test_what_is_no_row_for_each_of_the_batch_is_made_of_gathered_rows(value: str) -> None:
    text = converted(SCRIPT.replace("VALUE", value), to_accelerate=True).text
    assert f"gather_for_metrics({LOGITS})" in text or f"gather_for_metrics(({LOGITS}, " in text
    assert "gather_for_metrics(made)" not in text


@pytest.mark.parametrize(
    "value",
    [
        *(f"{LOGITS}{more}" for more in ("[:, 1]", ".argmax(-1)", ".max(1)[0]", ".max(1).values", ".flatten(1)")),
        *(f"torch.{name}({LOGITS}, 1)" for name in ("softmax", "argmax")),
        f"nn.Softmax(dim=1)({LOGITS})",
    ],
)
def test_rows_are_gathered_late(value: str) -> None:
    assert (
        "made = accelerator.gather_for_metrics(made)"
        in converted(SCRIPT.replace("VALUE", value), to_accelerate=True).text
    )


def test_an_item_with_the_loss_is_no_row() -> None:
    text = converted(SCRIPT.replace("VALUE", "model(**batch)['loss']"), to_accelerate=True).text
    assert "gather_for_metrics" not in text
