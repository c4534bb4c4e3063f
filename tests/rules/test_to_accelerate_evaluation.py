"""--to-accelerate: what reaches a metric is that of all processes, however the script puts it together."""

import re

import pytest

from raymigrate.base.findings import Kind
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
        (  # other code reads other names before
            '    seen = len(batch)\n    refs, preds = batch["labels"], predictions\n'
            "    metric.add_batch(predictions=preds, references=refs)\n",
            '    seen = len(batch)\n    refs, preds = accelerator.gather_for_metrics((batch["labels"], predictions))\n',
        ),
    ],
    ids=["side by side", "the other way round", "labels below", "in the call", "other code between"],
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


def test_a_model_that_is_read_back_is_evaluated_over_all_rows_too() -> None:
    read_back = "best = nn.Linear(4, 2)\nbest.load_state_dict(torch.load('best.pt'))\nbest.eval()\nhits = 0\n"
    loop = "for x, y in test_loader:\n    hits += (best(x).argmax(1) == y).sum().item()\nprint(hits)\n"
    text = accelerated(
        LOOP,
        "model.eval()\ntotal = 0\nfor x, y in test_loader:\n"
        "    total += (model(x).argmax(1) == y).sum().item()\nprint(total)\n",
        read_back,
        loop,
    ).text
    assert text.count("gather_for_metrics") == 2


OUTPUTS = "for x, y in test_loader:\n    x, y = x.to(device), y.to(device)\n    outputs = model(x)\n"
ADDS = "    metric.add_batch(predictions={}, references=y)\n"


@pytest.mark.parametrize("made", ["outputs.softmax(-1)", "outputs.logits.softmax(-1)"])
@pytest.mark.parametrize("moved", ["", "    predictions = predictions.cpu()\n"])
def test_the_numbers_of_classes_are_gathered_and_not_their_scores(made: str, moved: str) -> None:
    counts = f"    scores = {made}\n    predictions = scores.argmax(-1)\n{moved}{ADDS.format('predictions')}"
    text = evaluated(counts, begin=OUTPUTS)
    first, _, last = text.partition("    predictions = scores.argmax(-1)\n")
    assert f"    scores = {made}\n" in first and "gather_for_metrics" not in first
    assert "predictions, y = accelerator.gather_for_metrics((predictions, y))\n" in last


def test_two_outputs_of_a_model_are_not_counted_by_one_of_them() -> None:
    counts = "    first = outputs[0].argmax(-1)\n    second = outputs[1].argmax(-1)\n"
    text = evaluated(counts + ADDS.format("first") + ADDS.format("second"), begin=OUTPUTS)
    assert "accelerator.prepare(" in text and "gather_for_metrics" not in text


TAGGER = """import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForTokenClassification, DataCollatorForTokenClassification
import evaluate
from job import data, test_data, tokenizer

metric = evaluate.load("seqeval")
device = "cuda"
collator = DataCollatorForTokenClassification(tokenizer)
loader = DataLoader(data, batch_size=8, shuffle=True, collate_fn=collator)
test_loader = DataLoader(test_data, batch_size=8, collate_fn=collator)
model = AutoModelForTokenClassification.from_pretrained("bert", num_labels=5).to(device)
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    batch = {k: v.to(device) for k, v in batch.items()}
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("counts", "padded"),
    [
        ('    metric.add_batch(predictions=predictions, references=batch["labels"])\n', "labels"),
        (
            '    predictions, references = predictions, batch["labels"]\n'
            "    metric.add_batch(predictions=predictions, references=references)\n",
            "references",
        ),
    ],
)
def test_outputs_with_the_length_of_their_batch_are_padded_before_they_are_gathered(counts: str, padded: str) -> None:
    text = " ".join(evaluated(counts, head=TAGGER).split())
    values = '(predictions, batch["labels"])'
    both = f"(predictions, {padded})"
    assert re.search(rf"{re.escape(values)}, dim=1, pad_index=-100 ?\) {re.escape(both[1:-1])} = ", text)
    assert f"predictions, {padded} = accelerator.gather_for_metrics({both})" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("AutoModelForTokenClassification", "AutoModelForQuestionAnswering"),
        ("AutoModelForTokenClassification", "BertLMHeadModel"),
        ("DataCollatorForTokenClassification(tokenizer)", "None"),
    ],
)
def test_where_it_is_not_known_with_what_to_pad_nothing_is_gathered(old: str, new: str) -> None:
    head = TAGGER.replace(old, new)
    if new == "None":
        head = head.replace(", DataCollatorForTokenClassification", "")
    outcome = accelerated(EVALUATES, '    metric.add_batch(predictions, batch["labels"])\n', head=head)
    assert "accelerator.backward" in outcome.text
    assert "gather_for_metrics" not in outcome.text
    assert any("The rows of this loop are not split" in message for message in outcome.messages)


COUNTED = """hits = [0] * 2
with torch.no_grad():
    for x, y in test_loader:
        x, y = x.to(device), y.to(device)
        best = model(x).argmax(1)
        right = best == y
        {head}
            hits[y[i]] += right[i].item()
