"""RM763: what the trainers of trl refuse."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import ray
import trl
from datasets import Dataset, load_dataset
from given import cfg, flag, rows
from peft import AutoPeftModelForCausalLM, PeftModel, get_peft_model
from torch.utils import data
import transformers
from transformers import AutoModelForCausalLM, TrainingArguments
from trl import DPOTrainer, GRPOConfig, RLOOConfig, SFTTrainer

base = AutoModelForCausalLM.from_pretrained("gpt2", dtype="auto")
model = get_peft_model(base, cfg)


class Rows(data.Dataset):
    pass


"""
LINE = HEAD.count("\n")


@pytest.mark.parametrize(
    "call",
    [
        "SFTTrainer(model=model, train_dataset=rows, {})",
        "SFTTrainer(model, {})",
        "trl.RewardTrainer(PeftModel.from_pretrained(base, 'x'), {})",
        "SFTTrainer(AutoPeftModelForCausalLM.from_pretrained('x', dtype='auto'), {})",
    ],
)
def test_a_configuration_that_was_passed_over_is_deleted(call: str) -> None:
    outcome = converted(HEAD + call.format("peft_config=cfg"))
    assert outcome.lines("RM763", Kind.CONVERTED) == [LINE]
    assert "peft_config" not in outcome.text


@pytest.mark.parametrize(
    "call",
    [
        "DPOTrainer(model, peft_config=cfg)",
        "SFTTrainer(model if flag else base, peft_config=cfg)",
        "SFTTrainer(model, peft_config=cfg if flag else None)",
        "SFTTrainer('gpt2', train_dataset=[1, 2])",
        "SFTTrainer('gpt2', train_dataset=[{'text': row} for row in rows])",
        "DPOTrainer('gpt2', train_dataset=Rows())",
        "DPOTrainer('gpt2', train_dataset=list(rows))",
        "trl.SFTTrainer('gpt2', train_dataset=rows.to_list())",
        "SFTTrainer('gpt2', train_dataset=rows.values.tolist())",
        "DPOTrainer(model, args=TrainingArguments('out'))",
        "DPOTrainer(model, base, TrainingArguments('out', learning_rate=1e-3))",
        "trl.RewardTrainer(model, transformers.TrainingArguments('out'))",
    ],
)
def test_what_is_refused_is_told(call: str) -> None:
    assert converted(HEAD + call).lines("RM763", Kind.MANUAL) == [LINE]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("GRPOConfig('x', per_device_train_batch_size=1, num_generations=2)", True),
        ("GRPOConfig('x', num_generations=6)", True),
        ("RLOOConfig('x', per_device_train_batch_size=1)", True),
        ("GRPOConfig('x', per_device_train_batch_size=1, gradient_accumulation_steps=4, num_generations=2)", False),
        ("GRPOConfig('x', per_device_train_batch_size=rows, num_generations=3)", False),
        ("GRPOConfig('x', num_generations=6, generation_batch_size=12)", False),
        ("GRPOConfig('x')", False),
        ("RLOOConfig('x')", False),
    ],
)
def test_groups_that_one_worker_does_not_fill_are_noted(call: str, told: bool) -> None:
    assert converted(HEAD + call).lines("RM763", Kind.NOTE) == [LINE] * told


@pytest.mark.parametrize(
    "call",
    [
        "SFTTrainer(base, TrainingArguments('x'))",
        "DPOTrainer(base, args=trl.DPOConfig('x'))",
        "DPOTrainer(base, args=cfg)",
        "class Own(TrainingArguments):\n    model_init_kwargs = None\n\n\nDPOTrainer(base, args=Own('x'))",
        "SFTTrainer(base, peft_config=cfg)",
        "SFTTrainer(model, peft_config=None)",
        "SFTTrainer(model)",
        "SFTTrainer('gpt2', train_dataset=rows)",
        "SFTTrainer('gpt2', trl.SFTConfig('x', per_device_train_batch_size=3))",
        "SFTTrainer('gpt2', train_dataset=load_dataset('json', split='train'))",
        "SFTTrainer('gpt2', train_dataset=Dataset.from_list([1]))",
        "def f(model):\n    SFTTrainer(model, peft_config=cfg)",
        "class DPOTrainer:\n    pass\n\n\nDPOTrainer(model, peft_config=cfg, train_dataset=[])",
    ],
)
def test_others_are_left_alone(call: str) -> None:
    assert not {code for code, _, _ in converted(HEAD + call).findings} & {"RM763"}


