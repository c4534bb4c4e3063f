"""RM857: what the main process alone writes, where a function of another file says which process that is."""

from pathlib import Path

import pytest

from tests.rules.test_to_accelerate_files import project

TRAIN = """import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
{imports}

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
model = DistributedDataParallel(torch.nn.Linear(2, 1).to(rank), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader([torch.ones(2)] * 16, batch_size=2)
for x in loader:
    model(x.to(rank)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
{end}
"""
WRITE = "if {test}:\n    with open('log.txt', 'w') as file:\n        file.write('done')"
HEAD = "import os\n\nimport torch\nimport torch.distributed as dist\n\n\n"
RANK = (
    "def get_rank():\n    if not dist.is_available() or not dist.is_initialized():\n        return 0\n"
    "    return dist.get_rank()\n\n\n"
)
EVERY = "Every process of a distributed run writes this file."
SAVES = "saves with torch.save(): every process of a distributed run"


def messages_of(tmp_path: Path, helpers: str, imports: str, end: str) -> str:
    """What is said of a script and the file that it imports."""
    _, messages = project(tmp_path, main=TRAIN.format(imports=imports, end=end), helpers=HEAD + helpers)
    assert any(message.startswith("RM850 ") for message in messages), messages
    return "\n".join(message for message in messages if message.startswith("RM857"))


@pytest.mark.parametrize(
    ("helpers", "imports", "test"),
    [
        ("def is_main():\n    return dist.get_rank() == 0\n", "from helpers import is_main", "is_main()"),
        ("def is_main():\n    return 0 == dist.get_rank()\n", "import helpers", "helpers.is_main()"),
        ("def is_main():\n    return not dist.get_rank()\n", "from helpers import is_main as first", "first()"),
        (RANK + "def is_main():\n    return get_rank() == 0\n", "from helpers import is_main", "is_main()"),
        (RANK, "from helpers import get_rank", "get_rank() == 0"),
        (RANK, "import helpers as h", "not h.get_rank()"),
        (
            "def is_main():\n    return not dist.is_initialized() or dist.get_rank() == 0\n",
            "from helpers import is_main",
            "is_main() and True",
        ),
        (
            "def is_main():\n    if not dist.is_initialized():\n        return True\n    return dist.get_rank() == 0\n",
            "from helpers import is_main\nfirst = is_main()",
            "first",
        ),
        (
            "def is_main():\n    return int(os.environ.get('RANK', 0)) == 0\n",
            "from helpers import is_main",
            "is_main()",
        ),
        (
            "def is_main():\n    if dist.get_rank() == 0:\n        return True\n    return False\n",
            "from helpers import is_main",
            "is_main()",
        ),
    ],
)
def test_a_function_of_another_file_that_asks_for_the_first_process_is_a_guard(
    helpers: str, imports: str, test: str, tmp_path: Path
) -> None:
    assert EVERY not in messages_of(tmp_path, helpers, imports, WRITE.format(test=test))


@pytest.mark.parametrize(
    ("helpers", "test"),
    [
        ("def is_main():\n    return dist.get_rank() != 0\n", "is_main()"),
        ("def is_main():\n    return dist.get_rank() == 0\n", "not is_main()"),
        ("def is_main():\n    return dist.get_rank() == 0 or bool(os.environ.get('ALL'))\n", "is_main()"),
        ("def is_main():\n    return dist.get_world_size() == 0\n", "is_main()"),
        ("def is_main():\n    return True\n", "is_main()"),
        ("def is_main():\n    if dist.get_rank() == 0:\n        return True\n    return False\n", "not is_main()"),
        ("def is_main():\n    if is_main():\n        return True\n    return False\n", "is_main()"),
        ("from elsewhere import is_main\n", "is_main()"),
    ],
)
def test_one_that_asks_for_something_else_is_none(helpers: str, test: str, tmp_path: Path) -> None:
    assert EVERY in messages_of(tmp_path, helpers, "from helpers import is_main", WRITE.format(test=test))


@pytest.mark.parametrize(
    ("save", "is_told"),
    [
        ("    if is_main():\n        torch.save(state, path)\n", False),
        ("    if not is_main():\n        return\n    torch.save(state, path)\n", False),
        ("    if dist.get_rank() != 0:\n        return\n    torch.save(state, path)\n", False),
        ("    if is_main():\n        print(path)\n    torch.save(state, path)\n", True),
        ("    if is_main():\n        return\n    torch.save(state, path)\n", True),
        ("    if is_main():\n        print(path)\n    else:\n        torch.save(state, path)\n", True),
        ("    torch.save(state, path)\n    if not is_main():\n        return\n", True),
    ],
)
def test_a_function_that_saves_under_such_a_guard_is_not_told(save: str, is_told: bool, tmp_path: Path) -> None:
    helpers = f"def is_main():\n    return dist.get_rank() == 0\n\n\ndef save(state, path):\n{save}"
    said = messages_of(tmp_path, helpers, "from helpers import save", "save({}, 'a.pt')")
    assert (SAVES in said) is is_told
