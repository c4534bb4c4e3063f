"""device_map="auto": what it does to a model that is trained, to one that is not, and nothing on the driver."""

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, pipeline
from trl import DPOTrainer


def load(name):
    return AutoModelForCausalLM.from_pretrained(name, device_map="auto")


def main():
    {before}
    trainer.train()
    {behind}


if __name__ == "__main__":
    main()
    {last}
"""
PLAIN = (
    'trainer = Trainer(AutoModelForCausalLM.from_pretrained("gpt2"), TrainingArguments("/out"), train_dataset=rows())'
)
AUTO = 'device_map="auto"'
PIPE = f'pipe = pipeline("text-generation", model="/out", {AUTO})'


def told(before: str = PLAIN, behind: str = "pass", last: str = "pass", *, gpu: bool = True) -> list[str]:
    text = SCRIPT.format(before=before.replace("\n", "\n    "), behind=behind, last=last)
    result = convert(text, options=Options(to_ray=True, workers=2, gpu=gpu))
    assert result.after is not None
    return [finding.message for finding in result.findings if AUTO in finding.message]


def made(model: str, trainer: str = "Trainer(model, TrainingArguments('/out'), train_dataset=rows())") -> str:
    return f"model = {model}\ntrainer = {trainer}"


@pytest.mark.parametrize(
    "last", [PIPE, "print(load('/out').generate())", f"AutoModelForCausalLM.from_pretrained('/out', {AUTO})"]
)
def test_nothing_is_told_of_the_driver(last: str) -> None:
    assert not told(last=last)


@pytest.mark.parametrize(
    "before",
    [
        made(f'AutoModelForCausalLM.from_pretrained("gpt2", {AUTO})'),
        made("load('gpt2')"),
        made(f'get_peft_model(AutoModelForCausalLM.from_pretrained("gpt2", {AUTO}), LoraConfig())'),
        made(
            f'PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("gpt2", {AUTO}), "/a", is_trainable=True)'
        ),
        made(
            'AutoModelForCausalLM.from_pretrained("gpt2")',
            f'DPOTrainer(model, ref_model=AutoModelForCausalLM.from_pretrained("gpt2", {AUTO}), train_dataset=rows())',
        ),
        made("'gpt2'", f"DPOTrainer(model, make({AUTO}), train_dataset=rows())"),
        made(f"wrap(make('gpt2', {AUTO}))"),
    ],
)
def test_a_model_that_may_be_trained_is_refused(before: str) -> None:
    [message] = told(before)
    assert "transformers refuses that" in message


@pytest.mark.parametrize(
    "behind",
    [
        f"print(trainer.args, {PIPE.partition(' = ')[2]}('a'))",
        f"print(trainer.args, AutoModelForCausalLM.from_pretrained('/out', {AUTO}).generate())",
        "print(trainer.args, load('/out').generate())",
    ],
)
def test_a_model_that_nobody_trains_is_spread(behind: str) -> None:
    [message] = told(behind=behind)
    assert "refuses" not in message
    assert "the GPUs of all workers on its machine" in message


def test_workers_without_a_gpu_have_nothing_to_spread_it_over() -> None:
    assert not told(made(f'AutoModelForCausalLM.from_pretrained("gpt2", {AUTO})'), gpu=False)
