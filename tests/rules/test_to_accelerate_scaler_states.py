"""RM852: the state of a GradScaler that checkpoints hold is that of accelerator.scaler."""

import pytest

from tests.rules.scripts import Outcome, converted

FUNCTIONS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from settings import amp


def save(path, model, {parameter}):
    torch.save({state}, path)


def main():
    device = torch.device("cuda")
    model = nn.Linear(3, 2).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = {scaler}
    loader = DataLoader(TensorDataset(torch.rand(8, 3), torch.zeros(8).long()), batch_size=2, shuffle=True)
    state = torch.load("last.pt")
    model.load_state_dict(state["model"])
    {load}
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        with torch.autocast("cuda", enabled={enabled}):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    save("last.pt", model, scaler)


main()
"""
STATE = '{"model": model.state_dict(), "scaler": scaler.state_dict()}'
LOAD = 'scaler.load_state_dict(state["scaler"])'
NEW = "accelerator.scaler.state_dict() if accelerator.scaler is not None else "


def functions(
    state: str = STATE,
    load: str = LOAD,
    scaler: str = 'torch.amp.GradScaler("cuda", enabled=amp)',
    enabled: str = "amp",
    parameter: str = "scaler",
) -> Outcome:
    script = FUNCTIONS.format(state=state, load=load, scaler=scaler, enabled=enabled, parameter=parameter)
    return converted(script, to_accelerate=True)


def squeezed(text: str) -> str:
    return " ".join(text.split()).replace("( ", "(").replace(", )", ")")


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (STATE, f'"scaler": {NEW}{{}}'),
        ("scaler.state_dict()", f"accelerator.save({NEW}{{}}, path)"),
        ("dict(scaler=scaler.state_dict())", f"dict(scaler={NEW}{{}})"),
        ("[scaler.state_dict()]", f"[({NEW}{{}})]"),
        ("scaler.state_dict() if scaler is not None else None", f"accelerator.save({NEW}None, path)"),
        (
            "scaler.state_dict() if scaler is not None and amp else None",
            f"{NEW}None".replace("None else", "None and amp else"),
        ),
    ],
)
def test_the_state_that_is_saved_is_that_of_the_accelerator(state: str, after: str) -> None:
    outcome = functions(state)
    assert after in squeezed(outcome.text) and "def save(path, model, accelerator):" in outcome.text
    assert "GradScaler" not in outcome.text
    assert any("The state of the GradScaler is that of accelerator.scaler now" in said for said in outcome.messages)
    compile(outcome.text, "after", "exec")


@pytest.mark.parametrize(
    ("load", "after"),
    [
        (
            LOAD,
            '    if accelerator.scaler is not None:\n        accelerator.scaler.load_state_dict(state["scaler"])\n',
        ),
        (
            f"{LOAD}; print(state)",
            '        accelerator.scaler.load_state_dict(state["scaler"])\n    model, optimizer, loader = accelerator',
        ),
        (
            f'if "scaler" in state:\n        {LOAD}',
            "        if accelerator.scaler is not None:\n            accelerator.scaler.load_state_dict(",
        ),
        (
            f'if scaler is not None and "scaler" in state:\n        {LOAD}',
            '    if accelerator.scaler is not None and "scaler" in state:\n        accelerator.scaler.load_state_dict(',
        ),
    ],
)
def test_the_state_that_is_loaded_is_for_that_of_the_accelerator(load: str, after: str) -> None:
    outcome = functions(load=load)
    assert after in outcome.text
    assert "\n    model, optimizer, loader = accelerator.prepare(" in outcome.text  # whatever the scaler is
    compile(outcome.text, "after", "exec")


@pytest.mark.parametrize(
    ("state", "load", "reason"),
    [
        (STATE, f"loaded = {LOAD}", "is loaded within another statement"),
        ("scaler.get_scale()", LOAD, "is used for more than scaling the loss"),
        (STATE, f"if scaler is not None or amp:\n        {LOAD}", "is used for more than scaling the loss"),
        (STATE, f"if scaler is not None:\n        {LOAD}\n        print(scaler)", "is used for more than"),
    ],
)
def test_what_else_a_scaler_is_asked_for_keeps_the_loop(state: str, load: str, reason: str) -> None:
    outcome = functions(state, load)
    assert "GradScaler" in outcome.text and reason in outcome.messages[0]


def test_an_object_that_trains_saves_the_state() -> None:
    script = """\
import torch
from torch import nn
from torch.utils.data import DataLoader


class Training:
    def __init__(self, rows):
        self.model = nn.Linear(3, 2).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = torch.cuda.amp.GradScaler()
        self.loader = DataLoader(rows, batch_size=2)

    def save(self):
        torch.save({"scaler": self.scaler.state_dict()}, "last.pt")

    def load(self, state):
        self.scaler.load_state_dict(state["scaler"])

    def fit(self):
        for x, y in self.loader:
            with torch.cuda.amp.autocast():
                loss = nn.functional.cross_entropy(self.model(x.cuda()), y.cuda())
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
        self.save()


training = Training([])
training.fit()
"""
    text = converted(script, to_accelerate=True).text
    assert '{"scaler": self.accelerator.scaler.state_dict() if self.accelerator.scaler is not None else {}}' in text
    assert "        if self.accelerator.scaler is not None:\n            self.accelerator.scaler.load_state" in text
    compile(text, "after", "exec")


SHOWS = "        optimizer.zero_grad()\n"
SCALE = "accelerator.scaler.get_scale() if accelerator.scaler is not None else 1.0"


def with_scale(before: str = "", between: str = "", behind: str = "") -> Outcome:
    script = FUNCTIONS.format(state=STATE, load=LOAD, scaler="torch.amp.GradScaler()", enabled=True, parameter="scaler")
    script = script.replace("        scaler.step", f"{before}        scaler.step")
    script = script.replace("        scaler.update()\n", f"{between}        scaler.update()\n")
    return converted(script.replace(SHOWS, f"{SHOWS}{behind}"), to_accelerate=True)


@pytest.mark.parametrize(
    ("behind", "now"),
    [
        ("        print(loss, scaler.get_scale())\n", f"print(loss, {SCALE})"),
        ('        print(f"scale {scaler.get_scale():.0f}")\n', f"{{({SCALE}):.0f}}"),
        ("        bar.set_postfix(scale=scaler.get_scale())\n", f"set_postfix(scale={SCALE})"),
        ("        print(2 * scaler.get_scale())\n", f"2 * ({SCALE})"),
        ("        if scaler.get_scale() < 1:\n            break\n", f"if ({SCALE}) < 1:"),
    ],
)
def test_the_scale_is_that_of_the_accelerator(behind: str, now: str) -> None:
    text = with_scale(behind=behind).text
    assert "Accelerator(" in text
    assert squeezed(now) in squeezed(text)
    compile(text, "after", "exec")


def test_a_scale_before_the_step_stays_there() -> None:
    text = with_scale(
        before="        last = scaler.get_scale()\n", behind="        print(last == scaler.get_scale())\n"
    ).text
    assert text.index(f"last = {SCALE}") < text.index("optimizer.step()") < text.index(f"last == ({SCALE})")


def test_a_scale_between_step_and_update_is_left_to_a_person() -> None:
    outcome = with_scale(between="        last = scaler.get_scale()\n")
    assert "Accelerator(" not in outcome.text
    assert any("used for more than scaling the loss" in message for message in outcome.messages)
