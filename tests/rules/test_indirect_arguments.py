"""RM701 and RM706: TrainingArguments that hydra, a parser or a lookup by name makes."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
import sys
from dataclasses import dataclass
from functools import partial
import shlex
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
    ("lenient", "does"), [("", "raises a ValueError"), (", allow_extra_keys=True", "is ignored today, and no error")]
)
def test_what_a_key_of_before_does_is_said(lenient: str, does: str) -> None:
    found = outcome(f"args = {PARSER}.parse_dict({{'output_dir': 'o', 'evaluation_strategy': 'no'}}{lenient})[0]")
    assert any(message.startswith(f"evaluation_strategy= {does}") for message in found.messages), found.messages


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("args = instantiate(config['args'])", "raises a TypeError"),
        ("args = instantiate(config['job']).args", "raises a TypeError"),
        (f"args = {PARSER}.parse_json_file(sys.argv[1])[0]", "raise a ValueError"),
        (f"args = {PARSER}.parse_yaml_file('missing.yaml')[0]", "raise a ValueError"),
        (f"args = {PARSER}.parse_dict(config)[0]", "raise a ValueError"),
        (f"args = {PARSER}.parse_dict(config, allow_extra_keys=True)[0]", "are ignored, and no error says so"),
        (f"args = {PARSER}.parse_args_into_dataclasses()[0]", "raise a ValueError"),
        (
            "parser = HfArgumentParser([Data, Mine])\n    args = parser.parse_json_file('a.json')[1]",
            "raise a ValueError",
        ),
        (
            f"args, _ = {PARSER}.parse_args_into_dataclasses(return_remaining_strings=True)",
            "are ignored, and no error says so",
        ),
    ],
)
def test_keys_that_are_not_seen_are_told_and_loggers_removed(args: str, message: str) -> None:
    found = outcome(args)
    assert len(found.lines("RM706", Kind.MANUAL)) == 1
    assert any(f"TrainingArguments lost {message}." in m for m in found.messages)
    assert "get_reporting_integration_callbacks(trainer.args.report_to)" in found.text


@pytest.mark.parametrize(
    "given",
    [
        '["--output_dir", "o", "--evaluation_strategy", "epoch"]',
        '"--evaluation_strategy=epoch --fp16 True".split()',
        'shlex.split("--evaluation_strategy epoch")',
    ],
)
def test_options_that_the_script_writes_are_told(given: str) -> None:
    found = outcome(f"args = {PARSER}.parse_args_into_dataclasses({given})[0]")
    assert len(found.lines("RM701", Kind.MANUAL)) == 1 and not found.lines("RM706")
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


PLAIN = """
import sys
from dataclasses import dataclass
import transformers
from transformers import HfArgumentParser, Trainer{imports}


@dataclass
class TrainingArguments(transformers.TrainingArguments):
    past_index: int = 1{field}


def train():
    {args}
    trainer = Trainer(make(), args, train_dataset=rows{more})
    trainer.train()


if __name__ == "__main__":
    train()
