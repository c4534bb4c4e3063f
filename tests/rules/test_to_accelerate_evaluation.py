"""--to-accelerate: what reaches a metric is that of all processes, however the script puts it together."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

METRIC = """import evaluate
metric = evaluate.load("accuracy")
model.eval()
"""
EVALUATES = """for batch in test_loader:
    batch = {k: v.to(device) for k, v in batch.items()}
    with torch.no_grad():
        outputs = model(**batch)
    predictions = outputs.logits.argmax(dim=-1)
"""


def evaluated(counts: str, *, head: str = HEAD, begin: str = EVALUATES) -> str:
    return accelerated(LOOP, METRIC, begin, counts, "print(metric.compute())\n", head=head).text


@pytest.mark.parametrize(
    ("counts", "gathered"),
    [
        (
            '    predictions, references = predictions, batch["labels"]\n'
            "    metric.add_batch(predictions=predictions, references=references)\n",
            '    predictions, references = accelerator.gather_for_metrics((predictions, batch["labels"]))\n'
            "    metric.add_batch(predictions=predictions, references=references)\n",
        ),
        (
            '    refs, preds = batch["labels"], predictions\n'
            "    metric.add_batch(predictions=preds, references=refs)\n",
            '    refs, preds = accelerator.gather_for_metrics((batch["labels"], predictions))\n'
            "    metric.add_batch(predictions=preds, references=refs)\n",
        ),
        (
            '    references = batch["labels"]\n    metric.add_batch(predictions=predictions, references=references)\n',
            '    predictions, labels = accelerator.gather_for_metrics((predictions, batch["labels"]))\n'
            "    references = labels\n"
            "    metric.add_batch(predictions=predictions, references=references)\n",
        ),
        (
            '    metric.add_batch(predictions=predictions, references=batch["labels"])\n',
            '    predictions, labels = accelerator.gather_for_metrics((predictions, batch["labels"]))\n'
            "    metric.add_batch(predictions=predictions, references=labels)\n",
        ),
    ],
    ids=["side by side", "the other way round", "labels below", "in the call"],
)
def test_predictions_and_labels_are_gathered_before_the_metric(counts: str, gathered: str) -> None:
    assert gathered in evaluated(counts)


def test_what_is_computed_below_the_gathering_is_not_gathered_once_more() -> None:
    text = evaluated(
        '    wanted = batch["labels"].view(-1)\n'
        "    hits = predictions == wanted\n"
        "    metric.add_batch(predictions=hits, references=wanted)\n"
    )
    assert text.count("gather_for_metrics") == 1
    assert "    wanted = labels.view(-1)\n" in text


@pytest.mark.parametrize(
    "counts",
    [
        "    total += F.cross_entropy(outputs.reshape(-1, 2), y[1:].reshape(-1)).item()\n",
        "    expected = y[1:, :]\n    total += F.cross_entropy(outputs, expected).item()\n",
        "    total += F.cross_entropy(outputs[:-1], y).item()\n",
    ],
)
def test_rows_that_lie_in_another_dimension_than_the_first_are_not_gathered(counts: str) -> None:
    begin = "total = 0.0\nfor x, y in test_loader:\n    x, y = x.to(device), y.to(device)\n    outputs = model(x)\n"
    outcome = accelerated(LOOP, begin, counts)
    assert "gather_for_metrics" not in outcome.text
    assert any("The rows of this loop are not split" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "device",
    [
        'torch.accelerator.current_accelerator().type if hasattr(torch, "accelerator") else "cuda"',
        "torch.accelerator.current_accelerator()",
        'torch.device("cuda").type',
    ],
)
def test_the_accelerator_of_torch_is_a_device(device: str) -> None:
    first = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    text = accelerated(LOOP, head=HEAD.replace(first, f"device = {device}\n")).text
    assert ".to(device)" not in text
