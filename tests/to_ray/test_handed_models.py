"""What code of other files asks of a prepared model that the wrapper around it does not have."""

from pathlib import Path

import pytest

from tests.test_cli import invoke

SCRIPT = """\
import torch
from accelerate import Accelerator
{imports}

accelerator = Accelerator({plugin})
model, optimizer, loader = make()
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(3):
    for batch in loader:
        loss = model(batch).loss
        {inside}
        accelerator.backward(loss)
        optimizer.step()
    print(epoch)
"""
HELPERS = """\
from further import deep

def reward(model, x):
    return model.score(x)

def freeze(x, *, net):
    net.base.requires_grad_(False)

def forward(model, x):
    model.train()
    return model(x).loss

def by_hand(model, x):
    model = model.module if hasattr(model, "module") else model
    return model.score(x)

def state(model):
    return {"state": model.state_dict(), "name": model.title}

def length(loader):
    return len(loader.dataset)

def outer(model, x):
    return reward(model, x) + forward(model, x)

def hands_on(model, x):
    return deep(x, model)

class Sampler:
    def __init__(self, policy, size=1):
        self.policy = policy
        self.size = size

    def draw(self):
        return self.policy.sample(self.size)
"""
DEEP = "def deep(x, net):\n    return net.score(x)\n"


def told(folder: Path, imports: str, inside: str, *options: str, plugin: str = "") -> list[str]:
    """What is said of RM829 in the script."""
    (folder / "train.py").write_text(SCRIPT.format(imports=imports, inside=inside, plugin=plugin))
    (folder / "helpers.py").write_text(HELPERS)
    (folder / "further.py").write_text(DEEP)
    output = invoke("--to-ray", "--check", *options, folder / "train.py").output
    return [line.partition("manual: ")[2] for line in output.splitlines() if "RM829 manual" in line]


@pytest.mark.parametrize(
    ("imports", "inside", "message"),
    [
        (
            "from helpers import reward",
            "loss += reward(model, batch)",
            "reward() in helpers.py asks this model for .score",
        ),
        ("import helpers", "loss += helpers.reward(model, batch)", "reward() in helpers.py asks this model for .score"),
        ("import helpers as h", "h.reward(x=batch, model=model)", "reward() in helpers.py asks this model for .score"),
        (
            "from helpers import reward as r",
            "net = model\n        r(net, 1)",
            "reward() in helpers.py asks this model for .score",
        ),
        ("from helpers import freeze", "freeze(1, net=model)", "freeze() in helpers.py asks this model for .base"),
        ("from helpers import outer", "outer(model, batch)", "reward() in helpers.py asks this model for .score"),
        ("from helpers import hands_on", "hands_on(model, 1)", "deep() in further.py asks this model for .score"),
        ("from helpers import Sampler", "Sampler(model).draw()", "draw() in helpers.py asks this model for .sample"),
        (
            "from helpers import reward",
            "reward(model, 1)\n        reward(model, 2)",
            "reward() in helpers.py asks this model for .score",
        ),
    ],
)
def test_what_a_helper_of_another_file_asks_is_told_once(
    imports: str, inside: str, message: str, tmp_path: Path
) -> None:
    [line] = told(tmp_path, imports, inside)
    assert message in line.replace(f"{tmp_path}/", "")


def test_of_the_state_it_is_told_how_the_names_differ(tmp_path: Path) -> None:
    [line] = told(tmp_path, "from helpers import state", "state(model)")
    assert 'which has "module." before each name of its state and does not have that.' in line


@pytest.mark.parametrize(
    ("imports", "inside"),
    [
        ("from helpers import reward", "reward(accelerator.unwrap_model(model), batch)"),
        ("from helpers import forward", "loss += forward(model, batch)"),
        ("from helpers import by_hand", "by_hand(model, batch)"),
        ("from helpers import length", "length(loader)"),
        ("from helpers import reward", "reward(other, batch)"),
        ("from elsewhere import reward", "reward(model, batch)"),
        ("from helpers import freeze", "freeze(model, net=other)"),
    ],
)
def test_what_is_in_the_wrapper_or_not_of_a_prepared_model_is_no_finding(
    imports: str, inside: str, tmp_path: Path
) -> None:
    assert told(tmp_path, imports, inside) == []


def test_nothing_is_said_of_a_model_that_a_plugin_shards(tmp_path: Path) -> None:
    imports = "from accelerate import FullyShardedDataParallelPlugin\nfrom helpers import reward"
    plugin = "fsdp_plugin=FullyShardedDataParallelPlugin()"
    assert told(tmp_path, imports, "reward(model, batch)", "--gpu", plugin=plugin) == []
    assert len(told(tmp_path, imports, "reward(model, batch)", "--gpu")) == 1
