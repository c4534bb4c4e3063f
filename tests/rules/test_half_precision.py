"""RM751 without --freeze-numerics: a note where weights in half precision would stop a job, or train otherwise."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
import torch
from accelerate import Accelerator
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def make(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained({model})
    args = TrainingArguments("out", {arguments})
    return Trainer(model=model, args=args, train_dataset=train_dataset)


TransformersTrainer(make, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={{"train": rows}}).fit()
"""


SCALED = ["fp16=True", "fp16=torch.cuda.is_available()", 'fp16=config["half"]', "fp16=True, deepspeed=None"]
WITH_DEEPSPEED = ['fp16=True, deepspeed={"fp16": {"enabled": "auto"}}', 'fp16=True, deepspeed=config["deepspeed"]']
NOT_SCALED = ["bf16=True", "fp16=False", "learning_rate=1e-4", *WITH_DEEPSPEED]


@pytest.mark.parametrize("arguments", [*SCALED, *NOT_SCALED])
@pytest.mark.parametrize("model", ['"facebook/opt-125m"', 'config["model"]'])
def test_a_model_of_unknown_precision_is_noted(model: str, arguments: str) -> None:
    outcome = converted(SCRIPT.format(model=model, arguments=arguments))
    assert len(outcome.lines("RM751", Kind.NOTE)) == 1
    assert any("fp16 needs" in message for message in outcome.messages) == (arguments in SCALED)
    assert not outcome.lines("RM751", Kind.MANUAL) and not outcome.lines("RM751", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        ('"facebook/opt-125m", dtype="bfloat16"', "bf16=True"),
        ('"facebook/opt-125m", torch_dtype=torch.float32', "fp16=True"),
        ('"gpt2"', "fp16=True"),
        ('"google-bert/bert-base-cased"', "fp16=True"),
    ],
)
def test_weights_in_float32_are_no_news(model: str, arguments: str) -> None:
    outcome = converted(SCRIPT.format(model=model, arguments=arguments))
    assert not outcome.lines("RM751", Kind.NOTE)


@pytest.mark.parametrize("imports", ["", "from ray.air import session\n"])
def test_the_init_function_of_another_file_gets_the_note(tmp_path: Path, imports: str) -> None:
    script = SCRIPT.format(model='"facebook/opt-125m"', arguments="fp16=True")
    legacy = "".join(line for line in script.splitlines(keepends=True) if line.startswith("from ray."))
    init, _, job = script.replace(legacy, "").partition("\n\n\nTransformersTrainer(")
    (tmp_path / "init.py").write_text(imports + init)
    (tmp_path / "job.py").write_text(f"from init import make\n{legacy}\nTransformersTrainer({job}")
    outcome = CliRunner().invoke(main, ["--check", "--verbose", str(tmp_path)])
    assert len([line for line in outcome.stdout.splitlines() if "init.py:" in line and "RM751 note" in line]) == 1
