"""What a script's own plugin is not given, it took from accelerate_config: the plugin gets it, or a person is told."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult
from tests.projects.files import convert as convert_files
from tests.projects.files import write

SCRIPT = """
from accelerate import Accelerator
from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from lib import gpus, other, switch
{head}
def loop(config):
    {made}
    model, optimizer = accelerator.prepare(other(), None)

AccelerateTrainer(loop, accelerate_config={config}, scaling_config=ScalingConfig(num_workers=2, {gpu})).fit()
"""
FSDP = (
    "{'distributed_type': 'FSDP', 'fsdp_config': {'fsdp_sharding_strategy': 2, 'fsdp_min_num_params': 7,"
    " 'fsdp_auto_wrap_policy': 'SIZE_BASED_WRAP'}}"
)
DEEPSPEED = (
    "{'distributed_type': 'DEEPSPEED',"
    " 'deepspeed_config': {'zero_stage': 3, 'gradient_accumulation_steps': 4, 'zero3_init_flag': True}}"
)
DYNAMO = "{'dynamo_config': {'dynamo_backend': 'INDUCTOR', 'dynamo_mode': 'max-autotune'}}"


def converted(made: str, config: str, head: str = "", gpu: str = "use_gpu=True") -> FileResult:
    return convert(SCRIPT.format(made=made.replace("\n", "\n    "), config=config, head=head, gpu=gpu))


def told(result: FileResult, kind: Kind = Kind.MANUAL) -> list[Finding]:
    return [finding for finding in result.findings if (finding.code, finding.kind) == ("RM202", kind)]


@pytest.mark.parametrize(
    "made",
    [
        "accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(gradient_clipping=1.0))",
        "plugin = DeepSpeedPlugin(gradient_clipping=1.0)\naccelerator = Accelerator(deepspeed_plugin=plugin)",
        "plugin = make()\naccelerator = Accelerator(deepspeed_plugin=plugin)",
        "plugin = DeepSpeedPlugin(None, gradient_clipping=1.0)\naccelerator = Accelerator(deepspeed_plugin=plugin)",
        "kwargs = {'deepspeed_plugin': DeepSpeedPlugin(gradient_clipping=1.0, zero_stage=None)}\n"
        "accelerator = Accelerator(**kwargs)",
    ],
)
def test_a_plugin_of_the_script_gets_what_it_took_from_the_config(made: str) -> None:
    head = "def make():\n    return DeepSpeedPlugin(gradient_clipping=1.0)\n"
    after = converted(made, DEEPSPEED, head).after
    assert after is not None and "AccelerateTrainer" not in after
    assert "zero_stage=3" in after and "zero3_init_flag=True" in after and after.count("DeepSpeedPlugin(") <= 2
    if "**kwargs" not in made:
        assert "gradient_accumulation_steps=4" in after


def test_what_a_plugin_has_itself_came_first_and_the_rows_say_so() -> None:
    result = converted("accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(zero_stage=2))", DEEPSPEED)
    assert result.after is not None and "zero_stage=2" in result.after and "zero_stage=3" not in result.after
    rows = "\n".join(finding.message for finding in told(result, Kind.CONVERTED))
    assert "dropped: zero_stage= of the script's DeepSpeedPlugin came first" in rows
    assert "gradient_accumulation_steps = 4: Accelerator(gradient_accumulation_steps=4)" in rows
    assert not told(result)


def test_a_policy_of_the_script_needs_none_of_the_config() -> None:
    plugin = "FullyShardedDataParallelPlugin(auto_wrap_policy=other)"
    after = converted(f"accelerator = Accelerator(fsdp_plugin={plugin})", FSDP).after
    assert after is not None and 'sharding_strategy="SHARD_GRAD_OP"' in after
    assert "min_num_params" not in after and "size_based_wrap" not in after


@pytest.mark.parametrize(
    "made",
    [
        "accelerator = Accelerator(fsdp_plugin=other())",
        "accelerator = Accelerator(fsdp_plugin=config['plugin'])",
        "accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(other))",
        "accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(**other()))",
        "accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin() if switch else None)",
    ],
)
def test_a_plugin_that_cannot_be_seen_is_told_with_what_it_took(made: str) -> None:
    findings = told(converted(made, FSDP))
    assert findings and any("SHARD_GRAD_OP" in finding.message + finding.advice for finding in findings)


@pytest.mark.parametrize(
    ("gpu", "condition"), [("use_gpu=GPU", "if GPU else None"), ("use_gpu=gpus()", '.type != "cpu" else None')]
)
def test_cpu_workers_got_none_of_it(gpu: str, condition: str) -> None:
    made = "accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(gradient_clipping=1.0))"
    after = converted(made, DEEPSPEED, "GPU = 'gpu'\n", gpu).after
    assert after is not None and any("zero_stage=3 if" in line and condition in line for line in after.splitlines())
    after = converted(made, DEEPSPEED, gpu="use_gpu=False").after
    assert after is not None and "zero_stage" not in after


def test_two_accelerators_may_have_a_plugin_each_or_none() -> None:
    made = "first = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())\naccelerator = Accelerator()"
    after = converted(made, FSDP).after
    assert after is not None and after.count('sharding_strategy="SHARD_GRAD_OP"') == 2


@pytest.mark.parametrize(
    ("own", "backend"),
    [
        ("", 'backend="inductor"'),
        ("dynamo_backend=None", 'backend="inductor"'),
        ("dynamo_backend='eager'", "backend='eager'"),
        ("dynamo_backend=config['dynamo']", "backend=config['dynamo'] or \"inductor\""),
        ("dynamo_backend=other().backend", 'backend=other().backend or "inductor"'),
        ("dynamo_backend=None if switch else other", 'backend=(None if switch else other) or "inductor"'),
        ("dynamo_backend=(None if switch else other)", 'backend=(None if switch else other) or "inductor"'),
        ("dynamo_backend=switch and other", 'backend=(switch and other) or "inductor"'),
        ("dynamo_backend=other", 'backend=other or "inductor"'),
    ],
)
def test_a_backend_of_the_script_goes_into_the_plugin(own: str, backend: str) -> None:
    after = converted(f"accelerator = Accelerator({own})", DYNAMO).after
    assert after is not None and backend in after and 'mode="max-autotune"' in after
    assert "dynamo_backend='" not in after and "dynamo_backend=config" not in after


def test_a_plugin_of_another_file_is_told_with_its_place(tmp_path: Path) -> None:
    plugins = "from accelerate.utils import DeepSpeedPlugin\ndef make():\n    return DeepSpeedPlugin(zero_stage=2)\n"
    made = "accelerator = Accelerator(deepspeed_plugin=make())"
    train = SCRIPT.format(made=made, config=DEEPSPEED, head="from plugins import make", gpu="use_gpu=True")
    write(tmp_path, {"plugins.py": plugins, "train.py": train})
    [finding] = [f for f in convert_files(tmp_path).findings if (f.code, f.kind) == ("RM202", Kind.MANUAL)]
    assert "line 3 of" in finding.message and "zero3_init_flag=True" in finding.advice
    assert "zero_stage" not in finding.advice


def test_a_plugin_that_is_unpacked_needs_no_import() -> None:
    made = "kwargs = dict(deepspeed_plugin=DSP())\naccelerator = Accelerator(**kwargs)"
    result = converted(made, DEEPSPEED, "from accelerate import DeepSpeedPlugin as DSP\n")
    assert result.after is not None and "DSP(zero_stage=3, zero3_init_flag=True)" in result.after
    assert result.after.count("DeepSpeedPlugin") == result.before.count("DeepSpeedPlugin")


def test_plugins_of_scripts_without_a_section_stay_as_they_are() -> None:
    made = "accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(zero_stage=2))"
    result = converted(made, "{'mixed_precision': 'fp16'}")
    assert result.after is not None and "DeepSpeedPlugin(zero_stage=2)" in result.after
    assert not told(result)
