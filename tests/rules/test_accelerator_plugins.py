"""FSDP and DeepSpeed train as before: an optimizer keeps its parameters, and the Accelerator's accumulation counts."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult

SCRIPT = """
import torch
from accelerate import Accelerator, DeepSpeedPlugin, FullyShardedDataParallelPlugin
from ray.air import RunConfig, ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from lib import load, other, switch
{head}
def loop(config):
    accelerator = Accelerator({own})
    model = load()
    {body}

AccelerateTrainer(loop, accelerate_config={config}, scaling_config=ScalingConfig(num_workers=2, {gpu})).fit()
"""
TOGETHER = "model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))"
FSDP = "{'distributed_type': 'FSDP', 'fsdp_config': {'fsdp_sharding_strategy': 1}}"
FLATTENED = "{'distributed_type': 'FSDP', 'fsdp_config': {'fsdp_use_orig_params': 'no'}}"
DEEPSPEED = "{'distributed_type': 'DEEPSPEED', 'deepspeed_config': {'gradient_accumulation_steps': 4}}"


def converted(
    body: str = TOGETHER,
    config: str = FSDP,
    own: str = "",
    head: str = "",
    gpu: str = "use_gpu=True",
    path: str = "",
) -> FileResult:
    own, body = own or "project_dir='x'", body.replace("\n", "\n    ")
    text = SCRIPT.format(head=head, own=own, body=body, config=config, gpu=gpu).replace(
        "ScalingConfig(2, 2, ", "Scaling("
    )
    return convert(text.replace("Scaling(", "ScalingConfig(num_workers=2, "), path)


def told(result: FileResult, code: str, kind: Kind = Kind.MANUAL) -> list[Finding]:
    return [finding for finding in result.findings if (finding.code, finding.kind) == (code, kind)]


@pytest.mark.parametrize("config", [FSDP, FLATTENED])
@pytest.mark.parametrize(
    "body",
    [
        TOGETHER,
        "optimizer = torch.optim.SGD(list(model.parameters()), lr=1)\nmodel = accelerator.prepare(model)",
        "if switch:\n    model = accelerator.prepare(model)\noptimizer = torch.optim.AdamW(model.parameters())",
        "optimizer = other(model)",
        "ready = accelerator.prepare(model)\noptimizer = torch.optim.AdamW(model.parameters())",
    ],
)
def test_fsdp_keeps_the_parameters_of_an_optimizer_that_may_be_made_first(config: str, body: str) -> None:
    result = converted(body, config)
    assert result.after is not None and "use_orig_params=True" in result.after
    assert any("nothing trains" in finding.message for finding in result.findings)


@pytest.mark.parametrize(
    "body",
    [
        "model = accelerator.prepare(model)\noptimizer = torch.optim.AdamW(model.parameters())",
        "model, data = accelerator.prepare(model, other())\noptimizer = torch.optim.AdamW(model.parameters())",
        "model = accelerator.prepare_model(model)\n"
        "params = [p for p in model.parameters() if p.requires_grad]\noptimizer = torch.optim.SGD(params, lr=1)",
    ],
)
def test_an_optimizer_of_the_wrapped_model_trains_flattened_as_before(body: str) -> None:
    result = converted(body)
    assert result.after is not None and "use_orig_params" not in result.after
    assert not told(result, "RM210")


@pytest.mark.parametrize(
    ("given", "is_told"),
    [
        ("model.parameters()", False),
        ("filter(lambda p: p.requires_grad, model.parameters())", False),
        ("(p for p in model.parameters() if p.requires_grad)", False),
        ("[{'params': model.parameters(), 'lr': 2}]", True),
        ("[{'params': [p], 'lr': 2} for p in model.parameters()]", True),
        ("other(model)", True),
    ],
)
def test_groups_that_were_one_group_are_told(given: str, is_told: bool) -> None:
    result = converted(f"model, optimizer = accelerator.prepare(model, torch.optim.AdamW({given}))")
    assert [finding.advice.startswith("To train as before") for finding in told(result, "RM210")] == [True] * is_told


def test_an_optimizer_class_of_the_script_is_one_too() -> None:
    head = "class Adam(torch.optim.Optimizer):\n    pass\n"
    result = converted("groups = [{'params': model.parameters()}]\noptimizer = Adam(groups)", head=head)
    assert len(told(result, "RM210")) == 1


@pytest.mark.parametrize(
    ("plugin", "became"),
    [
        ("FullyShardedDataParallelPlugin()", "FullyShardedDataParallelPlugin(use_orig_params=True)"),
        (
            "FullyShardedDataParallelPlugin(use_orig_params=False)",
            "FullyShardedDataParallelPlugin(use_orig_params=True)",
        ),
        ("FullyShardedDataParallelPlugin(use_orig_params=True)", ""),
        ("FullyShardedDataParallelPlugin(use_orig_params=switch)", None),
        ("FullyShardedDataParallelPlugin(**config['fsdp'])", None),
        ("FullyShardedDataParallelPlugin(**{'use_orig_params': False})", None),
        ("other()", None),
    ],
)
def test_a_plugin_of_the_script_keeps_the_parameters_too(plugin: str, became: str | None) -> None:
    result = converted(config="{}", own=f"fsdp_plugin={plugin}")
    assert result.after is not None
    assert len(told(result, "RM210", Kind.CONVERTED)) == bool(became)
    assert len(told(result, "RM210")) == (became is None)
    assert f"fsdp_plugin={became or plugin}" in result.after


def test_a_plugin_of_another_library_is_left_alone() -> None:
    head = "class FullyShardedDataParallelPlugin:\n    pass\nclass DeepSpeedPlugin:\n    pass\n"
    body = "FullyShardedDataParallelPlugin(), DeepSpeedPlugin(gradient_accumulation_steps=3)"
    result = converted(body, config="{}", head=head)
    assert not [finding for finding in result.findings if finding.code in ("RM210", "RM211")]


@pytest.mark.parametrize(
    ("gpu", "condition"),
    [
        ("use_gpu=True", ""),
        ("use_gpu=GPU", "if GPU else"),
        ("use_gpu=not CPU", "if not CPU else"),
        ("use_gpu=switch()", 'if ray.train.torch.get_device().type != "cpu" else'),
    ],
)
def test_cpu_workers_get_no_plugin(gpu: str, condition: str) -> None:
    head = "GPU = 'gpu'\nCPU = ''\n"
    fsdp = converted(gpu=gpu, head=head).after
    deepspeed = converted(gpu=gpu, head=head, config=DEEPSPEED, own="gradient_accumulation_steps=2").after
    assert fsdp is not None and deepspeed is not None
    assert (f") {condition} None," in fsdp) if condition else ("else None" not in fsdp)
    assert f"gradient_accumulation_steps=4 {condition} 2" in deepspeed if condition else "else" not in deepspeed
    same = converted(gpu=gpu, head=head, config=DEEPSPEED, own="gradient_accumulation_steps=4").after
    assert same is not None and "Accelerator(\n        gradient_accumulation_steps=4," in same
    none = converted(gpu="use_gpu=False").after
    assert none is not None and "fsdp_plugin" not in none


def test_cpu_workers_get_no_variables_of_fsdp_either() -> None:
    elsewhere = SCRIPT.format(head="GPU = other()\n", own="", body="", config=FSDP, gpu="use_gpu=GPU")
    elsewhere = elsewhere.replace("accelerator = Accelerator()", "other()")
    after = convert(elsewhere).after
    assert after is not None and '**({"FSDP_SHARDING_STRATEGY"' in after and "} if GPU else {})" in after
    around = convert(elsewhere.replace("loop, acc", "loop, run_config=other(), acc").replace("=GPU", "=other()")).after
    assert around is not None and '    else:\n        os.environ["ACCELERATE_USE_FSDP"] = "true"' in around


@pytest.mark.parametrize(
    ("own", "became"),
    [
        ("deepspeed_plugin=DeepSpeedPlugin(gradient_accumulation_steps=4)", "deepspeed_plugin=DeepSpeedPlugin()"),
        ("deepspeed_plugin=DeepSpeedPlugin(gradient_accumulation_steps=1)", ""),
        ("gradient_accumulation_steps=2, deepspeed_plugin=DeepSpeedPlugin(gradient_accumulation_steps=2)", ""),
        ("gradient_accumulation_steps=n(), deepspeed_plugin=DeepSpeedPlugin(gradient_accumulation_steps=n())", ""),
        ("deepspeed_plugin=DeepSpeedPlugin(zero_stage=2)", ""),
        ("deepspeed_plugin=DeepSpeedPlugin(**config['d'])", None),
        ("deepspeed_plugin=other()", None),
        ("deepspeed_plugin=DeepSpeedPlugin(hf_ds_config=other())", None),
        ("deepspeed_plugin=DeepSpeedPlugin(hf_ds_config={'gradient_accumulation_steps': 4})", None),
        ("deepspeed_plugin=DeepSpeedPlugin({'gradient_accumulation_steps': 'auto'})", ""),
        ("deepspeed_plugin=DeepSpeedPlugin({'gradient_accumulation_steps': 1})", ""),
        ("deepspeed_plugin=DeepSpeedPlugin({'gradient_accumulation_steps': 'auto'}, 4)", ""),
    ],
)
def test_the_accumulation_of_the_accelerator_counts(own: str, became: str | None) -> None:
    result = converted(config="{}", own=own)
    assert result.after is not None and f"Accelerator({became or own})" in result.after
    assert len(told(result, "RM211", Kind.CONVERTED)) == bool(became)
    assert len(told(result, "RM211")) == (became is None)


def test_what_ray_2_7_ran_with_is_not_known_so_both_numbers_stay() -> None:
    own = "deepspeed_plugin=DeepSpeedPlugin(gradient_accumulation_steps=4)"
    text = SCRIPT.format(head="", own=own, body=TOGETHER, config="{}", gpu="use_gpu=True")
    result = convert(text, options=Options(from_ray="2.7"))
    assert result.after is not None and own in result.after
    assert len(told(result, "RM211")) == 1


@pytest.mark.parametrize(
    ("steps", "own", "is_told"), [("auto", 1, False), (2, 2, False), (4, 1, True), (None, 2, True)]
)
def test_the_number_in_a_deepspeed_file_is_told(tmp_path: Path, steps: object, own: int, is_told: bool) -> None:
    entries = {} if steps is None else {"gradient_accumulation_steps": steps}
    (tmp_path / "ds.json").write_text(json.dumps({**entries, "zero_optimization": {"stage": 2}}))
    config = "{'distributed_type': 'DEEPSPEED', 'deepspeed_config': {'deepspeed_config_file': 'ds.json'}}"
    for given, plugin in ((config, ""), ("{}", ", deepspeed_plugin=DeepSpeedPlugin(hf_ds_config='ds.json')")):
        accelerator = f"gradient_accumulation_steps={own}{plugin}"
        result = converted(config=given, own=accelerator, path=str(tmp_path / "train.py"))
        assert len(told(result, "RM211")) == is_told


def test_a_plugin_that_cpu_workers_may_get_is_told() -> None:
    head = "def run():\n    loop({})\n"
    result = converted(gpu="use_gpu=switch()", head=head)
    assert result.after is not None and "else None" not in result.after
    assert any("CPU workers no fsdp_plugin" in finding.message for finding in told(result, "RM202"))
