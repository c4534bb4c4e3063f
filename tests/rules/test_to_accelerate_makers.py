"""--to-accelerate: names that keep a place with None, or are chosen by a text, before they hold what is trained."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated, indented, refusal
from tests.rules.test_to_accelerate_classes import FIT, INIT, PREPARED
from tests.rules.test_to_accelerate_classes import accelerated as accelerated_class

OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
BUILD = """def build(net, optimizer, rate):
    if optimizer == "sgd":
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    elif optimizer == "adam":
        optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    return optimizer


"""


@pytest.mark.parametrize("places", ["", "        self.model = None\n", "        self.loader: object = None\n"])
def test_none_keeps_a_place_in_an_object(places: str) -> None:
    first = "    def __init__(self):\n        self.optimizer = None\n        self.loader = None\n" + places
    head = "    def __init__(self, lr=0.1):\n"
    init = INIT.replace(head, f"{first}        self.make()\n\n    def make(self, lr=0.1):\n")
    text = accelerated_class(init, FIT, "trainer = Trainer()\ntrainer.fit()\n").text
    assert PREPARED in text
    assert "self.loader = None\n" in text


def test_none_keeps_a_place_in_a_module() -> None:
    text = accelerated(
        LOOP, head=HEAD.replace("\ndevice", "\nloader = None\nmodel = None\noptimizer = None\ndevice")
    ).text
    assert "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)" in text


@pytest.mark.parametrize(
    "kind", ['"sgd"', "settings.optimizer", 'settings["optimizer"]', "name", "input()", "settings.get('optimizer')"]
)
@pytest.mark.parametrize("test", ["optimizer ==", "optimizer.lower() ==", '"x" in optimizer or optimizer =='])
def test_an_optimizer_that_is_chosen_by_a_text_of_its_own_name(kind: str, test: str) -> None:
    make = f"from job import settings\nname = settings.optimizer\noptimizer = build(model, {kind}, 0.1)\n"
    head = HEAD.replace(OPTIMIZER, BUILD.replace("optimizer ==", test) + make)
    assert (
        "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)" in accelerated(LOOP, head=head).text
    )


def test_one_that_is_chosen_by_match() -> None:
    build = """def build(net, optimizer):
    match optimizer:
        case "sgd":
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        case _:
            optimizer = torch.optim.Adam(net.parameters())
    return optimizer


from job import settings
optimizer = build(model, settings.optimizer)
"""
    assert "accelerator.prepare(model, optimizer" in accelerated(LOOP, head=HEAD.replace(OPTIMIZER, build)).text


@pytest.mark.parametrize("given", ["settings.optimizer", "settings.make()"])
def test_one_that_may_come_from_elsewhere_is_refused(given: str) -> None:
    build = f"""def build(net, optimizer):
    if settings.new:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return optimizer


from job import settings
optimizer = build(model, {given})
"""
    assert "where its optimizer is made cannot be seen" in refusal(LOOP, head=HEAD.replace(OPTIMIZER, build))


@pytest.mark.parametrize("head", ["if settings.again:", "for path in settings.paths:", "with settings.path as path:"])
def test_a_name_that_another_model_gets_below_a_condition_is_told_so(head: str) -> None:
    again = f"from job import settings\n{head}\n    model = nn.Linear(4, 2)\nmodel.eval()\n"
    told = refusal(LOOP, again)
    line = (HEAD + LOOP).count("\n") + 3
    assert f"`model` becomes another model in line {line}, and what runs after it may mean either" in told


def test_a_name_that_is_deleted_stands_for_no_other_model() -> None:
    """What notebooks and rounds over folds do behind a training."""
    text = accelerated(LOOP, "torch.save(model.state_dict(), 'a.pt')\ndel model, optimizer\n").text
    assert "accelerator.prepare(model, optimizer" in text and "del model, optimizer\n" in text


def test_trainings_that_share_a_name_name_it_once() -> None:
    function = """def run(data):
    model = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data, batch_size=8)
    for x, y in loader:
        F.cross_entropy(model(x.to(device)), y.to(device)).backward()
        optimizer.step()


"""
    told = refusal(function, function.replace("def run", "def other"), "run(data)\nother(data)\n")
    assert "share `model`;" in told


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("dist.broadcast(loss, 0)", "`torch.distributed.broadcast` is not converted; accelerate.utils.broadcast can"),
        ("dist.all_gather(losses, loss)", "`torch.distributed.all_gather` is not converted; accelerator.gather can"),
        ("dist.send(loss, 1)", "`torch.distributed.send` has no equal in accelerate"),
    ],
)
def test_the_reason_names_what_accelerate_has_instead(call: str, reason: str) -> None:
    assert reason in refusal(LOOP, f"    {call}\n", head=f"import torch.distributed as dist\n{HEAD}")


LOADER = (
    "def get_loader(train):\n    return DataLoader(data if train else test_data, batch_size=8, shuffle=train)\n\n\n"
)
HANDED = """def fit(batches):
    for x, y in batches:
        model(x.to(device)).sum().backward()
        optimizer.step()


"""


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            f"for epoch in range(2):\n{indented(LOOP.replace('in loader', 'in get_loader(train=True)'))}",
            "head of the loop",
        ),
        (LOOP.replace("in loader", "in DataLoader(data)"), "head of the loop"),
        (LOOP.replace("x, y in loader", "_, (x, y) in enumerate(get_loader(True))"), "head of the loop"),
        (f"{HANDED}for epoch in range(2):\n    fit(get_loader(True))\n", "is made in the call"),
        (LOOP.replace("in loader", "in data"), "do not come from a DataLoader"),
    ],
)
def test_a_loader_without_a_name_is_told_as_such(code: str, reason: str) -> None:
    assert reason in refusal(f"{LOADER}{code}")


def test_one_function_may_make_both_loaders() -> None:
    both = f"{LOADER}loader, test_loader = get_loader(True), get_loader(train=False)\n{LOOP}"
    assert "accelerator.prepare(model, optimizer, loader)" in accelerated(both).text


ELSEWHERE = """import torch
import torch.distributed as dist
from helpers import make_schedule
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from rows import rows

dist.init_process_group("nccl")
sampler = DistributedSampler(rows)
loader = DataLoader(rows, sampler=sampler)
model = DistributedDataParallel(torch.nn.Linear(4, 2).cuda())
model.load_state_dict(torch.load("model.pt"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = make_schedule(optimizer)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
{save}
"""


@pytest.mark.parametrize(
    ("save", "is_told"),
    [
        ("state = [model.state_dict(), schedule.state_dict()]", True),
        ("state = schedule.state_dict()", True),
        ("made = make_schedule(optimizer)\nstate = [made.state_dict(), model.module.state_dict()]", False),
    ],
)
@pytest.mark.parametrize("made", ["LambdaLR(optimizer, rate)", "wrapped(LambdaLR(optimizer, rate))"])
def test_the_state_of_what_another_file_makes_is_not_that_of_a_model(
    tmp_path: Path, save: str, made: str, *, is_told: bool
) -> None:
    helpers = f"from torch.optim.lr_scheduler import LambdaLR\n\n\ndef make_schedule(optimizer):\n    return {made}\n"
    (tmp_path / "helpers.py").write_text(helpers)
    (tmp_path / "train.py").write_text(ELSEWHERE.format(save=save))
    result = CliRunner().invoke(main, ["--to-accelerate", str(tmp_path)], catch_exceptions=False)
    assert "accelerator.backward(loss)" in (tmp_path / "train.py").read_text(), result.stdout
    assert ('"module." stands in front' in result.stdout) is is_told
