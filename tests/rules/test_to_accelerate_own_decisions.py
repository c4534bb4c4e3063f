"""RM858: each process of a converted loop decides for itself when to stop, by the time or by what is on the disk."""

import pytest

from tests.rules.test_to_accelerate import HEAD, STEP, accelerated

START = "import os\nimport time\nfrom pathlib import Path\nbegin = time.time()\n"
AGREED = """    late = torch.tensor(float(time.time() - begin > 9))
    torch.distributed.all_reduce(late)
    if late.item():
        break
"""
SAID = "Each process asks for the time or the disk itself"


BY_LOSS = "Each process decides by its own loss when to stop"


def told(inner: str = "", outer: str = "", said: str = SAID) -> list[str]:
    batches = f"    for x, y in loader:\n        x, y = x.to(device), y.to(device)\n{STEP.replace('    ', '        ')}"
    outcome = accelerated(f"for epoch in range(3):\n{batches}{inner}{outer}", head=START + HEAD)
    assert "accelerator.backward(loss)" in outcome.text
    return [message for message in outcome.messages if message.startswith(said)]


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("        if time.time() - begin > 9:\n            break\n", ""),
        ("", "    if time.monotonic() > 9:\n        break\n"),
        ("", "    late = time.time() - begin\n    if late > 9:\n        break\n"),
        ("", "    if os.path.exists('STOP'):\n        break\n"),
        ("", "    if os.listdir('stops'):\n        break\n"),
        ("", "    if epoch > 1 and Path('STOP').exists():\n        break\n"),
    ],
)
def test_an_end_by_the_time_or_the_disk_is_told(inner: str, outer: str) -> None:
    assert len(told(inner, outer)) == 1


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("        if epoch > 9:\n            break\n", ""),
        ("", AGREED),
        ("", "    if time.time() - begin > 9:\n        print(epoch)\n"),
        ("", "    for name in ('a', 'b'):\n        if os.path.exists(name):\n            break\n"),
    ],
)
def test_other_ends_are_not(inner: str, outer: str) -> None:
    assert not told(inner, outer)


@pytest.mark.parametrize(
    ("outer", "count"),
    [
        ("    if loss < 1:\n        break\n", 1),
        ("    mean = loss / 2\n    if mean < 1:\n        break\n", 1),
        ("    if x.sum() < 1:\n        break\n", 1),
        ("    x, y = evaluate(model)\n    score = measure(x, y)\n    if score < 1:\n        break\n", 0),
        ("    loss = evaluate(model)\n    if loss < 1:\n        break\n", 0),
        ("    if epoch:\n        loss = evaluate(model)\n    if loss < 1:\n        break\n", 1),
    ],
)
def test_an_end_by_a_value_of_the_loop_is_told_but_not_by_another_of_the_same_name(outer: str, count: int) -> None:
    assert len(told(outer=outer, said=BY_LOSS)) == count


COUNTED = """best, bad = 9, 0
for epoch in range(3):
    for step, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
"""
ASKED = """        if (step + 1) % 50 == 0:
            {found}
            if score < best:
                best, bad = score, 0
            else:
                bad += 1
    if bad > 2:
        break
"""


@pytest.mark.parametrize(
    ("found", "count"),
    [
        ("score = evaluate(model)", 0),
        ("mean, rows = evaluate(model)\n            score = measure(rows)", 0),
        ("score = loss.item()", 1),
        ("last = loss / 2\n            score = last.item()", 1),
        ("score = x.mean()", 1),
    ],
)
def test_an_end_by_an_evaluation_after_some_batches_is_that_of_all(found: str, count: int) -> None:
    step = STEP.replace("    ", "        ")
    outcome = accelerated(COUNTED, step, ASKED.format(found=found), head=START + HEAD)
    assert "accelerator.backward(loss)" in outcome.text
    assert len([message for message in outcome.messages if message.startswith(BY_LOSS)]) == count


