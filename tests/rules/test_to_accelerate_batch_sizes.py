"""RM858: the batch_size of a prepared loader is None; its batch_sampler has the number."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

ASKED = "loader.batch_sampler.batch_size"


@pytest.mark.parametrize(
    "script",
    [
        f"{LOOP}    print(loss.item() * loader.batch_size)\n",
        f"def rows(loader):\n    return len(loader) * loader.batch_size\n\n{LOOP}print(rows(loader))\n",
        f"batches = loader\n{LOOP}print(batches.batch_size)\n".replace("batches.", "loader."),
    ],
)
def test_the_batch_sampler_is_asked(script: str) -> None:
    outcome = accelerated(script)
    assert ASKED in outcome.text and "loader.batch_size" not in outcome.text


def test_it_is_that_of_each_loader_of_a_dict() -> None:
    loop = LOOP.replace("in loader", "in loaders['train']")
    text = accelerated(
        "loaders = {'train': loader, 'test': test_loader}\n", loop, "print(loaders['train'].batch_size)\n"
    ).text
    assert "print(loaders['train'].batch_sampler.batch_size)" in text


@pytest.mark.parametrize(
    "script",
    [
        f"{LOOP}print(args.batch_size)\n",
        f"{LOOP}print(test_loader.batch_size)\n",
        f"{LOOP}job.loader.batch_size = 4\n",
    ],
)
def test_other_sizes_stay(script: str) -> None:
    assert "batch_sampler" not in accelerated(script, head=f"import job\nfrom job import args\n{HEAD}").text


def test_a_loader_that_is_not_prepared_yet_is_asked_itself() -> None:
    early = HEAD.replace("model = ", "print(loader.batch_size)\nmodel = ")
    assert "print(loader.batch_size)" in accelerated(LOOP, head=early).text


def test_a_loader_of_an_iterable_dataset_keeps_its_size() -> None:
    stream = 'from datasets import load_dataset\nrows = load_dataset("c4", split="train", streaming=True)\n'
    head = HEAD.replace("DataLoader(data, batch_size=8, shuffle=True)", "DataLoader(rows, batch_size=8)")
    assert "batch_sampler" not in accelerated(LOOP, "print(loader.batch_size)\n", head=f"{stream}{head}").text
