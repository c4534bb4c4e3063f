"""RM804: whether workers get GPUs, where a file beside the script holds its TrainingArguments."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """\
from job import model, rows
from transformers import HfArgumentParser, Trainer, TrainingArguments

parser = HfArgumentParser(TrainingArguments)
(args,) = parser.{method}({path})
trainer = Trainer(model=model, args=args, train_dataset=rows)
trainer.train()
"""
JSON = '{"output_dir": "out", "fp16": %s, "bf16": true}'


@pytest.mark.parametrize(
    ("method", "path", "text", "is_gpu"),
    [
        ("parse_json_file", '"args.json"', JSON % "true", True),
        ("parse_json_file", 'json_file="args.json"', JSON % "true", True),
        ("parse_yaml_file", '"args.json"', "output_dir: out\nfp16: true\n", True),
        ("parse_json_file", '"args.json"', JSON % "false", False),  # bf16 is one of CPUs too
        ("parse_json_file", '"args.json"', '{"output_dir": "out", "env": {"fp16": true}}', False),
        ("parse_json_file", '"other.json"', JSON % "true", False),
        ("parse_json_file", '"args.json"', '{"fp16": true', False),
    ],
)
def test_half_precision_of_a_file_asks_for_gpus(
    method: str, path: str, text: str, *, is_gpu: bool, tmp_path: Path
) -> None:
    (tmp_path / "args.json").write_text(text)
    script = SCRIPT.format(method=method, path=path)
    result = convert(script, str(tmp_path / "train.py"), options=Options(to_ray=True))
    assert result.after is not None
    assert f"use_gpu={is_gpu}" in result.after
