"""RM701, RM702 and RM751: load_in_8bit= and load_in_4bit= of `from_pretrained`."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

LOOP = """
from ray.air import session


def load(config_of_mine, in_8bit, in_4bit):
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig, GPTQConfig

    sure = BitsAndBytesConfig(load_in_4bit=True)
    maybe = sure if in_4bit else None
    session.report({{"loss": 1.0}})
    return AutoModelForCausalLM.from_pretrained("m", {arguments})
"""


@pytest.mark.parametrize(
    ("arguments", "now"),
    [
        ("load_in_8bit=True, load_in_4bit=False", "BitsAndBytesConfig(load_in_8bit=True)"),
        ("load_in_8bit=True, quantization_config=None", "BitsAndBytesConfig(load_in_8bit=True)"),
        ("load_in_8bit=True, quantization_config=maybe", "maybe or BitsAndBytesConfig(load_in_8bit=True)"),
        (
            "quantization_config=config_of_mine, load_in_8bit=in_8bit",
            "config_of_mine or (BitsAndBytesConfig(load_in_8bit=True) if in_8bit else None)",
        ),
        (
            "load_in_4bit=in_4bit, load_in_8bit=in_8bit",
            "BitsAndBytesConfig(load_in_8bit=True) if in_8bit else "
            "BitsAndBytesConfig(load_in_4bit=True) if in_4bit else None",
        ),
        (
            'load_in_4bit=True, bnb_4bit_quant_type="nf4"',
            'BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")',
        ),
        ("load_in_8bit=in_8bit, quantization_config=sure", "sure"),
        ("load_in_8bit=False, quantization_config=config_of_mine", "config_of_mine"),
    ],
)
def test_the_arguments_become_the_configuration_that_they_stood_for(arguments: str, now: str) -> None:
    outcome = converted(LOOP.format(arguments=arguments))
    assert f"quantization_config={now}" in " ".join(outcome.text.split()).replace(", )", ")")
    assert not outcome.lines("RM701", Kind.MANUAL) and not outcome.lines("RM702", Kind.MANUAL)


def test_what_is_imported_comes_where_the_model_is_imported() -> None:
    script = LOOP.replace(", BitsAndBytesConfig, GPTQConfig", "").replace("sure = BitsAndBytesConfig", "sure = dict")
    outcome = converted(script.format(arguments="load_in_8bit=True"))
    assert "    from transformers import AutoModelForCausalLM, BitsAndBytesConfig\n" in outcome.text
    assert outcome.text.count("import AutoModelForCausalLM") == 1


def test_arguments_of_one_of_two_ways_are_left_to_a_person() -> None:
    outcome = converted(LOOP.format(arguments='load_in_8bit=in_8bit, load_in_4bit=in_4bit, bnb_4bit_quant_type="nf4"'))
    assert len(outcome.lines("RM701", Kind.MANUAL)) == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("load_in_8bit=True", "before in float16:"),
        ("quantization_config=sure", "before in float16:"),
        ("load_in_8bit=in_8bit", "or in float16 where they are quantized"),
        ("quantization_config=maybe", "or in float16 where they are quantized"),
        ("load_in_8bit=False", "before in float32: if"),
        ("load_in_8bit=True, torch_dtype='bfloat16'", ""),
    ],
)
def test_the_dtype_of_what_stays_unquantized_is_noted(arguments: str, told: str) -> None:
    notes = [m for m in converted(LOOP.format(arguments=arguments)).messages if "in the dtype of the checkpoint" in m]
    assert len(notes) == bool(told) and all(told in note for note in notes)


def test_the_old_dtype_is_written_out_where_it_is_known() -> None:
    outcome = converted(LOOP.format(arguments="load_in_8bit=True"), freeze_numerics=True)
    assert "dtype=torch.float16" in outcome.text
    outcome = converted(LOOP.format(arguments="load_in_8bit=in_8bit"), freeze_numerics=True)
    assert "dtype=" not in outcome.text and outcome.lines("RM751", Kind.MANUAL)


LOCAL = """
from ray.air import session
from transformers import AutoModelForCausalLM


def load(in_8bit, in_4bit):
    config = None
    if in_4bit:
        {local}
        config = BitsAndBytesConfig(load_in_4bit=True)
    session.report({{"loss": 1.0}})
    return AutoModelForCausalLM.from_pretrained("m", quantization_config=config, load_in_8bit=in_8bit)
"""


def test_an_import_in_one_branch_moves_up_to_where_both_need_it() -> None:
    outcome = converted(LOCAL.format(local="from transformers import BitsAndBytesConfig"))
    assert outcome.text.count("import AutoModelForCausalLM, BitsAndBytesConfig") == 1
    assert outcome.text.count("BitsAndBytesConfig") == 3


@pytest.mark.parametrize("local", ["from ours import BitsAndBytesConfig", "BitsAndBytesConfig = dict"])
def test_a_class_of_ones_own_keeps_its_name(local: str) -> None:
    script = LOCAL.format(local=local)
    outcome = converted(script)
    assert "load_in_8bit=in_8bit" in outcome.text and len(outcome.lines("RM701", Kind.MANUAL)) == 1


HELD = """
import ray.train
from transformers import AutoModelForCausalLM, LlamaForCausalLM
{more}

def loaded(name, in_8bit, given):
{chosen}
    ray.train.report({{"loss": 1.0}})
    return kind.from_pretrained(name, load_in_8bit=in_8bit, resume_download=True)
"""
BRANCHES = """
    if "llama" in name:
        kind = LlamaForCausalLM
    else:
        kind = {other}
