"""The 25 ways in which a conversion could change a training in silence: each is converted, or told.

A row is a trap: what it is, a program that falls into it, what the converted text has to hold, what it must not hold,
and what the findings have to say.
"""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

TRAINER = """\
import torch
from transformers import AutoModel, Trainer, TrainingArguments

torch.manual_seed(1)
model = AutoModel.from_pretrained("bert")
args = TrainingArguments("out", load_best_model_at_end=True)
trainer = Trainer(model, args)
trainer.train()
trainer.save_model("final")
"""
ACCELERATE = """\
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from transformers import AutoModel, get_scheduler

set_seed(3)
accelerator = Accelerator()
model, optimizer, loader, scores = make()
model, optimizer, loader, scores = accelerator.prepare(model, optimizer, loader, scores)
scheduler = get_scheduler("linear", optimizer, 0, 3 * len(loader))
scheduler = accelerator.prepare(scheduler)
decay = accelerator.prepare_scheduler(make())
for epoch in range(3):
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        scheduler.step()
    correct = 0
    with torch.no_grad():
        for batch in scores:
            correct += (model(**batch).logits == batch["labels"]).sum().item()
    if accelerator.is_main_process:
        print(epoch, correct)
        print(model.config)
    accelerator.save_state("state")
"""
LAUNCHED = "accelerate launch --config_file settings.yaml train.py\n"
ACCELERATOR_ONLY = """\
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=2)
model, optimizer, loader = accelerator.prepare(*make())
for batch in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
"""
NATIVE = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows))
tests = DataLoader(others, batch_size=4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
model = nn.DataParallel(model)
for epoch in range(3):
    for step, (x, y) in enumerate(loader):
        loss = (model(x) - y).pow(2).mean() / 2
        loss.backward()
        if (step + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
    scheduler.step()
    correct = 0
    with torch.no_grad():
        for x, y in tests:
            correct += (model(x).argmax(1) == y).sum().item()
    print(correct / len(others))
torch.save(model.module.state_dict(), "model.pt")
"""
NOTEBOOK = f"""\
from accelerate import notebook_launcher
{ACCELERATOR_ONLY.split(chr(10), 1)[0]}

def train():
{"".join(f"    {line}{chr(10)}" for line in ACCELERATOR_ONLY.splitlines()[2:])}
notebook_launcher(train, num_processes=2, mixed_precision="fp16")
"""
LAYERS = "nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.1))"
OWN_CLASS = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(3, 3)
        self.forgotten = nn.Linear(3, 3)

    def forward(self, x):
        return self.used(x)

"""
FSDP = """\
distributed_type: FSDP
num_processes: 2
mixed_precision: 'no'
fsdp_config:
  fsdp_sharding_strategy: 1
  fsdp_offload_params: true
"""
DEEPSPEED = "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n  gradient_accumulation_steps: 8\n"


@dataclass(frozen=True)
class Trap:
    """A trap.

    Args:
        number: Its number.
        what: What it is.
        script: A program that falls into it.
        text: What the converted program has to hold.
        absent: What it must not hold.
        told: What the findings have to say.
        options: The options of the run: `--to-ray` unless others are given.
        settings: The file of accelerate that the program is launched with.
    """

    number: int
    what: str
    script: str
    text: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    options: dict[str, object] = field(default_factory=lambda: {"to_ray": True})
    settings: str = ""


TO_ACCELERATE: dict[str, object] = {"to_accelerate": True}
TRAPS = (
    Trap(1, "TrainingArguments made on the driver", TRAINER, ("\n    args = TrainingArguments(",), ("\nargs =",)),
    Trap(2, "CPU workers that nothing joins: Trainer", TRAINER, ("use_cpu=True",)),
    Trap(2, "CPU workers that nothing joins: Accelerator", ACCELERATE, ("Accelerator(cpu=True)",)),
    Trap(
        3,
        "MULTI_CPU starts one process",
        ACCELERATOR_ONLY,
        ("num_workers=4",),
        told=("trained in one process",),
        settings="distributed_type: MULTI_CPU\nnum_processes: 4\nuse_cpu: true\n",
    ),
    Trap(4, "seeds of the module do not reach workers", TRAINER, ("\n    torch.manual_seed(1)",), ("\ntorch.manual",)),
    Trap(5, "threads change the last digits: Trainer", TRAINER, told=("OMP_NUM_THREADS=1",)),
    Trap(5, "threads change the last digits: Accelerator", ACCELERATE, told=("OMP_NUM_THREADS=1",)),
    Trap(6, "what legacy jobs need", TRAINER, absent=("average_tokens_across_devices", "report_to", "optim=")),
    Trap(7, "the batch is that of one worker: Trainer", TRAINER, told=("The batch size of 8 is that of one worker",)),
    Trap(7, "the batch is that of one worker: Accelerator", ACCELERATE, told=("N workers see N times the rows",)),
    Trap(7, "the batch is that of one process: native", NATIVE, told=("N times the rows",), options=TO_ACCELERATE),
    Trap(8, "a schedule counted after prepare", ACCELERATE, told=("it is at its end after 1/N",)),
    Trap(
        9,
        "a schedule per epoch, prepared",
        ACCELERATE.replace('get_scheduler("linear", optimizer, 0, 3 * len(loader))', "StepLR(optimizer, 1)")
        .replace("import torch\n", "import torch\nfrom torch.optim.lr_scheduler import StepLR\n")
        .replace("        scheduler.step()\n", "")
        .replace("    correct = 0\n", "    scheduler.step()\n    correct = 0\n"),
        told=("A scheduler that steps once an epoch is prepared",),
    ),
    Trap(9, "a schedule per epoch, native", NATIVE, absent=("scheduler = accelerator",), options=TO_ACCELERATE),
    Trap(
        10,
        "accumulation without a step at the end",
        NATIVE,
        (".mean() / 2", "if (step + 1) % 2 == 0:", "accelerator.backward(loss)"),
        ("accumulate(",),
        options=TO_ACCELERATE,
    ),
    Trap(11, "two samplers that share out", NATIVE, ("shuffle=True",), ("DistributedSampler(",), options=TO_ACCELERATE),
    Trap(12, "shuffling after a failure", ACCELERATE, told=("shuffles its next epoch as the first one was",)),
    Trap(
        13,
        "mixed_precision= of notebook_launcher",
        NOTEBOOK,
        absent=("fp16",),
        told=("mixed_precision", "has no effect"),
    ),
    Trap(
        13,
        "keys that launch ignores",
        ACCELERATOR_ONLY,
        settings="distributed_type: MULTI_GPU\nnum_processes: 2\nsame_network: true\nfsdp_config:\n  fsdp_oops: 1\n",
        absent=("same_network", "oops"),
    ),
    Trap(
        14,
        "defaults of the FSDP plugin, strategies by number",
        ACCELERATOR_ONLY,
        ('sharding_strategy="FULL_SHARD"', "use_orig_params=True", "sync_module_states=True"),
        settings=FSDP,
    ),
    Trap(
        15,
        "accumulation of the file wins",
        ACCELERATOR_ONLY,
        ("gradient_accumulation_steps=8",),
        told=("which won over the argument",),
        settings=DEEPSPEED,
    ),
    Trap(16, "relative paths", TRAINER, ('os.path.abspath("final")',), told=("is made absolute on the driver",)),
    Trap(17, "the last checkpoint is not the best", TRAINER, told=("the last checkpoint, not the best",)),
    Trap(
        17,
        "an older checkpoint of the same folder",
        TRAINER.replace("train()", "train(resume_from_checkpoint=True)"),
        ("checkpoint-{state.global_step}",),
    ),
    Trap(
        18,
        "the process group is Ray's",
        ACCELERATOR_ONLY.replace("Accelerator\n", "Accelerator, InitProcessGroupKwargs\n", 1)
        .replace("=2)", "=2, kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(hours=2))])")
        .replace("from acc", "from datetime import timedelta\n\nfrom acc", 1),
        ("TorchConfig(timeout_s=7200)",),
    ),
    Trap(18, "offloading needs gloo", ACCELERATOR_ONLY, ('backend="cpu:gloo,cuda:nccl"',), settings=FSDP),
    Trap(19, "evaluation of a share: told", ACCELERATE, told=("Each worker counts its own share of the rows",)),
    Trap(19, "evaluation of a share: converted", NATIVE, ("gather_for_metrics((",), options=TO_ACCELERATE),
    Trap(20, "a wrapped model: asked", ACCELERATE, ("accelerator.unwrap_model(model).config",)),
    Trap(20, "a wrapped model: saved", NATIVE, ("unwrap_model(model).state_dict()",), options=TO_ACCELERATE),
    Trap(21, "one seed for all: Trainer", TRAINER, told=("The Trainer of each worker sets the same seed",)),
    Trap(21, "one seed for all: Accelerator", ACCELERATE, told=("Every worker sets this seed", "device_specific=True")),
    Trap(
        21,
        "one seed for all: native",
        NATIVE.replace(", sampler=DistributedSampler(rows)", ""),
        told=("Several processes all set this seed",),
        options=TO_ACCELERATE,
    ),
    Trap(22, "a file in the user's home", ACCELERATE, absent=("name=",), told=("default_config.yaml of the user",)),
    Trap(23, "DataParallel of a Trainer", TRAINER, told=("took all of them (DataParallel)",)),
    Trap(
        23,
        "DataParallel of a loop",
        NATIVE,
        absent=("DataParallel",),
        told=("split_batches=True",),
        options=TO_ACCELERATE,
    ),
    Trap(24, "reports of the main process alone hang", ACCELERATE, ("\n        with tempfile.TemporaryDirectory",)),
    Trap(
        24,
        "reports of the main process alone hang: without a checkpoint",
        ACCELERATE.replace('    accelerator.save_state("state")\n', ""),
        ("\n        ray.train.report(",),
    ),
    Trap(25, "unused parameters: Accelerator", ACCELERATE, told=("find_unused_parameters=True",)),
    Trap(
        25,
        "unused parameters: native",
        NATIVE.replace("torch.manual", f"{OWN_CLASS}torch.manual").replace(LAYERS, "Net()"),
        told=("find_unused_parameters=True",),
        options=TO_ACCELERATE,
    ),
)


@pytest.mark.parametrize("trap", TRAPS, ids=[f"{trap.number}-{trap.what}" for trap in TRAPS])
def test_a_trap_is_converted_or_told(trap: Trap, tmp_path: Path) -> None:
    if trap.settings:
        (tmp_path / "settings.yaml").write_text(trap.settings)
        (tmp_path / "run.sh").write_text(LAUNCHED)
    path = tmp_path / "train.py"
    path.write_text(trap.script)
    result = convert(trap.script, str(path), options=Options(**trap.options))  # type: ignore[arg-type]
    assert result.after is not None, result.findings
    said = "\n".join(f"{finding.message} {finding.advice}" for finding in result.findings)
    assert [part for part in trap.text if part not in result.after] == [], result.after
    assert [part for part in trap.absent if part in result.after] == []
    assert [part for part in trap.told if part not in said] == [], said


def test_every_trap_has_a_row() -> None:
    assert {trap.number for trap in TRAPS} == set(range(1, 26))