"""


@pytest.mark.parametrize(
    ("head", "is_told"),
    [
        ("for i in range(4):", True),
        ("for i in range(test_loader.batch_size):", True),
        ("for i in range(len(y)):", False),
        ("for i in range(y.size(0)):", False),
        ("for i in range(y.shape[0]):", False),
    ],
)
def test_rows_that_are_counted_up_to_a_fixed_number_are_told(head: str, is_told: bool) -> None:
    outcome = accelerated(LOOP, COUNTED.format(head=head))
    assert "gather_for_metrics" in outcome.text
    assert any("goes over the first ones only" in message for message in outcome.messages) is is_told


SUMMED = """criterion = nn.CrossEntropyLoss({given}).to(device)
total = 0.0
with torch.no_grad():
    for x, y in test_loader:
        x, y = x.to(device), y.to(device)
        scores = model(x)
        {add}
{divide}
"""


@pytest.mark.parametrize(
    ("given", "add", "divide", "told"),
    [
        ("", "total += criterion(scores, y).item()", "print(total / len(test_loader.dataset))", 1),
        ("", "loss = criterion(scores, y)\n        total += loss.detach()", "total /= len(test_loader.dataset)", 1),
        ("", "total += F.cross_entropy(scores, y).item()", "n = len(test_loader.dataset)\nprint(total / n)", 1),
        ("", "total += float(criterion(scores, y))", "print(total / len(test_loader.dataset))", 1),
        ("", "total += F.cross_entropy(scores, y, reduction='sum').item()", "total /= len(test_loader.dataset)", 0),
        ("reduction='sum'", "total += criterion(scores, y).item()", "total /= len(test_loader.dataset)", 0),
        ("", "total += criterion(scores, y).item() * len(y)", "total /= len(test_loader.dataset)", 0),
        ("", "total += criterion(scores, y).item()", "total /= len(test_loader)", 0),
    ],
)
def test_means_of_batches_that_are_divided_by_the_number_of_rows_are_told(
    given: str, add: str, divide: str, told: int
) -> None:
    outcome = accelerated(LOOP, SUMMED.format(given=given, add=add, divide=divide))
    assert "gather_for_metrics" in outcome.text
    assert sum("adds up the mean of each batch" in message for message in outcome.messages) == told


def test_a_loop_that_is_gathered_is_told_in_its_line() -> None:
    """RM855."""
    counts = '    metric.add_batch(predictions=predictions, references=batch["labels"])\n'
    outcome = accelerated(LOOP, METRIC, EVALUATES, counts, "print(metric.compute())\n")
    assert outcome.lines("RM855", Kind.CONVERTED) == [(HEAD + LOOP + METRIC).count("\n") + 1]


def test_a_script_that_evaluates_nothing_gathers_nothing() -> None:
    outcome = accelerated(LOOP, METRIC)
    assert "RM855" not in {code for code, *_ in outcome.findings}
    assert "gather_for_metrics" not in outcome.text


OF_ITEMS = "losses, hits = [], 0\nmodel.eval()\nwith torch.no_grad():\n    for b in test_loader:\n        "


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        (
            "hits += (model(**b).logits.argmax(-1) == b['labels']).sum().item()\n",
            "predictions, labels = accelerator.gather_for_metrics((model(**b).logits.argmax(-1), b['labels']))\n"
            "        hits += (predictions == labels).sum().item()\n",
        ),
        (
            "hits += (model(**b)[1].argmax(-1) == b['labels']).sum().item()\n",
            "predictions, labels = accelerator.gather_for_metrics((model(**b)[1].argmax(-1), b['labels']))\n",
        ),
        (
            "losses.append(F.cross_entropy(model(**b).logits, b['labels']).item())\n",
            "logits, labels = accelerator.gather_for_metrics((model(**b).logits, b['labels']))\n"
            "        losses.append(F.cross_entropy(logits, labels).item())\n",
        ),
    ],
)
def test_only_the_part_of_an_output_that_is_counted_is_gathered(counted: str, expected: str) -> None:
    assert expected in accelerated(LOOP, OF_ITEMS + counted).text


@pytest.mark.parametrize(
    "counted",
    [
        "losses.append(model(**b).loss.item())\n",
        "hits += model(**b).loss.detach().float()\n",
        "hits += model(**b)[0].item()\n",
        "loss = model(**b).loss\n        losses.append(loss.item())\n",
        "loss = model(**b).loss.detach()\n        losses.append(loss)\n",
        "loss = model(**b).loss\n        hits += loss.item() * b['labels'].size(0)\n",
        "loss = model(b['x'], b['y'])\n        losses.append(float(loss))\n",
        "loss = model(b['x'], b['y'])\n        hits += loss.item()\n",
    ],
)
def test_the_loss_of_a_batch_has_no_rows_to_gather(counted: str) -> None:
    outcome = accelerated(LOOP, OF_ITEMS + counted)
    assert counted in outcome.text
    assert "gather_for_metrics" not in outcome.text
    assert any(message.startswith("The rows of this loop are not split") for message in outcome.messages)


def test_rows_are_gathered_before_they_become_one_number() -> None:
    counted = "scores = model(b['x'])\n        best = scores.max()\n        hits += best.item()\n"
    text = accelerated(LOOP, OF_ITEMS + counted).text
    assert (
        "scores = accelerator.gather_for_metrics(scores)\n        best = scores.max()\n        hits += best.item()"
        in text
    )


@pytest.mark.parametrize("loss", ["out.loss.item()", "out.loss.detach().cpu()"])
def test_parts_of_an_output_are_gathered_where_they_are_read(loss: str) -> None:
    counted = "hits += (out.logits.argmax(-1) == b['labels']).sum().item()\n"
    text = accelerated(LOOP, f"{OF_ITEMS}out = model(**b)\n        losses.append({loss})\n        {counted}").text
    assert "logits, labels = accelerator.gather_for_metrics((out.logits, b['labels']))\n" in text
    assert 'losses.append(accelerator.reduce(out.loss, reduction="mean")' in text
    assert "hits += (logits.argmax(-1) == labels).sum().item()\n" in text


def test_a_batch_is_followed_through_many_branches_once() -> None:
    """Each of them doubled the ways back to the loader: 20 took half a minute."""
    branches = "".join(f"    if x.dim() > {number}:\n        x = x.squeeze({number})\n" for number in range(40))
    text = accelerated(LOOP.replace("    loss =", f"{branches}    loss =", 1)).text
    assert "x = x.squeeze(39)\n" in text and "accelerator.backward(loss)" in text


def test_functions_that_call_each_other_are_followed_once() -> None:
    """With three calls in each of 16, every way through them was gone: 7 s, and minutes for 20."""
    calls = [[(number + step) % 30 for step in (1, 2, 3)] for number in range(30)]
    bodies = [
        "".join(f"    if depth > {other}:\n        f{other}(x, depth - 1)\n" for other in called) for called in calls
    ]
    functions = "".join(f"def f{number}(x, depth):\n{body}    return x\n\n\n" for number, body in enumerate(bodies))
    text = accelerated(LOOP.replace("    loss =", "    f0(x, 3)\n    loss =", 1), head=HEAD + functions).text
    assert "accelerator.backward(loss)" in text
