"""The twelve reasons for which a script is left byte for byte as it is, each in several spellings.

R1 trains while it is imported; R2 accelerate starts it itself; R3 it starts processes itself; R4 a search of
hyperparameters; R5 gradients without backward(); R6 arguments made elsewhere; R7 what moves is imported elsewhere;
R8 one Trainer that trains twice, two loops; R9 a user between the steps; R10 not a plain script; R11 accelerate rejects
the file; R12 names that are gone.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main

HEAD = "import torch\nfrom transformers import AutoModel, Trainer, TrainingArguments\n"
TRAIN = 'trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))\ntrainer.train()\n'
TRAINER = HEAD + TRAIN
ACCELERATE = """\
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(*make())
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
    {end}
"""
LOOP = """\
import torch
from torch.utils.data import DataLoader

model = torch.nn.Linear(3, 3)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1)
loader = DataLoader(rows, batch_size=4)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        {step}
"""
LAUNCH = "accelerate launch --config_file settings.yaml train.py\n"
PLAIN = ACCELERATE.format(end="print(epoch)")


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@dataclass(frozen=True)
class Refusal:
    """A program that is left as it is.

    Args:
        number: The number of the reason.
        words: What the reason says.
        script: The program.
        other: Another file of the project, `other.py`.
        settings: The file of accelerate that the program is launched with.
        native: Whether the program is a native loop, and the option `--to-accelerate`.
    """

    number: int
    words: str
    script: str
    other: str = ""
    settings: str = ""
    native: bool = False


def r1(script: str, other: str) -> Refusal:
    return Refusal(1, "trains where its file is imported", script, other)


def r2(settings: str, script: str = PLAIN) -> Refusal:
    return Refusal(2, "Ray Train has no equal form", script, settings=settings)


def r3(script: str) -> Refusal:
    return Refusal(3, "starts its own processes", script)


def r4(script: str) -> Refusal:
    return Refusal(4, "starts its own trials", script)


def r5(step: str, words: str = "cannot be expressed with accelerator.backward", top: str = "") -> Refusal:
    return Refusal(5, words, top + LOOP.format(step=step), native=True)


def r6(script: str, other: str) -> Refusal:
    return Refusal(6, "each worker would train alone", script, other)


def r7(script: str, other: str) -> Refusal:
    return Refusal(7, "has to move into the training function, but", script, other)


def r8(script: str, words: str = "Two trainings in one script", *, native: bool = False) -> Refusal:
    return Refusal(8, words, script, native=native)


def r9(script: str, words: str = "used interactively between steps") -> Refusal:
    return Refusal(9, words, script)


def r11(settings: str) -> Refusal:
    return Refusal(11, "settings.yaml", PLAIN, settings=settings)


GUARDED = f'if __name__ == "__main__":\n{indented(TRAIN)}'
OWN = (
    f'{HEAD}size = AutoModel.from_pretrained("b").size\nif __name__ == "__main__":\n    print(size)\n{indented(TRAIN)}'
)
GIVEN = f"{{}}\n{TRAINER}".replace('TrainingArguments("out")', "{}")
CALLBACK = """\
from transformers import TrainerCallback
import matplotlib.pyplot as plt

class Show(TrainerCallback):
    def on_log(self, args, state, control, **kwargs):
        self.draw(state)

    def draw(self, state):
        plt.plot(state.log_history)
        plt.show()

