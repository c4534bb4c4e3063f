"""`raymigrate config`: the table, its two formats, and its exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main

FILE = """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
num_processes: 4
mixed_precision: bf16
gpu_ids: 0,1,2,3
main_process_port: 29511
dynamo_config:
  dynamo_backend: INDUCTOR
"""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")  # of the terminal


def shown(text: str, *options: str, name: str = "config.yaml") -> Result:
    Path(name).write_text(text)
    return CliRunner().invoke(main, ["config", name, *options])


def test_every_key_has_a_line_with_what_launch_did_and_the_form_on_ray() -> None:
    result = shown(FILE)
    assert result.exit_code == 0
    lines = {line.partition(":")[0]: " ".join(line.split()) for line in result.stdout.splitlines()}
    assert lines["num_processes"] == "num_processes: 4 processes in all ScalingConfig(num_workers=4)"
    assert "ACCELERATE_MIXED_PRECISION=bf16" in lines["mixed_precision"]
    assert "CUDA_VISIBLE_DEVICES=0,1,2,3 dropped: Ray assigns the GPUs" in lines["gpu_ids"]
    assert "(dynamo_use_dynamic" in lines
    assert "    ScalingConfig(num_workers=4, use_gpu=True)" in result.stdout
    assert '        mixed_precision="bf16",' in result.stdout
    assert "            dynamic=False," in result.stdout


@pytest.mark.parametrize("name", ["config.yaml", "config.json"])
def test_json_holds_the_same(name: str) -> None:
    text = json.dumps({"distributed_type": "MULTI_GPU", "num_processes": 4, "mixed_precision": "bf16"})
    document = json.loads(shown(text, "--output-format", "json", name=name).stdout)
    assert [row["key"] for row in document["keys"]] == ["distributed_type", "num_processes", "mixed_precision"]
    assert document["scaling_config"] == {"num_workers": "4", "use_gpu": "True"}
    assert document["accelerator"] == {"mixed_precision": '"bf16"'}
    assert document["variables_instead_of_arguments"] == {"ACCELERATE_MIXED_PRECISION": "bf16"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("distributed_type: XLA", "config.yaml: XLA is started by accelerate itself"),
        ("distributed_type: MEGATRON_LM\nnum_processes: 2", "MEGATRON_LM is started by accelerate itself"),
        ("compute_environment: AMAZON_SAGEMAKER", "AMAZON_SAGEMAKER is started by accelerate itself"),
        (
            "distributed_type: NO\nmixed_precision: no\nnum_processes: 1",
            "accelerate 1.15 rejects this file: 'bool' object has no attribute 'lower'",
        ),
        ("distributed_type: 'NO'\nmax_restarts: 1", "had unknown keys (['max_restarts'])"),
        ("num_processes: 1", "A `distributed_type` must be specified in the config file."),
    ],
)
def test_a_file_without_a_form_on_ray_is_refused_with_the_reason(text: str, message: str) -> None:
    result = shown(text)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
    document = json.loads(shown(text, "--output-format", "json").stdout)
    assert message.removeprefix("config.yaml: ") in document["refused"]


@pytest.mark.parametrize("text", ["- a", "a: [", "", "!!python/object/apply:os.system [id]"])
def test_what_is_no_such_file_cannot_be_read(text: str) -> None:
    result = shown(text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: config.yaml: cannot be read: ")
    assert CliRunner().invoke(main, ["config", "absent.yaml"]).exit_code == 2


def test_a_file_without_num_processes_says_where_the_number_comes_from() -> None:
    result = shown("distributed_type: MULTI_GPU")
    assert result.exit_code == 0
    assert "comes from --num_processes" in result.stdout
    assert "ScalingConfig(num_workers=..., use_gpu=True)" in result.stdout


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_the_table_fits_the_terminal(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    table = shown(FILE).stdout.split("In the script that")[0]
    assert max(map(len, table.splitlines())) <= max(int(columns), 75)
