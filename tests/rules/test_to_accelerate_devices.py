"""--to-accelerate: branches that choose the device, and what is left of them."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.test_to_accelerate import HEAD, LOOP, STEP, accelerated

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


OPTION = "import argparse\nparser = argparse.ArgumentParser()\nargs = parser.parse_args()\n"


@pytest.mark.parametrize(
    ("choice", "option"),
    [
        ("device = torch.device('cuda' if args.cuda else 'cpu')\n", "args.cuda"),
        (
            "device = torch.device('cuda' if args.cuda else 'cpu') if not args.no_cuda else torch.device('cpu')\n",
            "args.cuda",
        ),
        ("device = 'cuda' if torch.cuda.is_available() and not args.no_cuda else 'cpu'\n", "args.no_cuda"),
        (
            "use_cuda = not args.no_cuda and torch.cuda.is_available()\ndevice = 'cuda' if use_cuda else 'cpu'\n",
            "use_cuda",
        ),
        (BRANCHES[0].replace("()", "() and not args.no_cuda"), "args.no_cuda"),
        (
            "device = 'cuda' if torch.cuda.is_available() else 'cpu'\nif args.no_cuda:\n    device = 'cpu'\n",
            "args.no_cuda",
        ),
        ("def chosen(gpu):\n    return torch.device('cuda' if gpu else 'cpu')\ndevice = chosen(args.gpu)\n", "gpu"),
        ("settings = {'cuda': False}\ndevice = 'cuda' if settings['cuda'] else 'cpu'\n", "settings['cuda']"),
    ],
)
def test_an_option_that_chose_the_device_is_told(choice: str, option: str) -> None:
    outcome = accelerated(LOOP, head=HEAD.replace(FIRST, f"{OPTION}{choice}"))
    assert "device = " not in outcome.text
    [told] = [message for message in outcome.messages if "chooses the device" in message]
    assert f"`{option}` has no effect on it any more" in told


@pytest.mark.parametrize(
    ("choice", "number"),
    [
        ("device = torch.device(f'cuda:{args.gpu}' if torch.cuda.is_available() else 'cpu')\n", "args.gpu"),
        ("device = 'cuda:' + str(args.gpu)\n", "args.gpu"),
        ("device = torch.device('cuda', args.gpu_id)\n", "args.gpu_id"),
        ("device = torch.device('cuda', 1)\n", "1"),
        ("GPU = 2\ndevice = 'cuda:{}'.format(GPU)\n", "GPU"),
        ("device = 'cuda:3'\n", "'cuda:3'"),
        ("def place(gpu):\n    return torch.device('cuda:%d' % gpu)\ndevice = place(args.gpu)\n", "gpu"),
        ("device = torch.device('cuda', index=args.gpu)\n", "args.gpu"),
        ("device = torch.device(type='cuda', index=1)\n", "1"),
        ("device = torch.device(f'cuda:{args.gpus[0]}')\n", "args.gpus[0]"),
        ("import os\ndevice = 'cuda:' + os.environ['GPU']\n", "os.environ['GPU']"),
        ("import os\ndevice = torch.device('cuda', int(os.environ['GPU']))\n", "os.environ['GPU']"),
        ("torch.cuda.set_device(args.gpu)\ndevice = 'cuda'\n", "args.gpu"),
    ],
)
def test_the_number_of_a_gpu_that_somebody_chose_is_told(choice: str, number: str) -> None:
    outcome = accelerated(LOOP, head=HEAD.replace(FIRST, f"{OPTION}{choice}"))
    assert "device = " not in outcome.text
    [told] = [message for message in outcome.messages if "chooses the device" in message]
    assert f"`{number}` has no effect on it any more. CUDA_VISIBLE_DEVICES" in told


@pytest.mark.parametrize(
    "choice",
    [
        "torch.cuda.set_device(0)\ndevice = 'cuda'\n",
        "torch.cuda.set_device('cuda:0')\ndevice = 'cuda'\n",
        "device = torch.device('cuda', index=0)\n",
        "device = torch.device('cuda', torch.cuda.current_device())\n",
        "import os\ndevice = f'cuda:{os.environ[\"SLURM_LOCALID\"]}'\n",
        "import os\ndevice = torch.device('cuda', int(os.environ['LOCAL_RANK']))\n",
    ],
)
def test_the_first_gpu_and_that_of_a_process_are_not_chosen(choice: str) -> None:
    outcome = accelerated(LOOP, head=HEAD.replace(FIRST, f"{OPTION}{choice}"))
    assert "device = " not in outcome.text
    assert not [message for message in outcome.messages if "chooses the device" in message]


def test_a_number_that_things_are_moved_to_is_told_as_well() -> None:
    head = HEAD.replace(FIRST, OPTION).replace(".to(device)", ".cuda(args.gpu)")
    outcome = accelerated("for x, y in loader:\n    x, y = x.cuda(args.gpu), y.cuda(args.gpu)\n" + STEP, head=head)
    assert "cuda(" not in outcome.text
    assert "`args.gpu` has no effect on it any more. CUDA_VISIBLE_DEVICES" in " ".join(outcome.messages)
    assert len(outcome.lines("RM858", Kind.NOTE)) == 1


def test_so_is_one_under_which_things_are_moved() -> None:
    head = HEAD.replace(FIRST, OPTION).replace(".to(device)", "") + "if args.cuda:\n    model.cuda()\n"
    loop = f"for x, y in loader:\n    if args.cuda:\n        x, y = x.cuda(), y.cuda()\n{STEP}"
    outcome = accelerated(loop, head=head)
    assert "cuda" not in outcome.text
    assert len(outcome.lines("RM858", Kind.NOTE)) == 1
    assert "`args.cuda` has no effect on it any more" in " ".join(outcome.messages)


@pytest.mark.parametrize(
    ("imported", "made", "read"),
    [
        ("from peft.utils import infer_device", "infer_device()", "device.type"),
        ("from peft import utils", "utils.infer_device()", "device.type"),
        ("from peft.utils.other import infer_device", "torch.device(infer_device())", "device"),
    ],
)
def test_what_peft_takes_for_the_best_device_is_one(imported: str, made: str, read: str) -> None:
    head = f"{imported}\n{HEAD.replace(FIRST, f'device = {made}{chr(10)}')}"
    text = accelerated(LOOP, "print(device == 'cuda')\n", head=head).text
    assert "device = accelerator.device\n" in text and "infer_device()" not in text and ".to(device)" not in text
    assert f"accelerator.print({read} == 'cuda')" in text


def test_a_function_of_that_name_from_elsewhere_is_not() -> None:
    head = f"from mine import infer_device\n{HEAD.replace(FIRST, 'device = infer_device()' + chr(10))}"
    assert "device = infer_device()\n" in accelerated(LOOP, head=head).text


@pytest.mark.parametrize(
    "choice",
    [
        *BRANCHES,
        "use_cuda = torch.cuda.is_available()\nif use_cuda:\n    device = 'cuda'\nelse:\n    device = 'cpu'\n",
        "CUDA = True\ndevice = torch.device('cuda' if CUDA and torch.cuda.is_available() else 'cpu')\n",
        "import os\nrank = int(os.environ['LOCAL_RANK'])\ndevice = f'cuda:{rank}' if rank >= 0 else 'cpu'\n",
        "device = 'mps' if hasattr(torch.backends, 'mps') and torch.backends.mps.is_built() else 'cpu'\n",
        "device = 'cuda' if torch.cuda.device_count() > 0 else 'cpu'\n",
        "device = torch.accelerator.current_accelerator().type if hasattr(torch, 'accelerator') else 'cuda'\n",
        "device = 'xpu' if hasattr(torch, 'xpu') and torch.xpu.is_available() else 'cpu'\n",
        "device = torch.device('cuda:0')\n",
        "GPU = 0\ndevice = torch.device('cuda', GPU)\n",
        "import os\ndevice = torch.device('cuda', int(os.environ['LOCAL_RANK']))\n",
        f"{OPTION}args.gpu = args.local_rank\ndevice = f'cuda:{{args.gpu}}'\n",
        "import torch.distributed as dist\ngpu = dist.get_rank()\ndevice = torch.device('cuda:%d' % gpu)\n",
    ],
)
def test_what_only_asks_for_the_machine_is_not(choice: str) -> None:
    outcome = accelerated(LOOP, head=HEAD.replace(FIRST, choice))
    assert not [message for message in outcome.messages if "chooses the device" in message]


ITEMS = "for batch in loader:\n{moves}    sizes = batch['sizes'].numpy()\n    x, y = batch['x'], batch['y']\n" + STEP


@pytest.mark.parametrize(
    ("moves", "is_moved"),
    [
        ("    batch['x'] = batch['x'].to(device)\n    batch['y'] = batch['y'].to(device)\n", False),
        ("    for key in ('x', 'y'):\n        batch[key] = batch[key].to(device)\n", False),
        ("    KEY = 'x'\n    batch[KEY] = batch[KEY].to(device)\n", False),
        ("    for key in batch:\n        batch[key] = batch[key].to(device)\n", True),
        ("    for key, value in batch.items():\n        batch[key] = value.to(device)\n", True),
        ("    for key in ('x', 'sizes'):\n        batch[key] = batch[key].to(device)\n", True),
    ],
)
def test_an_item_that_no_move_names_goes_back_to_the_cpu(moves: str, is_moved: bool) -> None:
    text = accelerated(ITEMS.format(moves=moves)).text
    assert ("batch['sizes'].cpu().numpy()" in text) != is_moved
    assert ".to(device)" not in text


@pytest.mark.parametrize(
    ("moves", "stays"),
    [
        ("    for key, value in batch.items():\n        batch[key] = value.to(device)\n", ""),
        ("    for k, v in batch.items():\n        batch[k] = v.cuda(non_blocking=True)\n", ""),
        ("    for k, v in batch.items():\n        if isinstance(v, torch.Tensor): batch[k] = v.to(device)\n", ""),
        ("    for k, v in batch.items():\n        other[k] = v.to(device)\n", "other[k] = v\n"),
        ("    for k, v in other.items():\n        batch[k] = v.to(device)\n", "batch[k] = v"),
        ("    for v, k in batch.items():\n        batch[k] = v.to(device)\n", "batch[k] = v"),
        ("    for k, v in batch.items():\n        v = v.long()\n        batch[k] = v.to(device)\n", "batch[k] = v\n"),
        ("    for k, v in batch.items():\n        k = k[1:]\n        batch[k] = v.to(device)\n", "batch[k] = v\n"),
        ("    for k, v in batch.items():\n        batch[k] = 1\n        batch[k] = v.to(device)\n", "batch[k] = v\n"),
        ("    for k, v in batch.items():\n        del batch[k]\n        batch[k] = v.to(device)\n", "batch[k] = v\n"),
        ("    for k, v in batch.items():\n        batch[k] = v.to(device)\n    print(v)\n", "        pass\n"),
        (
            "    for k, v in batch.items():\n        batch[k] = v.to(device)\n    for v in other:\n        print(v)\n",
            "",
        ),
    ],
)
def test_loop_that_only_moved_the_items_goes(moves: str, stays: str) -> None:
    outcome = accelerated(ITEMS.format(moves=moves))
    assert stays in outcome.text
    assert (".items()" in outcome.text) is bool(stays)
    assert not [message for message in outcome.messages if "chooses the device" in message]


GIVES = """def place():
    {more}
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


