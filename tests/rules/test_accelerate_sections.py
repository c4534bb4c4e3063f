"""RM202: sections of an accelerate_config, deepspeed_config and fsdp_config, that are not known in whole."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """import argparse
import json
from accelerate import Accelerator
from ray.air.config import ScalingConfig
from ray.train.huggingface.accelerate import AccelerateTrainer

args = argparse.ArgumentParser().parse_args()
{before}

def loop(config):
    print(Accelerator())


config = {{"distributed_type": "{kind}", "{section}": {value}}}
AccelerateTrainer(
    loop, accelerate_config=config, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)
).fit()
"""
STEPS = '"gradient_accumulation_steps": args.steps'


@pytest.mark.parametrize(
    "value",
    [
        f'{{"zero_stage": 2, {STEPS}}}',
        "dict(zero_stage=2, gradient_accumulation_steps=int(args.steps))",
        '{"zero_stage": 2, "gradient_accumulation_steps": json.load(open("x.json"))["steps"]}',
        "given",
    ],
)
def test_what_is_known_of_a_section_is_kept_and_the_rest_is_told(value: str) -> None:
    before = f'given = {{"zero_stage": 2, {STEPS}}}\n'
    outcome = converted(SCRIPT.format(kind="DEEPSPEED", section="deepspeed_config", value=value, before=before))
    assert "deepspeed_plugin=DeepSpeedPlugin(" in outcome.text and "zero_stage=2" in outcome.text
    assert not outcome.lines("RM903", Kind.ERROR)
    (told,) = (message for message in outcome.messages if "its value is not known here" in message)
    assert "accelerate_config deepspeed_config.gradient_accumulation_steps = " in told
    assert "give it to deepspeed_plugin= of Accelerator(...) by hand" in told


@pytest.mark.parametrize("value", ['json.load(open("x.json"))', "args.deepspeed", "dict(**vars(args))"])
def test_a_section_of_which_nothing_is_known_is_told(value: str) -> None:
    outcome = converted(SCRIPT.format(kind="DEEPSPEED", section="deepspeed_config", value=value, before=""))
    assert "TorchTrainer(" in outcome.text and "DeepSpeedPlugin(" in outcome.text
    assert any("accelerate_config deepspeed_config = " in message for message in outcome.messages)


def test_a_file_for_deepspeed_that_is_not_known_is_told() -> None:
    value = '{"deepspeed_config_file": args.file}'
    outcome = converted(SCRIPT.format(kind="DEEPSPEED", section="deepspeed_config", value=value, before=""))
    assert any("deepspeed_config.deepspeed_config_file = args.file" in message for message in outcome.messages)


def test_of_fsdp_too() -> None:
    value = '{"fsdp_offload_params": args.offload, "fsdp_sharding_strategy": "SHARD_GRAD_OP"}'
    outcome = converted(SCRIPT.format(kind="FSDP", section="fsdp_config", value=value, before=""))
    assert 'sharding_strategy="SHARD_GRAD_OP"' in outcome.text
    assert any("fsdp_config.fsdp_offload_params = args.offload" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from accelerate import DeepSpeedPlugin\n", "from accelerate import DeepSpeedPlugin\n"),
        ("from accelerate.utils import DeepSpeedPlugin as Plugin\n", "from accelerate.utils import DeepSpeedPlugin\n"),
        ("DeepSpeedPlugin = None\n", "from accelerate.utils import DeepSpeedPlugin as AccelerateDeepSpeedPlugin\n"),
    ],
)
def test_a_plugin_that_the_file_imports_is_used_under_its_name(before: str, after: str) -> None:
    text = converted(
        SCRIPT.format(kind="DEEPSPEED", section="deepspeed_config", value='{"zero_stage": 2}', before=before)
    ).text
    assert after in text and text.count("import DeepSpeedPlugin\n") == (
        not after.endswith("AccelerateDeepSpeedPlugin\n")
    )
