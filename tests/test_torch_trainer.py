"""Scripts that came to TorchTrainer by hand get what a conversion gives, unless they are of today."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert

SCRIPT = """
{imports}
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments
{head}
def loop(config):
    args = TrainingArguments("out"{given})
    trainer = Trainer(model, args, train_dataset=rows)
    {end}

TorchTrainer(loop, scaling_config=ScalingConfig({scaling})).fit()
"""
AIR = "from ray.air import ScalingConfig"
TODAY = "from ray.train import ScalingConfig"


LOSS = "average_tokens_across_devices=False"


def arguments(imports: str = AIR, given: str = "", scaling: str = "num_workers=2", end: str = "trainer.train()") -> str:
    """The arguments that TrainingArguments have after conversion, in one line."""
    text = SCRIPT.format(imports=imports, head="", given=given, scaling=scaling, end=end)
    after = " ".join((convert(text).after or text).split())
    made = after.partition('TrainingArguments( "out"')[2] or after.partition('TrainingArguments("out"')[2]
    return made.partition(") trainer = ")[0].strip(" ,")


@pytest.mark.parametrize(
    ("imports", "given", "scaling", "after"),
    [
        (AIR, "", "num_workers=2", f"use_cpu=True, {LOSS}"),
        (AIR, "", "num_workers=2, use_gpu=True", LOSS),
        (AIR, "", "num_workers=2, use_gpu=x.gpu", f'use_cpu=ray.train.torch.get_device().type == "cpu", {LOSS}'),
        (AIR, ", no_cuda=True", "num_workers=2", f"use_cpu=True, {LOSS}"),
        (AIR, ", average_tokens_across_devices=x", "num_workers=2", "average_tokens_across_devices=x, use_cpu=True"),
        (AIR, "", "num_workers=1", ""),
        (TODAY, ", evaluation_strategy=x", "num_workers=2", f"eval_strategy=x, use_cpu=True, {LOSS}"),
        (TODAY, ", eval_strategy=x", "num_workers=2", "eval_strategy=x"),
        (TODAY, "", "num_workers=2", ""),
    ],
)
def test_cpu_workers_are_joined_and_the_loss_keeps_its_scale(
    imports: str, given: str, scaling: str, after: str
) -> None:
    assert arguments(imports, given, scaling) == after


@pytest.mark.parametrize(
    ("end", "after"),
    [
        ("prepare_trainer(trainer).train()", "use_cpu=True, average_tokens_across_devices=False"),
        ("run(trainer)", ""),
        ("print(args)", ""),
    ],
)
def test_arguments_that_train_nothing_are_left_alone(end: str, after: str) -> None:
    assert arguments(end=end) == after


def test_a_variable_of_the_environment_may_tell_the_workers_already() -> None:
    head = "import os\nos.environ['ACCELERATE_USE_CPU'] = 'true'"
    text = SCRIPT.format(imports=AIR, head=head, given="", scaling="", end="trainer.train()")
    assert "use_cpu" not in (convert(text).after or "")


def test_what_decides_on_the_driver_cannot_ask_the_device_of_a_worker() -> None:
    text = """
from accelerate import Accelerator
from ray.train.huggingface import AccelerateTrainer
accelerator = Accelerator()
def loop():
    print(accelerator)
AccelerateTrainer(loop, accelerate_config={}, scaling_config=scaling()).fit()
"""
    result = convert(text)
    assert result.after is not None and "get_device" not in result.after
    assert "RM203" in {finding.code for finding in result.findings}


NAMED = """
from ray.air import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments
def make(cls, **given):
    return cls(**given)
def loop(config):
    {args}
    Trainer(model, args, train_dataset=rows).train()

TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


@pytest.mark.parametrize(
    ("args", "codes"),
    [
        ("args = make(TrainingArguments, output_dir='out')", {("RM104", "converted"), ("RM110", "converted")}),
        ("kind = TrainingArguments\n    args = kind('out')", {("RM104", "converted"), ("RM110", "converted")}),
        (
            "args = make(TrainingArguments if config else Gaudi, output_dir='out')",
            {("RM104", "manual"), ("RM110", "manual")},
        ),
        ("args = make(Gaudi, output_dir='out')", set()),
        ("args = make(Gaudi, args=TrainingArguments)", set()),
    ],
)
def test_arguments_that_another_name_makes(args: str, codes: set[tuple[str, str]]) -> None:
    found = [f for f in convert(NAMED.format(args=args)).findings if f.kind is not Kind.NOTE]
    assert {(f.code, f.kind.value) for f in found if f.code in ("RM104", "RM110")} == codes
