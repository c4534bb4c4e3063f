"""RM754: trust_remote_code=True at models of the Hub."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.libraries.trusted_code import OWN
from raymigrate.knowledge.libraries import look_up
from tests.rules.scripts import Outcome, converted

SCRIPT = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline
{imports}


def load(config):
{body}
"""
LEGACY = "from ray.air import session"


def noted(*lines: str, imports: str = LEGACY) -> Outcome:
    return converted(SCRIPT.format(imports=imports, body="\n".join(f"    {line}" for line in lines)))


TRUSTS = {
    "model": ['AutoModelForCausalLM.from_pretrained(config["model"], trust_remote_code=True)'],
    "tokenizer": ['AutoTokenizer.from_pretrained("thudm/chatglm-6b", trust_remote_code=True)'],
    "configuration": ["AutoModelForCausalLM.from_config(config, trust_remote_code=True)"],
    "revision": ['AutoModelForCausalLM.from_pretrained("a/b", revision="0ab1", trust_remote_code=True)'],
    "variable": ["trust = True", 'AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=trust)'],
    "unpacked": ['more = {"trust_remote_code": True}', 'AutoModelForCausalLM.from_pretrained("a/b", **more)'],
    "unpacked call": ['AutoModelForCausalLM.from_pretrained("a/b", **dict(trust_remote_code=True))'],
    "pipeline": ['pipeline("text-generation", "a/b", trust_remote_code=True)'],
    "keyword arguments of a pipeline": ['pipeline(model="a/b", model_kwargs={"trust_remote_code": True})'],
    "class by a name": ["kind = AutoModelForCausalLM", 'kind.from_pretrained("a/b", trust_remote_code=True)'],
    "local class": ["import transformers as t", 't.AutoModel.from_pretrained("a/b", trust_remote_code=True)'],
    "a text": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code="true")'],
    "a number": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=1)'],
    "a model of a checkpoint": ["checkpoint.get_model(AutoModelForCausalLM, trust_remote_code=True)"],
    "a tokenizer of a checkpoint": ["config['checkpoint'].get_tokenizer(AutoTokenizer, trust_remote_code=True)"],
    "twice": ['AutoTokenizer.from_pretrained("a/b", trust_remote_code=True)'] * 2,
}


@pytest.mark.parametrize("lines", TRUSTS.values(), ids=TRUSTS)
def test_code_of_the_hub_is_noted_once(lines: list[str]) -> None:
    outcome = noted(*lines)
    assert len(outcome.lines("RM754", Kind.NOTE)) == 1
    assert any("pin a revision" in message for message in outcome.messages)


FRIENDS = {
    "off": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=False)'],
    "none": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=None)'],
    "zero": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=0)'],
    "an empty text": ["trust = ''", 'AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=trust)'],
    "off in a dict": ['AutoModelForCausalLM.from_pretrained("a/b", **{"trust_remote_code": False})'],
    "get_model of others": ["registry.get_model('a/b', trust_remote_code=True)"],
    "a class without others' code of a checkpoint": [
        "import transformers",
        "checkpoint.get_model(transformers.GPTJForCausalLM, trust_remote_code=True)",
    ],
    "dataset": ['load_dataset("a/b", trust_remote_code=True)'],
    "a model without code": ['AutoModelForCausalLM.from_pretrained("gpt2", trust_remote_code=True)'],
    "a class of others": ['Encoder.from_pretrained("a/b", trust_remote_code=True)'],
    "a function of others": ['load_model("a/b", trust_remote_code=True)'],
    "a class without others' code": [
        "import transformers",
        'transformers.GPTJForCausalLM.from_pretrained("a/b", trust_remote_code=True)',
    ],
    "no argument": ['AutoModelForCausalLM.from_pretrained("tiiuae/falcon-7b")'],
}


@pytest.mark.parametrize("lines", FRIENDS.values(), ids=FRIENDS)
def test_other_code_is_not(lines: list[str]) -> None:
    assert not noted(*lines).lines("RM754", Kind.NOTE)


UNSEEN = {
    "an option": [
        "from dataclasses import dataclass",
        "from transformers import HfArgumentParser",
        "@dataclass",
        "class Own:",
        "    trust: bool = False",
        "own = HfArgumentParser(Own).parse_args_into_dataclasses()[0]",
        'AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=own.trust)',
    ],
    "an option of argparse": [
        "import argparse",
        "parser = argparse.ArgumentParser()",
        'parser.add_argument("--trust", action="store_true")',
        'AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=parser.parse_args().trust)',
    ],
    "an environment variable": [
        "import os",
        'AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=os.environ.get("TRUST"))',
    ],
    "an entry": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=config["trust"])'],
    "an attribute": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=config.trust)'],
    "a negation": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=not config)'],
    "a branch": [
        "trust = False",
        "if config: trust = True",
        'AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=trust)',
    ],
    "in a dict": ['pipeline(model="a/b", model_kwargs={"trust_remote_code": config["trust"]})'],
}


