"""--to-accelerate: branches that choose the device, and what is left of them."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

FIRST = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
BRANCHES = [
    'if torch.cuda.is_available():\n    device = torch.device("cuda")\nelse:\n    device = torch.device("cpu")\n',
    'if torch.cuda.is_available():\n    device = "cuda"\nelif torch.backends.mps.is_available():\n'
    '    device = "mps"\nelse:\n    device = "cpu"\n',
    'if torch.cuda.is_available(): device = "cuda:0"\nelse: device = "cpu"\n',
    "if torch.accelerator.is_available():\n    device = torch.accelerator.current_accelerator()\n"
    'else:\n    # slow\n    device = torch.device("cpu")\n',
]


@pytest.mark.parametrize("branches", BRANCHES)
def test_branches_that_only_choose_the_device_become_one_line(branches: str) -> None:
    text = accelerated("print(device)\n", LOOP, head=HEAD.replace(FIRST, branches)).text
    assert "accelerator = Accelerator()\ndevice = accelerator.device\n" in text
    assert "is_available" not in text


@pytest.mark.parametrize(
    "branches",
    [
        *BRANCHES,
        "try:\n    device = torch.device('cuda')\nexcept RuntimeError:\n    device = torch.device('cpu')\n",
        "use_cuda = torch.accelerator.is_available()\nif use_cuda:\n    device = 'cuda'\nelse:\n    device = 'cpu'\n",
    ],
)
def test_branches_that_choose_a_device_which_nothing_needs_go(branches: str) -> None:
    text = accelerated(LOOP, head=HEAD.replace(FIRST, branches)).text
    assert text == accelerated(LOOP).text


def test_such_branches_in_a_function_or_below_others_go_too() -> None:
    branches = BRANCHES[0].replace("\n", "\n    ").rstrip()
    head = HEAD.replace(FIRST, f"import os\nif os.environ.get('GPU'):\n    {branches}\nelse:\n    device = 'cpu'\n")
    assert accelerated(LOOP, head=head).text == accelerated(LOOP).text


def test_what_else_a_branch_does_stays() -> None:
    more = BRANCHES[0].replace("\nelse", "\n    torch.backends.cudnn.benchmark = True\nelse")
    text = accelerated(LOOP, head=HEAD.replace(FIRST, more)).text
    assert "if torch.cuda.is_available():\n    torch.backends.cudnn.benchmark = True\n" in text
    assert "device =" not in text
