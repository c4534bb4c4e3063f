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
    "twice": ['AutoTokenizer.from_pretrained("a/b", trust_remote_code=True)'] * 2,
}


@pytest.mark.parametrize("lines", TRUSTS.values(), ids=TRUSTS)
def test_code_of_the_hub_is_noted_once(lines: list[str]) -> None:
    outcome = noted(*lines)
    assert len(outcome.lines("RM754", Kind.NOTE)) == 1
    assert any("pin a revision" in message for message in outcome.messages)


FRIENDS = {
    "off": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=False)'],
    "unknown": ['AutoModelForCausalLM.from_pretrained("a/b", trust_remote_code=config["trust"])'],
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
    assert outcome.lines("RM754", Kind.NOTE) == [8]
    assert any(f"transformers has {own} itself" in message for message in outcome.messages)


@pytest.mark.parametrize("name", ["tiiuae/falcon-mamba-7b", "microsoft/Phi-3-small-8k-instruct", "somebody/mpt-7b"])
def test_one_that_it_may_not_have_is_not_named(name: str) -> None:
    outcome = noted(f'AutoModelForCausalLM.from_pretrained("{name}", trust_remote_code=True)')
    assert not any("itself, and" in message for message in outcome.messages)


@pytest.mark.parametrize("own", sorted(set(OWN.values())))
def test_transformers_has_them(own: str) -> None:
    assert look_up(f"transformers.{own}ForCausalLM").gone is None
