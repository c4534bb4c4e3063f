"""--to-ray: streaming data is told where several workers would read it."""

import pytest

from tests.rules.scripts import converted

TRAINER = """\
from datasets import load_dataset
from transformers import AutoModel, Trainer, TrainingArguments
{data}
trainer = Trainer(
    AutoModel.from_pretrained("bert"), TrainingArguments("out", max_steps=10), train_dataset=data
)
trainer.train()
"""
LOOP = """\
import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader, IterableDataset
from job import network
{data}
accelerator = Accelerator()
model = network()
optimizer = torch.optim.Adam(model.parameters())
loader = DataLoader(data, batch_size=8)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(2):
    for batch in loader:
        accelerator.backward(model(batch))
        optimizer.step()
        optimizer.zero_grad()
    accelerator.print(epoch)
"""
STREAMS = [
    'data = load_dataset("c4", split="train", streaming=True).map(len)',
    'rows = load_dataset("c4", streaming=True)\ndata = rows["train"].shuffle(buffer_size=10)',
    'data = load_dataset("c4", split="train").to_iterable_dataset()',
]


@pytest.mark.parametrize("data", STREAMS)
@pytest.mark.parametrize(("script", "advice"), [(TRAINER, "accelerator_config="), (LOOP, "dataloader_config=")])
def test_rows_that_come_one_after_the_other_are_told(script: str, advice: str, data: str) -> None:
    outcome = converted(script.format(data=data), to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    [message] = [message for message in outcome.messages if "one after the other" in message]
    assert advice in message


@pytest.mark.parametrize("script", [TRAINER, LOOP])
def test_rows_with_an_index_are_not(script: str) -> None:
    outcome = converted(script.format(data='data = load_dataset("c4", split="train")'), to_ray=True, workers=2)
    assert not [message for message in outcome.messages if "one after the other" in message]


@pytest.mark.parametrize("script", [TRAINER, LOOP])
def test_a_dataset_that_is_made_of_itself_again_and_again_is_looked_at_once(script: str) -> None:
    data = "\n".join(f'data = data.map(len).rename_column("{n}", "x")' for n in range(6))  # and never loaded
    outcome = converted(script.format(data=data), to_ray=True, workers=2)
    assert not [message for message in outcome.messages if "one after the other" in message]


def test_one_trainer_worker_reads_them_as_before() -> None:
    outcome = converted(TRAINER.format(data=STREAMS[0]), to_ray=True, workers=1)
    assert not [message for message in outcome.messages if "one after the other" in message]


RANKED = """\
import argparse
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments
from job import data
def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("{option}", type=int, default=-1)
    return parser.parse_args()
def main():
    args = parse()
    trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"), train_dataset=data)
    trainer.train()
    if args.local_rank in (-1, 0):
        print(trainer.state.log_history)
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(("option", "told"), [("--local_rank", True), ("--local-rank", True), ("--seed", False)])
def test_a_rank_that_the_driver_parsed_is_told(option: str, told: bool) -> None:
    outcome = converted(RANKED.format(option=option), to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    assert any("is what the driver parsed" in message for message in outcome.messages) is told


ASKED = 'int(os.environ.get("LOCAL_RANK", -1))'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("print(trainer.state.log_history)", 'print("done")'),  # stays with the driver
        ("    trainer.train()", f"    args.local_rank = {ASKED}\n    trainer.train()"),
        (
            "    trainer.train()",
            f"    rank = {ASKED}\n    if rank != -1 and rank != args.local_rank:\n        args.local_rank = rank\n"
            "    trainer.train()",
        ),
    ],
)
def test_a_rank_that_the_driver_or_the_worker_itself_asks_for_is_not(old: str, new: str) -> None:
    ranked = RANKED.format(option="--local_rank")
    outcome = converted(f"import os\n{ranked.replace(old, new)}", to_ray=True, workers=2)
    assert new.splitlines()[0] in outcome.text and "TorchTrainer(" in outcome.text, outcome.messages
    assert not any("--local_rank" in message or "local_rank:" in message for message in outcome.messages)


def test_a_rank_that_the_driver_parsed_is_told_once() -> None:
    outcome = converted(RANKED.format(option="--local_rank"), to_ray=True, workers=2)
    assert len([message for message in outcome.messages if "--local_rank" in message]) == 1


@pytest.mark.parametrize(("keyword", "told"), [("local_rank", False), ("seed", True)])
def test_a_rank_that_training_arguments_do_not_read_is_not(keyword: str, told: bool) -> None:
    ranked = RANKED.format(option="--local_rank").partition("    if args")[0] + "main()\n"
    script = ranked.replace('TrainingArguments("out")', f'TrainingArguments("out", {keyword}=args.local_rank)')
    messages = converted(script, to_ray=True, workers=2).messages
    assert any("is what the driver parsed" in message for message in messages) is told
    assert any("no worker of Ray gets one" in message for message in messages) is told


@pytest.mark.parametrize(("options", "told"), [({}, True), ({"workers": 2}, True), ({"workers": 1}, False)])
def test_rows_that_each_worker_of_a_trainer_splits_anew_are_told_where_there_may_be_several(
    options: dict[str, int], told: bool
) -> None:
    data = 'data = load_dataset("c4", split="train").train_test_split(test_size=0.1)["train"]'
    outcome = converted(TRAINER.format(data=data), to_ray=True, **options)
    assert "TorchTrainer(" in outcome.text, outcome.messages
    assert any("No seed is set" in message for message in outcome.messages) is told
