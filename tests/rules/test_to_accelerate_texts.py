"""--to-accelerate, RM855: the texts of a batch are gathered as objects; they are no tensors and have no device."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

ROWS = """class Reviews(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, item):
        review = {made}
        return {{"note": review, "x": torch.tensor(self.rows[item].x), "labels": torch.tensor(self.rows[item].y)}}


"""
TAKEN = """model.eval()
seen, found, real = [], [], []
with torch.no_grad():
    for batch in test_loader:
        {takes}
        x = batch["x"].to(device)
        labels = batch["labels"].to(device)
        predictions = model(x).argmax(dim=1)
        seen.extend({part})
        found.extend(predictions.tolist())
        real.extend(labels.tolist())
print(list(zip(seen, found, real)))
"""
OBJECTS = "accelerator.gather_for_metrics({}, use_gather_object=True)"


def taken(takes: str, part: str, *, rows: str = "") -> str:
    text = accelerated(LOOP, TAKEN.format(takes=takes, part=part), head=HEAD + rows).text
    assert "(predictions, labels))" in text
    return text


@pytest.mark.parametrize(
    "made",
    ["str(self.rows[item].text)", '" ".join(self.rows[item].words)', 'f"{self.rows[item]}"', '"a" if item else "b"'],
)
def test_what_the_dataset_makes_a_text_is_gathered_as_objects(made: str) -> None:
    text = taken('notes = batch["note"]', "notes", rows=ROWS.format(made=made))
    assert f"notes = {OBJECTS.format('notes')}\n" in text
    assert "seen.extend(notes)\n" in text


@pytest.mark.parametrize("key", ["text", "review_texts", "sentence", "file_path", "titles"])
def test_what_is_called_a_text_is_gathered_as_objects(key: str) -> None:
    part = f'batch["{key}"]'
    text = taken("pass", part)
    assert f"{key} = {OBJECTS.format(part)}\n" in text
    assert f"seen.extend({key})\n" in text


def test_a_tensor_of_the_dataset_is_gathered_as_one_whatever_it_is_called() -> None:
    rows = ROWS.format(made="torch.tensor(self.rows[item].numbers)").replace("note", "text")
    text = accelerated(LOOP, TAKEN.format(takes='text = batch["text"]', part="text"), head=HEAD + rows).text
    assert "use_gather_object" not in text
    assert "text" in text.partition("gather_for_metrics(")[2].partition(")")[0]


def test_what_other_functions_put_under_the_key_does_not_count() -> None:
    rows = 'def encode(row):\n    return {"text": torch.tensor(row)}\n\n\n'
    assert OBJECTS.format('batch["text"]') in taken("pass", 'batch["text"]', rows=rows)


def test_a_list_that_a_method_copies_is_gathered_as_objects() -> None:
    assert OBJECTS.format("text") in taken('text = batch["text"].copy()', "text")


@pytest.mark.parametrize("key", ["text_ids", "context_mask", "targets", "ids"])
def test_other_parts_are_tensors(key: str) -> None:
    text = accelerated(LOOP, TAKEN.format(takes="pass", part=f'batch["{key}"]')).text
    assert "use_gather_object" not in text


def test_texts_of_a_loop_that_trains_are_not_moved_to_the_cpu() -> None:
    trained = """seen = []
for batch in loader:
    x, y = batch["x"].to(device), batch["y"].to(device)
    seen.extend(batch["text"])
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    assert 'seen.extend(batch["text"])\n' in accelerated(trained).text
    assert 'seen.extend(batch["ids"].cpu())\n' in accelerated(trained.replace('"text"', '"ids"')).text


@pytest.mark.parametrize(
    ("takes", "part", "now"),
    [
        ("pass", 'batch["text"].tolist()', "text.tolist()"),
        ("pass", 'batch["prompt"].cpu().numpy()', "prompt.cpu().numpy()"),
        ('text = batch["text"].to(device)', "text", "text"),
        ("batch = {k: v.to(device) for k, v in batch.items()}", 'batch["title"]', "title"),
    ],
)
def test_a_tensor_by_its_methods_is_gathered_as_one_whatever_it_is_called(takes: str, part: str, now: str) -> None:
    """As an object it would become a list of its rows, which has none of these methods."""
    text = accelerated(LOOP, TAKEN.format(takes=takes, part=part)).text
    assert "use_gather_object" not in text
    assert f"seen.extend({now})\n" in text


@pytest.mark.parametrize(
    "loop",
    [
        'for one in batch["text"]:\n            seen.append(one)',
        'for one, other in zip(batch["text"], predictions):\n            seen.append(one)',
        'for number, one in enumerate(batch["text"]):\n            seen.append(one)',
    ],
)
def test_one_text_of_several_has_no_device_either(loop: str) -> None:
    text = accelerated(LOOP, TAKEN.format(takes="pass", part="[]").replace("seen.extend([])", loop)).text
    gathered = OBJECTS.format('batch["text"]')
    assert f"text = {gathered}\n" in text
    assert "seen.append(one)\n" in text


def test_a_part_of_a_row_is_a_text_by_its_name() -> None:
    loop = 'for title, score in batch["rows"]:\n            seen.append(title)'
    text = accelerated(LOOP, TAKEN.format(takes="pass", part="[]").replace("seen.extend([])", loop)).text
    assert "seen.append(title)\n" in text


def test_parts_that_have_numbers_do_not_get_the_name_of_another_part() -> None:
    """`batch[2]` was called labels, as the labels are, and took their place."""
    part = "batch[2]"
    code = (
        TAKEN.format(takes="pass", part=part).replace('batch["x"]', "batch[0]").replace('batch["labels"]', "batch[1]")
    )
    text = accelerated(LOOP, code).text
    assert "predictions, references, labels = accelerator.gather_for_metrics((predictions, batch[2], labels))" in text
    assert "seen.extend(references)\n" in text and "real.extend(labels.tolist())\n" in text
