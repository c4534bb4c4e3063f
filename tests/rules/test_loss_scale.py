"""RM110 with gradient_accumulation_steps: the loss of each micro-batch is divided by their number, as it was."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

KEPT = "trainer.model_accepts_loss_kwargs = False"
SCRIPT = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
from job import ds, options

settings = {{"learning_rate": 1e-5, "gradient_accumulation_steps": 4}}
plain = {{"learning_rate": 1e-5}}


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss


def build(train_dataset, eval_dataset=None, **config):
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
    args = TrainingArguments({arguments})
    return {trainer}(model=model, args=args, train_dataset=train_dataset)


TransformersTrainer(
    build, trainer_init_config={{"steps": 2}}, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": ds}}
).fit()
"""
MANY = [
    '"out", gradient_accumulation_steps=4',
    '"out", gradient_accumulation_steps=config["steps"]',
    '"out", gradient_accumulation_steps=options.steps',
    '"out", **settings',
    '"out", **options',
    '**{**settings, "output_dir": "out"}',
]
ONE = ['"out"', '"out", gradient_accumulation_steps=1', '"out", **plain', '"out", **{"gradient_accumulation_steps": 1}']


@pytest.mark.parametrize("trainer", ["Trainer", "Own"])
@pytest.mark.parametrize("style", ["inline", "adapter"])
@pytest.mark.parametrize("arguments", MANY)
def test_accumulated_losses_are_divided_by_their_number(arguments: str, style: str, trainer: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments, trainer=trainer), style=style)
    assert outcome.text.count(KEPT) == 1
    assert outcome.text.index(KEPT) < outcome.text.index("trainer.train(")
    assert any("by gradient_accumulation_steps" in message for message in outcome.messages)


@pytest.mark.parametrize("arguments", ONE)
def test_without_accumulation_nothing_is_said_of_it(arguments: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments, trainer="Trainer"))
    assert KEPT not in outcome.text
    assert not any("by gradient_accumulation_steps" in message for message in outcome.messages)


def test_the_line_is_not_written_twice_for_the_old_numerics() -> None:
    script = SCRIPT.format(arguments=MANY[0], trainer="Trainer")
    assert converted(script, freeze_numerics=True).text.count("model_accepts_loss_kwargs") == 1


LOOP = """
from ray.air.config import ScalingConfig
from ray.train.huggingface.accelerate import AccelerateTrainer
from transformers import Trainer, TrainingArguments
from job import model, rows


def loop():
    args = TrainingArguments("out", {arguments})
    trainer = Trainer(model=model, args=args, train_dataset=rows)
    {before}trainer.train()


AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""


@pytest.mark.parametrize("trainer", ["AccelerateTrainer", "TorchTrainer"])
@pytest.mark.parametrize(
    ("arguments", "before", "told"),
    [
        ("gradient_accumulation_steps=2", "", [8]),
        ("gradient_accumulation_steps=1", "", []),
        ("gradient_accumulation_steps=2", "trainer.model_accepts_loss_kwargs = False; ", []),
    ],
)
def test_a_trainer_that_the_script_trains_itself_is_for_a_person(
    arguments: str, before: str, told: list[int], trainer: str
) -> None:
    script = LOOP.format(arguments=arguments, before=before)
    if trainer == "TorchTrainer":
        script = script.replace("accelerate_config={}, ", "").replace("huggingface.accelerate", "torch")
        script = script.replace("AccelerateTrainer", trainer)
    assert converted(script).lines("RM110", Kind.MANUAL) == told