"""


@pytest.mark.parametrize(
    "chosen",
    [
        BRANCHES.format(other="AutoModelForCausalLM"),
        '    kind = LlamaForCausalLM if "llama" in name else AutoModelForCausalLM',
    ],
)
def test_a_variable_may_hold_one_of_several_classes(chosen: str) -> None:
    outcome = converted(HELD.format(more="", chosen=chosen))
    new = "quantization_config=BitsAndBytesConfig(load_in_8bit=True) if in_8bit else None"
    assert f"kind.from_pretrained(name, {new})" in outcome.text
    assert "import AutoModelForCausalLM, BitsAndBytesConfig, LlamaForCausalLM\n" in outcome.text


@pytest.mark.parametrize("other", ["given", "Own"])
def test_a_class_that_is_not_seen_keeps_its_arguments(other: str) -> None:
    outcome = converted(HELD.format(more="from mine import Own", chosen=BRANCHES.format(other=other)))
    assert "kind.from_pretrained(name, load_in_8bit=in_8bit, resume_download=True)" in outcome.text
    assert len(outcome.lines("RM701", Kind.MANUAL)) == 1


def test_classes_of_others_alone_are_left_alone() -> None:
    outcome = converted(HELD.format(more="from mine import Own, Other", chosen="    kind = Own if given else Other"))
    assert not outcome.lines("RM701", Kind.MANUAL)


TABLE = """
import ray.train
import transformers
from functools import partial
from transformers import AutoModelForCausalLM, LlamaForCausalLM
from mine import Own

CLASSES = {classes}


class Loader:
    kind = AutoModelForCausalLM

    def load(self, name):
        return {load}


ray.train.report({{"loss": 1.0}})
"""
BOTH = '{"llama": LlamaForCausalLM, "gpt": AutoModelForCausalLM}'


@pytest.mark.parametrize(
    ("classes", "load"),
    [
        (BOTH, 'CLASSES[name].from_pretrained("m", load_in_8bit=True)'),
        (BOTH, 'CLASSES.get(name).from_pretrained("m", load_in_8bit=True)'),
        ("(LlamaForCausalLM, AutoModelForCausalLM)", 'CLASSES[name].from_pretrained("m", load_in_8bit=True)'),
        ("{}", 'self.kind.from_pretrained("m", load_in_8bit=True)'),
        ("{}", 'getattr(transformers, name).from_pretrained("m", load_in_8bit=True)'),
        ("{}", 'getattr(transformers, name, None).from_pretrained("m", load_in_8bit=True)'),
        ("{}", 'getattr(transformers, name, AutoModelForCausalLM).from_pretrained("m", load_in_8bit=True)'),
        ("{}", 'getattr(transformers, "AutoModelForCausalLM").from_pretrained("m", load_in_8bit=True)'),
        ("AutoModelForCausalLM.from_pretrained", 'CLASSES("m", load_in_8bit=True)'),
        ("partial(AutoModelForCausalLM.from_pretrained, load_in_8bit=True)", "CLASSES(name)"),
    ],
)
def test_classes_come_out_of_dicts_and_attributes(classes: str, load: str) -> None:
    outcome = converted(TABLE.format(classes=classes, load=load))
    assert "quantization_config=BitsAndBytesConfig(load_in_8bit=True)" in outcome.text
    assert "import AutoModelForCausalLM, BitsAndBytesConfig, LlamaForCausalLM\n" in outcome.text


@pytest.mark.parametrize(
    "classes",
    [
        '{"llama": LlamaForCausalLM, "own": Own}',
        '{"llama": LlamaForCausalLM, **Own.classes}',
        '{"llama": LlamaForCausalLM}\nCLASSES["own"] = Own',
        '{"llama": LlamaForCausalLM}\nCLASSES.update(Own.classes)',
        "[LlamaForCausalLM, *Own.classes]",
    ],
)
def test_a_dict_that_may_hold_a_class_of_others_is_told(classes: str) -> None:
    outcome = converted(TABLE.format(classes=classes, load='CLASSES[name].from_pretrained("m", load_in_8bit=True)'))
    assert '"m", load_in_8bit=True' in outcome.text and len(outcome.lines("RM701", Kind.MANUAL)) == 1


@pytest.mark.parametrize("load", ["CLASSES[name]", "CLASSES.get(name)", "getattr(Own, name)", "self.own"])
def test_classes_of_others_in_a_dict_are_left_alone(load: str) -> None:
    outcome = converted(TABLE.format(classes='{"own": Own}', load=f'{load}.from_pretrained("m", load_in_8bit=True)'))
    assert "load_in_8bit=True" in outcome.text and not outcome.lines("RM701", Kind.MANUAL)


def test_a_class_that_is_looked_up_may_be_the_default() -> None:
    load = 'getattr(transformers, name, Own).from_pretrained("m", load_in_8bit=True)'
    outcome = converted(TABLE.format(classes="{}", load=load))
    assert '"m", load_in_8bit=True' in outcome.text and len(outcome.lines("RM701", Kind.MANUAL)) == 1


@pytest.mark.parametrize(("other", "told"), [("Own", 1), ("LlamaForCausalLM", 0)])
def test_a_name_that_stands_for_the_methods_of_two_classes_is_asked_for_both(other: str, told: int) -> None:
    ways = f"if name:\n    load = AutoModelForCausalLM.from_pretrained\nelse:\n    load = {other}.from_pretrained"
    text = TABLE.format(classes=f"1\nname = 1\n{ways}", load='load("m", load_in_8bit=True)')
    outcome = converted(text)
    assert len(outcome.lines("RM701", Kind.MANUAL)) == told
    assert ('load("m", load_in_8bit=True)' in outcome.text) is bool(told)
