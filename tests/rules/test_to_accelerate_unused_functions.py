"""RM850: a function whose last call the conversion replaces goes with it; one that something else still needs stays."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

FUNCTION = 'def pick():\n    return torch.device("cuda" if torch.cuda.is_available() else "cpu")\n\n\n'
DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'


@pytest.mark.parametrize(
    ("call", "more", "goes"),
    [
        ("device = pick()\n", "", True),
        ("device: torch.device = pick()\n", "print(device)\n", True),
        ("device = pick()\n", "print(pick())\n", False),
        ("device = pick()\n", "__all__ = ['pick']\n", False),
        ("device = pick()\n", "found = [pick]\n", False),
    ],
)
def test_a_function_that_chose_the_device(call: str, more: str, goes: bool) -> None:
    head = HEAD.replace(DEVICE, FUNCTION + call)
    assert head != HEAD
    text = accelerated(LOOP, more, head=head).text
    assert "accelerator.backward(loss)" in text
    assert ("def pick():" not in text) is goes


def test_a_function_that_was_never_called_is_left() -> None:
    assert "def pick():" in accelerated(LOOP, head=HEAD.replace(DEVICE, FUNCTION + DEVICE)).text
