"""RM110 in plain scripts that were written for transformers 4: their loss is no larger on Ray."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

KEPT = "trainer.model_accepts_loss_kwargs = False"
SCRIPT = """
from datasets import load_from_disk
from transformers import {model}, HfArgumentParser, Trainer, TrainingArguments
{before}

if __name__ == "__main__":
    rows = load_from_disk("/data/rows")
    {arguments}
    trainer = {trainer}(model={model}.from_pretrained("tiny"), args=args, train_dataset=rows{more})
    trainer.train()
"""
OWN = """

class Own(Trainer):
    def compute_loss(self, model, inputs, {parameters}):
        {body}
"""
OLD = 'args = TrainingArguments("/data/out", evaluation_strategy="no", gradient_accumulation_steps=4)'
NEW = 'args = TrainingArguments("/data/out", gradient_accumulation_steps=4)'
ONE = 'args = TrainingArguments("/data/out", evaluation_strategy="no")'
PARSED = "(args,) = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()"
SEQUENCES, TOKENS = "AutoModelForSequenceClassification", "AutoModelForCausalLM"
LOSS = OWN.format(parameters="return_outputs=False", body="return model(**inputs).logits.mean()")
SUPER = OWN.format(parameters="return_outputs=False", body="return super().compute_loss(model, inputs)")
LENIENT = OWN.format(parameters="return_outputs=False, **kwargs", body="return model(**inputs).logits.mean()")
HANDS_ON = OWN.format(
    parameters="return_outputs=False, **kwargs", body="return super().compute_loss(model, inputs, **kwargs)"
)
COUNTS = OWN.format(
    parameters="return_outputs=False, num_items_in_batch=None",
    body="return model(**inputs).logits.sum() / num_items_in_batch",
)
CHOSEN = LOSS.replace("class Own(", "class Mine(") + "\n\n# class Own\nOwn = Mine if ONES else Trainer\n"


def script(arguments: str, model: str = SEQUENCES, before: str = "", more: str = "") -> str:
    trainer = "Own" if "class Own" in before else "Trainer"
    return SCRIPT.format(arguments=arguments, model=model, before=before, trainer=trainer, more=more)


@pytest.mark.parametrize(
    "text",
    [
        script(OLD),
        script(NEW, more=", tokenizer=None"),
        script(PARSED, more=", tokenizer=None"),
        script(OLD, model="T5ForConditionalGeneration"),
        script(OLD, model="XLNetLMHeadModel"),
        script(OLD, model="BartForCausalLM"),
        script(OLD, model=TOKENS).replace('"tiny"', '"xlnet-base-cased"'),
        script(NEW, model=TOKENS, before=LOSS),
        script(NEW, model=TOKENS, before=SUPER),
        script(OLD, model=TOKENS, before=LENIENT),
        script(PARSED, model=TOKENS, before=LENIENT, more=", tokenizer=None"),
    ],
    ids=[
        "arguments",
        "tokenizer",
        "parsed",
        "T5",
        "XLNet",
        "Bart",
        "named XLNet",
        "own loss",
        "super",
        "kwargs",
        "tokenizer of a class",
    ],
)
def test_accumulated_losses_are_divided_by_their_number(text: str) -> None:
    outcome = converted(text, to_ray=True, workers=1)
    assert outcome.text.count(KEPT) == 1
    assert outcome.text.index(KEPT) < outcome.text.index("trainer.train(")
    assert any("by gradient_accumulation_steps" in message for message in outcome.messages)
    assert len(outcome.lines("RM110", Kind.CONVERTED)) == 1
    again = converted(outcome.text, to_ray=True, workers=1)
    assert again.text == outcome.text
    assert not [code for code, _, _ in again.findings if code == "RM110"]


@pytest.mark.parametrize(
    "text",
    [
        script(NEW),
        script(PARSED),
        script(OLD, model=TOKENS),
        script(OLD, model="GPT2LMHeadModel"),
        script(OLD, model=TOKENS).replace('"tiny"', '"FacebookAI/xlm-roberta-base"'),
        script(OLD, model=TOKENS, before=HANDS_ON),
        script(OLD, model=TOKENS, before=COUNTS),
        script(ONE),
        script(NEW, model=TOKENS, before=LENIENT, more=", processing_class=None"),
        script(OLD, before="Trainer.model_accepts_loss_kwargs = False"),
    ],
    ids=[
        "of today",
        "parsed today",
        "tokens",
        "GPT-2",
        "XLM-R",
        "handed on",
        "counts",
        "one step",
        "class today",
        "said",
    ],
)
def test_other_losses_are_left_alone(text: str) -> None:
    outcome = converted(text, to_ray=True, workers=1)
    assert "TorchTrainer" in outcome.text
    assert KEPT not in outcome.text
    assert not [code for code, _, _ in outcome.findings if code == "RM110"]


@pytest.mark.parametrize("collator", ["DataCollatorForLanguageModeling", "DataCollatorForTokenClassification"])
@pytest.mark.parametrize(("model", "kept"), [(TOKENS, 0), (SEQUENCES, 1)])
def test_what_collates_for_a_model_is_none(collator: str, model: str, kept: int) -> None:
    text = script(OLD, model, f"from transformers import {collator}", f", data_collator={collator}(tokenizer)")
    assert converted(text, to_ray=True, workers=1).text.count(KEPT) == kept


@pytest.mark.parametrize(("workers", "kept"), [(1, 0), (2, 1), (None, 1)])
def test_several_workers_take_the_mean(workers: int | None, kept: int) -> None:
    outcome = converted(script(ONE), to_ray=True, workers=workers)
    assert outcome.text.count(KEPT) == kept
    assert sum("by the number of workers" in message for message in outcome.messages) == kept


@pytest.mark.parametrize(("before", "kept"), [(LENIENT, 0), (LOSS, 0), (SUPER, 1), (COUNTS, 1), (CHOSEN, 1)])
def test_a_loss_of_ones_own_is_not_multiplied_by_the_workers(before: str, kept: int) -> None:
    """The library's compute_loss() does that (transformers/trainer.py:2199), to make up for a count of all workers."""
    outcome = converted(script(ONE, before=before), to_ray=True, workers=2)
    assert outcome.text.count(KEPT) == kept


def test_a_trainer_without_a_name_gets_one() -> None:
    text = script(OLD).replace("trainer = Trainer", "Trainer").replace("\n    trainer.train()", ".train()")
    outcome = converted(text, to_ray=True, workers=1)
    assert outcome.text.count(KEPT) == 1


def test_a_script_of_todays_ray_with_a_loss_of_old_is_told() -> None:
    text = f"""
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
{LOSS}

def loop():
    {NEW}
    trainer = Own(model=AutoModelForCausalLM.from_pretrained("tiny"), args=args, train_dataset=[])
    trainer.train()


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""
    outcome = converted(text)
    assert "average_tokens_across_devices=False" in outcome.text
    assert len(outcome.lines("RM110", Kind.MANUAL)) == 1
    assert not converted(text.replace("return_outputs=False", "return_outputs=False, **kwargs")).findings
