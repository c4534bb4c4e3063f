"""RM110: TrainingArguments made of all that other ones have, which hold average_tokens_across_devices already."""

import pytest

from tests.rules.scripts import converted

ARGUMENT = "average_tokens_across_devices"
SCRIPT = """
import json
from dataclasses import asdict
from ray.air.config import ScalingConfig
from ray.train.huggingface import HuggingFaceTrainer
from transformers import AutoModelForSequenceClassification, HfArgumentParser, Trainer, TrainingArguments
from job import ds, Options, load
{before}
(training_args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
options = Options()


def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments({arguments})
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
    return Trainer(model, args, train_dataset=train_dataset)


HuggingFaceTrainer(
    init,
    trainer_init_config={{"training": {given}}},
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    datasets={{"train": ds}},
).fit()
"""
ITEM = '**config["training"]'


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (ITEM, "training_args.to_dict()"),
        (ITEM, "json.loads(training_args.to_json_string())"),
        (ITEM, '{**training_args.to_dict(), "seed": 3}'),
        (ITEM, 'training_args.to_dict() | {"seed": 3}'),
        (ITEM, "dict(training_args.to_dict(), seed=3)"),
        (ITEM, "{k: v for k, v in training_args.to_dict().items() if k != 'seed'}"),
        (f'"out", {ITEM}', "training_args.to_dict().copy()"),
        ('**{**config["training"], "seed": 2}', "training_args.to_dict()"),
        ("**training_args.to_dict()", "None"),
    ],
)
def test_no_keyword_stands_beside_what_holds_it(arguments: str, given: str) -> None:
    text = converted(SCRIPT.format(before="", arguments=arguments, given=given)).text
    line = next(line for line in text.splitlines() if "args = TrainingArguments(" in line)
    assert f'"{ARGUMENT}": False}})' in line and f"{ARGUMENT}=" not in line
    assert text.count(ARGUMENT) == 1


@pytest.mark.parametrize(
    ("arguments", "given"), [(ITEM, "load()"), (ITEM, "asdict(options)"), ('"out"', "{}"), (ITEM, "{'seed': 1}")]
)
def test_other_dicts_were_written_before_there_was_such_an_argument(arguments: str, given: str) -> None:
    assert f"{ARGUMENT}=False" in converted(SCRIPT.format(before="", arguments=arguments, given=given)).text
