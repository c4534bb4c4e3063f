"""RM768: zero_to_fp32 of DeepSpeed makes a folder where it wrote a file."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import os
import subprocess

import torch
from deepspeed.utils.zero_to_fp32 import convert_zero_checkpoint_to_fp32_state_dict
from ray.train.torch import TorchTrainer

folder, out = os.environ["FOLDER"], os.environ["OUT"]
"""
LEGACY = "from ray.air import session\n\nprint(session.get_world_rank())\n"


def told(code: str) -> list[str]:
    outcome = converted(HEAD + code)
    found = zip(outcome.findings, outcome.messages, strict=True)
    return [message for (rule, kind, _), message in found if rule == "RM768" and kind is Kind.MANUAL]


@pytest.mark.parametrize(
    "code",
    [
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "pytorch_model.bin")',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, os.path.join(folder, "model.pt"))',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, f"{folder}/model.bin", tag="global_step1")',
        'name = folder + "/weights.pth"\nconvert_zero_checkpoint_to_fp32_state_dict(folder, name)',
        'os.system("python zero_to_fp32.py . pytorch_model.bin")',
        'os.system("cd ckpt && python zero_to_fp32.py . pytorch_model.bin -t global_step1 > log 2>&1")',
        'os.system(f"python {folder}/zero_to_fp32.py {folder} {out}/pytorch_model.bin")',
        'subprocess.run(["python", "zero_to_fp32.py", "--tag", "global_step1", ".", "pytorch_model.bin"], check=True)',
        'subprocess.run(["python", os.path.join(folder, "zero_to_fp32.py"), folder, "model.bin"])',
        'name: str = os.path.join(folder, "zero_to_fp32.py")\nsubprocess.run(["python", name, folder, "model.bin"])',
        'print(script := f"{folder}/zero_to_fp32.py")\nsubprocess.run(["python", script, folder, "model.bin"])',
        'command = f"./zero_to_fp32.py . model.bin"\nsubprocess.check_call(command, shell=True, cwd=folder)',
    ],
)
def test_a_path_of_a_file_becomes_a_folder(code: str) -> None:
    [message] = told(code)
    assert message.startswith("DeepSpeed >= 0.15.3 makes a folder of this path")


@pytest.mark.parametrize(
    "code",
    [
        "convert_zero_checkpoint_to_fp32_state_dict(folder, out)",
        'os.system(f"python zero_to_fp32.py . {out}")',
        'os.system("python zero_to_fp32.py . weights")',
    ],
)
def test_a_path_that_may_be_one_is_told_in_a_script_that_is_older_than_the_change(code: str) -> None:
    [message] = told(LEGACY + code)
    assert message.startswith("If this is the path of a file")
    assert not told(code)


@pytest.mark.parametrize(
    "given",
    [
        '"weights/", "global_step1"',
        'out, "global_step1", False',
        'output_dir, f"global_step{1}"',
        'out, "global_step1", exclude_frozen_parameters=True',
    ],
)
def test_a_tag_by_position_is_told(given: str) -> None:
    messages = told(f"convert_zero_checkpoint_to_fp32_state_dict(folder, {given})")
    assert messages[0].startswith("DeepSpeed >= 0.15.3 takes it for max_shard_size")
    assert "global_step1" in messages[0] or "global_step{1}" in messages[0]


@pytest.mark.parametrize(
    ("given", "old"),
    [("tag", "tag"), ("args.tag", "tag"), ("None, True", "exclude_frozen_parameters"), ("None, flag", "exclude")],
)
def test_what_may_be_one_is_told_in_a_script_that_is_older(given: str, old: str) -> None:
    code = f"convert_zero_checkpoint_to_fp32_state_dict(folder, 'weights/', {given})"
    [message] = told(LEGACY + code)
    assert message.startswith(f"If this is the {old}") and not told(code)


def test_a_command_is_told_at_its_own_expression() -> None:
    lines = 'a = [\n    "x",\n    os.system("python zero_to_fp32.py . a.bin"),\n]\n' * 2
    found = [line for rule, kind, line in converted(HEAD + lines).findings if rule == "RM768" and kind is Kind.MANUAL]
    first = HEAD.lstrip().count("\n") + 3
    assert found == [first, first + 4]


def test_the_former_name_of_the_argument_is_told() -> None:
    [message] = told('convert_zero_checkpoint_to_fp32_state_dict(folder, output_file="model.bin")')
    assert message.startswith("DeepSpeed >= 0.15.3 has no output_file= here: it raises a TypeError.")


@pytest.mark.parametrize(
    "code",
    [
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights/")',
        "convert_zero_checkpoint_to_fp32_state_dict(folder, args.output_dir)",
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights.bin", max_shard_size=None)',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights/", None)',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights/", None, None)',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, out, "5GB")',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights.bin", 1_000_000, True)',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights.bin", size, False, "global_step1")',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights/", tag="global_step1")',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights.bin", size, tag="global_step1")',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights.bin", size, safe_serialization=True)',
        'convert_zero_checkpoint_to_fp32_state_dict(folder, "weights.bin", SIZE)\nSIZE = "5GB"',
        'os.system("python zero_to_fp32.py . output_dir/")',
        'os.system("python zero_to_fp32.py . model.bin --safe_serialization")',
        'os.system("python zero_to_fp32.py --help")',
        'print("python zero_to_fp32.py . pytorch_model.bin")',
        "try:\n    convert_zero_checkpoint_to_fp32_state_dict(folder, output_file=out)\nexcept TypeError:\n    pass",
        "from lightning.pytorch.utilities import deepspeed as own\n"
        'own.convert_zero_checkpoint_to_fp32_state_dict(folder, "pytorch_model.bin")',
    ],
)
def test_a_folder_and_others_are_not_told(code: str) -> None:
    assert not told(LEGACY + code)
