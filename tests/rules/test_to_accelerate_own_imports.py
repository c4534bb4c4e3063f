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