"""


@pytest.mark.parametrize(
    ("more", "stays"), [("torch.manual_seed(7)", True), ("torch.set_num_threads(1)", True), ("print('device')", False)]
)
def test_what_a_function_does_besides_giving_a_device_is_done_where_it_is_called(more: str, stays: bool) -> None:
    text = accelerated(GIVES.format(more=more), LOOP, head=HEAD.replace(".to(device)", ".to(place())")).text
    assert (".to(place())" in text) is stays
    assert ("    return accelerator.device\n" in text) is stays
    assert "accelerator.backward(loss)" in text


TRAINER = f"""{HEAD.replace(FIRST, "").replace(".to(device)", "")}
class Work:
    def __init__(self, model, loader, optimizer, device=None):
        CHOICE
        self.model = model.to(self.device)
        self.loader, self.optimizer = loader, optimizer

    def train(self):
        for x, y in self.loader:
            x, y = x.to(self.device), y.to(self.device)
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

Work(model, loader, optimizer).train()
"""


@pytest.mark.parametrize(
    "choice",
    [
        "self.device = device or torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
        "self.device = device if device is not None else torch.device('cuda')",
        "self.device = torch.device('cuda' if torch.cuda.is_available() else 'cpu') if device is None else device",
        "self.device = device or ('cuda' if torch.cuda.is_available() else 'cpu')",
        "device = torch.device(device or 'cuda')\n        self.device = device",
        "if device is None:\n            device = torch.device('cuda')\n        self.device = device",
        "if not device:\n            device = 'cuda'\n        self.device = torch.device(device)",
    ],
)
def test_a_device_that_a_caller_may_give_is_that_of_the_accelerator(choice: str) -> None:
    outcome = accelerated(TRAINER.replace("CHOICE", choice), head="")
    assert "cuda" not in outcome.text and "device is None" not in outcome.text
    assert "device = self.accelerator.device" in outcome.text or ".to(" not in outcome.text
    assert len([message for message in outcome.messages if "chooses the device" in message]) == 1


@pytest.mark.parametrize(
    "choice", ["device = args.device or 'cuda'\n", "device = args.device if args.device else torch.device('cuda')\n"]
)
def test_an_option_with_another_device_for_its_absence(choice: str) -> None:
    outcome = accelerated(LOOP, head=HEAD.replace(FIRST, f"{OPTION}{choice}"))
    assert "device = " not in outcome.text
    assert len([message for message in outcome.messages if "chooses the device" in message]) == 1


def test_something_else_in_the_place_of_a_device_is_none() -> None:
    outcome = accelerated("print(where)\n", LOOP, head=HEAD.replace(FIRST, f"{FIRST}where = device_map or 'cuda'\n"))
    assert "where = device_map or 'cuda'" in outcome.text
