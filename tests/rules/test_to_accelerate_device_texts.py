"""--to-accelerate: a device that was a text, where code works with that text."""

from textwrap import indent

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated
from tests.rules.test_to_accelerate_cpu import CHOICE

TEXT = 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
TEXTS = [
    TEXT,
    'device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda:0"\n',
    'def choose():\n    return "cuda" if torch.cuda.is_available() else "cpu"\n\n\ndevice = choose()\n',
    'device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"\n',
]
USES = [
    ('if device == "cuda":', 'if device.type == "cuda":'),
    ('if "cuda" == device:', 'if "cuda" == device.type:'),
    ('if device != "cpu":', 'if device.type != "cpu":'),
    ('if device in ("cuda", "mps"):', 'if device.type in ("cuda", "mps"):'),
    ('if "cuda" in device:', 'if "cuda" in device.type:'),
    ('if device == "cuda:0":', 'if device.type == "cuda":'),
    ('if device.startswith("cuda"):', 'if device.type.startswith("cuda"):'),
    ('if device.upper() == "CUDA":', 'if device.type.upper() == "CUDA":'),
    ("if sizes[device] > 1:", "if sizes[device.type] > 1:"),
    ('if "on " + device:', 'if "on " + device.type:'),
    ('if f"{device:>6}":', 'if f"{device.type:>6}":'),
    ('if f"{device}:0":', 'if f"{device.type}:0":'),
    ("if torch.amp.is_autocast_available(device):", "if torch.amp.is_autocast_available(device.type):"),
    ("with profile(device_type=device):", "with profile(device_type=device.type):"),
]


@pytest.mark.parametrize(("use", "expected"), USES)
@pytest.mark.parametrize("made", TEXTS)
def test_the_name_of_a_device_is_its_type(use: str, expected: str, made: str) -> None:
    text = accelerated(LOOP, f"{use}\n    sync()\n", head=HEAD.replace(CHOICE, made)).text
    assert "device = accelerator.device\n" in text and f"\n{expected}\n    sync()\n" in text


def functions(use: str, made: str, given: str) -> str:
    """A script whose function trains on the device that it is given."""
    imports, _, things = HEAD.partition("\n\ndevice = ")
    things = things.partition("\n")[2].replace("to(device)", f"to({given})")
    train = f"\n\ndef train(device, model, loader, optimizer):\n{indent(LOOP, '    ')}    {use}\n        sync()\n\n\n"
    call = f"train({given}, model, loader, optimizer)\n"
    return f"{imports}{train}def main():\n{indent(made + things + call, '    ')}\n\nmain()\n"


@pytest.mark.parametrize(("use", "expected"), USES)
def test_so_it_is_in_a_function_that_is_given_it(use: str, expected: str) -> None:
    for made, given in ((TEXT, "device"), ("from job import args\n", "args.device")):
        text = accelerated(head=functions(use, made, given)).text
        assert "def train(accelerator, model, loader, optimizer):" in text
        assert f"    {expected.replace('device.type', 'accelerator.device.type')}\n        sync()\n" in text
    reports = f"def report(device):\n    {use}\n        sync()\n\n\n"
    text = accelerated(reports, LOOP, "report(device)\n", head=HEAD.replace(CHOICE, TEXT)).text
    assert f"def report(device):\n    {expected}\n" in text and "device = accelerator.device\n" in text


def test_a_torch_device_that_a_function_is_given_is_not_one() -> None:
    text = accelerated(head=functions('if device == "cuda":', CHOICE, "device")).text
    assert '    if accelerator.device == "cuda":\n' in text  # which it never was


@pytest.mark.parametrize(
    "use",
    [
        "if device:",
        "if device is None:",
        "if device == other:",
        "if x.device == device:",
        'if f"{device} {x}":',
        'if f"at {device}":',
        "if torch.zeros(1, device=device):",
        "with place(device):",
        "if torch.cuda.get_device_name(device):",
    ],
)
def test_other_uses_get_the_device(use: str) -> None:
    text = accelerated(LOOP, f"{use}\n    sync()\n", head=HEAD.replace(CHOICE, TEXT)).text
    assert text.endswith(f"\n{use}\n    sync()\n")


@pytest.mark.parametrize("use", ['if device == "cuda":', "if device.type == 'cuda':", 'if device in ("cuda", "cpu"):'])
def test_a_device_that_never_was_a_text_stays_as_it_is(use: str) -> None:
    text = accelerated(LOOP, f"{use}\n    sync()\n").text
    assert text.endswith(f"\n{use}\n    sync()\n")
    name = f"name = 'tpu'\n{use.replace('device', 'name')}\n    sync()\n"
    assert accelerated(LOOP, name).text.endswith(name)