@pytest.mark.parametrize(("datasets", "told"), [('datasets={"train": rows}, ', True), ("", False)])
def test_the_rows_of_a_legacy_trainer_are_a_dataset_of_torch(datasets: str, told: bool) -> None:
    script = f"""
        from ray.air import ScalingConfig
        from ray.train.huggingface import TransformersTrainer
        from trl import SFTTrainer

        from job import model, rows

        def init(train_dataset, eval_dataset=None, **config):
            return SFTTrainer(model, train_dataset=train_dataset)

        TransformersTrainer(init, {datasets}scaling_config=ScalingConfig(num_workers=2)).fit()
    """
    assert bool(converted(script).lines("RM763", Kind.MANUAL)) is told


PARTS = """def parts(row):
    return {'content': [{'type': 'text', 'text': row['q']}, {'type': 'image', 'image': row['i']}]}


def with_image(row):
    row['image'] = load(row)
    return row


"""


@pytest.mark.parametrize(
    ("made", "step"),
    [
        ("[parts(row) for row in rows]", "with_transform"),
        ("[{'images': [row['i']], 'prompt': row['q']} for row in rows]", "with_transform"),
        ("[{'image': row['i']} for row in rows]", "with_transform"),
        ("[dict(image=row['i'], prompt=row['q']) for row in rows]", "with_transform"),
        ("[{'content': [dict(type='image_url', url=row['u'])]} for row in rows]", "with_transform"),
        ("[with_image(row) for row in rows]", "with_transform"),
        ("[{'content': row['text']} for row in rows]", "Dataset.from_list(rows)."),
        ("[{'text': 'image'} for _ in rows]", "Dataset.from_list(rows)."),
        ("[{'text': row['image'].caption, 'type': 'text'} for row in rows]", "Dataset.from_list(rows)."),
        ("[{'text': row} for row in rows if 'image' not in row]", "Dataset.from_list(rows)."),
        ("[str(row) for row in rows]", "Dataset.from_list(rows)."),
    ],
)
def test_rows_with_images_are_made_as_they_are_read(made: str, step: str) -> None:
    outcome = converted(f"{HEAD}{PARTS}made = {made}\nSFTTrainer('gpt2', train_dataset=made)")
    [message] = [message for message in outcome.messages if "not a Dataset of datasets" in message]
    assert (step in message) and ("with_transform" in message) is (step == "with_transform")


@pytest.mark.parametrize(
    ("function", "given", "told"),
    [
        ("texts = []\n    for row in batch:\n        texts.append(row)\n    return texts", "f", True),
        ("return [row for row in batch['a']]", "f", True),
        ("return ''.join(batch['a'])", "f", False),
        ("return {'text': [batch['a']]}", "f", False),
        ("if flag:\n        return batch['a']\n    return [batch['a']]", "f", False),
        ("return batch", "lambda batch: [row for row in batch]", True),
        ("return batch", "lambda row: row['a']", False),
        ("return [row for row in batch]", "functools.partial(f, 1)", True),
        ("return batch", "cfg.format", False),
    ],
)
def test_a_function_that_formats_a_batch_is_told(function: str, given: str, told: bool) -> None:
    made = f"import functools\n\n\ndef f(*rows, batch=None):\n    {function}\n"
    messages = converted(f"{HEAD}{made}\n\nSFTTrainer(base, formatting_func={given})").messages
    assert any("formatting_func with one row" in message for message in messages) is told


@pytest.mark.parametrize(("args", "told"), [("TrainingArguments('x')", True), ("trl.SFTConfig('x')", False)])
def test_a_configuration_that_takes_an_argument_has_other_defaults_than_training_arguments(
    args: str, told: bool
) -> None:
    outcome = converted(f"{HEAD}SFTTrainer(base, args={args}, max_seq_length=5)")
    (message,) = [message for message in outcome.messages if "max_seq_length" in message]
    assert ("its defaults are others" in message) == told
