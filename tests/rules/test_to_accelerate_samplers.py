"""RM856: a loader whose DistributedSampler goes shuffles as that did, or the loop stays as it is."""

from pathlib import Path

import pytest

from tests.rules.test_to_accelerate import LOOP, accelerated, refusal
from tests.rules.test_to_accelerate_arguments import processes
from tests.rules.test_to_accelerate_files import project

MADE = "sampler = DistributedSampler(data)\n"
LOADER = "loader = DataLoader(data, batch_size=8, sampler=sampler)\n"
SEVERAL = (
    "from job import args, data, several, weights\nfrom torch.utils.data import RandomSampler, WeightedRandomSampler\n"
)
IF_ELSE = "if several:\n    sampler = DistributedSampler(data)\nelse:\n    sampler = None\n"
NONE_FIRST = "sampler = None\nif several:\n    sampler = DistributedSampler(data)\n"
CHOICE = "sampler = DistributedSampler(data) if several else None\n"
IN_ORDER = CHOICE.replace("(data)", "(data, shuffle=False)")


def head(rows: str) -> str:
    text = processes().replace("from job import data\n", SEVERAL)
    assert MADE + LOADER in text
    return text.replace(MADE + LOADER, rows)


def loader(given: str) -> str:
    return f"loader = DataLoader(data, {given})\n"


SHUFFLED = {
    "is None": CHOICE + loader("sampler=sampler, shuffle=(sampler is None)"),
    "turned round": "sampler = None if not several else DistributedSampler(data)\n"
    + loader("sampler=sampler, shuffle=not sampler"),
    "by the same test": CHOICE + loader("sampler=sampler, shuffle=not several"),
    "in the call": loader("sampler=DistributedSampler(data) if several else None, shuffle=not several"),
    "if and else": IF_ELSE + loader("sampler=sampler, shuffle=sampler is None"),
    "if and else, the same test": IF_ELSE + loader("sampler=sampler, shuffle=not several"),
    "None first": NONE_FIRST + loader("shuffle=not several, sampler=sampler"),
    "an attribute": IF_ELSE.replace("several", "args.several") + loader("sampler=sampler, shuffle=not args.several"),
    "two tests in one": NONE_FIRST.replace("several", "several and args.train")
    + loader("sampler=sampler, shuffle=not (several and args.train)"),
    "a name beside it": IF_ELSE.replace("None\n", "None\n    shuffle = True\n").replace(
        "else", "    shuffle = False\nelse"
    )
    + loader("sampler=sampler, shuffle=shuffle"),
    "one that shuffles": "sampler = DistributedSampler(data) if several else RandomSampler(data)\n"
    + loader("sampler=sampler"),
    "in one branch": f"if several:\n    {MADE}    {loader('sampler=sampler')}else:\n    {loader('shuffle=True')}",
    "one after another": MADE
    + loader("sampler=sampler")
    + "sampler = DistributedSampler(data, shuffle=False)\ntest_loader = DataLoader(data, sampler=sampler)\n",
    "one that weighs elsewhere": MADE
    + loader("sampler=sampler")
    + "sampler = WeightedRandomSampler(weights, 8)\nother = DataLoader(data, sampler=sampler)\n",
    "known options": "options = {'num_workers': 2}\n" + MADE + loader("sampler=sampler, **options"),
}


@pytest.mark.parametrize("rows", SHUFFLED.values(), ids=SHUFFLED)
def test_a_loader_shuffles_as_its_sampler_did(rows: str) -> None:
    text = accelerated(LOOP, head=head(rows)).text
    assert "loader = DataLoader(data, shuffle=True" in text
    assert "DistributedSampler" not in text and "shuffle=sampler" not in text


KEPT = {
    "no sampler": IN_ORDER + loader("sampler=sampler"),
    "shuffle=False": IN_ORDER + loader("sampler=sampler, shuffle=False"),
    "one after another": MADE
    + "train_loader = DataLoader(data, sampler=sampler)\n"
    + IN_ORDER
    + loader("sampler=sampler"),
}


@pytest.mark.parametrize("rows", KEPT.values(), ids=KEPT)
def test_a_loader_keeps_the_order_as_its_sampler_did(rows: str) -> None:
    text = accelerated(LOOP, head=head(rows)).text
    assert "\nloader = DataLoader(data)\n" in text


