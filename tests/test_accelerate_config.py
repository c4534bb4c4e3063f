"""accelerate configs: what stands in them becomes values of the converted script, and never its code."""

import ast
import os
import time
from pathlib import Path

import pytest
import yaml

from raymigrate.base.findings import Kind
from raymigrate.facts.accelerate.accelerate_config import with_new_names
from raymigrate.facts.syntax.literals import literal, string_literal
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult

NAMED = """
from accelerate import Accelerator
from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer


def loop(config):
    accelerator = Accelerator()
    accelerator.wait_for_everyone()


trainer = AccelerateTrainer(
    loop, accelerate_config="config.yaml", scaling_config=ScalingConfig(num_workers=2, use_gpu=True)
)
"""
# The values go to the workers' environment where no Accelerator is made in sight: by RunConfig, or around the loop.
BY_RUN_CONFIG = NAMED.replace("accelerator = Accelerator()\n    accelerator.wait_for_everyone()", "train()")
AROUND_THE_LOOP = BY_RUN_CONFIG.replace("use_gpu=True)\n)", "use_gpu=True), run_config=make()\n)")
CODE = '__import__("os").popen("touch PWNED").read()'
TEXTS = [
    f'no" + {CODE} + "',
    f"no' + {CODE} + '",
    "no\"); import os  # '",
    "back\\slash\\",
    "two\nlines",
    "$value and $config",
    "{braces} ${HOME}",
    "\u2028 é 😀 \x07",
]


def converted(folder: Path, config: object, script: str = NAMED) -> FileResult:
    text = config if isinstance(config, str) else yaml.safe_dump(config, allow_unicode=True)
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    return convert(script, str(folder / "train.py"))


