"""--to-accelerate: loops that are spread over the files of a project, and what other files do with the model."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
ENGINE = """import torch


def train(model, loader, optimizer):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def project(folder: Path, *options: str, **files: str) -> tuple[dict[str, str], list[str]]:
    """What becomes of the files of a project, and the messages."""
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    result = CliRunner().invoke(
        main, ["--to-accelerate", *options, "--isolated", "--output-format", "json", str(folder)]
    )
    after = {name: (folder / f"{name}.py").read_text() for name in files}
    return after, [f"{f['code']} {f['message']}" for f in json.loads(result.stdout)["findings"]]


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ("from engine import train\n", "train"),
        ("import engine\n", "train"),
        ("from engine import train as run_epoch\n", "train"),
    ],
)
def test_a_call_that_trains_in_another_file_is_told_where_it_stands(tmp_path: Path, start: str, name: str) -> None:
    called = {"import engine\n": "engine.train", "from engine import train\n": "train"}.get(start, "run_epoch")
    script = f"{start}{HEAD}{called}(model, loader, optimizer)\n"
    after, messages = project(tmp_path, main=script, engine=ENGINE)
    assert after["main"] == script
    assert any(message.startswith(f"RM851 `{name}` trains in ") for message in messages)


OWNER = """import torch


class Trainer:
    def __init__(self, model):
        self.model = model

    def fit(self, loader, optimizer):
        for x, y in loader:
            self.model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
"""


def test_a_class_of_another_file_that_trains_is_told_too(tmp_path: Path) -> None:
    script = f"from engine import Trainer\n{HEAD}Trainer(model).fit(loader, optimizer)\n"
    _, messages = project(tmp_path, main=script, engine=OWNER)
    assert any(message.startswith("RM851 `Trainer` trains in ") for message in messages)


def test_the_reason_names_the_file_that_knows_the_optimizer(tmp_path: Path) -> None:
    _, messages = project(
        tmp_path, main=f"from engine import train\n{HEAD}train(model, loader, optimizer)\n", engine=ENGINE
    )
    [reason] = [m for m in messages if "stays native" in m]
    assert "where its optimizer is made cannot be seen in this file; `train` is used by " in reason


def test_a_loop_whose_steps_are_taken_elsewhere_is_told(tmp_path: Path) -> None:
    loop = LOOP.replace("optimizer.step()", "schedule.step_and_update_lr()")
    _, messages = project(tmp_path, main=f"{HEAD}from schedules import schedule\n{loop}")
    assert [m for m in messages if m.startswith("RM851")] == [
        "RM851 The training loop stays native: the step of its optimizer cannot be seen in this file."
    ]


SCORES = """import torch


{decorator}def score(net, loader):
    net.eval()
    return net.{attribute}
"""


@pytest.mark.parametrize(
    ("decorator", "attribute", "given"),
    [
        ("@torch.no_grad()\n", "n_classes", "accelerator.unwrap_model(model)"),
        ("@torch.inference_mode()\n", "config", "accelerator.unwrap_model(model)"),
        ("@torch.no_grad()\n", "training", "model"),
        ("", "n_classes", "model"),
    ],
)
def test_functions_of_other_files_that_reach_into_the_model_get_it_without_its_wrapper(
    tmp_path: Path, decorator: str, attribute: str, given: str
) -> None:
    scores = SCORES.format(decorator=decorator, attribute=attribute)
    script = f"from scores import score\n{HEAD}{LOOP}score(model, test_loader)\n"
    after, messages = project(tmp_path, main=script, scores=scores)
    assert f"score({given}, test_loader)" in after["main"]
    assert any("uses attributes of the model" in m for m in messages) is (not decorator)


def test_an_unseen_function_that_gets_the_model_is_told() -> None:
    messages = accelerated(LOOP, "score(model, test_loader)\n", head=f"from scores import score\n{HEAD}").messages
    assert any("What score() does with the model is not seen" in message for message in messages)
    known = accelerated(LOOP, "summary(model)\n", head=f"from torchinfo import summary\n{HEAD}").messages
    assert not any("is not seen" in message for message in known)


