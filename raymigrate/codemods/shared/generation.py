"""RM752: texts that a pipeline, or a model, generates where nothing says how.

docs/semantics/data.md#predictors: transformers 5.23, pipelines/text_generation.py:93 and pipelines/base.py,
`_prepare_generate_kwargs`; 4.30.2, pipelines/base.py:805 and generation/configuration_utils.py.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import given_by_name

RM752 = Rule(
    "RM752",
    "texts that a pipeline or a model generates with default settings, or that Seq2SeqTrainer pads",
    "Where neither an argument nor the generation_config of the model says otherwise, a text-generation pipeline of"
    " transformers >= 5 writes 256 new tokens and samples them at temperature 0.7. That of transformers 4 wrote the"
    " likeliest tokens until there were 20 with the prompt, or did what task_specific_params of the model's config"
    " says: for gpt2 50 tokens, sampled at 1.0. generate() of a model writes 20 new tokens then, where transformers 4"
    " stopped at 20 with the prompt. Seq2SeqTrainer pads what it generates to the length in the generation_config of"
    " the model since 4.30, not to generation_max_length, and fills up the rest with -100, which tokenizers refuse with"
    " an OverflowError.",
    "Say so in the call: max_length=, which counts the prompt, or max_new_tokens=, which does not; do_sample=; and"
    " temperature= where it samples. Where predictions are decoded, -100 becomes the padding token.",
    "https://huggingface.co/docs/transformers/main_classes/text_generation",
)
GENERATING = "text-generation"
LENGTHS = frozenset({"max_length", "max_new_tokens"})
# What transformers 4 did by default, by argument.
LENGTH = {"max_length": "20"}
CHOICE = {"do_sample": "False", "temperature": "1.0"}

# What no argument says, what comes of it today, and what did with transformers 4.
LEFT_OPEN = {
    "max_length": ("writes 256 new tokens", "stopped at 20 with the prompt"),
    "do_sample": ("samples at temperature 0.7", "took the likeliest token"),
    "temperature": ("samples at temperature 0.7", "did so at 1.0"),
}


def differences(left: dict[str, str]) -> tuple[str, str]:
    """What a pipeline does today, and what it did with transformers 4, where arguments are left open.

    Args:
        left: What `unsaid` gives; it is left without a temperature that says nothing more.
    """
    if "do_sample" in left:
        left.pop("temperature", None)
    today, before = (" and ".join(LEFT_OPEN[name][place] for name in left) for place in (0, 1))
    return today, before


def unsaid(module: Module, given: dict[str, ast.expr], calls: list[ast.Call]) -> dict[str, str]:
    """What transformers 4 did by default where no argument says how texts are generated, by argument.

    Args:
        module: The module.
        given: Arguments that hold for all texts.
        calls: The calls that generate texts.
    """
    found: dict[str, str] = {}
    for call in calls or [ast.Call(ast.Name(""), [], [])]:
        named = {**given, **given_by_name(module, call)}
        samples = "do_sample" not in named or module.constant(named["do_sample"]) is not False
        found |= LENGTH if LENGTHS.isdisjoint(named) else {}
        found |= {n: v for n, v in CHOICE.items() if n not in named and (samples or n != "temperature")}
    return found
