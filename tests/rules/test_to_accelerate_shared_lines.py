"""RM851: statements that share a line are parted where one of them goes; behind a magic they cannot be."""

import ast
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")
model = nn.Linear(3, 2)
model.to(device)
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
loader = DataLoader(TensorDataset(torch.rand(8, 3), torch.zeros(8).long()), batch_size=2, shuffle=True)
model.train()
for x, y in loader:
    x = x.to(device)
    y = y.to(device)
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
model.eval()
torch.save(model.state_dict(), "last.pt")
"""


@pytest.mark.parametrize(
    "first",
    [
        *("device = torch", "model = nn", "model.to(", "optimizer = ", "scaler = ", "    x = x", "    y = y"),
        *("    scaler.scale", "    scaler.unscale_", "    nn.utils", "    scaler.step", "model.eval"),
    ],
)
def test_a_line_with_two_statements_is_converted_as_two_lines_are(first: str) -> None:
    lines = SCRIPT.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith(first))
    lines[place : place + 2] = [f"{lines[place]}; {lines[place + 1].strip()}"]
    apart = converted(SCRIPT, to_accelerate=True)
    shared = converted("\n".join(lines) + "\n", to_accelerate=True)
    assert "accelerator.backward(loss)" in apart.text
    assert ast.dump(ast.parse(shared.text)) == ast.dump(ast.parse(apart.text))
    assert "= accelerator.prepare(model, optimizer, loader)\n" in shared.text


def test_a_body_on_the_line_of_its_loop() -> None:
    loop = "for x, y in loader:"
    start = SCRIPT.index(loop)
    body = "x = x.to(device); y = y.to(device); model(x).mean().backward(); optimizer.step(); optimizer.zero_grad()"
    script = SCRIPT[:start].replace('scaler = torch.amp.GradScaler("cuda")\n', "") + f"{loop} {body}\n"
    text = converted(script, to_accelerate=True).text
    assert text.endswith(
        f"{loop}\n    accelerator.backward(model(x).mean())\n    optimizer.step()\n    optimizer.zero_grad()\n"
    )


def test_what_stands_behind_a_magic_stays(tmp_path: Path) -> None:
    source = SCRIPT.replace("model.to(device)\n", "%time model.to(device)\n").splitlines(keepends=True)
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
        "id": "a",
    }
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    path = tmp_path / "a.ipynb"
    path.write_text(notebook)
    result = CliRunner().invoke(main, ["--to-accelerate", str(path)])
    assert path.read_text() == notebook
    assert "holds a magic and a statement behind it" in result.output
