"""Rows that each process would split or shuffle by random numbers of its own are told, with both options."""

import pytest

from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.runs_before import RunsBefore
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

SPLITS = [
    "from torch.utils.data import random_split\nparts = random_split(data, [8, 2])\n",
    "parts = torch.utils.data.random_split(data, [0.8, 0.2], generator=None)\n",
    "from sklearn.model_selection import train_test_split\nparts = train_test_split(data)\n",
    "import random\nrandom.shuffle(data)\n",
    "parts = data.train_test_split(test_size=0.2)\n",
    "parts = torch.utils.data.random_split(data, [8, 2])\ntorch.manual_seed(1)\n",
    "def seed():\n    torch.manual_seed(1)\n\n\nparts = torch.utils.data.random_split(data, [8, 2])\nseed()\n",
    "from sklearn.model_selection import KFold\nparts = list(KFold(5, shuffle=True).split(data))\n",
    "parts = data.sample(frac=1.0)\n",
    "from datasets import load_dataset\nrows = load_dataset('imdb')['train'].shuffle().select(range(9))\nfit(rows)\n",
    "import datasets\nrows = datasets.load_dataset('imdb').shuffle(seeds=None)\nfit(rows)\n",
]
SEEDED = [
    "torch.manual_seed(1)\nparts = torch.utils.data.random_split(data, [8, 2])\n",
    "g = torch.Generator().manual_seed(1)\nparts = torch.utils.data.random_split(data, [8, 2], generator=g)\n",
    "from sklearn.model_selection import train_test_split\nparts = train_test_split(data, random_state=1)\n",
    "from transformers import set_seed\nset_seed(1)\nparts = data.train_test_split(test_size=0.2)\n",
    "from tools import seed_everything\nseed_everything(1)\nparts = data.train_test_split(test_size=0.2)\n",
    "parts = data.train_test_split(test_size=0.2, shuffle=False)\n",
    "def seed():\n    torch.manual_seed(1)\n\n\nseed()\nparts = torch.utils.data.random_split(data, [8, 2])\n",
    "torch.manual_seed(1)\nparts = torch.utils.data.random_split(data, [8, 2])\ntorch.manual_seed(2)\n",
    "from sklearn.model_selection import KFold\nparts = list(KFold(5).split(data))\n",
    "parts = data.sample(frac=1.0, random_state=1)\n",
    "from datasets import load_dataset\nrows = load_dataset('imdb')['train'].shuffle(seed=1)\nfit(rows)\n",
    "from datasets import load_dataset\nrows = load_dataset('imdb')['train'].shuffle(1)\nfit(rows)\n",
    "from datasets import load_dataset\nrows = load_dataset('imdb', streaming=True).shuffle()\nfit(rows)\n",
    "from datasets import load_dataset\nrows = load_dataset('imdb')\nprint(rows['train'].shuffle()[:3])\n",
    "import numpy as np\nfrom datasets import load_dataset\nnp.random.seed(1)\n"
    "rows = load_dataset('imdb').shuffle()\nfit(rows)\n",
    "cards = deck.shuffle()\nfit(cards)\n",
]
TRAINER = """\
from job import data
import torch
from transformers import AutoModel, Trainer, TrainingArguments
{split}
trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"), train_dataset=data)
trainer.train()
"""


def is_told(messages: list[str]) -> bool:
    return any(message.startswith("No seed is set") for message in messages)


@pytest.mark.parametrize(("split", "told"), [*((s, True) for s in SPLITS), *((s, False) for s in SEEDED)])
def test_of_a_native_loop(split: str, told: bool) -> None:
    outcome = accelerated(split, LOOP)
    assert "accelerator.backward" in outcome.text
    assert is_told(outcome.messages) is told


