"""--to-accelerate: names that what is prepared has already: they would train what is not."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated, refusal

OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
PREPARED = "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"


def script(names: str, loop: str) -> str:
    """A script in which something gets another name above the optimizer, and the loop goes by that."""
    return HEAD.replace(OPTIMIZER, f"{names}\n{OPTIMIZER}") + loop


@pytest.mark.parametrize(
    ("name", "value", "loop", "after"),
    [
        ("ddp_model", "nn.parallel.DistributedDataParallel(model)", LOOP.replace("model(", "ddp_model("), "model"),
        ("net", "nn.DataParallel(model)", LOOP.replace("model(", "net("), "model"),
        ("net", "model.to(device)", LOOP.replace("model(", "net("), "model"),
        ("batches", "loader", LOOP.replace("in loader", "in batches"), "loader"),
    ],
)
def test_what_trains_by_another_name_gets_it_again(name: str, value: str, loop: str, after: str) -> None:
    assert f"{PREPARED}{name} = {after}\n" in accelerated(head=script(f"{name} = {value}", loop)).text


def test_the_wrapped_model_that_a_function_is_given_gets_its_name_again() -> None:
    function = "def train(model):\n" + "".join(f"    {line}\n" for line in LOOP.splitlines())
    text = accelerated(head=script("ddp = nn.DataParallel(model)", f"{function}train(ddp)\n")).text
    assert f"{PREPARED}ddp = model\n" in text


@pytest.mark.parametrize(
    ("names", "loop"),
    [
        ("raw = model\nmodel = nn.DataParallel(model)", f"{LOOP}print(raw(test_data))\n"),  # the bare one
        ("same = model", f"{LOOP}torch.save(same.state_dict(), 'model.pt')\n"),  # what the bare one has
        ("same = model\nprint(same)", LOOP),  # read above only
    ],
)
def test_other_names_stay(names: str, loop: str) -> None:
    text = accelerated(head=script(names, loop)).text
    assert PREPARED in text
    assert text.count(" = model\n") == 1


def test_a_model_that_is_compiled_under_another_name_keeps_the_loop() -> None:
    told = refusal(head=script("quick = torch.compile(model)", LOOP.replace("model(", "quick(")))
    assert "`quick` is compiled from `model` before that is prepared" in told
