"""RM825, RM806, RM829, RM828: what is said of rows and steps where accelerate splits the batches of the script."""

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """\
import torch
from accelerate import Accelerator, DataLoaderConfiguration
from transformers import get_scheduler

options = {before}
accelerator = Accelerator(dataloader_config={config})
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(rows, batch_size=32)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
scheduler = get_scheduler("linear", optimizer, 0, 3 * len(loader))
decay = torch.optim.lr_scheduler.StepLR(optimizer, 1)
scheduler, decay = accelerator.prepare(scheduler, decay)
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
        scheduler.step()
    decay.step()
"""
TRAINER = """\
from transformers import AutoModel, Trainer, TrainingArguments

args = TrainingArguments("out", per_device_train_batch_size=8, accelerator_config={"split_batches": True})
trainer = Trainer(AutoModel.from_pretrained("bert"), args, train_dataset=rows)
trainer.train()
"""
EACH, TOGETHER = "N workers see N times the rows", "that of all workers together"
STEPS = ("it is at its end after 1/N", "steps once an epoch is prepared")


def told(script: str) -> str:
    result = convert(script, "", options=Options(to_ray=True))
    return "\n".join(finding.message for finding in result.findings)


@pytest.mark.parametrize(
    ("before", "config"),
    [
        ("None", "DataLoaderConfiguration(split_batches=True)"),
        ("DataLoaderConfiguration()\noptions.split_batches = True", "options"),
        ('{"split_batches": True}', "DataLoaderConfiguration(**options)"),
        ("True", "DataLoaderConfiguration(split_batches=options)"),
        ("True", "DataLoaderConfiguration(options)"),
        ("Accelerator(True, True)", "None"),
    ],
)
def test_a_split_batch_is_that_of_all_workers(before: str, config: str) -> None:
    text = told(SCRIPT.format(before=before, config=config))
    assert TOGETHER in text
    assert EACH not in text
    assert not any(message in text for message in STEPS)


@pytest.mark.parametrize("config", ["None", "DataLoaderConfiguration(split_batches=False)"])
def test_any_other_is_that_of_each(config: str) -> None:
    text = told(SCRIPT.format(before="None", config=config))
    assert EACH in text
    assert TOGETHER not in text
    assert all(message in text for message in STEPS)


def test_both_are_said_where_it_is_not_known() -> None:
    text = told(SCRIPT.format(before="make()", config="DataLoaderConfiguration(split_batches=options.split)"))
    assert EACH in text
    assert TOGETHER in text


def test_the_batch_of_a_trainer() -> None:
    text = told(TRAINER)
    assert TOGETHER in text
    assert EACH not in text