@pytest.mark.parametrize("lines", UNSEEN.values(), ids=UNSEEN)
def test_a_value_that_is_not_seen_is_told_with_a_condition(lines: list[str]) -> None:
    outcome = noted(*lines)
    assert len(outcome.lines("RM754", Kind.NOTE)) == 1
    assert any("If trust_remote_code is true here, transformers 5 runs" in message for message in outcome.messages)


MODEL, TOKENIZER = "AutoModelForCausalLM.from_pretrained({}, {})", "AutoTokenizer.from_pretrained({}, {})"
NAME = '"a/b"'
TRUE, MAY = "trust_remote_code=True", "trust_remote_code=config.trust"
SEVERAL = {
    "two models": ([MODEL.format('"a/b"', TRUE), MODEL.format('"a/c"', TRUE)], [7, 8]),
    "a tokenizer of each": ([f.format(f'"a/{n}"', TRUE) for n in "bc" for f in (TOKENIZER, MODEL)], [7, 9]),
    "an unseen name": ([TOKENIZER.format("config.name", TRUE), MODEL.format("config.name", TRUE)], [7]),
    "unseen names": ([TOKENIZER.format("config.words", TRUE), MODEL.format("config.name", TRUE)], [7, 8]),
    "a variable": (["name = config.name", TOKENIZER.format("name", TRUE), MODEL.format("name", TRUE)], [8]),
    "sure and perhaps": ([TOKENIZER.format('"a/b"', MAY), MODEL.format('"a/b"', TRUE)], [8]),
    "a configuration": (
        [f"c = {MODEL.format(NAME, TRUE)}", f"AutoModelForCausalLM.from_config(c, {TRUE})"],
        [7],
    ),
    "a pipeline": ([f"m = {MODEL.format(NAME, TRUE)}", "pipeline('t', m, trust_remote_code=1)"], [7]),
    "a checkpoint": ([f"c.get_model(AutoModelForCausalLM, {TRUE})", f"c.get_tokenizer(AutoTokenizer, {TRUE})"], [7]),
    "itself": (["c = AutoModelForCausalLM.from_config(c, trust_remote_code=True)"], [7]),
}


@pytest.mark.parametrize(("lines", "places"), SEVERAL.values(), ids=SEVERAL)
def test_each_repository_is_named_once(lines: list[str], places: list[int]) -> None:
    assert noted(*lines).lines("RM754", Kind.NOTE) == places


@pytest.mark.parametrize("imports", ["", "import ray", "from ray.train.torch import TorchTrainer"])
def test_a_script_that_may_be_for_transformers_5_is_not(imports: str) -> None:
    assert not noted(*TRUSTS["model"], imports=imports).lines("RM754", Kind.NOTE)


def test_what_loads_in_8_bits_by_an_argument_is_for_transformers_4() -> None:
    loads = 'AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=True, load_in_8bit=True)'
    assert noted(loads, imports="from ray import serve").lines("RM754", Kind.NOTE) == [7]


def test_its_old_arguments_tell_that_it_is_not() -> None:
    imports = "from ray.train.torch import TorchTrainer\nfrom transformers import TrainingArguments"
    outcome = noted(*TRUSTS["model"], 'TrainingArguments("out", evaluation_strategy="no")', imports=imports)
    assert outcome.lines("RM754", Kind.NOTE) == [8]


@pytest.mark.parametrize(
    ("name", "own"), [("tiiuae/falcon-7b-instruct", "Falcon"), ("mosaicml/mpt-7b", "Mpt"), ("microsoft/phi-2", "Phi")]
)
def test_a_model_that_transformers_has_is_named(name: str, own: str) -> None:
    tokenizer = 'AutoTokenizer.from_pretrained("a/b", trust_remote_code=True)'
    outcome = noted(tokenizer, f'AutoModelForCausalLM.from_pretrained("{name}", trust_remote_code=True)')
    assert outcome.lines("RM754", Kind.NOTE) == [7, 8]
    assert any(f"transformers has {own} itself" in message for message in outcome.messages)


@pytest.mark.parametrize("name", ["tiiuae/falcon-mamba-7b", "microsoft/Phi-3-small-8k-instruct", "somebody/mpt-7b"])
def test_one_that_it_may_not_have_is_not_named(name: str) -> None:
    outcome = noted(f'AutoModelForCausalLM.from_pretrained("{name}", trust_remote_code=True)')
    assert not any("itself, and" in message for message in outcome.messages)


@pytest.mark.parametrize("own", sorted(set(OWN.values())))
def test_transformers_has_them(own: str) -> None:
    assert look_up(f"transformers.{own}ForCausalLM").gone is None
