"""Keys of settings files that no class of the parser takes which reads them: of trl's configurations, and of others."""

import json
from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.files.discovery import SUFFIXES, discover
from raymigrate.files.needles import needles
from raymigrate.run.job import Job
from raymigrate.run.outcome import Summary
from raymigrate.run.session import run
from tests.projects.files import write

SCRIPT = """
from dataclasses import dataclass
from datasets import load_dataset
from transformers import AutoModelForCausalLM
from trl import {kind}Config, {kind}Trainer, ModelConfig, TrlParser


@dataclass
class Data:
    dataset_path: str = "rows.json"
    own_length: int = 5


def main():
    parser = TrlParser((ModelConfig, Data, {kind}Config))
    model_args, data_args, args = parser.parse_args_and_config({lenient})
    rows = load_dataset("json", data_files=data_args.dataset_path, split="train")
    trainer = {kind}Trainer(model=model_args.model_name_or_path, args=args, train_dataset=rows)
    trainer.train()


if __name__ == "__main__":
    main()
"""
HEAD = "model_name_or_path: gpt2\ndataset_path: rows.json\noutput_dir: out\nlearning_rate: 1.0e-4\n"


def told(summary: Summary) -> list[tuple[str, str, int]]:
    return [(Path(f.path).name, f.code, f.line) for f in summary.findings if not f.path.endswith(".py")]


def moved(folder: Path) -> Summary:
    found = discover([str(folder)], needles=needles(to_ray=True), suffixes=SUFFIXES)
    return run(found, Job(Options(to_ray=True)), jobs=1)


def script(kind: str = "SFT", lenient: str = "") -> str:
    return SCRIPT.format(kind=kind, lenient=lenient)


@pytest.mark.parametrize(
    ("kind", "key", "code", "advice"),
    [
        ("SFT", "torch_dtype: bfloat16", "RM701", "Write dtype,"),
        ("SFT", "use_liger: true", "RM701", "Write use_liger_kernel,"),
        ("SFT", "max_seq_length: 512", "RM701", "Write max_length,"),
        ("SFT", "max_seq_length: null", "RM701", "null stood for another value; Write max_length,"),
        ("DPO", "max_prompt_length: 512", "RM702", "filter longer ones"),
        ("GRPO", "max_prompt_length: 512", "RM702", "filter longer ones"),
        ("DPO", "generate_during_eval: true", "RM702", "Drop it"),
    ],
)
def test_a_key_that_no_class_takes_is_told(kind: str, key: str, code: str, advice: str, tmp_path: Path) -> None:
    write(tmp_path, {"train.py": script(kind), "setup.py": "", "conf/args.yaml": f"{HEAD}{key}\n"})
    summary = moved(tmp_path)
    assert told(summary) == [("args.yaml", code, 5)]
    [finding] = [finding for finding in summary.findings if finding.path.endswith(".yaml")]
    assert advice in finding.advice and "train.py" in finding.message and "a ValueError" in finding.message


