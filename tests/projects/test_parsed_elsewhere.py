"""RM723: TrainingArguments that a function of the project parses, whose attributes are read where it is called."""

from pathlib import Path

import pytest

from raymigrate.run.outcome import Summary
from tests.projects.files import convert, write

ARGUMENTS = """
from dataclasses import dataclass
from transformers import HfArgumentParser, TrainingArguments


@dataclass
class Mine:
    overwrite_output_dir: bool = False


def parse(path=None):
    parser = HfArgumentParser((Mine, TrainingArguments))
    {body}
"""
ONE = "return parser.parse_args_into_dataclasses()"
TWO = f"if path:\n        return parser.parse_json_file(path)\n    {ONE}"
NAMED = "mine, parsed = parser.parse_args_into_dataclasses()\n    return mine, parsed"
OTHER = f"if path:\n        return HfArgumentParser((TrainingArguments, Mine)).parse_json_file(path)\n    {ONE}"
TRAIN = """
from ray.train.huggingface import HuggingFaceTrainer
{parse}

{left} = {call}
print(args.overwrite_output_dir, mine.overwrite_output_dir)
"""


def read(summary: Summary) -> list[tuple[int, int]]:
    found = (finding for result in summary.results for finding in result.findings if finding.code == "RM723")
    return [(finding.line, finding.column) for finding in found]


@pytest.mark.parametrize("body", [ONE, TWO, NAMED])
@pytest.mark.parametrize("left", ["mine, args", "[mine, args]", "(mine, args)"])
def test_what_another_file_parses_has_the_attributes_of_today(body: str, left: str, tmp_path: Path) -> None:
    train = TRAIN.format(parse="from arguments import parse", left=left, call="parse()")
    write(tmp_path, {"arguments.py": ARGUMENTS.format(body=body), "train.py": train})
    assert read(convert(tmp_path)) == [(4, 7)]


def test_a_function_of_the_file_or_a_module_parses_too(tmp_path: Path) -> None:
    own = ARGUMENTS.format(body=TWO).replace("    overwrite_output_dir: bool = False", "    seed: int = 1")
    here = TRAIN.format(parse=own, left="mine, args", call="parse()")
    there = TRAIN.format(parse="import arguments", left="mine, args", call="arguments.parse('x.json')")
    write(tmp_path, {"arguments.py": ARGUMENTS.format(body=ONE), "here.py": here, "there.py": there})
    assert len(read(convert(tmp_path))) == 2


def test_where_the_order_differs_nothing_is_sure(tmp_path: Path) -> None:
    train = TRAIN.format(parse="from arguments import parse", left="mine, args", call="parse()")
    write(tmp_path, {"arguments.py": ARGUMENTS.format(body=OTHER), "train.py": train})
    assert not read(convert(tmp_path))
