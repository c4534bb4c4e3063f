"""RM852: whether, and with what, half precision is used; nothing that autocast() or a GradScaler is given gets lost."""

import pytest

from tests.rules.test_to_accelerate import HEAD, accelerated

SCALED = """
    with {autocast}:
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
IMPORTS = (
    "from torch.cuda.amp import GradScaler, autocast\nUSE = config.half\nKEYWORDS = dict(enabled=False)\nSCALE = 64\n"
)


def trained(autocast: str, scaler: str) -> list[str]:
    """The line that makes the Accelerator, or what is told where there is none."""
    head = HEAD.replace("import torch\n", f"import torch\nimport config\n{IMPORTS}", 1) + f"scaler = {scaler}\n"
    outcome = accelerated("for x, y in loader:" + SCALED.format(autocast=autocast), head=head)
    made = outcome.text.replace("\n    ", " ").replace("( ", "(").split("accelerator = ")[1:]
    return [made[0].split("\n")[0].replace(",)", ")")] if made else outcome.messages


ON = 'Accelerator(mixed_precision="fp16" if USE else "no")'
FLAGS = {
    "by name": ("autocast(enabled=USE)", "GradScaler(enabled=USE)", ON),
    "by position": ("autocast(USE)", "GradScaler(enabled=USE)", ON),
    "behind the device": ("torch.autocast('cuda', torch.float16, USE)", "torch.amp.GradScaler(enabled=USE)", ON),
    "always": ("autocast(True)", "GradScaler(enabled=True)", 'Accelerator(mixed_precision="fp16")'),
    "never": ("autocast(False)", "GradScaler(enabled=False)", 'Accelerator(mixed_precision="no")'),
}


@pytest.mark.parametrize(("autocast", "scaler", "made"), FLAGS.values(), ids=FLAGS)
def test_the_condition_of_half_precision_is_that_of_the_accelerator(autocast: str, scaler: str, made: str) -> None:
    assert trained(autocast, scaler) == [made]


SCALING = {
    "GradScaler(init_scale=1024.0)": "init_scale=1024.0",
    "GradScaler(SCALE, 1.5)": "init_scale=SCALE, growth_factor=1.5",
    "torch.amp.GradScaler('cuda', 1024.0)": "init_scale=1024.0",
    "GradScaler(growth_interval=100, init_scale=2.0**10)": "init_scale=2.0**10, growth_interval=100",
}


@pytest.mark.parametrize(("scaler", "given"), SCALING.items())
def test_what_a_scaler_is_given_goes_to_the_accelerator(scaler: str, given: str) -> None:
    (made,) = trained("autocast()", scaler)
    assert f"kwargs_handlers=[GradScalerKwargs({given})]" in made


def test_a_scaler_of_bfloat16_needs_no_values() -> None:
    (made,) = trained("torch.autocast('cuda', torch.bfloat16)", "GradScaler(init_scale=64)")
    assert made == 'Accelerator(mixed_precision="bf16")'


REFUSED = {
    "unpacked": ("autocast(**KEYWORDS)", "GradScaler(**KEYWORDS)", "unpacked"),
    "the scaler alone has a condition": ("autocast()", "GradScaler(enabled=USE)", "different conditions"),
    "autocast alone has one": ("autocast(USE)", "GradScaler()", "different conditions"),
}


@pytest.mark.parametrize(("autocast", "scaler", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_condition_that_is_not_seen_is_never_taken_for_true(autocast: str, scaler: str, reason: str) -> None:
    (message,) = [said for said in trained(autocast, scaler) if "stays native" in said]
    assert reason in message


def test_an_autocast_that_is_off_stays_around_its_code() -> None:
    """A loss in full precision, say, inside of a step in half."""
    head = HEAD.replace("import torch\n", f"import torch\nimport config\n{IMPORTS}", 1) + "scaler = GradScaler()\n"
    step = SCALED.format(autocast="autocast()").replace(
        "    optimizer.zero", "    with autocast(enabled=False):\n        loss = loss + 0\n    optimizer.zero", 1
    )
    text = accelerated("for x, y in loader:" + step, head=head).text
    assert "with autocast(enabled=False):" in text and "with accelerator.autocast():" in text
    assert 'Accelerator(mixed_precision="fp16")' in text and "import autocast" in text
