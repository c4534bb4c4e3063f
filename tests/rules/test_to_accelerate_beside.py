"""--to-accelerate: native loops in files that use accelerate for something else, or for another loop."""

from textwrap import indent

import pytest

from raymigrate.base.findings import Kind
from tests.rules.test_to_accelerate import HEAD, LOOP, STEP, accelerated, refusal

NATIVE = """
def train_native(rows):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(rows):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
PREPARED = """
def train_prepared(rows):
    accelerator = Accelerator()
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(rows))
    for x, y in loader:
        accelerator.backward(F.cross_entropy(model(x), y))
        optimizer.step()
"""
IMPORT = "from accelerate import Accelerator\n"
STARTS = "train_native(data)\ntrain_prepared(data)\n"
AT_THE_EDGE = "accelerator = Accelerator()\nmodel, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"
ITS_LOOP = "for x, y in loader:\n    accelerator.backward(model(x).sum())\n    optimizer.step()\n"
AS_CLASS = """
class Native:
    def __init__(self, rows):
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self, rows):
        for x, y in DataLoader(rows):
            F.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()
"""


@pytest.mark.parametrize(
    "parts",
    [
        (NATIVE, PREPARED, STARTS),
        (NATIVE, PREPARED, "def main(accelerator):\n    train_native(data)\n    train_prepared(data)\n"),
        (AS_CLASS, PREPARED, "Native(data).fit(data)\ntrain_prepared(data)\n"),
        (LOOP, AT_THE_EDGE, ITS_LOOP),  # as in the cells of a notebook
        ("class A:\n    def run(self):\n        self.a = Accelerator()\n", NATIVE, "train_native(data)\n"),
    ],
)
def test_a_native_loop_beside_an_accelerator_is_told(parts: tuple[str, ...]) -> None:
    outcome = accelerated(IMPORT, *parts)
    assert [(code, kind) for code, kind, _ in outcome.findings if code == "RM851"] == [("RM851", Kind.MANUAL)]
    [line] = outcome.lines("RM851", Kind.MANUAL)
    text = (HEAD + IMPORT + "".join(parts)).split("\n")[line - 1]
    assert "backward()" in text and "another one of this file has an Accelerator" in outcome.messages[0]


HELPED = """
def step(loss, optimizer):
    loss.backward()
    optimizer.step()


def main(rows):
    accelerator = Accelerator()
    prepared, optimizer, loader = accelerator.prepare(nn.Linear(4, 2), torch.optim.SGD([]), DataLoader(rows))
    for x, y in loader:
        step(prepared(x).sum(), optimizer)


main(data)
"""


@pytest.mark.parametrize(
    "parts",
    [
        (PREPARED, "train_prepared(data)\n"),
        (HELPED,),
        (AT_THE_EDGE, LOOP),  # of what was prepared
        (PREPARED, "def saliency(x):\n    model(x).sum().backward()\n    return x.grad\n"),
    ],
)
def test_what_belongs_to_the_accelerator_or_does_not_train_is_left_alone(parts: tuple[str, ...]) -> None:
    assert not accelerated(IMPORT, *parts).findings


@pytest.mark.parametrize(
    "start",
    [
        "from accelerate.utils import set_seed\n\nset_seed(3)\n",
        "from accelerate.logging import get_logger\n\nlogger = get_logger(__name__)\n",
        "import accelerate\n\nprint(accelerate.__version__)\n",
        IMPORT,
    ],
)
def test_a_file_that_has_no_accelerator_is_converted(start: str) -> None:
    outcome = accelerated(start, LOOP)
    assert "accelerator.backward(loss)" in outcome.text and outcome.text.count("import Accelerator") == 1


@pytest.mark.parametrize(
    "use",
    [
        "from accelerate import notebook_launcher\n\nnotebook_launcher(print, ())\n",
        "from accelerate import PartialState\n\nstate = PartialState()\n",
        "from accelerate import dispatch_model\n\nmodel = dispatch_model(model, {})\n",
    ],
)
def test_a_loop_beside_other_parts_of_accelerate_is_told(use: str) -> None:
    assert "by itself" in refusal(use, LOOP)


def test_an_accelerator_from_elsewhere_is_one() -> None:
    loop = STEP.replace("loss.backward()", "tools.backward(loss)")
    text = "from accelerate.logging import get_logger\n\n\ndef train(tools, model, optimizer, loader):\n"
    text += "    for x, y in loader:\n"
    assert not accelerated(text, indent(loop, "    ")).findings
