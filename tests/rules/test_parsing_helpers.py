"""RM801: a helper that lets HfArgumentParser make TrainingArguments runs on the workers, argparse in it or not."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """import argparse

from transformers import AutoModelForMaskedLM, HfArgumentParser, Trainer, TrainingArguments, set_seed

import job


def setup():
    {begins}
    {parses}
    set_seed(training_args.seed)
    return args, training_args


def main():
    args, training_args = setup()
    model = AutoModelForMaskedLM.from_pretrained(args.model)
    trainer = Trainer(model=model, args=training_args, train_dataset=job.data)
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
"""
OF_FILE = "parser = argparse.ArgumentParser()\n    parser.add_argument('--file')\n    args = parser.parse_args()"
READ = "args, training_args = HfArgumentParser((job.Arguments, TrainingArguments)).{}"


@pytest.mark.parametrize(
    ("begins", "parses"),
    [
        (OF_FILE, READ.format("parse_json_file(json_file=args.file)")),
        (OF_FILE, READ.format("parse_yaml_file(args.file)")),
        ("pass", READ.format("parse_args_into_dataclasses()")),
    ],
)
def test_training_arguments_of_a_helper_are_made_on_the_workers(begins: str, parses: str) -> None:
    text = converted(SCRIPT.format(begins=begins, parses=parses), to_ray=True, workers=2, gpu=False).text
    function = text.partition("def train_func(config):")[2].partition("\ndef main")[0]
    assert 'sys.argv[1:] = config["argv"]' in function
    assert "args, training_args = setup()" in function
    assert "training_args" not in text.partition("\ndef main")[2]


def test_what_argparse_alone_makes_stays_on_the_driver() -> None:
    parses = "training_args = job.Seeds(args.file)"
    script = SCRIPT.format(begins=OF_FILE, parses=parses).replace(
        "args=training_args, ", 'args=TrainingArguments("o"), '
    )
    text = converted(script, to_ray=True, workers=2, gpu=False).text
    assert "setup()" in text.partition("\ndef main")[2]
    assert "setup()" not in text.partition("def train_func(config):")[2].partition("\ndef main")[0]


SEEDS = "@dataclass\nclass Seeds:\n    seed: int = 1\n\n\n"


@pytest.mark.parametrize(
    ("classes", "is_on_driver"),
    [("Seeds", True), ("(Seeds,)", True), ("[Seeds, job.Arguments]", False), ("(Seeds, TrainingArguments)", False)],
)
def test_plain_dataclasses_of_a_helper_stay_on_the_driver(classes: str, is_on_driver: bool) -> None:
    parses = f"training_args = HfArgumentParser({classes}).parse_json_file(args.file)[0]"
    script = SCRIPT.format(begins=OF_FILE, parses=parses).replace("args=training_args", 'args=TrainingArguments("o")')
    script = script.replace("def setup", f"{SEEDS}def setup").replace(
        "\n\n", "\nfrom dataclasses import dataclass\n\n", 1
    )
    text = converted(script, to_ray=True, workers=2, gpu=False).text
    assert ("setup()" in text.partition("\ndef main")[2]) is is_on_driver
    assert ("= setup()" in text.partition("def train_func(")[2].partition("\ndef main")[0]) is not is_on_driver
