"""--to-accelerate: rows of an evaluation are gathered as tensors on the device, before they become arrays."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

EVALUATION = "model.eval()\nright = []\nfor x, y in test_loader:\n    out = model(x.to(device))\n{counts}"
COUNT = "    right.extend(found == y.numpy())\n"
GATHER = "accelerator.gather_for_metrics(("


@pytest.mark.parametrize(
    ("found", "gathered", "moved"),
    [
        ("out.argmax(1).cpu().numpy()", "found = out.argmax(1)\n", "found.cpu().numpy(), y.cpu()\n"),
        ("out.argmax(1).detach().cpu().numpy()", "found = out.argmax(1)\n", "found.cpu().detach().numpy(), y.cpu()\n"),
        ("out.argmax(1).cpu().detach().numpy()", "found = out.argmax(1)\n", "found.cpu().detach().numpy(), y.cpu()\n"),
        ("out.argmax(1).numpy()", "found = out.argmax(1)\n", "found.cpu().numpy(), y.cpu()\n"),
        ("out.argmax(1).cpu().tolist()", "found = out.argmax(1)\n", "found.cpu().tolist(), y.cpu()\n"),
        ("out.argmax(1).cpu()", "found = out.argmax(1)\n", "found.cpu(), y.cpu()\n"),
    ],
)
def test_predictions_are_gathered_before_they_are_arrays(found: str, gathered: str, moved: str) -> None:
    text = accelerated(LOOP, EVALUATION.format(counts=f"    found = {found}\n{COUNT}")).text
    assert f"    {gathered}    found, y = {GATHER}found, y))\n    found, y = {moved}" in text
    assert "right.extend(found == y.numpy())" in text


@pytest.mark.parametrize("found", ["np.argmax(out.cpu().numpy(), 1)", "out.cpu().numpy().argmax(1)"])
def test_what_numpy_makes_is_made_of_gathered_rows(found: str) -> None:
    head = f"import numpy as np\n{HEAD}"
    text = accelerated(LOOP, EVALUATION.format(counts=f"    found = {found}\n{COUNT}"), head=head).text
    assert f"    out, y = {GATHER}out, y))\n    found = {found}\n" in text


def test_rows_that_are_on_the_cpu_early_are_gathered_before() -> None:
    counts = f"    scores = out.cpu()\n    found = scores.argmax(1)\n{COUNT}"
    text = accelerated(LOOP, EVALUATION.format(counts=counts)).text
    assert f"    scores = out\n    scores, y = {GATHER}scores, y))\n    scores, y = scores.cpu(), y.cpu()\n" in text