"""
PARSED = "args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]"
OLD = ", tokenizer=tokenizer"


def plain(args: str = PARSED, more: str = "", imports: str = "", field: str = "") -> Outcome:
    return converted(PLAIN.format(args=args, more=more, imports=imports, field=field), to_ray=True)


@pytest.mark.parametrize(
    ("args", "more", "imports"),
    [
        (PARSED, OLD, ""),
        (PARSED, "", ", AdamW\nAdamW"),
        (PARSED, ", model_init=AutoModel.from_pretrained('a', from_tf=True)", ", AutoModel"),
        ("_, args = HfArgumentParser((TrainingArguments, TrainingArguments)).parse_json_file(sys.argv[1])", OLD, ""),
        ("args = TrainingArguments(**config())", OLD, ""),
        ("args = TrainingArguments('o', evaluation_strategy='no', **config())", "", ""),
    ],
)
def test_a_plain_script_for_transformers_4_is_told_of_what_is_not_seen(args: str, more: str, imports: str) -> None:
    assert len(plain(args, more, imports).lines("RM706", Kind.MANUAL)) == 1


@pytest.mark.parametrize("args", [PARSED, "args = TrainingArguments(**config())"])
@pytest.mark.parametrize("more", ["", ", processing_class=tokenizer"])
def test_a_plain_script_of_unknown_age_is_not(args: str, more: str) -> None:
    assert not plain(args, more).lines("RM706", Kind.MANUAL)
    assert not plain(args, more).lines("RM753", Kind.NOTE)


PARSER_OF_OWN = "args = HfArgumentParser(TrainingArguments)"


@pytest.mark.parametrize(
    ("args", "field", "told"),
    [
        (PARSED, "", True),
        (f"{PARSER_OF_OWN}.parse_json_file(sys.argv[1])[0]", "", True),
        (f'{PARSER_OF_OWN}.parse_dict({{"output_dir": "o"}})[0]', "", True),
        (f'{PARSER_OF_OWN}.parse_args_into_dataclasses(["--output_dir", "o"])[0]', "", True),
        (f'{PARSER_OF_OWN}.parse_dict({{"output_dir": "o", "report_to": "none"}})[0]', "", False),
        (f'{PARSER_OF_OWN}.parse_dict(dict(output_dir="o", report_to="none"))[0]', "", False),
        (f'{PARSER_OF_OWN}.parse_args_into_dataclasses(["--output_dir", "o", "--report_to", "none"])[0]', "", False),
        (PARSED, '\n    report_to: str = "wandb"', False),
        ("args = HfArgumentParser(Own).parse_args_into_dataclasses()[0]", "", False),
    ],
)
def test_parsed_arguments_without_report_to_logged_to_all_trackers(args: str, field: str, told: bool) -> None:
    assert len(plain(args, OLD, field=field).lines("RM753", Kind.NOTE)) == told


def test_arguments_that_are_parsed_in_either_of_two_ways_are_told_once() -> None:
    either = (
        f"{PARSER_OF_OWN}.parse_json_file(sys.argv[1])[0] if len(sys.argv) == 2 else {PARSED.removeprefix('args = ')}"
    )
    assert len(plain(either, OLD).lines("RM753", Kind.NOTE)) == 1


def test_parsed_arguments_of_the_legacy_trainer_logged_to_none() -> None:
    assert not outcome(f"args = {PARSER}.parse_args_into_dataclasses()[0]").lines("RM753", Kind.NOTE)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", True),
        (', report_to="tensorboard"', True),
        (', report_to=["wandb", "all"]', True),
        (", report_to=trackers()", True),
        (', report_to="none"', False),
        (', report_to=["wandb"]', False),
    ],
)
def test_where_tensorboard_writes_without_logging_dir_is_told(given: str, told: bool) -> None:
    args = f'args = TrainingArguments("o", logging_dir="./logs"{given})'
    assert any("TENSORBOARD_LOGGING_DIR" in message for message in plain(args).messages) is told
    assert not any("TENSORBOARD" in m for m in outcome(f'args = Mine("o", logging_dir="x"{given})').messages)


UNSEEN = """
from somewhere import Base, Known
from transformers import AutoModel, HfArgumentParser, Trainer

Made = Base.arguments()
{parse}
trainer = Trainer(model=AutoModel.from_pretrained("bert"), args={args}, tokenizer=None)
trainer.train()
"""


@pytest.mark.parametrize(
    ("parse", "args", "told"),
    [
        ("given, args = HfArgumentParser((Known, Made)).parse_args_into_dataclasses()", "args", 1),
        ("(args,) = HfArgumentParser((Made,)).parse_args_into_dataclasses()", "args", 1),
        ("args, *_ = HfArgumentParser([Made]).parse_json_file('missing.json')", "args", 1),
        ("given, args = HfArgumentParser((Known, Made)).parse_args_into_dataclasses()", "make(given)", 0),
    ],
)
def test_what_a_trainer_is_given_is_arguments_of_whatever_class(parse: str, args: str, told: int) -> None:
    assert len(converted(UNSEEN.format(parse=parse, args=args), to_ray=True).lines("RM706", Kind.MANUAL)) == told


OF_OTHERS = """
{imports}
from transformers import AutoModel, Trainer, TrainingArguments
{parse}
trainer = Trainer(model=AutoModel.from_pretrained("bert"), args=args, tokenizer=None)
trainer.train()
"""
OWN_PARSER = "class Own(HfArgumentParser):\n    pass"


@pytest.mark.parametrize(
    ("imports", "parse"),
    [
        ("from alignment import H4ArgumentParser", "_, args = H4ArgumentParser((Data, TrainingArguments)).parse()"),
        ("from trl import TrlParser", "(args,) = TrlParser(TrainingArguments).parse_args_and_config()"),
        ("from other.cli import Parser", "parser = Parser([TrainingArguments])\nargs = parser.parse()[0]"),
        (
            f"from transformers import HfArgumentParser\n{OWN_PARSER}",
            "(args,) = Own((TrainingArguments,)).parse_args_into_dataclasses()",
        ),
        (
            f"from alignment import Base as HfArgumentParser\n{OWN_PARSER.replace('Own', 'OwnParser')}",
            "(args,) = OwnParser((TrainingArguments,)).parse_args_into_dataclasses()",
        ),
    ],
)
def test_a_parser_of_another_class_is_told_of_too(imports: str, parse: str) -> None:
    outcome = converted(OF_OTHERS.format(imports=imports, parse=parse), to_ray=True)
    assert len(outcome.lines("RM706", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("imports", "parse"),
    [
        ("from other.cli import Parser", "args = make(Parser([Data]).parse())"),
        ("from lxml.etree import XMLParser", "tree = XMLParser(TrainingArguments)\nargs = make(tree)"),
        ("from html.parser import HTMLParser", "HTMLParser().parse()\nargs = make()"),
    ],
)
def test_other_parsers_are_not(imports: str, parse: str) -> None:
    assert not converted(OF_OTHERS.format(imports=imports, parse=parse), to_ray=True).lines("RM706", Kind.MANUAL)