@pytest.mark.parametrize("given", ["shuffle and sampler is None", "shuffle if sampler is None else False"])
def test_a_function_that_makes_loaders_is_told_whether_they_shuffle(given: str) -> None:
    rows = (
        "def make(rows, shuffle):\n    sampler = DistributedSampler(rows, shuffle=shuffle) if several else None\n"
        f"    return DataLoader(rows, sampler=sampler, shuffle={given})\n\n\n"
        "loader = make(data, True)\ntest_loader = make(data, False)\n"
    )
    assert "    return DataLoader(rows, shuffle=shuffle)\n" in accelerated(LOOP, head=head(rows)).text


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("8, False, sampler=sampler", "8, True"),
        ("8, None, sampler, None, 4", "8, True, None, None, 4"),
        ("8, False, DistributedSampler(data, shuffle=False)", "8, False, None"),
    ],
)
def test_arguments_by_position(given: str, becomes: str) -> None:
    made = "" if "(" in given else MADE
    assert f"loader = DataLoader(data, {becomes})\n" in accelerated(LOOP, head=head(made + loader(given))).text


ONE_CASE, UNSEEN, PLACE = (
    "depends on which sampler",
    "cannot be seen whether",
    "another place than a variable of its own",
)
REFUSED = {
    "in one process only": (IN_ORDER + loader("sampler=sampler, shuffle=sampler is None"), ONE_CASE),
    "the same, if and else": (
        IF_ELSE.replace("(data)", "(data, shuffle=False)") + loader("sampler=sampler, shuffle=sampler is None"),
        ONE_CASE,
    ),
    "in several processes only": (NONE_FIRST + loader("sampler=sampler"), ONE_CASE),
    "one of two": (IF_ELSE.replace("None", "DistributedSampler(data, shuffle=False)") + LOADER, ONE_CASE),
    "one that shuffles": (IN_ORDER.replace("None", "RandomSampler(data)") + loader("sampler=sampler"), ONE_CASE),
    "one that weighs": (CHOICE.replace("None", "WeightedRandomSampler(weights, 8)") + LOADER, "which stays"),
    "one that draws again": (CHOICE.replace("None", "RandomSampler(data, True)") + LOADER, "which stays"),
    "by another test": (CHOICE + loader("sampler=sampler, shuffle=not args.several"), UNSEEN),
    "by a test that means another by then": (
        NONE_FIRST + "several = args.several\n" + loader("sampler=sampler, shuffle=not several"),
        UNSEEN,
    ),
    "by one of two tests": (
        NONE_FIRST.replace("    sampler", "    if args.train:\n        sampler")
        + loader("sampler=sampler, shuffle=not several"),
        UNSEEN,
    ),
    "None after it": (
        NONE_FIRST + "if args.one:\n    sampler = None\n" + loader("sampler=sampler, shuffle=not several"),
        UNSEEN,
    ),
    "a parameter that changes": (
        "def make(rows, shuffle):\n    sampler = DistributedSampler(rows, shuffle=shuffle)\n    shuffle = False\n"
        "    return DataLoader(rows, sampler=sampler, shuffle=shuffle)\n\n\n"
        "loader = make(data, True)\ntest_loader = make(data, False)\n",
        "has no value here",
    ),
    "nothing else returned": (
        f"def make():\n    {MADE}    return (sampler,)\n\n\n(sampler,) = make()\n{LOADER}",
        "outside of its DataLoader",
    ),
    "samplers only": (
        f"def make():\n    {MADE}    test = DistributedSampler(data)\n    return sampler, test\n\n\n"
        f"sampler, test = make()\n{LOADER}test_loader = DataLoader(data, sampler=test)\n",
        "outside of its DataLoader",
    ),
    "unpacked": ("options = {'shuffle': False}\n" + MADE + loader("sampler=sampler, **options"), "is unpacked"),
    "two names": ("sampler = again = DistributedSampler(data)\n" + loader("sampler=again"), PLACE),
    "of batches": (
        "from torch.utils.data import BatchSampler\n"
        + loader("batch_sampler=BatchSampler(sampler=DistributedSampler(data), batch_size=8, drop_last=True)"),
        PLACE,
    ),
    "a function": (
        "from functools import partial\n" + loader("sampler=partial(DistributedSampler, shuffle=False)(data)"),
        "write DistributedSampler(...)",
    ),
    "a class": ("class Own(DistributedSampler):\n    pass\n\n\n" + loader("sampler=Own(data)"), "without being called"),
    "a name for it": ("Own = DistributedSampler\n" + loader("sampler=Own(data)"), "without being called"),
}


