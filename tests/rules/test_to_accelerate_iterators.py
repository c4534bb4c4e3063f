"""--to-accelerate (RM850, RM851): loops over what is made of a DataLoader, and where that is made."""

import pytest

from tests.rules.scripts import converted

HEAD = """\
import torch
from torch.utils.data import DataLoader
from tqdm import tqdm
from job import rows

model = torch.nn.Linear(3, 3)
"""
LOADER = "loader = DataLoader(rows, batch_size=4, shuffle=True)\n"
OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
STEP = "loss = (model(x) - y).pow(2).mean()\nloss.backward()\noptimizer.step()\noptimizer.zero_grad()\n"
PREPARED = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"


def indented(text: str, width: int) -> str:
    return "".join(f"{' ' * width}{line}\n" for line in text.splitlines())


def script(body: str, width: int, above: str = LOADER + OPTIMIZER) -> str:
    return f"{HEAD}{above}for epoch in range(3):\n{body}{indented(STEP, width)}"


def told(text: str) -> list[str]:
    outcome = converted(text, to_accelerate=True)
    assert outcome.text == text
    return [message for (code, *_), message in zip(outcome.findings, outcome.messages, strict=True) if code == "RM851"]


@pytest.mark.parametrize(
    ("body", "width"),
    [
        ("    with tqdm(loader, unit='batch') as bar:\n        for x, y in bar:\n", 12),
        ("    with torch.enable_grad(), tqdm(loader) as bar:\n        for x, y in bar:\n", 12),
        ("    with tqdm(enumerate(loader), total=9) as bar:\n        for n, (x, y) in bar:\n", 12),
        ("    batches = enumerate(loader, start=1)\n    for n, (x, y) in batches:\n", 8),
        ("    batches = enumerate(loader)\n    for n, (x, y) in tqdm(batches):\n", 8),
        ("    for x, y in iter(loader):\n", 8),
        ("    batches = iter(loader)\n    for x, y in batches:\n", 8),
        ("    for n, (x, y) in enumerate(iter(loader)):\n", 8),
    ],
)
def test_a_loop_over_what_is_made_of_a_loader_is_one_over_that(body: str, width: int) -> None:
    outcome = converted(script(body, width), to_accelerate=True)
    assert PREPARED in outcome.text
    assert "accelerator.backward(loss)" in outcome.text
    assert not any("gets batches of its own share here" in message for message in outcome.messages)


def test_a_loop_before_the_training_may_go_over_an_iterator_of_its_own() -> None:
    first = "batches = iter(loader)\nfor x, y in batches:\n    print(x.shape)\n"
    body = "    for x, y in loader:\n"
    assert PREPARED in converted(script(body, 8, above=LOADER + first + OPTIMIZER), to_accelerate=True).text


def test_bars_of_two_statements_have_one_name() -> None:
    second = "    with tqdm(other) as bar:\n        for x, y in bar:\n            print(x)\n"
    body = "    with tqdm(loader) as bar:\n        for x, y in bar:\n"
    other = "other = DataLoader(rows)\n"
    outcome = converted(script(body, 12, above=LOADER + other + OPTIMIZER) + second, to_accelerate=True)
    assert PREPARED in outcome.text
    assert outcome.text.count("disable=not accelerator.is_local_main_process) as bar:") == 2


@pytest.mark.parametrize(
    "body",
    [
        "    batches = iter(loader)\n    first = next(batches)\n    for x, y in batches:\n",  # one is gone
        "    batches = enumerate(loader)\n    print(next(batches))\n    for n, (x, y) in batches:\n",
        "    batches = iter(loader.next, None)\n    for x, y in batches:\n",  # calls something until it gives None
        "    def enumerate(rows): return list(rows)\n    batches = enumerate(loader)\n    for n, (x, y) in batches:\n",
        "    def iter(rows): return list(rows)\n    for x, y in iter(loader):\n",
    ],
)
def test_what_may_give_other_items_is_no_loop_over_the_loader(body: str) -> None:
    assert any("do not come from a DataLoader that can be seen" in message for message in told(script(body, 8)))


@pytest.mark.parametrize(
    ("made", "call"),
    [
        ("bar = tqdm(loader)\n", "bar"),
        ("bar = iter(loader)\n", "bar"),
        ("rounds = enumerate(loader)\nbar = ((x, y) for n, (x, y) in rounds)\n", ""),
    ],
)
def test_what_is_made_before_its_loader_is_prepared_is_no_loop_over_that(made: str, call: str) -> None:
    text = script(f"    for x, y in {call or 'bar'}:\n", 8, above=f"{LOADER}{made}{OPTIMIZER}")
    messages = told(text)
    assert messages
    if call:
        assert "`bar` is made in line 8 of `loader`, before that is prepared; make it right before" in messages[0]


def test_a_statement_around_the_place_where_the_loader_is_prepared() -> None:
    above = f"{LOADER}with tqdm(loader) as bar:\n{indented(OPTIMIZER, 4)}    for x, y in bar:\n"
    assert any("before that is prepared" in message for message in told(f"{HEAD}{above}{indented(STEP, 8)}"))


def test_a_loop_that_draws_by_number_is_told_its_other_form() -> None:
    body = "    batches = iter(loader)\n    for n in tqdm(range(len(loader))):\n        x, y = next(batches)\n"
    assert "the same rows; write `for n, (x, y) in enumerate(loader):` in its place. " in told(script(body, 8))[0]
    other = body.replace("len(loader)", "9")
    assert "every process would train on the same rows. " in told(script(other, 8))[0]
