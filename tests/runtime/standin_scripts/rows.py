"""Rows of Ray Data as the old TransformersTrainer batched them."""

import json

import datasets
import torch
from raymigrate_standin.transformers_loop import _use_ray_rows, check_arguments, hugging_face_dataset, own_batches
from transformers import Trainer, TrainingArguments, default_data_collator

results = {}


class Shard:
    def iter_rows(self):
        for number in range(5):
            yield {"x": [float(number)], "label": number, "text": str(number)}


dataset = hugging_face_dataset(Shard(), 5)
row = next(iter(dataset))
results["kinds"] = [isinstance(dataset, kind) for kind in (torch.utils.data.IterableDataset, datasets.IterableDataset)]
results["row"] = [str(row["x"].dtype), str(row["label"].dtype), row["text"]]
results["length"] = len(dataset)


class Model(torch.nn.Module):
    def forward(self, x, label=None):
        return x


args = TrainingArguments(
    "out", per_device_train_batch_size=2, per_device_eval_batch_size=2, use_cpu=True, report_to="none"
)
trainer = Trainer(Model(), args, train_dataset=dataset, eval_dataset=dataset, data_collator=default_data_collator)
_use_ray_rows(trainer, split=True)


def labels(loader):
    return [batch.get("label", batch.get("labels")).tolist() for batch in loader]


results["train"] = labels(trainer.get_train_dataloader())
results["evaluation"] = labels(trainer.get_eval_dataloader())


class Two:
    def __getattr__(self, name):
        return 2 if name == "world_size" else getattr(args, name)


trainer.args = Two()
results["two workers"] = labels(own_batches(trainer))


def refusal(**changed):
    try:
        check_arguments(TrainingArguments("out", use_cpu=True, report_to="none", **changed))
    except ValueError as error:
        return str(error)


results["fine"] = refusal()
results["strategies"] = refusal(logging_strategy="epoch", save_strategy="steps")
results["steps"] = refusal(logging_steps=10, save_steps=15)
results["eval"] = refusal(logging_steps=10, save_steps=10, eval_strategy="steps", eval_steps=20)

print("\nRESULTS", json.dumps(results, default=str))
