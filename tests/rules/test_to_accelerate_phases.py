"""--to-accelerate: loops that train and evaluate, parts of batches on the CPU, names that are bound again."""

import re
from textwrap import dedent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

HEAD = """import itertools

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from job import data, test_data

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(data, batch_size=8, shuffle=True)
test_loader = DataLoader(test_data, batch_size=8)
model = nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
STEP = "    loss = F.cross_entropy(model(x), y)\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
LOOP = f"for x, y in loader:\n    x, y = x.to(device), y.to(device)\n{STEP}"


def accelerated(*parts: str) -> Outcome:
    return converted(HEAD + "".join(dedent(part) for part in parts), to_accelerate=True)


PHASES = """
for phase in ["train", "val"]:
    hits = 0
    for x, y in loaders[phase]:
        x, y = x.to(device), y.to(device)
        with torch.set_grad_enabled(phase == "train"):
            out = model(x)
            loss = F.cross_entropy(out, y)
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        hits += (out.argmax(1) == y).sum().item()
    print(phase, hits, loss.item())
"""


@pytest.mark.parametrize(
    "made",
    [
        'loaders = {"train": loader, "val": test_loader}\n',
        'loaders = {x: DataLoader(data[x], batch_size=4) for x in ["train", "val"]}\n',
        'loaders = {"train": DataLoader(data, shuffle=True), "val": DataLoader(test_data)}\n',
    ],
)
def test_the_loaders_of_a_dict_are_prepared_and_each_phase_counts_all_rows(made: str) -> None:
    outcome = accelerated(made, PHASES)
    text = outcome.text
    assert len(outcome.lines("RM855", Kind.CONVERTED)) == 1
    assert re.search(
        r"loaders = \{\s*split: accelerator.prepare\((\w+)\) for split, \1 in loaders.items\(\)\s*\}", text
    )
    assert "model, optimizer = accelerator.prepare(model, optimizer)" in text
    assert "out, y = accelerator.gather_for_metrics((out.detach(), y))" in text
    assert "accelerator.backward(loss)" in text and ".to(" not in text


def test_a_function_that_trains_where_it_has_an_optimizer_counts_all_rows() -> None:
    text = accelerated(
        """
        def run(model, loader, optimizer=None):
            total, rows = 0.0, 0
            for x, y in loader:
                out = model(x.to(device))
                loss = F.cross_entropy(out, y.to(device))
                if optimizer is not None:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                total += loss.item() * len(x)
                rows += len(x)
            return total / rows

        print(run(model, loader, optimizer), run(model, test_loader))
        """
    ).text
    assert "out, y = accelerator.gather_for_metrics((out.detach(), y))\n        loss = F.cross_entropy(out, y)" in text
    assert "rows += y.size(0)" in text


@pytest.mark.parametrize(
    "below",
    [
        "hits += (out.logits.argmax(1) == y).sum().item()",
        "hits += out[0].sum().item()",
        "hits += features.sum().item()",
    ],
)
def test_what_is_counted_in_another_way_is_told(below: str) -> None:
    phases = PHASES.replace("hits += (out.argmax(1) == y).sum().item()", below).replace(
        "F.cross_entropy(out, y)\n", "F.cross_entropy(out, y)\n            features = model.encode(x)\n", 1
    )
    phases = phases if "features." in below else phases.replace("            features = model.encode(x)\n", "")
    outcome = accelerated('loaders = {"train": loader, "val": test_loader}\n', phases)
    assert "gather_for_metrics" not in outcome.text


def test_gradients_under_a_condition_are_no_accumulation() -> None:
    assert not accelerated('loaders = {"train": loader, "val": test_loader}\n', PHASES).lines("RM853", Kind.NOTE)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("seen.append(y.numpy())", "seen.append(y.cpu().numpy())"),
        ("seen.extend(y)", "seen.extend(y.cpu())"),
        ("seen = np.concatenate([seen]) + np.asarray(y)", "np.asarray(y.cpu())"),
        ("seen = (out.argmax(1).cpu() == y).sum()", "out.argmax(1).cpu() == y.cpu()"),
        ("seen = F.cross_entropy(out.cpu(), y)", "F.cross_entropy(out.cpu(), y.cpu())"),
        ("seen = out.argmax(1).cpu().eq(y).sum()", "out.argmax(1).cpu().eq(y.cpu())"),
        ("seen = y.tolist()", "seen = y.tolist()"),
        ("seen = y.cpu().numpy()", "seen = y.cpu().numpy()"),
    ],
)
def test_labels_that_never_left_the_cpu_go_back_there(used: str, expected: str) -> None:
    moved = LOOP.replace("x, y = x.to(device), y.to(device)", "out = model(x.to(device))").replace(
        ", y)", ", y.to(device))"
    )
    assert expected in accelerated("seen = []\n", moved + f"    {used}\n").text


def test_labels_that_the_loop_moved_stay_where_they_are() -> None:
    text = accelerated("seen = []\n", LOOP + "    seen.append(y)\n    seen.append(y.cpu().numpy())\n").text
    assert "seen.append(y)\n" in text and "seen.append(y.cpu().numpy())" in text


def test_a_model_that_is_moved_after_its_optimizer_is_prepared_there() -> None:
    text = accelerated("model = model.to(device)\n", LOOP).text
    assert "model = model" not in text and text.index("accelerator.prepare(") < text.index("for x, y in loader")


def test_what_is_loaded_after_the_training_is_another_model() -> None:
    text = accelerated(LOOP, "model = nn.Linear(4, 2)\nmodel.to(device)\nprint(model.weight)\n").text
    assert "model.to(accelerator.device)\naccelerator.print(model.weight)" in text


@pytest.mark.parametrize("returned", ["model", "model, 0"])
def test_a_model_that_its_training_function_returns_is_the_same(returned: str) -> None:
    loop = LOOP.replace("\n", "\n    ").rstrip()
    target = "model, best" if "," in returned else "model"
    text = accelerated(
        f"def train(model, optimizer):\n    {loop}\n    return {returned}\n\n",
        f"{target} = train(model, optimizer)\ntorch.save(model.state_dict(), 'a.pt')\n",
    ).text
    assert "accelerator.save(accelerator.unwrap_model(model).state_dict(), 'a.pt')" in text


@pytest.mark.parametrize("wrapped", ["itertools.cycle(test_loader)", "itertools.islice(test_loader, 3)"])
def test_loaders_beside_each_other_are_all_prepared(wrapped: str) -> None:
    loop = (
        f"for (x, y), (a, b) in zip(loader, {wrapped}):\n    x, y = x.to(device), y.to(device) + b.to(device)\n{STEP}"
    )
    text = accelerated(loop).text
    assert re.search(r"accelerator.prepare\(\s*model, optimizer, (test_loader, loader|loader, test_loader)\s*\)", text)
    assert ".to(" not in text


def test_all_processes_count_the_same_steps() -> None:
    loop = LOOP.replace("\n", "\n    ").rstrip()
    stop = "step = 0\nwhile True:\n    step += 1\n    " + loop + "\n    if step > 3:\n        break\n"
    assert not [m for m in accelerated(stop).messages if "wait for it" in m]


def test_a_loader_that_a_function_makes_is_prepared_where_it_is_kept() -> None:
    made = (
        "def loaded(rows):\n    batches = DataLoader(rows, batch_size=4)\n    return batches\n\nloader = loaded(data)\n"
    )
    text = accelerated(made, LOOP).text
    assert "batches = accelerator" not in text
    assert "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)" in text