@pytest.mark.parametrize(
    ("call", "started"),
    [
        (
            'wandb.init(project="a")',
            'wandb.init(project="a", mode=None if accelerator.is_main_process else "disabled")',
        ),
        (
            'wandb.init(mode="offline")',
            'wandb.init(mode="offline" if accelerator.is_main_process else "disabled")',
        ),
        (
            'wandb.init(mode="disabled" if data.debug else "online")',
            'wandb.init(mode=("disabled" if data.debug else "online") if accelerator.is_main_process else "disabled")',
        ),
        ('wandb.init(mode="disabled" if data.rank else None)', 'wandb.init(mode="disabled" if data.rank else None)'),
        ('wandb.init(mode="disabled")', 'wandb.init(mode="disabled")'),
    ],
)
def test_a_run_of_wandb_that_is_kept_is_there_in_every_process(call: str, started: str) -> None:
    text = accelerated(f"run = {call}\nrun.config.update({{}})\n", LOOP, head=f"import wandb\n{HEAD}").text
    assert f"run = {started}\nrun.config.update({{}})\n" in text


def test_a_run_of_mlflow_that_is_kept_is_told() -> None:
    outcome = accelerated("run = mlflow.start_run()\nprint(run.info.run_id)\n", LOOP, head=f"import mlflow\n{HEAD}")
    assert "run = mlflow.start_run()\n" in outcome.text
    assert any("Every process of a distributed run logs here" in message for message in outcome.messages)


def test_the_layout_in_memory_stays() -> None:
    loop = LOOP.replace("x.to(device)", "x.to(device, memory_format=torch.channels_last)")
    assert "x, y = x.to(memory_format=torch.channels_last), y\n" in accelerated(loop).text


WHOLE = """import torch
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, rows):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = torch.nn.Linear(4, 1).to(self.device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.loader = DataLoader(rows, batch_size=8, shuffle=True)

    def fit(self):
        for x in self.loader:
            loss = self.net(x.to(self.device)).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
"""
START = "import os\nimport torch\nfrom engine import Trainer\nfrom rows import ROWS\n\n\n"
HIDES = 'os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n'


def around(folder: Path, script: str, engine: str = WHOLE) -> list[str]:
    """What is said of a script that starts the training of another file."""
    after, messages = project(folder, main=START + script, engine=engine)
    assert after["main"] == START + script
    assert ("Accelerator()" in after["engine"]) == (engine == WHOLE)
    return [message for message in messages if "stays native" not in message]


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ('trainer = Trainer(ROWS)\ntrainer.fit()\ntorch.save(trainer.net.state_dict(), "a.pt")\n', "trainer.net"),
        ('t = Trainer(ROWS)\nt.fit()\ntorch.save(t.net, "a.pt")\n', "t.net"),
        ("def keep(t):\n    t.net.save('a')\n\n\nt = Trainer(ROWS)\nt.fit()\nkeep(t)\n", "t.net"),
        ("def main():\n    run = Trainer(ROWS)\n    run.fit()\n    print(run.net.weight)\n\n\nmain()\n", "run.net"),
    ],
)
def test_other_files_that_use_the_prepared_model_are_told(tmp_path: Path, script: str, name: str) -> None:
    [message] = [message for message in around(tmp_path, script) if message.startswith("RM857")]
    assert message.startswith(f"RM857 `{name}` is prepared in ")


@pytest.mark.parametrize(
    ("script", "engine"),
    [
        (
            "trainer = Trainer(ROWS)\ntrainer.fit()\ntrainer.net.eval()\ntrainer.net(ROWS)\nprint(trainer.loader)\n",
            WHOLE,
        ),
        ("trainer = Trainer(ROWS)\ntrainer.fit()\nother.net.state_dict()\n", WHOLE),
        ("trainer = Trainer(ROWS)\ntrainer.fit()\ntrainer.net.state_dict()\n", WHOLE.replace("step()", "step(f)")),
    ],
)
def test_what_is_the_same_of_a_prepared_model_is_not(tmp_path: Path, script: str, engine: str) -> None:
    assert not [message for message in around(tmp_path, script, engine) if message.startswith("RM857")]


@pytest.mark.parametrize("start", ["Trainer(ROWS).fit()\n", "trainer = Trainer(ROWS)\ntrainer.fit()\n"])
def test_a_class_that_is_converted_in_its_file_is_no_reason_to_move_it(tmp_path: Path, start: str) -> None:
    assert not [message for message in around(tmp_path, start) if message.startswith("RM851")]


