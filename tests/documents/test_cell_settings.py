"""Files with settings that cells of a notebook write (`%%writefile acc.yaml`) are read as files beside it are."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.documents.notebooks import notebook
from tests.projects.files import convert

CODE = """from accelerate import Accelerator
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer


def loop(config):
    accelerator = Accelerator()
    print(accelerator)


trainer = AccelerateTrainer(
    loop, accelerate_config={config}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)
)
trainer.fit()"""
YAML = "%%writefile acc.yaml\nmixed_precision: {}\nnum_processes: 2\n"
DEEPSPEED = '{"distributed_type": "DEEPSPEED", "deepspeed_config": {"deepspeed_config_file": "ds.json"}}'


def became(folder: Path, *cells: str) -> tuple[str, list[str]]:
    """The code of the notebook after the run, and what was left to a person."""
    path = folder / "job.ipynb"
    path.write_text(json.dumps(notebook(list(cells))))
    found = convert(folder).findings
    code = "\n".join("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
    return code, [f"{f.code} {f.message}" for f in found if f.kind is Kind.MANUAL]


@pytest.mark.parametrize(
    ("magic", "name"),
    [
        ("%%writefile acc.yaml", '"acc.yaml"'),
        ("%%file acc.yaml", '"acc.yaml"'),
        ('%%writefile "./acc.yaml"', '"acc.yaml"'),
        ("%%writefile ~/acc.yaml", '"~/acc.yaml"'),
        ("%%writefile conf/acc.yaml", '"./conf/acc.yaml"'),
        ("%%writefile acc.yaml", 'os.path.join(".", "acc.yaml")'),
    ],
)
def test_the_file_of_a_cell_is_read(tmp_path: Path, magic: str, name: str) -> None:
    cell = YAML.format("bf16").replace("%%writefile acc.yaml", magic)
    code, left = became(tmp_path, "import os", cell, CODE.replace("{config}", name))
    assert 'Accelerator(mixed_precision="bf16")' in code and cell.strip() in code and not left


def test_what_the_cell_writes_takes_the_place_of_a_file_from_an_earlier_run(tmp_path: Path) -> None:
    (tmp_path / "acc.yaml").write_text("mixed_precision: fp16\n")
    code, _ = became(tmp_path, YAML.format("bf16"), CODE.replace("{config}", '"acc.yaml"'))
    assert 'Accelerator(mixed_precision="bf16")' in code


def test_it_is_read_for_a_script_that_a_cell_writes_too(tmp_path: Path) -> None:
    script = "%%writefile train.py\n" + CODE.replace("{config}", '"acc.yaml"')
    code, _ = became(tmp_path, YAML.format("bf16"), script, "!python train.py")
    assert 'Accelerator(mixed_precision="bf16")' in code


@pytest.mark.parametrize(
    "cells",
    [
        [YAML.format("bf16").replace("acc.yaml", "-a acc.yaml")],
        [YAML.format("bf16"), "%%writefile -a acc.yaml\nuse_cpu: true\n"],
        [YAML.format("bf16"), YAML.format("fp16")],
    ],
)
def test_a_file_in_parts_or_forms_is_told(tmp_path: Path, cells: list[str]) -> None:
    (tmp_path / "acc.yaml").write_text("mixed_precision: fp16\n")
    code, left = became(tmp_path, *cells, CODE.replace("{config}", '"acc.yaml"'))
    assert "AccelerateTrainer(" in code
    [message] = left
    assert message.startswith(
        "RM207 accelerate_config names the file 'acc.yaml', of which cells of this notebook write a part (-a) or"
    )


def test_the_same_file_twice_is_one(tmp_path: Path) -> None:
    code, left = became(tmp_path, YAML.format("bf16"), YAML.format("bf16"), CODE.replace("{config}", '"acc.yaml"'))
    assert 'Accelerator(mixed_precision="bf16")' in code and not left


@pytest.mark.parametrize(
    ("cell", "name"), [(YAML.format("bf16"), "other.yaml"), ("%%writefile acc.yaml\n- a\n", "acc.yaml")]
)
def test_other_files_and_lists_are_not_taken(tmp_path: Path, cell: str, name: str) -> None:
    code, left = became(tmp_path, cell, CODE.replace("{config}", f'"{name}"'))
    assert "AccelerateTrainer(" in code and left[0].startswith("RM207")
    assert ("not found beside" in left[0]) is (name == "other.yaml")


def test_the_steps_of_deepspeed_are_read_from_the_cell(tmp_path: Path) -> None:
    for steps, told in (('"auto"', False), ("4", True), ("1", False)):
        cell = f'%%writefile ds.json\n{{"gradient_accumulation_steps": {steps}}}'
        _, left = became(tmp_path, cell, CODE.replace("{config}", DEEPSPEED))
        assert any("the 4 in ds.json counts" in message for message in left) is told
        assert any(message.startswith("RM211") for message in left) is told