STOPPER = """
class Patience:
    def __init__(self):
        self.best, self.stop = None, False

    def __call__(self, value):
        self.stop = self.best is not None and value > self.best
        self.best = value

    def is_over(self):
        return self.stop

"""
REDUCED = "        mean = loss.detach().clone()\n        torch.distributed.all_reduce(mean)\n"
SLOTS = "        sums[0] += loss.detach()\n    torch.distributed.all_reduce(sums)\n"
ADDING = "def of_all(value):\n    torch.distributed.all_reduce(value)\n    return value\n\n"


@pytest.mark.parametrize(
    ("before", "inner", "outer", "count"),
    [
        ("bad = 0\n", "", "    if loss > 1:\n        bad += 1\n    if bad > 2:\n        break\n", 1),
        ("end = False\n", "", "    if loss < 1:\n        end = True\n    if end:\n        break\n", 1),
        ("bad = 0\n", "", "    if epoch > 1:\n        bad += 1\n    if bad > 2:\n        break\n", 0),
        (f"{STOPPER}stopper = Patience()\n", "", "    stopper(loss.item())\n    if stopper.stop:\n        break\n", 1),
        (f"{STOPPER}stopper = Patience()\n", "", "    stopper(loss)\n    if stopper.is_over():\n        break\n", 1),
        (f"{STOPPER}stopper = Patience()\n", "", "    stopper(evaluate())\n    if stopper.stop:\n        break\n", 0),
        ("", REDUCED, "    if mean < 1:\n        break\n", 0),
        ("", REDUCED, "    if loss < 1:\n        break\n", 1),
        (ADDING, "        mean = of_all(loss.detach())\n", "    if mean < 1:\n        break\n", 0),
        (
            "losses = []\n",
            "        losses.append(loss.item())\n",
            "    if sum(losses) / len(losses) < 1:\n        break\n",
            1,
        ),
        ("sums = [0.0, 0]\n", "        sums[0] += loss.item()\n", "    if sums[0] < 1:\n        break\n", 1),
        ("sums = torch.zeros(2)\n", SLOTS, "    if sums[0] < 1:\n        break\n", 0),
        ("names = []\n", "        names.append('x')\n", "    if len(names) > 9:\n        break\n", 0),
        ("", "", "    half = loss / 2\n    less = half - 1\n    if less < 0:\n        break\n", 1),
        ("best = {'loss': 9}\n", "", "    best['loss'] = loss.item()\n    if best['loss'] < 1:\n        break\n", 1),
        (
            "of = {'train': {}}\n",
            "",
            "    of['train']['loss'] = loss.item()\n    if of['train']['loss'] < 1:\n        break\n",
            1,
        ),
        (
            "best = {'bad': 0}\n",
            "",
            "    if loss > 1:\n        best['bad'] += 1\n    if best['bad'] > 2:\n        break\n",
            1,
        ),
        (
            "of = {}\n",
            "",
            "    of['n'], of['loss'] = epoch, loss\n    of['n'] = epoch\n    if of['n'] > 2:\n        break\n",
            0,
        ),
        ("losses = []\n", "", "    losses.append(loss.item())\n    if losses[-1] < 1:\n        break\n", 1),
        ("losses = []\n", "", "    losses.append(loss.item())\n    if len(losses) > 9:\n        break\n", 0),
        ("losses = []\n", "        losses.append(loss.item())\n", "    if len(losses) > 9:\n        break\n", 0),
        ("bad = []\n", "", "    if loss > 1:\n        bad.append(epoch)\n    if len(bad) > 2:\n        break\n", 1),
        ("losses = []\n", REDUCED, "    losses.append(mean.item())\n    if losses[-1] < 1:\n        break\n", 0),
    ],
)
def test_counters_flags_and_objects_are_followed_and_what_is_added_up_is_not_told(
    before: str, inner: str, outer: str, count: int
) -> None:
    batches = f"    for x, y in loader:\n        x, y = x.to(device), y.to(device)\n{STEP.replace('    ', '        ')}"
    outcome = accelerated(f"{before}for epoch in range(3):\n{batches}{inner}{outer}", head=START + HEAD)
    assert "accelerator.backward(loss)" in outcome.text
    assert len([message for message in outcome.messages if message.startswith(BY_LOSS)]) == count
