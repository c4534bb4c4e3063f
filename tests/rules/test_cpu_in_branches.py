"""RM104 where a branch gives use_cpu, or no_cuda as it was named, to a dict that TrainingArguments unpack."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
import argparse
import torch
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments


def loop(config):
    options = {{"output_dir": "out", "evaluation_strategy": "epoch"}}
    {branch}
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
    Trainer(model, TrainingArguments(**options), train_dataset=config["rows"]).train()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--debug", action="store_true")
    args = parser.parse_args()
    config = {{"gpu": args.gpu, "cpu": not args.gpu, "debug": args.debug, "rows": []}}
    scaling_config = ScalingConfig(num_workers=2, use_gpu={use_gpu})
    TorchTrainer(loop, train_loop_config=config, scaling_config=scaling_config).fit()


main()
"""
SET = 'options["no_cuda"] = True'


def told(branch: str, use_gpu: str) -> bool:
    outcome = converted(SCRIPT.format(branch=branch.replace("\n", "\n    "), use_gpu=use_gpu))
    return "RM104" in [code for code, _, _ in outcome.findings]


@pytest.mark.parametrize(
    ("branch", "use_gpu"),
    [
        (f'if not config["gpu"]:\n    {SET}', "args.gpu"),
        (f'if config["gpu"]:\n    options["fp16"] = True\nelse:\n    {SET}', "args.gpu"),
        (f'if config["cpu"]:\n    {SET}', "args.gpu"),
        (f'use_gpu = config["gpu"]\nif not use_gpu:\n    {SET}', "args.gpu"),
        ('if not config["gpu"]:\n    options.update(use_cpu=True)', "args.gpu"),
        (f'if config["debug"]:\n    {SET}', "not args.debug"),
    ],
)
def test_the_option_that_gives_the_workers_their_gpus_says_it(branch: str, use_gpu: str) -> None:
    assert not told(branch, use_gpu)


@pytest.mark.parametrize(
    ("branch", "use_gpu"),
    [
        ("pass", "args.gpu"),
        (f'if config["gpu"]:\n    {SET}', "args.gpu"),
        (f'if config["debug"]:\n    {SET}', "args.gpu"),
        (f"if not torch.cuda.is_available():\n    {SET}", "args.gpu"),
        ('if not config["gpu"]:\n    options["no_cuda"] = False', "args.gpu"),
        (f'if not config["gpu"] and config["debug"]:\n    {SET}', "args.gpu"),
        (f'if config["debug"]:\n    if not config["gpu"]:\n        {SET}', "args.gpu"),
        (f'if not config["gpu"]:\n    if config["debug"]:\n        {SET}', "args.gpu"),
        (f'if config["debug"]:\n    pass\nelif not config["gpu"]:\n    {SET}', "args.gpu"),
        (f'for row in config["rows"]:\n    if not config["gpu"]:\n        {SET}', "args.gpu"),
        (f'off = not config["gpu"] and config["debug"]\nif off:\n    {SET}', "args.gpu"),
    ],
)
def test_what_another_condition_says_is_told(branch: str, use_gpu: str) -> None:
    assert told(branch, use_gpu)
