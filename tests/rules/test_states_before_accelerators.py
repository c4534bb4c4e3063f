"""RM203, RM821: a PartialState that is made before an Accelerator on CPU workers decides how they are joined."""

import textwrap

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

LOOP = """
import torch
from accelerate import Accelerator, PartialState
from accelerate.state import PartialState as State

from job import make, rows


def is_first():
    return PartialState().is_main_process


def train({parameter}):
{lines}
    model = make()
    model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), rows())
    for epoch in range(2):
        for batch in loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

"""
LEGACY = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer

AccelerateTrainer(train, accelerate_config={config}, scaling_config=ScalingConfig(num_workers=2, use_gpu={gpu})).fit()
"""
BY_HAND = """
from ray.train.torch import TorchTrainer
from ray.air.config import ScalingConfig

TorchTrainer(train, scaling_config=ScalingConfig(num_workers=2, use_gpu={gpu})).fit()
"""
TRAINER = """
from accelerate import Accelerator, PartialState
from transformers import Trainer, TrainingArguments

from job import make, rows


def main():
{lines}
    Trainer(model=make(), args=args, train_dataset=rows()).train()


if __name__ == "__main__":
    main()
"""
WAYS = {
    "AccelerateTrainer": (LEGACY.replace("{config}", "{{}}"), "config"),
    "AccelerateTrainer, unread": (LEGACY.replace("{config}", "read()"), "config"),
    "by hand": (BY_HAND, "config"),
    "to_ray": ("\ntrain()\n", ""),
}


def text_after(script: str, *lines: str, gpu: bool = False, **given: str) -> str:
    text = script.format(lines=textwrap.indent("\n".join(lines), "    "), gpu=gpu, **given)
    return convert(text, "", Options(to_ray=True, gpu=gpu)).after or text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["PartialState", "State"])
def test_it_joins_the_cpu_workers(way: str, name: str) -> None:
    end, parameter = WAYS[way]
    lines = (f"first = {name}().is_main_process", "accelerator = Accelerator()")
    text = text_after(LOOP + end, *lines, parameter=parameter)
    assert f"first = {name}(cpu=True).is_main_process" in text
    assert "Accelerator(cpu=True)" in text


@pytest.mark.parametrize("way", WAYS)
def test_below_the_accelerator_it_only_asks(way: str) -> None:
    end, parameter = WAYS[way]
    lines = ("accelerator = Accelerator()", "first = PartialState().is_main_process")
    text = text_after(LOOP + end, *lines, parameter=parameter)
    assert "first = PartialState().is_main_process" in text
    assert "Accelerator(cpu=True)" in text


@pytest.mark.parametrize(
    "lines",
    [
        ("first = PartialState(); accelerator = Accelerator()",),
        ("accelerator = Accelerator(step_scheduler_with_optimizer=PartialState().num_processes > 1)",),
        ("accelerator = Accelerator(split_batches=PartialState().num_processes > 1)",),  # RM701 moves it
        (
            "if LATE:",
            "    accelerator = Accelerator()",
            "else:",
            "    PartialState()",
            "    accelerator = Accelerator()",
        ),
    ],
)
def test_what_stands_above_in_the_text_alone_does_not_join(lines: tuple[str, ...]) -> None:
    text = text_after(LOOP + WAYS["by hand"][0], *lines, parameter="config")
    assert text.count("PartialState(cpu=True)") == 1


@pytest.mark.parametrize("way", WAYS)
def test_workers_with_a_gpu_need_nothing(way: str) -> None:
    end, parameter = WAYS[way]
    lines = ("first = PartialState()", "accelerator = Accelerator()")
    assert "cpu=True" not in text_after(LOOP + end, *lines, gpu=True, parameter=parameter)


def test_a_function_that_may_be_the_first_to_ask_joins_them() -> None:
    text = text_after(LOOP + WAYS["to_ray"][0], "accelerator = Accelerator()", parameter="")
    assert "return PartialState(cpu=True).is_main_process" in text


@pytest.mark.parametrize("made", ["Accelerator", "PartialState"])
def test_beside_a_trainer(made: str) -> None:
    text = text_after(TRAINER, f"rank = {made}().process_index", 'args = TrainingArguments("out")')
    assert f"rank = {made}(cpu=True).process_index" in text
    assert 'TrainingArguments("out", use_cpu=True)' in text


def test_below_the_arguments_of_a_trainer_it_only_asks() -> None:
    text = text_after(TRAINER, 'args = TrainingArguments("out")', "rank = PartialState().process_index")
    assert "rank = PartialState().process_index" in text


def test_what_was_told_already_stays() -> None:
    text = text_after(
        LOOP + WAYS["to_ray"][0], "PartialState(True)", "accelerator = Accelerator(cpu=True)", parameter=""
    )
    assert "PartialState(True)\n" in text
