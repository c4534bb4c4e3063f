"""RM856: helpers of other files that need a process group, where the converted script may run as one process."""

from pathlib import Path

import pytest

from tests.rules.test_to_accelerate import STEP
from tests.rules.test_to_accelerate_files import project

SCRIPT = """\
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

from job import data
{imports}
{start}
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(data, batch_size=8)
"""
LOOP = f"for x, y in loader:\n{STEP}"
INIT = 'dist.init_process_group("nccl")'
DIST = "import torch.distributed as dist\n"
LOG = """\
import torch.distributed as dist


def log(text):
    if dist.get_rank() == 0:
        print(text)
"""


def told(
    folder: Path, helper: str, call: str = "helper.log(1)", imports: str = "import helper", start: str = INIT
) -> list[str]:
    """What is told of a group that a helper needs."""
    script = SCRIPT.format(imports=imports, start=start) + f"{LOOP}{call}\n"
    after, messages = project(folder, main=script, helper=helper)
    assert "Accelerator(" in after["main"]
    assert after["helper"] == helper
    return [message for message in messages if "needs a process group" in message]


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("import helper", "helper.log(1)"),
        ("from helper import log", "log(1)"),
        ("from helper import log as say", "say(1)"),
        ("from helper import log", "def report():\n    log(1)\nreport()"),
    ],
)
def test_a_helper_that_asks_for_its_rank(tmp_path: Path, imports: str, call: str) -> None:
    [message] = told(tmp_path, LOG, call, imports)
    assert message.startswith("RM856 `dist.get_rank()` in ")
    assert "helper.py:5 needs a process group" in message


@pytest.mark.parametrize(
    "helper",
    [
        "from torch.distributed import get_rank as number\ndef log(text):\n    print(number(), text)\n",
        "import torch\ndef log(text):\n    rank = torch.distributed.get_rank()\n    print(rank, text)\n",
        f"{DIST}def size():\n    return dist.get_world_size()\ndef log(t):\n    print(t, size())\n",
        "import torch.distributed as dist\ndef log(text):\n    print(text)\n    dist.barrier()\n",
    ],
)
def test_other_spellings(tmp_path: Path, helper: str) -> None:
    assert len(told(tmp_path, helper)) == 1


ASKED = "import torch.distributed as dist\ndef there():\n    return dist.is_available() and dist.is_initialized()\n"


@pytest.mark.parametrize(
    "helper",
    [
        LOG.replace("if dist", "if not dist.is_initialized() or dist"),
        f"{ASKED}def rank():\n    return dist.get_rank() if there() else 0\ndef log(text):\n    print(text, rank())\n",
        f"{ASKED}def log(text):\n    if not there():\n        return\n    print(text, dist.get_rank())\n",
        f"{ASKED}def make():\n    there() or dist.init_process_group()\ndef log(t):\n    make()\n    dist.barrier()\n",
        "import torch.distributed as dist\ndef log(text, many=False):\n    if many:\n        dist.barrier()\n",
        f"{DIST}def log(text, many=False):\n    if not many:\n        return\n    dist.barrier()\n",
        "import torch.distributed as dist\ndef log(text):\n    print(text)\ndef other():\n    return dist.get_rank()\n",
        "import distributed as dist\ndef log(text):\n    print(dist.get_rank(), text)\n",
    ],
)
def test_a_helper_that_does_without_a_group(tmp_path: Path, helper: str) -> None:
    assert told(tmp_path, helper) == []


def test_a_script_that_makes_no_group_for_one_process(tmp_path: Path) -> None:
    start = f"import os\nif int(os.environ.get('WORLD_SIZE', 1)) > 1:\n    {INIT}\n"
    assert told(tmp_path, LOG, start=start) == []
