"""--to-accelerate: lengths of packed sequences that the loop left on the CPU, where torch wants them."""

from pathlib import Path

import pytest

from tests.rules.test_to_accelerate import STEP, accelerated
from tests.rules.test_to_accelerate_files import project

HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader

from job import collate, data

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
NET = """

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 8)

    def forward(self, x, length):
        return self.lstm(pack_padded_sequence(x, length, enforce_sorted=False))[1][0][-1]


"""
MADE = """loader = DataLoader(data, batch_size=8)
model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
LOOP = "for x, length, y in loader:\n    x, y = x.to(device), y.to(device)\n"
TRAINS = STEP.replace("model(x)", "model(x, length)")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", "(x, length.cpu(), enforce"),
        ("(x, length, enforce_sorted=False)", "(x, lengths=length)", "(x, lengths=length.cpu())"),
        ("length, enforce", "length.squeeze(1), enforce", "(x, length.squeeze(1).cpu(), enforce"),
        ("model(x, length)", "model(x=x, length=length)", "(x, length.cpu(), enforce"),
        (
            "        return self.lstm",
            "        length, order = length.sort(0, descending=True)\n        x = x[order]\n        return self.lstm",
            "(x, length.cpu(), enforce",
        ),
        (
            "for x, length, y in loader:\n    x, y = x.to(device), y.to(device)\n",
            "for batch in loader:\n    x, length = batch['x'].to(device), batch['length']\n"
            "    y = batch['y'].to(device)\n",
            "(x, length.cpu(), enforce",
        ),
        (
            "DataLoader(data, ",
            "DataLoader(data, collate_fn=collate, ",
            'torch.as_tensor(length, device="cpu"), enforce',
        ),
    ],
)
def test_lengths_that_stayed_on_the_cpu_go_back_there(old: str, new: str, expected: str) -> None:
    script = NET + MADE + LOOP + TRAINS
    assert old in script
    text = accelerated(script.replace(old, new) if old else script, head=HEAD).text
    assert expected in text and text.count('device="cpu"') + text.count(".cpu()") == 1


def test_a_part_of_the_model_may_pack_them() -> None:
    outer = """class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x, sizes):
        return self.net(x, sizes)


"""
    text = accelerated(NET, outer, MADE.replace("Net()", "Outer()"), LOOP, TRAINS, head=HEAD).text
    assert "(x, length.cpu(), enforce" in text


def test_a_function_or_the_loop_may_pack_them() -> None:
    inner = "    packed = pack_padded_sequence(x, length)\n" + STEP.replace("model(x)", "model(packed.data)")
    model = MADE.replace("Net()", "nn.Linear(4, 2)")
    assert "(x, length.cpu())" in accelerated(model, LOOP, inner, head=HEAD).text
    helper = "def packed(rows, sizes):\n    return pack_padded_sequence(rows, sizes).data\n\n"
    inner = STEP.replace("model(x)", "model(packed(x, length))")
    assert "(rows, sizes.cpu())" in accelerated(helper, model, LOOP, inner, head=HEAD).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x, y = x.to(device), y.to(device)", "x, length, y = x.to(device), length.to(device), y.to(device)"),
        ("length, enforce", "length.tolist(), enforce"),
        ("length, enforce", "length.to('cpu'), enforce"),
        ("length, enforce", "[5] * len(x), enforce"),
    ],
)
def test_lengths_that_are_there_or_were_moved_are_left_alone(old: str, new: str) -> None:
    script = NET + MADE + LOOP + TRAINS
    assert old in script
    text = accelerated(script.replace(old, new), head=HEAD).text
    assert "accelerator.backward" in text and "as_tensor" not in text and ".cpu()" not in text


def test_a_model_of_another_file_that_packs_them_is_told(tmp_path: Path) -> None:
    net = HEAD.replace("from job import collate, data\n", "") + NET
    _, messages = project(tmp_path, net=net, main=HEAD + "from net import Net\n" + MADE + LOOP + TRAINS)
    told = [message for message in messages if "pack_padded_sequence" in message]
    assert len(told) == 1 and "`length` stayed on the CPU" in told[0] and "net.py" in told[0]