@pytest.mark.parametrize("engine", [WHOLE, WHOLE.replace("step()", "step(f)")])
def test_gpus_that_the_file_hides_which_starts_the_training_are_told(tmp_path: Path, engine: str) -> None:
    told = [message for message in around(tmp_path, f"{HIDES}Trainer(ROWS).fit()\n", engine) if "hides" in message]
    assert bool(told) == (engine == WHOLE)


OWN_DEVICE = """import torch
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, rows):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = torch.nn.Linear(1, 1).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.loader = DataLoader(rows, batch_size=4, shuffle=True)

    def train(self):
        for x, y in self.loader:
            x, y = x.to(self.device), y.to(self.device)
            self.optimizer.zero_grad()
            torch.nn.functional.mse_loss(self.model(x), y).backward()
            self.optimizer.step()
"""
READS_IT = "trainer = Trainer(rows)\ntrainer.train()\nprint(torch.ones(1).to(trainer.device))\n"


@pytest.mark.parametrize("start", ["from engine import Trainer\n", "from engine import *\n"])
def test_an_attribute_that_another_file_reads_stays(tmp_path: Path, start: str) -> None:
    after, _ = project(tmp_path, main=f"import torch\n{start}{READS_IT}", engine=OWN_DEVICE)
    assert "self.device = self.accelerator.device\n" in after["engine"]


@pytest.mark.parametrize("script", ["print(other.device)\n", "from engine import Trainer\nTrainer(rows).train()\n"])
def test_an_attribute_that_no_file_reads_goes(tmp_path: Path, script: str) -> None:
    after, _ = project(tmp_path, main=script, engine=OWN_DEVICE)
    assert "accelerator.prepare" in after["engine"] and "device" not in after["engine"]


MAKERS = """from torch.optim import AdamW


def by_model(net, rate):
    return AdamW(net.parameters(), lr=rate)


def by_parameters(rate, parameters):
    return AdamW(parameters, lr=rate)


def by_groups(net):
    decay = [p for n, p in net.named_parameters() if "bias" not in n]
    groups = [{"params": decay}, {"params": [p for n, p in net.named_parameters() if "bias" in n]}]
    optimizer = AdamW(groups)
    return optimizer


def of_its_own(rate):
    return AdamW(build().parameters(), lr=rate)
"""
OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
UNSEEN = "which model `optimizer` trains cannot be seen"


@pytest.mark.parametrize(
    ("imports", "made", "seen"),
    [
        ("import makers", "makers.by_model(model, 0.1)", True),
        ("from makers import by_model", "by_model(rate=0.1, net=model)", True),
        ("from makers import by_parameters as make", "make(0.1, model.parameters())", True),
        ("from makers import by_parameters", "by_parameters(0.1, [p for p in model.parameters()])", True),
        ("from makers import by_groups", "by_groups(model)", True),
        ("from makers import of_its_own", "of_its_own(0.1)", False),
    ],
)
def test_an_optimizer_that_another_file_makes(imports: str, made: str, seen: bool, tmp_path: Path) -> None:
    script = f"{imports}\n{HEAD.replace(OPTIMIZER, f'optimizer = {made}')}{LOOP}"
    after, messages = project(tmp_path, main=script, makers=MAKERS)
    assert ("model, optimizer, loader = accelerator.prepare(model, optimizer, loader)" in after["main"]) is seen
    assert any(UNSEEN in message for message in messages) is not seen


@pytest.mark.parametrize(("options", "code"), [((), "RM858"), (("--to-ray", "--gpu"), "RM829")])
def test_a_model_that_another_file_reaches_into_is_told_of_once(
    tmp_path: Path, options: tuple[str, ...], code: str
) -> None:
    helper = "def load(net, state):\n    net.load_state_dict(state)\n"
    script = f"from helper import load\n{HEAD}{LOOP}load(model, {{}})\n"
    _, messages = project(tmp_path, *options, main=script, helper=helper)
    told = [message for message in messages if "wrapped in DistributedDataParallel" in message]
    assert [message.partition(" ")[0] for message in told] == [code]


INNER = "`net.module`, which a model that accelerate prepared has under several processes alone"


