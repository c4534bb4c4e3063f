"""RM858: two backward() through one run of a model are told, as DistributedDataParallel averages in the first alone."""

import pytest

from tests.rules.test_to_accelerate import HEAD, accelerated

TOLD = "A model that has run once goes through two backward() here"
TWO = HEAD + "other = nn.Linear(2, 1).to(device)\nsecond = torch.optim.SGD(other.parameters(), lr=0.1)\n"
LOOP = (
    "for x, y in loader:\n    x, y = x.to(device), y.to(device)\n    optimizer.zero_grad()\n    second.zero_grad()\n"
    "{step}    optimizer.step()\n    second.step()\n"
)


@pytest.mark.parametrize(
    ("step", "is_told"),
    [
        ("    out = model(x)\n    out.mean().backward(retain_graph=True)\n    out.sum().backward()\n", True),
        (
            "    a = model(x)\n    b = other(a)\n    one, two = a.mean(), b.mean() + a.sum()\n"
            "    one.backward(retain_graph=True)\n    two.backward()\n",
            True,
        ),
        ("    a = model(x)\n    b = model(2 * x)\n    a.mean().backward()\n    b.mean().backward()\n", True),
        (
            "    a, b = other(model(x)).chunk(2)\n    loss = a.sum()\n    loss += b.mean()\n"
            "    a.mean().backward(retain_graph=True)\n    loss.backward()\n",
            True,
        ),
        (  # sums of sums, each of which is followed once
            "    a = model(x)\n"
            + "    a = a + a * a\n" * 20
            + "    a.mean().backward(retain_graph=True)\n    a.sum().backward()\n",
            True,
        ),
        ("    a = model(x)\n    a.mean().backward()\n    a = model(2 * x)\n    a.mean().backward()\n", False),
        ("    a, b = model(x), other(x[:, :2])\n    a.mean().backward()\n    b.mean().backward()\n", False),
        (
            "    fake = model(x)\n    wrong = other(fake.detach()).mean()\n    wrong.backward()\n"
            "    other(fake).mean().backward()\n",
            False,
        ),
        (
            "    a = model(x)\n    if y[0]:\n        a.sum().backward()\n    else:\n        a.mean().backward()\n",
            False,
        ),
    ],
)
def test_a_run_is_gone_through_once(step: str, is_told: bool) -> None:
    outcome = accelerated(LOOP.format(step=step), head=TWO)
    assert "accelerator.backward(" in outcome.text
    assert any(message.startswith(TOLD) for message in outcome.messages) is is_told
