"""What grows beyond 120 characters gets a line for each argument, indented as the lines around it."""

import pytest

from tests.rules.scripts import converted

HEAD = """
import ray
from ray.air.config import RunConfig, ScalingConfig
from ray.data.preprocessors import BatchMapper, Chain
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


"""
INIT = """
def init(train_dataset, eval_dataset=None, **config):
    {body}


"""
PLAIN = 'return Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), TrainingArguments("out"), None, train_dataset)'
TRAIN = "TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets=datasets{more})"


@pytest.mark.parametrize(
    "body",
    [
        "return Trainer(\n        model=load(),\n        args=TrainingArguments('out', max_steps=7, seed=1, fp16=False,"
        " learning_rate=1e-4),\n        train_dataset=train_dataset,\n    )",
        "return Trainer(model=load(), args=TrainingArguments('out', learning_rate=config['lr'], max_steps=7),"
        " train_dataset=train_dataset)",
        "args = TrainingArguments('out', learning_rate=config['lr'], max_steps=7, seed=1, weight_decay=0.01)\n"
        "    return Trainer(model=load(), args=args, train_dataset=train_dataset)",
    ],
)
def test_arguments_that_are_added_leave_no_long_line(body: str) -> None:
    outcome = converted(HEAD + INIT.format(body=body) + TRAIN.format(more=""))
    assert "average_tokens_across_devices=False" in outcome.text
    assert max(map(len, outcome.text.splitlines())) <= 120


@pytest.mark.parametrize("head", ["datasets = {'train': rows, 'evaluation': rows}\n", "datasets = read()\n"])
@pytest.mark.parametrize("indent", [0, 4, 8])
def test_an_argument_that_is_a_long_call_is_indented_as_it_stands(head: str, indent: int) -> None:
    block = "".join(f"{' ' * level}if True:\n" for level in range(0, indent, 4))
    call = (
        TRAIN.format(more="")
        .replace("(init, ", f"(\n{' ' * indent}    init,\n{' ' * indent}    ")
        .replace("datasets=datasets)", f"\n{' ' * indent}    datasets=datasets,\n{' ' * indent})")
    )
    outcome = converted(HEAD + INIT.format(body=PLAIN) + block + " " * indent + head + " " * indent + call)
    lines = outcome.text.splitlines()
    assert max(map(len, lines)) <= 120
    opened = next(line for line in lines if "dataset_config=" in line)
    assert opened.startswith(f"{' ' * indent}    dataset_config=DataConfig(")


def test_a_chain_of_two_calls_is_broken_inside_the_first() -> None:
    more = ", preprocessor=BatchMapper(split_into_sentences_and_paragraphs, batch_format='pandas', batch_size=128)"
    outcome = converted(HEAD + INIT.format(body=PLAIN) + "datasets = {'train': rows}\n" + TRAIN.format(more=more))
    assert "dataset.map_batches(\n" in outcome.text and "\n    ).materialize()\n" in outcome.text


def test_a_longer_chain_has_a_line_for_each_call() -> None:
    mappers = ", ".join(f"BatchMapper(split_into_{part}, batch_format='pandas')" for part in ("chapters", "sentences"))
    script = (
        HEAD + INIT.format(body=PLAIN) + "datasets = {'train': rows}\n" + TRAIN.format(more=",\n    preprocessor=$")
    )
    outcome = converted(script.replace("$", f"Chain({mappers})"))
    assert "\n        .map_batches(split_into_sentences" in outcome.text
    assert max(map(len, outcome.text.splitlines())) <= 120
