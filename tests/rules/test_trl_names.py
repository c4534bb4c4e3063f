"""What trl renamed: arguments and fields of ModelConfig, and the modules of its parser."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import ray
import trl
from elsewhere import other
from transformers import HfArgumentParser, AutoModelForCausalLM
from trl import ModelConfig, SFTConfig, TrlParser
"""
PARSE = "parser = {}\nargs, model_args = parser.{}()\n"


@pytest.mark.parametrize(
    "use",
    [
        "config = ModelConfig(torch_dtype='bfloat16')\nprint(config.torch_dtype)",
        "config = trl.ModelConfig(model_name_or_path='a', torch_dtype=other.kind)",
        PARSE.format("TrlParser((SFTConfig, ModelConfig))", "parse_args_and_config") + "print(model_args.torch_dtype)",
        PARSE.format("trl.TrlParser([SFTConfig, ModelConfig])", "parse_args_and_config") + "model_args.torch_dtype",
        PARSE.format("HfArgumentParser((SFTConfig, ModelConfig))", "parse_args_into_dataclasses")
        + "AutoModelForCausalLM.from_pretrained('a', dtype=model_args.torch_dtype)",
        "made = ModelConfig()\nprint(made.torch_dtype, made.torch_dtype)",
        "def f(given: ModelConfig):\n    return given.torch_dtype",
        "(config,) = TrlParser(ModelConfig).parse_args_and_config()\nprint(config.torch_dtype)",
    ],
)
def test_the_type_of_a_model_has_its_name_of_today(use: str) -> None:
    outcome = converted(HEAD + use + "\n")
    assert "torch_dtype" not in outcome.text
    assert {kind for code, kind, _ in outcome.findings if code in ("RM693", "RM723")} == {Kind.CONVERTED}


@pytest.mark.parametrize(
    "use",
    [
        "class Arguments:\n    torch_dtype = 'auto'\n\nmodel_args = Arguments()\nprint(model_args.torch_dtype)",
        "AutoModelForCausalLM.from_pretrained('a', torch_dtype='auto')",
        "print(other.torch_dtype, other(torch_dtype='auto'))",
        "class Own(ModelConfig):\n    torch_dtype: str = 'auto'\n\nprint(Own().torch_dtype)",
    ],
)
def test_the_name_stays_where_others_have_it(use: str) -> None:
    outcome = converted(HEAD + use + "\n")
    assert outcome.text.count("torch_dtype") == use.count("torch_dtype")


@pytest.mark.parametrize(
    "use",
    [
        "from trl.commands.cli_utils import TrlParser\nTrlParser(ModelConfig)",
        "import trl.commands.cli_utils\ntrl.commands.cli_utils.TrlParser(ModelConfig)",
        "from trl.commands import cli_utils\ncli_utils.TrlParser(ModelConfig)",
    ],
)
def test_the_parser_comes_from_where_it_is_now(use: str) -> None:
    outcome = converted(HEAD.replace(", TrlParser", "") + use + "\n")
    assert "cli_utils.TrlParser" not in outcome.text
    assert "cli_utils" not in outcome.text
    assert outcome.lines("RM711", Kind.CONVERTED)


@pytest.mark.parametrize("kind", ["SFT", "Dpo", "Reward"])
def test_the_arguments_of_its_scripts_are_told_once(kind: str) -> None:
    name = f"{kind}ScriptArguments"
    outcome = converted(HEAD + f"from trl.commands.cli_utils import {name}\nTrlParser(({name}, SFTConfig))\n")
    [message] = [m for (code, _, _), m in zip(outcome.findings, outcome.messages, strict=True) if code == "RM692"]
    assert "trl.ScriptArguments" in message