def strings(text: str) -> list[str]:
    nodes = ast.walk(ast.parse(text))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def code(text: str) -> str:
    """A script with all of its strings emptied."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def deepspeed(text: str) -> dict:
    return {"distributed_type": "DEEPSPEED", "deepspeed_config": {"deepspeed_config_file": text}}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("script", [NAMED, BY_RUN_CONFIG, AROUND_THE_LOOP], ids=["argument", "RunConfig", "loop"])
def test_text_of_a_config_stays_text(tmp_path: Path, script: str, text: str) -> None:
    result = converted(tmp_path, deepspeed(text), script)
    assert result.after is not None
    assert text in strings(result.after)
    assert code(result.after) == code(converted(tmp_path, deepspeed("ds.json"), script).after or "")


@pytest.mark.parametrize("text", TEXTS)
def test_text_in_a_list_and_in_the_script_itself_stays_text(tmp_path: Path, text: str) -> None:
    layers = {"distributed_type": "FSDP", "fsdp_config": {"fsdp_transformer_layer_cls_to_wrap": f"A, {text},B"}}
    result = convert(NAMED.replace('"config.yaml"', repr(layers)), str(tmp_path / "train.py"))
    assert result.after is not None
    assert text.strip() in strings(result.after)
    assert "PWNED" not in code(result.after)


@pytest.mark.parametrize("text", TEXTS)
def test_an_unknown_precision_is_told_and_not_written(tmp_path: Path, text: str) -> None:
    result = converted(tmp_path, {"mixed_precision": text})
    assert "mixed_precision" not in (result.after or "")
    assert [f.kind for f in result.findings if "mixed_precision" in f.message] == [Kind.MANUAL]


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ("1: 2", "1"),
        ("~: 1", "None"),
        ("distributed_type: FSDP\nfsdp_config: hello", "fsdp_config"),
        ("distributed_type: FSDP\nfsdp_config: [1]", "fsdp_config"),
        ("distributed_type: FSDP\nfsdp_config: {1: 2}", "fsdp_config.fsdp_1"),
        ("distributed_type: FSDP\nfsdp_config: {fsdp_min_num_params: x}", "fsdp_min_num_params"),
        ("distributed_type: FSDP\nfsdp_config: {fsdp_min_num_params: .inf}", "fsdp_min_num_params"),
        ("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: 2020-01-01}", "fsdp_sharding_strategy"),
        ("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: .nan}", "fsdp_sharding_strategy"),
        ("distributed_type: FSDP\nfsdp_config: {fsdp_offload_params: perhaps}", "fsdp_offload_params"),
        ("distributed_type: FSDP\nfsdp_config: {fsdp_state_dict_type: {a: b}}", "fsdp_state_dict_type"),
        ("distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: [1]}", "zero_stage"),
        ("distributed_type: DEEPSPEED\ndeepspeed_config: {gradient_clipping: .inf}", "gradient_clipping"),
        ("distributed_type: {a: b}", "distributed_type"),
    ],
)
def test_what_accelerate_would_not_have_understood_is_left_to_a_person(tmp_path: Path, config: str, key: str) -> None:
    result = converted(tmp_path, f"{config}\nmixed_precision: bf16\n")
    [finding] = [f for f in result.findings if f"{key} = " in f.message]
    assert finding.kind is Kind.MANUAL
    assert result.after is not None and 'mixed_precision="bf16"' in result.after  # the other keys are converted


LAUGHS = "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
MERGES = "".join(
    f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}], k{b}: 1}}\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "config",
    [
        f"a: &a [x,x,x,x,x,x,x,x,x]\n{LAUGHS}",
        f"a: &a [x,x,x,x,x,x,x,x,x]\n{LAUGHS}fsdp_config: {{fsdp_state_dict_type: *i}}\ndistributed_type: FSDP\n",
        f"a: &a {{x: 1}}\n{MERGES}",
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
        "a: " + "[" * 5_000,
        "a: " + "{b: " * 2_000 + "c" + "}" * 2_000,
        "a: 1\n" * 300_000,
        "a: 9" + "9" * 10_000,
        "a: !!python/object/apply:os.system [id]",
        "a: 1\n---\nb: 2\n",
        "a: 2020-99-99",
        "- a\n- b\n",
        "a: \x00",
        "",
    ],
    ids=lambda text: text[:20],
)
def test_a_config_that_no_person_wrote_is_a_finding_at_once(tmp_path: Path, config: str) -> None:
    start = time.process_time()
    result = converted(tmp_path, config)
    assert time.process_time() - start < 10  # aliases of aliases took minutes; the imports of a first call take seconds
    assert "RM207" in {f.code for f in result.findings if f.kind is Kind.MANUAL}


@pytest.mark.parametrize("kind", ["named pipe", "device", "huge"])
def test_a_config_that_never_ends_is_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "other.yaml"
    if kind == "named pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as stream:
            stream.truncate(10_000_000_000)
    result = convert(NAMED.replace("config.yaml", "other.yaml"), str(tmp_path / "train.py"))
    assert "RM207" in {f.code for f in result.findings}


@pytest.mark.parametrize("text", [*TEXTS, "", "plain", "'", '"', "'\"", "\ud800", "\\'", '\\"'])
def test_a_string_is_written_as_source(text: str) -> None:
    assert ast.literal_eval(string_literal(text)) == text
    assert "\n" not in string_literal(text)


@pytest.mark.parametrize("value", [1, 1.5, True, None, ["a", 'b"'], [[1]]])
def test_a_value_is_written_as_source(value: object) -> None:
    assert ast.literal_eval(literal(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"", {}, object(), [set()]])
def test_a_value_without_plain_source_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="has no plain source"):
        literal(value)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (1, "FULL_SHARD"),
        ("1", "FULL_SHARD"),
        (2, "SHARD_GRAD_OP"),
        ("NO_SHARD", "NO_SHARD"),
        ("hybrid_shard", "HYBRID_SHARD"),
        (5, "HYBRID_SHARD_ZERO2"),
    ],
)
def test_a_sharding_strategy_is_written_by_name(given: object, written: str, tmp_path: Path) -> None:
    config = {"distributed_type": "FSDP", "fsdp_config": {"fsdp_sharding_strategy": given}}
    assert f'sharding_strategy="{written}"' in str(converted(tmp_path, config).after)


@pytest.mark.parametrize("given", [0, 6, -1, "SHARD", "1.5", True])
def test_a_sharding_strategy_that_there_is_not_is_told(given: object, tmp_path: Path) -> None:
    config = {"distributed_type": "FSDP", "fsdp_config": {"fsdp_sharding_strategy": given}}
    found = converted(tmp_path, config).findings
    assert any(finding.kind is Kind.MANUAL and "fsdp_sharding_strategy" in finding.message for finding in found)


@pytest.mark.parametrize(
    ("section", "written"),
    [
        ({}, "sync_module_states=True"),
        ({"fsdp_sync_module_states": None}, "sync_module_states=True"),
        ({"fsdp_sync_module_states": False}, "sync_module_states=False"),
        ({"fsdp_auto_wrap_policy": "SIZE_BASED_WRAP"}, "min_num_params=100000000"),
        ({"fsdp_auto_wrap_policy": "SIZE_BASED_WRAP", "fsdp_min_num_params": 2000}, "min_num_params=2000"),
    ],
)
def test_what_the_launcher_set_by_default_is_written(section: dict[str, object], written: str, tmp_path: Path) -> None:
    after = str(converted(tmp_path, {"distributed_type": "FSDP", "fsdp_config": section}).after)
    assert after.count(written) == after.count(written.partition("=")[0]) == 1
    assert ("min_num_params" in after) == ("fsdp_auto_wrap_policy" in section)


@pytest.mark.parametrize(
    ("config", "written"),
    [
        ({"distributed_type": "FSDP"}, "fsdp_plugin=FullyShardedDataParallelPlugin(\n"),
        ({"distributed_type": "FSDP", "fsdp_config": None}, "fsdp_plugin=FullyShardedDataParallelPlugin(\n"),
        ({"distributed_type": "DEEPSPEED"}, "deepspeed_plugin=DeepSpeedPlugin()"),
        ({"distributed_type": "DEEPSPEED", "deepspeed_config": {}}, "deepspeed_plugin=DeepSpeedPlugin()"),
        (
            {"distributed_type": "DEEPSPEED", "deepspeed_config": {"deepspeed_multinode_launcher": "pdsh"}},
            "deepspeed_plugin=DeepSpeedPlugin()",
        ),
    ],
)
def test_a_type_without_settings_keeps_its_plugin(config: dict[str, object], written: str, tmp_path: Path) -> None:
    assert written in str(converted(tmp_path, config).after)


def test_a_type_that_cpu_workers_ignored_has_no_plugin(tmp_path: Path) -> None:
    script = NAMED.replace("use_gpu=True", "use_gpu=False")
    assert "plugin" not in str(converted(tmp_path, {"distributed_type": "FSDP"}, script).after)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"fp16": True}, {"mixed_precision": "fp16"}),
        ({"fp16": False}, {"mixed_precision": "no"}),
        ({"fp16": True, "mixed_precision": "bf16"}, {"mixed_precision": "bf16"}),
        ({"dynamo_backend": "NO"}, {"dynamo_config": {}}),
        ({"dynamo_backend": "INDUCTOR"}, {"dynamo_config": {"dynamo_backend": "INDUCTOR"}}),
        ({"use_cpu": True}, {"use_cpu": True}),
    ],
)
def test_keys_of_older_files_have_the_names_of_today(older: dict[str, object], newer: dict[str, object]) -> None:
    assert with_new_names(older) == newer


@pytest.mark.parametrize(
    ("backend", "said"), [("NO", "it names no backend, so nothing was compiled"), ("INDUCTOR", 'backend="inductor"')]
)
def test_a_file_of_older_accelerate_is_carried_over(tmp_path: Path, backend: str, said: str) -> None:
    (tmp_path / "old.yaml").write_text(f"distributed_type: MULTI_GPU\nfp16: true\ndynamo_backend: '{backend}'\n")
    script = (
        "from accelerate import Accelerator\nfrom ray.train.huggingface import AccelerateTrainer\n"
        "from ray.air import ScalingConfig\n\n\ndef loop():\n    print(Accelerator().state)\n\n\n"
        "scaling = ScalingConfig(num_workers=2, use_gpu=True)\n"
        "AccelerateTrainer(loop, accelerate_config='old.yaml', scaling_config=scaling).fit()\n"
    )
    result = convert(script, str(tmp_path / "train.py"))
    assert result.after is not None and 'mixed_precision="fp16"' in result.after
    assert not [finding for finding in result.findings if finding.kind is Kind.MANUAL]
    assert any(said in finding.message for finding in result.findings)