def test_what_training_arguments_lost_is_told_once(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": script(), "setup.py": "", "args.yaml": f"{HEAD}warmup_ratio: 0.1\n"})
    assert told(moved(tmp_path)) == [("args.yaml", "RM701", 5)]


def test_where_the_rest_is_handed_back_nothing_fails(tmp_path: Path) -> None:
    lenient = "fail_with_unknown_args=False"
    write(tmp_path, {"train.py": script(lenient=lenient), "setup.py": "", "args.yaml": f"{HEAD}use_liger: true\n"})
    [finding] = [finding for finding in moved(tmp_path).findings if finding.path.endswith(".yaml")]
    assert "train.py passes use_liger over: none of its classes takes it" in finding.message


def test_a_cell_that_writes_the_settings_is_told_of_them(tmp_path: Path) -> None:
    cells = [f"%%writefile args.yaml\n{HEAD}max_seq_length: 9  # of a row\n", "!python train.py --config args.yaml"]
    sources = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    notebook = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": sources})
    write(tmp_path, {"train.py": script(), "setup.py": "", "run.ipynb": notebook})
    summary = moved(tmp_path)
    assert ("run.ipynb", "RM701", 6) in told(summary)
    assert [finding.cell for finding in summary.findings if finding.code == "RM701"] == [1]
    assert (tmp_path / "run.ipynb").read_text() == notebook


def test_a_notebook_may_write_script_and_settings(tmp_path: Path) -> None:
    cells = [f"%%writefile train.py\n{script()}", f"%%writefile args.yaml\n{HEAD}torch_dtype: float16\n"]
    sources = [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells]
    notebook = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": sources})
    write(tmp_path, {"setup.py": "", "run.ipynb": notebook})
    found = [(f.cell, f.line) for f in moved(tmp_path).findings if "torch_dtype" in f.message]
    assert found == [(2, 6)]


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}own_length: 3\nenv:\n  A: b\ngradient_checkpointing_kwargs:\n  use_liger: false\n",
        "compute_environment: LOCAL_MACHINE\nnum_processes: 8\nmixed_precision: bf16\nmachine_rank: 0\n",
        "base_model: gpt2\nadapter: lora\nlora_r: 8\nsequence_len: 512\nlearning_rate: 1\noptimizer: adam\n",
        "model:\n  torch_dtype: bfloat16\n  use_liger: true\n",
        "torch_dtype: bfloat16\n",
    ],
)
def test_other_files_are_left_alone(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"train.py": script(), "setup.py": "", "args.yaml": text})
    assert not told(moved(tmp_path))


def test_of_several_scripts_the_one_counts_that_takes_most(tmp_path: Path) -> None:
    other = script("DPO").replace("own_length", "max_seq_length")
    files = {"train.py": script(), "other.py": other, "setup.py": ""}
    write(
        tmp_path,
        {**files, "args.yaml": f"{HEAD}max_seq_length: 9\n", "b.yaml": f"{HEAD}packing: true\nown_length: 1\n"},
    )
    assert not told(moved(tmp_path))
    write(tmp_path, {**files, "args.yaml": f"{HEAD}packing: true\nown_length: 1\nmax_seq_length: 9\n"})
    [(_, code, line)] = [one for one in told(moved(tmp_path)) if one[0] == "args.yaml"]
    assert (code, line) == ("RM701", 7)


@pytest.mark.parametrize(
    "classes", ["(ModelConfig, unknown(), SFTConfig)", "classes_of()", "(ModelConfig, Far, SFTConfig)"]
)
def test_a_parser_of_classes_that_are_not_seen_may_take_anything(classes: str, tmp_path: Path) -> None:
    text = (
        script()
        .replace("(ModelConfig, Data, SFTConfig)", classes)
        .replace("import dataclass\n", "import dataclass\nfrom far import Far\n", 1)
    )
    write(tmp_path, {"train.py": text, "setup.py": "", "args.yaml": f"{HEAD}use_liger: true\n"})
    assert not told(moved(tmp_path))


@pytest.mark.parametrize("key", ["use_liger", "max_prompt_length", "torch_dtype"])
def test_a_file_that_the_script_names_is_told_there_too(key: str, tmp_path: Path) -> None:
    named = script().replace("parse_args_and_config()", 'parse_yaml_file("args.yaml")')
    write(tmp_path, {"train.py": named, "setup.py": "", "args.yaml": f"{HEAD}{key}: 5\nown_length: 3\n"})
    messages = [finding.message for finding in moved(tmp_path).findings if finding.code == "RM706"]
    assert messages == [f"The file gives {key}, which no class takes today: such keys raise a ValueError."]


@pytest.mark.parametrize(
    ("option", "said"),
    [("--torch_dtype bfloat16", "--torch_dtype (now --dtype)"), ("--use_liger true", "(now --use_liger_kernel)")],
)
def test_an_option_of_a_launcher_is_told(option: str, said: str, tmp_path: Path) -> None:
    shell = f"torchrun --nproc_per_node 2 train.py --output_dir out {option} --own_length 3\n"
    write(tmp_path, {"train.py": script(), "setup.py": "", "run.sh": shell})
    [message] = [finding.message for finding in moved(tmp_path).findings if finding.code == "RM824"]
    assert (
        said in message and "which its parser refuses today" in message and "own_length" not in message.split("but")[1]
    )
