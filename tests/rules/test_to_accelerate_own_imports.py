"""--to-accelerate: a function that imports all it needs, as one that is sent by its source, imports accelerate too."""

from textwrap import indent

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

IMPORTS, _, THINGS = HEAD.partition("\n\ndevice = ")
MADE = f"\ndevice = {THINGS}"
IMPORT = "from accelerate import Accelerator\n"


def sent(imports: str, begin: str = "", more: str = "") -> str:
    body = indent(f"{imports}{MADE}{more}{LOOP}", "    ")
    return f"{begin}def train_func():\n{body}\n\nclient.train(func=train_func)\n"


@pytest.mark.parametrize("begin", ["", "import os\n\n\n", '"""Sends a training."""\nfrom job import client\n\n\n'])
@pytest.mark.parametrize("first", ["", '"""Trains."""\n', "import os\n\n"])
def test_a_function_with_imports_of_its_own_has_that_of_the_accelerator(begin: str, first: str) -> None:
    text = accelerated(head=sent(f"{first}{IMPORTS}", begin)).text
    assert f"    {IMPORT}" in text and f"\n{IMPORT}" not in text and not text.startswith(IMPORT)
    assert text.index(f"    {IMPORT}") < text.index("Accelerator()")


def test_what_wraps_the_model_is_imported_there_too() -> None:
    wrapped = "model = nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)\n"
    text = accelerated(head=sent(IMPORTS, more=wrapped)).text
    assert "    from accelerate import Accelerator, DistributedDataParallelKwargs\n" in text


@pytest.mark.parametrize("begin", [f"{IMPORTS}\n\n\n", "import torch\n\n\n"])
def test_in_a_module_that_imports_torch_it_stands_there(begin: str) -> None:
    text = accelerated(head=sent("" if "nn" in begin else IMPORTS, begin)).text
    assert f"\n{IMPORT}" in text and f"    {IMPORT}" not in text


FUNCTION = "def train(model: nn.Module, loader: DataLoader, optimizer: {of}, device: {to}{more}) -> None:\n{body}\n\n"


@pytest.mark.parametrize(
    ("of", "to", "more", "expected"),
    [
        ("object", "torch.device", "", "optimizer: object, accelerator: Accelerator) -> None"),
        ("object", "str", ", epochs: int = 1", "accelerator: Accelerator, epochs: int = 1) -> None"),
        ("'SGD'", '"torch.device"', ", *, clip: float = 1.0", "accelerator: Accelerator, *, clip: float = 1.0)"),
    ],
)
def test_the_accelerator_is_annotated_where_all_others_are(of: str, to: str, more: str, expected: str) -> None:
    call = "train(model, loader, optimizer, device)\n"
    function = FUNCTION.format(of=of, to=to, more=more, body=indent(LOOP, "    "))
    head = HEAD.replace("\n\ndevice = ", f"\n\n{function}device = ", 1)
    assert expected in accelerated(call, head=head).text
    bare = head.replace(f"optimizer: {of}", "optimizer", 1)
    assert (
        expected.replace(": Accelerator", "").replace(f"optimizer: {of}", "optimizer")
        in accelerated(call, head=bare).text
    )


def test_a_class_that_is_imported_in_a_function_annotates_nothing() -> None:
    helper = "def back(loss: float):\n    loss.backward()\n\n\n"
    script = helper + sent(IMPORTS).replace("loss.backward()", "back(loss)")
    assert "def back(loss: float, accelerator):" in accelerated(head=script).text


@pytest.mark.parametrize("own", ["from job import Accelerator\n", "class Accelerator:\n    pass\n"])
def test_a_class_of_the_scripts_own_with_that_name_annotates_nothing(own: str) -> None:
    function = FUNCTION.format(of="object", to="torch.device", more="", body=indent(LOOP, "    "))
    head = HEAD.replace("\n\ndevice = ", f"\n\n{function}device = ", 1)
    text = accelerated("train(model, loader, optimizer, device)\n", own, head=head).text
    assert "optimizer: object, accelerator) -> None" in text


def test_a_parameter_that_is_added_is_annotated_as_the_others() -> None:
    method = """class Loop:
    def __init__(self, net: nn.Module, rows: DataLoader, optimizer: object):
        self.net = net
        self.rows = rows
        self.optimizer = optimizer

    def run(self) -> None:
        for x, y in self.rows:
            x, y = x.to(device), y.to(device)
            loss = F.cross_entropy(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


"""
    head = HEAD.replace("\n\ndevice = ", f"\n\n{method}device = ", 1)
    text = accelerated("Loop(model, loader, optimizer).run()\n", head=head).text
    assert "optimizer: object, accelerator: Accelerator):" in text