@pytest.mark.parametrize(
    "body",
    [
        "torch.save(net.module.state_dict(), 'm.pt')",
        "inner = net.module\n    return inner.state_dict()",
        "with torch.no_grad():\n        net.module.show()",  # the model itself has no `module`
    ],
)
def test_a_helper_of_another_file_that_needs_the_wrapper_is_told(body: str, tmp_path: Path) -> None:
    helper = f"import torch\ndef keep(net, epoch):\n    {body}\n"
    after, messages = project(tmp_path, main=f"from helper import keep\n{HEAD}{LOOP}keep(model, 1)\n", helper=helper)
    assert "keep(model, 1)" in after["main"]
    assert len([message for message in messages if INNER in message]) == 1


@pytest.mark.parametrize(
    "body",
    [
        "inner = net.module if hasattr(net, 'module') else net\n    inner.state_dict()",
        "if isinstance(net, torch.nn.DataParallel):\n        net = net.module\n    net.state_dict()",
        "if hasattr(net, 'module'):\n        net.module.state_dict()\n    else:\n        net.state_dict()",
    ],
)
def test_a_helper_of_another_file_that_asks_for_the_wrapper_takes_both(body: str, tmp_path: Path) -> None:
    helper = f"import torch\ndef keep(net, epoch):\n    {body}\n"
    after, messages = project(tmp_path, main=f"from helper import keep\n{HEAD}{LOOP}keep(model, 1)\n", helper=helper)
    assert "keep(model, 1)" in after["main"]
    assert not [message for message in messages if "DistributedDataParallel" in message or INNER in message]


def test_a_helper_that_asks_for_the_wrapper_and_reads_more_whatever_it_got(tmp_path: Path) -> None:
    helper = "def keep(net):\n    if hasattr(net, 'module'):\n        print(net.module)\n    net.load_state_dict({})\n"
    _, messages = project(tmp_path, main=f"from helper import keep\n{HEAD}{LOOP}keep(model)\n", helper=helper)
    assert len([message for message in messages if "wrapped in DistributedDataParallel" in message]) == 1


SETUP = """import os
import torch
import torch.distributed as dist


def setup():
    dist.init_process_group(backend={backend})
    return torch.device({device})
"""
NO_GROUP = "would no longer be a group"


@pytest.mark.parametrize(
    ("backend", "device", "told"),
    [
        ("'nccl' if torch.cuda.is_available() else 'gloo'", "'cuda' if torch.cuda.is_available() else 'cpu'", 1),
        ("os.environ.get('BACKEND', 'gloo')", "'cpu' if os.environ.get('CPU') else 'cuda'", 1),
        ("'nccl'", "'cuda'", 0),
    ],
)
@pytest.mark.parametrize("start", ["from places import setup", "import places"])
def test_a_process_group_on_cpus_that_another_file_makes(
    start: str, backend: str, device: str, told: int, tmp_path: Path
) -> None:
    made = "device = setup()" if start.startswith("from") else "device = places.setup()"
    script = f"{start}\n{HEAD.replace(DEVICE, made)}{LOOP}"
    _, messages = project(tmp_path, main=script, places=SETUP.format(backend=backend, device=device))
    assert len([message for message in messages if NO_GROUP in message]) == told


def test_a_process_group_on_cpus_that_a_class_of_another_file_makes(tmp_path: Path) -> None:
    made = "import torch.distributed as d\nclass Env:\n    def __init__(self):\n        d.init_process_group('gloo')\n"
    script = f"from places import Env\n{HEAD.replace(DEVICE, f'env = Env(){chr(10)}{DEVICE}')}{LOOP}"
    _, messages = project(tmp_path, main=script, places=made)
    assert len([message for message in messages if NO_GROUP in message]) == 1


def test_a_helper_that_needs_the_wrapper_before_the_model_is_prepared(tmp_path: Path) -> None:
    wrapped = "model = torch.nn.parallel.DistributedDataParallel(model)\nkeep(model)\n"
    helper = "def keep(net):\n    print(net.module)\n"
    _, messages = project(tmp_path, main=f"from helper import keep\n{HEAD}{wrapped}{LOOP}", helper=helper)
    assert len([message for message in messages if INNER in message]) == 1
