"""RM701 and RM706: TrainingArguments that hydra, a parser or a lookup by name makes."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import sys
from dataclasses import dataclass
from functools import partial
import transformers
from hydra.utils import get_class, instantiate
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import HfArgumentParser, Seq2SeqTrainingArguments, Trainer, TrainingArguments


@dataclass
class Data:
    past_index: int = 0


@dataclass
class Mine(TrainingArguments):
    past_index: int = 1


def init(train_dataset, eval_dataset=None, **config):
    {args}
    return Trainer(make(), args, train_dataset=train_dataset)


TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": rows}}).fit()
"""
PARSER = "HfArgumentParser(TrainingArguments)"


def outcome(args: str) -> Outcome:
    return converted(SCRIPT.format(args=args))


@pytest.mark.parametrize(
    "args",
    [
        'args = instantiate({{"_target_": "transformers.TrainingArguments", "{}": "epoch"}})',
        'args = instantiate(dict(_target_="transformers.Seq2SeqTrainingArguments", {}="epoch"))',
        'c = {{"_target_": "transformers.TrainingArguments"}}\n    c["{}"] = "epoch"\n    args = instantiate(c)',
        'args = instantiate(config["args"], {}="epoch")',
        'args = get_class("transformers.TrainingArguments")("o", {}="epoch")',
        'make_args = getattr(transformers, "TrainingArguments")\n    args = make_args("o", {}="epoch")',
        'args = partial(TrainingArguments, {}="epoch")("o")',
        'args = Mine("o", {}="epoch")',
        f'args = {PARSER}.parse_dict({{{{"output_dir": "o", "{{}}": "epoch"}}}})[0]',
        f'(args,) = {PARSER}.parse_dict(dict(output_dir="o", {{}}="epoch"))',
        'parser = HfArgumentParser((Data, Mine))\n    _, args = parser.parse_dict({{"past_index": 1, "{}": "epoch"}})',
    ],
)
def test_a_key_that_is_seen_gets_its_new_name(args: str) -> None:
    found = outcome(args.format("evaluation_strategy"))
    assert args.format("eval_strategy") in found.text
    assert len(found.lines("RM701", Kind.CONVERTED)) == 1 and not found.lines("RM702", Kind.MANUAL)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("args = instantiate(config['args'])", "a TypeError"),
        ("args = instantiate(config['job']).args", "a TypeError"),
        (f"args = {PARSER}.parse_json_file(sys.argv[1])[0]", "a ValueError"),
        (f"args = {PARSER}.parse_yaml_file('missing.yaml')[0]", "a ValueError"),
        (f"args = {PARSER}.parse_dict(config)[0]", "a ValueError"),
        (f"args = {PARSER}.parse_dict(config, allow_extra_keys=True)[0]", "passed over, and no error says so"),
        (f"args = {PARSER}.parse_args_into_dataclasses()[0]", "a ValueError"),
        ("parser = HfArgumentParser([Data, Mine])\n    args = parser.parse_json_file('a.json')[1]", "a ValueError"),
        (
            f"args, _ = {PARSER}.parse_args_into_dataclasses(return_remaining_strings=True)",
            "passed over, and no error says so",
        ),
    ],
)
def test_keys_that_are_not_seen_are_told_and_loggers_removed(args: str, message: str) -> None:
    found = outcome(args)
    assert len(found.lines("RM706", Kind.MANUAL)) == 1
    assert any(f"TrainingArguments lost {'is' if 'Type' in message else 'are'} {message}." in m for m in found.messages)
    assert "get_reporting_integration_callbacks(trainer.args.report_to)" in found.text


@pytest.mark.parametrize(
    "given",
    ['["--output_dir", "o", "--evaluation_strategy", "epoch"]', '"--evaluation_strategy=epoch --fp16 True".split()'],
)
def test_options_that_the_script_writes_are_told(given: str) -> None:
    found = outcome(f"args = {PARSER}.parse_args_into_dataclasses({given})[0]")
    assert len(found.lines("RM701", Kind.MANUAL)) == 1
    assert any(
        m.startswith("TrainingArguments refuses evaluation_strategy today; eval_strategy") for m in found.messages
    )


@pytest.mark.parametrize(
    "args",
    [
        "args = HfArgumentParser(Data).parse_dict({'past_index': 1})[0]",
        "args = HfArgumentParser(Data).parse_json_file('a.json')[0]",
        "args = instantiate({'_target_': 'mine.Arguments', 'evaluation_strategy': 'epoch'})",
        "args = get_class('mine.Arguments')(evaluation_strategy='epoch')",
        "args = Data(evaluation_strategy='epoch')",
        "args = Mine('o', past_index=3)",
        f"args = {PARSER}.parse_dict({{'output_dir': 'o', 'eval_strategy': 'epoch'}})[0]",
        "args = argparse.ArgumentParser().parse_args()\n    print('--no_cuda')",
        "args = instantiate({'_target_': 'transformers.TrainingArguments', 'eval_strategy': 'no'})",
    ],
)
def test_what_is_not_for_training_arguments_is_left_alone(args: str) -> None:
    found = outcome(args)
    assert args in found.text
    assert not [code for code, _, _ in found.findings if code in ("RM701", "RM702", "RM706")]


def test_a_script_of_its_own_is_no_legacy_job() -> None:
    script = f"import ray.train\nfrom transformers import *\n{PARSER}.parse_json_file('a.json')\n"
    assert not [code for code, _, _ in converted(script).findings if code == "RM706"]
