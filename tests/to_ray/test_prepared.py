"""What several workers change in the use of prepared objects is told, and nothing else."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.rules.scripts import converted

SCRIPT = """\
import torch
from accelerate import Accelerator
from transformers import get_linear_schedule_with_warmup, get_scheduler

accelerator = Accelerator()
model, optimizer, loader, test_loader = make()
{before}
model, optimizer, loader, test_loader{more} = accelerator.prepare(model, optimizer, loader, test_loader{more})
{after}
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
    {end}
"""


def told_of(script: str) -> list[str]:
    """What a person has to do; that parameters may be unused is a note, of any model that is not seen."""
    found = convert(script, options=Options(to_ray=True)).findings
    return [f.message for f in found if f.code == "RM829" and f.kind is Kind.MANUAL]


def told(before: str = "", after: str = "", end: str = "pass", more: str = "") -> list[str]:
    return told_of(SCRIPT.format(before=before, after=after, end=end, more=more))


LINEAR = "scheduler = get_scheduler('linear', optimizer=optimizer, num_warmup_steps=0, num_training_steps={})"
WARMUP = "scheduler = get_linear_schedule_with_warmup(optimizer, 2, {})"
PREPARED = "\nscheduler = accelerator.prepare(scheduler)"
STEPS = "steps = 3 * len(loader)\n"


@pytest.mark.parametrize(
    ("before", "after", "more", "words"),
    [
        (STEPS + LINEAR.format("steps"), "", ", scheduler", ""),
        (WARMUP.format("len(loader) * 3"), "", ", scheduler", ""),
        ("", STEPS + LINEAR.format("steps"), "", ""),
        ("", WARMUP.format("len(loader)") + PREPARED, "", "it is at its end after 1/N"),
        ("", STEPS + LINEAR.format("steps") + PREPARED, "", "it is at its end after 1/N"),
        (STEPS + LINEAR.format("steps"), PREPARED, "", ""),
        (STEPS + LINEAR.format("steps"), "", "", "only 1/N of it is used"),
        (WARMUP.format("3 * len(loader)"), "", "", "only 1/N of it is used"),
        (LINEAR.format("3 * len(loader) // accelerator.num_processes"), "", "", ""),
        (LINEAR.format("1000"), "", "", ""),
    ],
)
def test_a_schedule_that_several_workers_shorten_is_told(before: str, after: str, more: str, words: str) -> None:
    found = told(before, after, more=more)
    assert len(found) == bool(words)
    assert not words or words in found[0]


COUNT = "with torch.no_grad():\n        for batch in test_loader:\n            {}\n"


@pytest.mark.parametrize(
    ("inside", "count"),
    [
        ("correct += (model(batch) == 1).sum()", 1),
        ("metric.add_batch(predictions=model(batch))", 1),
        ("metric.add_batch(predictions=accelerator.gather_for_metrics(model(batch)))", 0),
        ("model(batch)", 0),
    ],
)
def test_an_evaluation_that_counts_the_rows_of_one_worker_is_told(inside: str, count: int) -> None:
    assert len(told(end=COUNT.format(inside))) == count


@pytest.mark.parametrize(
    ("inside", "count"),
    [
        ("with torch.no_grad():\n            sample(model)\n        step += 1", 0),
        ("with torch.inference_mode():\n            sample(model)\n        progress_bar.update(1)", 0),
        ("losses.append(loss.item())\n        with torch.no_grad():\n            print(model(batch).logits)", 0),
        ("with torch.no_grad():\n            correct += (model(batch).logits == 1).sum()", 1),
        ("step += 1", 0),
    ],
)
def test_a_loop_that_trains_counts_its_steps(inside: str, count: int) -> None:
    step = "accelerator.backward(model(batch).loss)\n"
    assert (
        len(told_of(SCRIPT.format(before="", after="", end="pass", more="").replace(step, f"{step}        {inside}\n")))
        == count
    )


ADAPTER = """
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModel, AutoTokenizer
accelerator = Accelerator({arguments})
tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = {model}
model, loader = accelerator.prepare(model, rows())
for epoch in range(3):
    for batch in loader:
        accelerator.backward(model(batch))
    print(epoch)
{save}
"""
LORA = 'get_peft_model(AutoModel.from_pretrained("gpt2"), LoraConfig())'


def adapter(save: str, model: str = LORA, arguments: str = "", **options: object) -> list[str]:
    script = ADAPTER.format(save=save, model=model, arguments=arguments)
    return converted(script, to_ray=True, **options).messages


@pytest.mark.parametrize("model", [LORA, 'PeftModel.from_pretrained(base, "adapter", is_trainable=True)'])
@pytest.mark.parametrize(
    ("save", "told"),
    [
        ('accelerator.unwrap_model(model).save_pretrained("out")', True),
        ('model.save_pretrained("out")', True),
        ('unwrapped = accelerator.unwrap_model(model)\nunwrapped.save_pretrained("out")', True),
        ('def save():\n    accelerator.unwrap_model(model).save_pretrained("out")\nsave()', True),
        ('accelerator.unwrap_model(model).save_pretrained("out", is_main_process=accelerator.is_main_process)', False),
        ('accelerator.unwrap_model(model).save_pretrained("out", save_function=accelerator.save)', False),
        ('if accelerator.is_main_process:\n    accelerator.unwrap_model(model).save_pretrained("out")', False),
        ('tokenizer.save_pretrained("out")', False),
    ],
)
def test_an_adapter_that_every_process_writes_is_told(save: str, told: bool, model: str) -> None:
    assert any("A PeftModel writes its files in every process" in message for message in adapter(save, model)) is told


def test_a_model_of_transformers_asks_for_its_rank_itself() -> None:
    save = 'accelerator.unwrap_model(model).save_pretrained("out")'
    assert not any("PeftModel" in message for message in adapter(save, 'AutoModel.from_pretrained("gpt2")'))


@pytest.mark.parametrize(
    ("arguments", "gpu", "told"),
    [
        ("fsdp_plugin=FullyShardedDataParallelPlugin()", False, True),
        ("deepspeed_plugin=plugin", False, True),
        ("deepspeed_plugins={'a': plugin}", False, True),
        ("fsdp_plugin=FullyShardedDataParallelPlugin()", True, False),
        ("fsdp_plugin=FullyShardedDataParallelPlugin()", None, False),  # a plugin asks for GPUs
        ("fsdp_plugin=None", False, False),
    ],
)
def test_a_plugin_that_cpu_workers_do_not_heed_is_told(arguments: str, gpu: bool | None, told: bool) -> None:
    messages = adapter("", arguments=arguments, gpu=gpu)
    assert any("does nothing on workers without a GPU" in message for message in messages) is told