@pytest.mark.parametrize(("rows", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_sure_leaves_the_loop_native(rows: str, reason: str) -> None:
    assert reason in refusal(LOOP, head=head(rows))


EPOCHS = "for epoch in range(3):\n{}" + "".join(f"    {line}\n" for line in LOOP.splitlines())


@pytest.mark.parametrize(
    "told",
    [
        "    if sampler is not None:\n        sampler.set_epoch(epoch)\n",
        "    if isinstance(sampler, DistributedSampler):\n        sampler.set_epoch(epoch)\n",
        "    if several:\n        sampler.set_epoch(epoch)\n",
    ],
)
def test_the_sampler_of_each_epoch_goes_with_its_test(told: str) -> None:
    rows = CHOICE + loader("sampler=sampler, shuffle=sampler is None")
    text = accelerated(EPOCHS.format(told), head=head(rows)).text
    assert "    for x, y in loader:\n" in text
    assert (
        "set_epoch" not in text
        and "if several" not in text
        and "sampler" not in text.replace("WeightedRandomSampler", "")
    )


@pytest.mark.parametrize(
    ("seed", "start", "is_told"),
    [
        ("torch.manual_seed(1)\n", "begin, 3", True),
        ("torch.manual_seed(1)\n", "3", False),
        ("torch.manual_seed(1)\n", "0, 3", False),
        ("", "begin, 3", False),
    ],
)
def test_a_run_that_goes_on_shuffles_anew(seed: str, start: str, is_told: bool) -> None:
    epochs = EPOCHS.replace("range(3)", f"range({start})").format("    sampler.set_epoch(epoch)\n")
    outcome = accelerated("import sys\nbegin = int(sys.argv[1])\n", seed, epochs, head=head(MADE + LOADER))
    told = [message for message in outcome.messages if message.startswith("The rows come in another order")]
    assert ["A run that goes on" in message for message in told] == [is_told]


def test_a_test_that_does_more_stays_native() -> None:
    told = "    if sampler is not None:\n        sampler.set_epoch(epoch)\n        print(epoch)\n"
    rows = CHOICE + loader("sampler=sampler, shuffle=sampler is None")
    assert "outside of its DataLoader" in refusal(EPOCHS.format(told), head=head(rows))


MAKING = """from torch.utils.data import DataLoader, DistributedSampler, Sampler
from job import data


def make(number=None):
    sampler = DistributedSampler(data)
    return DataLoader(data, sampler=sampler), DataLoader(data)


def sampler_of(rows):
    return DistributedSampler(rows)


class Own(DistributedSampler):
    pass


class Other(Sampler):
    pass


sampler = DistributedSampler(data)
"""
ELSEWHERE = {
    "loaders": "from making import make\nloader, test_loader = make()\n",
    "a sampler of a function": "from making import sampler_of\n" + loader("sampler=sampler_of(data)"),
    "a sampler": "from making import sampler\n" + loader("sampler=sampler"),
    "a class": "import making\n" + loader("sampler=making.Own(data)"),
}


@pytest.mark.parametrize("rows", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_sampler_of_another_file_would_stay(tmp_path: Path, rows: str) -> None:
    script = head(rows) + LOOP
    after, messages = project(tmp_path, main=script, making=MAKING)
    assert after["main"] == script
    assert [m.split()[0] for m in messages] == ["RM851"] and "would stay" in messages[0]


def test_another_sampler_of_another_file_stays(tmp_path: Path) -> None:
    rows = "from making import Other\n" + loader("sampler=Other(data)")
    after, _ = project(tmp_path, main=head(rows) + LOOP, making=MAKING)
    assert "loader = DataLoader(data, sampler=Other(data))\n" in after["main"] and "prepare(" in after["main"]


def test_a_loader_of_another_file_with_another_sampler_is_prepared(tmp_path: Path) -> None:
    making = f"from torch.utils.data import DataLoader\n{MAKING}\nrows = DataLoader(data, sampler=Other(data))\n"
    script = head("from making import rows as loader\n") + LOOP
    after, _ = project(tmp_path, main=script, making=making)
    assert "accelerator.prepare(model, optimizer, loader)" in after["main"]