"""
REFUSALS = (
    r1(TRAINER, "from train import trainer\n"),
    r1(TRAINER, "import train\nprint(train.trainer)\n"),
    r1(PLAIN, "from train import model\n"),
    r2("distributed_type: XLA\nnum_processes: 8\n"),
    r2("distributed_type: MEGATRON_LM\nnum_processes: 8\nmegatron_lm_config: {}\n"),
    r2("compute_environment: AMAZON_SAGEMAKER\ndistributed_type: NO\n"),
    r2("", f"import torch_xla.core.xla_model as xm\n{PLAIN}"),
    r2("", f"from accelerate.utils import MegatronLMDummyScheduler\n{PLAIN}"),
    r3(f"import torch.multiprocessing as mp\n{HEAD}def f(rank):\n{indented(TRAIN)}mp.spawn(f, nprocs=2)\n"),
    r3(f"import subprocess\n{TRAINER}subprocess.run(['torchrun', 'train.py'])\n"),
    r3(f"import os\n{TRAINER}os.system('accelerate launch train.py')\n"),
    r3(f"from torch.multiprocessing import Process\n{HEAD}def f():\n{indented(TRAIN)}Process(target=f).start()\n"),
    r3(f"import torch.distributed.run\n{TRAINER}torch.distributed.run.main(['train.py'])\n"),
    r4(f"{TRAINER}trainer.hyperparameter_search(n_trials=3)\n"),
    r4(TRAINER.replace("trainer.train()", 'best = trainer.hyperparameter_search(direction="minimize", backend="ray")')),
    r4(f"{HEAD}def tune():\n{indented(TRAIN)}    return trainer.hyperparameter_search()\n\ntune()\n"),
    r5("optimizer.step(lambda: loss.backward())"),
    r5("loss.backward()\n        optimizer.step(closure=closure)"),
    r5("g = torch.autograd.grad(loss, model.parameters())\n        loss.backward()\n        optimizer.step()"),
    r5("loss.backward()\n        optimizer.step()", "uses apex.amp", "from apex import amp\n"),
    r6(
        GIVEN.format("from other import arguments", "arguments"),
        'from transformers import TrainingArguments\narguments = TrainingArguments("o")\n',
    ),
    r6(
        GIVEN.format("import other", "other.args"),
        'from transformers import TrainingArguments\nargs = TrainingArguments("o")\n',
    ),
    r6(
        GIVEN.format("from other import settings", "args=settings"),
        'import transformers\nsettings = transformers.TrainingArguments("o")\n',
    ),
    r6(
        PLAIN.replace("accelerator = Accelerator()", "from other import accelerator"),
        "from accelerate import Accelerator\naccelerator = Accelerator()\n",
    ),
    r7(OWN, "import train\nprint(train.size)\n"),
    r7(OWN, "from train import size as length\n"),
    r7(OWN, "def f():\n    from train import size\n    return size\n"),
    r8(f"{TRAINER}trainer.train()\n", "One Trainer trains twice (lines 4, 5)"),
    r8(f"{HEAD}def main():\n{indented(TRAIN)}    trainer.train()\nmain()\n", "One Trainer trains twice"),
    r8(f"{TRAINER}for n in range(3):\n    trainer.train()\n", "may be the same each time (`trainer`)"),
    r8(
        LOOP.format(step="loss.backward()\n        optimizer.step()").replace("LBFGS", "SGD")
        + "optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\nfor x, y in loader:\n"
        "    model(x).mean().backward()\n    optimizer.step()\n",
        "two trainings in one script",
        native=True,
    ),
    r9(f"name = input()\n{TRAINER}", "asks for input"),
    r9(ACCELERATE.format(end="breakpoint()"), "asks for input"),
    r9(f"import matplotlib.pyplot as plt\n{ACCELERATE.format(end='plt.show()')}"),
    r9(f"from matplotlib import pyplot\ndef draw():\n    pyplot.show()\n\n{ACCELERATE.format(end='draw()')}"),
    r9(f"from IPython.display import display, clear_output\n{ACCELERATE.format(end='display(model)')}"),
    r9(ACCELERATE.format(end="display(model)")),
    r9(CALLBACK + TRAINER.replace('("out"))', '("out"), callbacks=[Show()])')),
    Refusal(10, "uses pytorch_lightning", f"import pytorch_lightning as pl\n{TRAINER}pl.Trainer()\n"),
    Refusal(10, "uses fastai", f"from fastai.vision.all import Learner\n{TRAINER}Learner()\n"),
    Refusal(10, "uses keras", f"import keras\n{PLAIN}keras.Model()\n"),
    Refusal(10, "uses Lightning", f"import lightning\n{LOOP.format(step='loss.backward()')}", native=True),
    Refusal(10, "trains on Ray already", f"import ray\n{LOOP.format(step='loss.backward()')}", native=True),
    r11("distributed_type: MULTI_GPU\nnum_processes: 2\ngradient_accumulation_steps: 2\n"),
    r11("distributed_type: TPU\nnum_processes: 8\n"),
    r11("num_processes: 2\n"),
)


@pytest.mark.parametrize("refusal", REFUSALS, ids=[f"R{r.number}-{n}" for n, r in enumerate(REFUSALS)])
def test_a_script_is_left_as_it_is_with_its_reason(refusal: Refusal, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(refusal.script)
    if refusal.other:
        (tmp_path / "other.py").write_text(refusal.other)
    if refusal.settings:
        (tmp_path / "settings.yaml").write_text(refusal.settings)
        (tmp_path / "run.sh").write_text(LAUNCH)
    option = "--to-accelerate" if refusal.native else "--to-ray"
    said = " ".join(CliRunner().invoke(main, [option, str(tmp_path)]).stdout.split())
    assert (tmp_path / "train.py").read_text() == refusal.script
    assert refusal.words in said, said
    assert ("RM851" if refusal.native else "RM802") in said


def test_every_reason_has_three_spellings() -> None:
    numbers = [refusal.number for refusal in REFUSALS]
    assert {number for number in numbers if numbers.count(number) >= 3} == set(range(1, 12))


@pytest.mark.parametrize(
    ("imported", "made", "code", "is_told"),
    [
        ("TransfoXLModel", "TransfoXLModel.from_pretrained('x')", "RM692", True),
        ("TFTrainer", "TFTrainer(None)", "RM692", True),
        ("AdamW", "AdamW([])", "RM692", False),  # which has a successor
    ],
)
def test_r12_names_that_are_gone_are_told_each_at_its_place(
    imported: str, made: str, code: str, is_told: bool, tmp_path: Path
) -> None:
    """No reason to leave the training where it is: a script that fails at its import fails in the same way after it."""
    (tmp_path / "train.py").write_text(f"from transformers import {imported}\n{HEAD}gone = {made}\n{TRAIN}")
    said = CliRunner().invoke(main, ["--to-ray", str(tmp_path)]).stdout
    assert "TorchTrainer(" in (tmp_path / "train.py").read_text()
    assert (code in said) is is_told
