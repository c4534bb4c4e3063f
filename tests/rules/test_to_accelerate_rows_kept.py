"""--to-accelerate, RM855 and RM858: one value for a batch has no rows that processes could gather."""

import pytest

from tests.rules.scripts import converted
from tests.rules.test_to_accelerate_main_process import SCRIPT

LOOP = """criterion = nn.CrossEntropyLoss()
each = nn.CrossEntropyLoss(reduction="none")
valid = DataLoader(data, batch_size=8)
model.eval()
found = []
for x, y in valid:
    x, y = x.cuda(), y.cuda()
{}
print(found)
"""
IN_NAMED = "valid = DataLoader(data, batch_size=8)\nfor batch in valid:\n{}\n"


def evaluated(*lines: str, loop: str = LOOP) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    text = converted(SCRIPT + loop.format(body), to_accelerate=True).text
    return text.partition("for x, y in valid" if loop is LOOP else "for batch in valid")[2]


@pytest.mark.parametrize(
    "lines",
    [
        ("found.append(model(x, labels=y).loss)",),
        ("loss = model(x, labels=y).loss", "found.append(loss)"),
        ("loss = model(x, labels=y)[0]", "found.append(loss)"),
        ("loss = model(x, labels=y)[0].detach()", "found.append(loss)"),
        ("out = model(x, labels=y)", "found.append(out[0])"),
        ("out = model(x, labels=y)", "found.append(out[0].item())"),
        ("out = model(x, labels=y)", "loss = out[0]", "found.append(loss)"),
        ("found.append(model(x, labels=y)[0])",),
        ("loss, logits = model(x, labels=y)", "found.append(loss)"),
        ("loss, logits = model(x, labels=y)[:2]", "found.append(loss.mean().item())"),
    ],
)
def test_the_loss_of_a_model_is_not_gathered(lines: tuple[str, ...]) -> None:
    assert "gather" not in evaluated(*lines)


@pytest.mark.parametrize(
    "lines",
    [
        ("loss = model(**batch)[0]", "found.append(loss)"),
        ("out = model(**batch)", "found.append(out[0].detach())"),
        ("loss = model(**batch)[0]", "found.append(loss.repeat(8))"),
        ("found += [model(**batch)[0]]",),
    ],
)
def test_nor_is_the_first_output_for_a_batch_that_may_have_labels(lines: tuple[str, ...]) -> None:
    assert "gather" not in evaluated(*lines, loop=IN_NAMED)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("logits = model(**batch)[0]", "found.append(logits.argmax(-1))"), "gather_for_metrics(logits)"),
        (("out = model(**batch)", "found.append(torch.argmax(out[0], dim=-1))"), "gather_for_metrics(out[0])"),
        (("logits = model(input_ids=batch[0])[0]", "found.append(logits)"), "gather_for_metrics(logits)"),
        (("logits = model(**batch)[1]", "found.append(logits)"), "gather_for_metrics(logits)"),
    ],
)
def test_a_class_is_chosen_of_rows(lines: tuple[str, ...], expected: str) -> None:
    assert expected in evaluated(*lines, loop=IN_NAMED)


@pytest.mark.parametrize(
    ("value", "now"),
    [
        ("criterion(model(x), y)", "criterion(predictions, y)"),
        ("nn.functional.cross_entropy(model(x), y)", "nn.functional.cross_entropy(predictions, y)"),
        ("criterion(model(x), y).detach()", "criterion(predictions, y).detach()"),
        ("nn.functional.mse_loss(model(x), y)", "nn.functional.mse_loss(predictions, y)"),
        ("model(x).mean()", "predictions.mean()"),
        ("model(x).sum(0)", "predictions.sum(0)"),
        ("model(x).amax(dim=0)", "predictions.amax(dim=0)"),
        ("torch.mean(model(x))", "torch.mean(predictions)"),
    ],
)
def test_what_has_one_value_for_all_rows_is_made_of_those_of_all_processes(value: str, now: str) -> None:
    """It is the value that one process has of such a batch."""
    text = evaluated(f"loss = {value}", "found.append(loss)")
    assert "predictions, y = accelerator.gather_for_metrics((model(x), y))" in text or "y)" not in value
    assert f"    loss = {now}\n    found.append(loss)\n" in text
    assert text.count("gather") == 1


def test_so_is_what_is_made_of_named_outputs() -> None:
    text = evaluated("logits = model(x)", "score = logits.mean()", "found.append(score)")
    assert "    logits = accelerator.gather_for_metrics(logits)\n    score = logits.mean()\n" in text


@pytest.mark.parametrize(
    "value",
    ["model(x).mean(-1)", "model(x).sum(dim=1)", "model(x).argmax(1)", "torch.argmax(model(x), dim=-1)", "model(x)"],
)
def test_rows_are_gathered(value: str) -> None:
    text = evaluated(f"rows = {value}", "found.append(rows)")
    assert f"    rows = {value}\n    rows = accelerator.gather_for_metrics(rows)\n" in text


def test_the_loss_of_each_row_is_gathered() -> None:
    assert "gather_for_metrics(" in evaluated("rows = each(model(x), y)", "found.append(rows)")


# Rows are gathered before what makes one value, or rows of another kind, of them.
OF_TRANSFORMERS = """
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
    text = converted(OF_TRANSFORMERS.replace("VALUE", value), to_accelerate=True).text
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
        in converted(OF_TRANSFORMERS.replace("VALUE", value), to_accelerate=True).text
    )


def test_an_item_with_the_loss_is_no_row() -> None:
    text = converted(OF_TRANSFORMERS.replace("VALUE", "model(**batch)['loss']"), to_accelerate=True).text
    assert "gather_for_metrics" not in text
