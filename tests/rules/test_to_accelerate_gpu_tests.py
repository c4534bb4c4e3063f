"""RM852: half precision on a GPU alone, by a test of the device that the Accelerator takes the place of."""

import pytest

from tests.rules.scripts import Outcome, converted

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
from job import rows, parse


def main():
    args = parse()
    device = {device}
    {test}
    model = nn.Linear(3, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", enabled={enabled})
    loader = DataLoader(rows, batch_size=2, shuffle=True)
    for x, y in loader:
        with torch.autocast("cuda", {dtype}enabled={enabled}):
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


main()
"""
CHOICE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
TEXT = '"cuda" if torch.cuda.is_available() else "cpu"'
THERE = "torch.cuda.is_available()"
TWICE = f"args.amp and {THERE} and 'device.type == \"cuda\"' != args.x"


def accelerated(value: str, device: str = CHOICE, *, inline: bool = False, dtype: str = "") -> Outcome:
    test, enabled = ("pass", f"({value})") if inline else (f"use_amp = {value}", "use_amp")
    script = SCRIPT.format(device=device, test=test, enabled=enabled, dtype=dtype)
    return converted(script, to_accelerate=True)


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize(
    ("value", "device", "asked"),
    [
        ('device.type == "cuda"', CHOICE, THERE),
        ('"cuda" == device.type', CHOICE, THERE),
        ('device.type != "cpu"', CHOICE, THERE),
        ('args.amp and device.type == "cuda"', CHOICE, f"args.amp and {THERE}"),
        ('device.type == "cuda" and not args.slow', CHOICE, f"{THERE} and not args.slow"),
        ('args.amp and device != torch.device("cpu")', CHOICE, f"args.amp and {THERE}"),
        ('args.amp and device == "cuda"', TEXT, f"args.amp and {THERE}"),
        ('args.amp and not (device.type == "cpu")', CHOICE, f"args.amp and {THERE}"),
        ('args.amp and not device.type == "cpu"', CHOICE, f"args.amp and {THERE}"),
        ('args.amp and device.type == "cuda" and \'device.type == "cuda"\' != args.x', CHOICE, TWICE),
        ('args.amp and device.type == "cuda"', 'torch.device("cpu" if args.cpu else "cuda")', f"args.amp and {THERE}"),
    ],
)
def test_what_asks_a_device_for_a_gpu_asks_whether_there_is_one(
    value: str, device: str, asked: str, inline: bool
) -> None:
    text = accelerated(value, device, inline=inline).text
    assert f'mixed_precision="fp16" if {asked} else "no"' in " ".join(text.split())
    assert "GradScaler" not in text and "scaler" not in text
    compile(text, "after", "exec")


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ('args.amp and device.type == "cuda"', "torch.bfloat16, "),  # which the Accelerator computes in on a CPU too
        ('args.amp and device.type == "cpu"', ""),
        ('args.amp and device.type != "cuda"', ""),
        ('args.amp and not device.type == "cuda"', ""),
        ('args.amp and device.type == "mps"', ""),
        ("args.amp and device.type == args.kind", ""),
        ("args.amp and device.index == 0", ""),
    ],
)
def test_what_asks_for_more_keeps_the_loop(value: str, dtype: str) -> None:
    outcome = accelerated(value, dtype=dtype)
    assert "Accelerator(" not in outcome.text
    assert "`use_amp` has no value yet where the Accelerator is made" in outcome.messages[0]


def test_a_test_of_the_cpu_whose_opposite_is_asked() -> None:
    text = accelerated('not (device.type == "cpu")', inline=True).text
    assert f'mixed_precision="no" if not {THERE} else "fp16"' in text


OTHER = 'torch.device("mps" if torch.backends.mps.is_available() else "cuda" if args.gpu else "cpu")'


@pytest.mark.parametrize(
    ("value", "device", "told"),
    [
        ('device.type != "cpu"', OTHER, True),
        ('not (device.type == "cpu")', OTHER, True),
        ('device.type != "cpu"', "torch.device(args.device)", True),
        ('device.type == "cuda"', OTHER, False),
        ('device.type != "cpu"', CHOICE, False),
        ('device.type != "cpu"', 'torch.device(f"cuda:{args.gpu}" if args.gpu else "cpu")', False),
    ],
)
def test_devices_of_another_kind_are_told(value: str, device: str, told: bool) -> None:
    outcome = accelerated(value, device)
    assert "Accelerator(" in outcome.text
    assert any("such as mps, half precision was used too" in message for message in outcome.messages) is told