@pytest.mark.parametrize(("split", "told"), [*((s, True) for s in SPLITS), *((s, False) for s in SEEDED)])
def test_of_a_trainer(split: str, told: bool) -> None:
    outcome = converted(TRAINER.format(split=split), to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text
    assert is_told(outcome.messages) is told
    assert not is_told(converted(TRAINER.format(split=split), to_ray=True, workers=1).messages)


PICTURES = [
    "print(frame.sample(frac=0.1))\n",
    "few = frame.sample(frac=0.1)\nprint(few)\n",
    "perm = torch.randperm(len(test_data))[:16]\nsave_image(torch.stack([test_data[i][0] for i in perm]), 'a.png')\n",
    "save_image(test_data.images[torch.randperm(100)[:8]], 'a.png')\n",
    "perm = torch.randperm(100)\nfor n, i in enumerate(perm.tolist()):\n    plt.imshow(test_data[i][0])\n",
    "import random\nfor i in random.sample(range(100), 4):\n    x, label = test_data[i]\n    plt.title(str(label))\n",
    "rows = test_data.images[torch.randperm(100)[:8]]\nout = model(rows)\nsave_image(make_grid(out), 'a.png')\n",
]
SHARED_OUT = [
    "rows = frame.sample(frac=1).reset_index(drop=True)\nparts = [rows[i] for i in range(80)]\ncheck(parts)\n",
    "perm = torch.randperm(100)\nparts = torch.utils.data.Subset(data, perm[:80])\n",
    "perm = torch.randperm(100)\ndata.rows = data.rows[perm]\n",
    "import random\npicked = random.sample(range(100), 80)\nparts = [data[i] for i in picked]\ncheck(parts)\n",
    "def halves():\n    perm = torch.randperm(100)\n    return perm[:50], perm[50:]\n",
]
IMPORTS = "import matplotlib.pyplot as plt\nfrom torchvision.utils import make_grid, save_image\n"


@pytest.mark.parametrize(("picked", "told"), [*((s, False) for s in PICTURES), *((s, True) for s in SHARED_OUT)])
def test_rows_that_are_only_shown_are_shared_out_by_nobody(picked: str, told: bool) -> None:
    assert is_told(accelerated(IMPORTS, LOOP, picked).messages) is told


def test_rows_of_a_batch_that_are_mixed_in_a_step_are_not_told() -> None:
    mixed = LOOP.replace("    loss", "    x = 0.5 * x + 0.5 * x[torch.randperm(len(x))]\n    loss")
    assert not is_told(accelerated(mixed).messages)
    helper = "def mix(x):\n    return 0.5 * x + 0.5 * x[torch.randperm(len(x))]\n\n\n"
    assert not is_told(accelerated(helper, LOOP.replace("    loss", "    x = mix(x)\n    loss")).messages)


@pytest.mark.parametrize(
    "copy",
    [
        "import copy\nreference = copy.deepcopy(model)\n",
        "from copy import deepcopy\nreference = deepcopy(model)\n",
        "from torch.optim.swa_utils import AveragedModel\naverage = AveragedModel(model)\n",
        "average = EMA(model, decay=0.9)\n",
    ],
)
def test_a_model_that_is_copied_is_on_its_device_before(copy: str) -> None:
    made = "model = nn.Linear(4, 2).to(device)\n"
    head = HEAD.replace(made, made + copy).replace("from job import data", "from job import EMA, data")
    text = accelerated(LOOP, head=head).text
    assert made in text
    assert "device = accelerator.device\n" in text
    assert made not in accelerated(LOOP).text


def test_an_option_for_the_rank_does_not_keep_settings_from_the_accelerator() -> None:
    head = HEAD.replace(
        "device = ",
        "import argparse\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--local_rank", type=int)\nparser.add_argument("--fp16")\n'
        "args = parser.parse_args()\ndevice = ",
    )
    loop = (
        "scaler = torch.cuda.amp.GradScaler(enabled=args.fp16)\nfor x, y in loader:\n    optimizer.zero_grad()\n"
        "    with torch.cuda.amp.autocast(enabled=args.fp16):\n        loss = F.cross_entropy(model(x), y)\n"
        "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()\n"
    )
    text = accelerated(loop, head=head).text
    assert 'accelerator = Accelerator(mixed_precision="fp16" if args.fp16 else "no")\n' in text
    assert text.index("parse_args()") < text.index("Accelerator(mixed")


def test_functions_that_call_one_another_twice_are_gone_through_once() -> None:
    steps = "".join(f"def f{step}():\n    f{step + 1}()\n    f{step + 1}()\n\n\n" for step in range(40))
    module = Module(f"{steps}def f40():\n    last()\n\n\nf0()\nlast()\n", "job.py")
    inner, *_, outer = module.named_calls("last")
    assert RunsBefore(module).surely_before(inner, outer)
