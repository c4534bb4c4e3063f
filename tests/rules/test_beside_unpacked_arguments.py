"""RM104, RM110, RM203 and RM701: what a call gets beside `**`, which may hold the same argument."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import json
from accelerate import Accelerator
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments
{before}

def loop(config):
    {inside}
    made = {made}
    Trainer(args=made).train()

TorchTrainer(loop, train_loop_config=read(), scaling_config=ScalingConfig(num_workers=2)).fit()
"""


def made(call: str, before: str = "", inside: str = "pass") -> str:
    """The call as it comes out."""
    outcome = converted(SCRIPT.format(made=call, before=before, inside=inside))
    text = "".join(
        line.strip() for line in outcome.text.partition("made = ")[2].partition("\n    Trainer(")[0].split("\n")
    )
    return text.replace(",)", ")").replace(",**", ", **").replace(",average", ", average").replace('("out"', "('out'")


@pytest.mark.parametrize(
    ("call", "inside", "after"),
    [
        ("Accelerator(**config['a'])", "pass", "Accelerator(**{\"cpu\": True, **config['a']})"),
        ("Accelerator(**options)", "options = json.load(f)", 'Accelerator(**{"cpu": True, **options})'),
        ("Accelerator(**read(), **more)", "more = read()", 'Accelerator(**{"cpu": True, **read(), **more})'),
        ("Accelerator(log_with='all', **read())", "pass", "Accelerator(log_with='all', **{\"cpu\": True, **read()})"),
        (
            "Accelerator(**options)",
            "options = {}\n    if config: options['cpu'] = False",
            'Accelerator(**{"cpu": True, **options})',
        ),
    ],
    ids=["item", "name", "twice", "with another", "under a condition"],
)
def test_an_argument_gives_way_to_what_may_hold_it(call: str, inside: str, after: str) -> None:
    assert made(call, inside=inside) == after


@pytest.mark.parametrize(
    ("inside", "after"),
    [
        ("(options := {}).update(read())", 'Accelerator(**{"cpu": True, **options})'),
        ("(options := dict(log_with='all')).update(**read())", 'Accelerator(**{"cpu": True, **options})'),
        ("(options := {})[read()] = False", 'Accelerator(**{"cpu": True, **options})'),
        ("print((options := {}).get('cpu'))", "Accelerator(cpu=True, **options)"),  # which puts nothing into it
        ("(options := {}).update(cpu=True)", "Accelerator(**options)"),
    ],
)
def test_a_dict_is_filled_where_it_gets_its_name(inside: str, after: str) -> None:
    assert made("Accelerator(**options)", inside=inside) == after


@pytest.mark.parametrize(
    "given",
    ["{'cpu': True}", "dict(cpu=True)", "{'cpu': True, **read()}", "options", "SETTINGS"],
)
def test_what_holds_it_is_left(given: str) -> None:
    inside = "options = {'mixed_precision': 'no'}\n    options['cpu'] = True"
    call = f"Accelerator(**{given})"
    assert made(call, before="SETTINGS = {'cpu': True}", inside=inside) == call


@pytest.mark.parametrize("given", ["{'mixed_precision': 'no'}", "dict(log_with='all')", "options"])
def test_what_does_not_hold_it_is_no_question(given: str) -> None:
    assert made(f"Accelerator(**{given})", inside="options = {'split_batches': True}").startswith(
        "Accelerator(cpu=True, **"
    )


@pytest.mark.parametrize(
    ("name", "rule"),
    [("Accelerator(**{'cpu': False})", "RM203"), ("TrainingArguments('o', **{'no_cuda': False})", "RM104")],
)
def test_a_dict_that_says_it_wrong_is_told(name: str, rule: str) -> None:
    outcome = converted(SCRIPT.format(made=name, before="", inside="pass"))
    assert outcome.lines(rule, Kind.MANUAL)


def test_a_second_run_leaves_the_dict_alone() -> None:
    once = converted(SCRIPT.format(made="Accelerator(**read())", before="", inside="pass")).text
    assert converted(once).text == once


@pytest.mark.parametrize("key", ["average_tokens_across_devices", "use_cpu"])
@pytest.mark.parametrize("given", ["{{'{key}': True}}", "dict({key}=True)", "options"])
def test_training_arguments_are_given_nothing_twice(given: str, key: str) -> None:
    call = f"TrainingArguments('out', evaluation_strategy='no', **{given.format(key=key)})"
    text = made(call, inside=f"options = dict({key}=True)")
    assert f"{key}=" not in text.replace(given.format(key=key), "")


def test_a_name_that_may_be_filled_gives_way_for_the_loss_too() -> None:
    text = made(
        "TrainingArguments('out', evaluation_strategy='no', **options)",
        inside="options = read()\n    if config: options['average_tokens_across_devices'] = True",
    )
    assert '**{"use_cpu": True, "average_tokens_across_devices": False, **options}' in text


@pytest.mark.parametrize(
    ("before", "call"),
    [
        ("MORE = {'warmup_steps': 10}", "TrainingArguments('out', warmup_ratio=0.1, **MORE)"),
        ("MORE = dict(warmup_steps=10)", "TrainingArguments('out', warmup_ratio=0.1, **MORE)"),
        ("MORE = {'warmup_ratio': 0.1}", "TrainingArguments('out', warmup_steps=10, **MORE)"),
        ("MORE = dict(warmup_ratio=0.1)", "TrainingArguments('out', warmup_steps=10, **MORE)"),
        ("MORE = {'warmup_ratio': 0.1}\nMORE['warmup_steps'] = 10", "TrainingArguments('out', **MORE)"),
        ("def make(**more):\n    return TrainingArguments('out', warmup_ratio=0.1, **more)", "make(warmup_steps=10)"),
        (
            "class Job:\n    def make(self, **more):\n        return TrainingArguments(warmup_ratio=0.1, **more)",
            "Job().make(warmup_steps=10)",
        ),
    ],
)
def test_an_argument_keeps_its_name_where_the_new_one_is_given_too(before: str, call: str) -> None:
    """Two arguments of one name are a TypeError; of the ratio and the steps the steps were in force."""
    found = converted(SCRIPT.format(made=call, before=before, inside="pass"))
    told = [message for message in found.messages if "together they raise a TypeError" in message]
    assert len(told) == 1 and "warmup_ratio" in found.text and len(found.lines("RM701", Kind.MANUAL)) == 1


def test_an_argument_gets_its_new_name_beside_what_does_not_have_it() -> None:
    """What is unpacked has another key."""
    found = converted(
        SCRIPT.format(made="TrainingArguments(warmup_ratio=0.1, **{'seed': 3})", before="", inside="pass")
    )
    assert "warmup_steps=0.1" in found.text and not found.lines("RM701", Kind.MANUAL)


def test_what_is_not_seen_must_not_hold_the_new_name() -> None:
    """Nothing is known of the dict, and the call has warmup_steps= now."""
    found = converted(SCRIPT.format(made="TrainingArguments(warmup_ratio=0.1, **read())", before="", inside="pass"))
    assert "warmup_steps=0.1" in found.text
    assert any("must not hold warmup_steps either" in message for message in found.messages)


METHOD = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments
from job import model, rows

class Job:
    {decorator}
    def make({parameters}, **config):
        return Trainer(model=model(), args=TrainingArguments("out", **config), train_dataset=train_dataset)

TransformersTrainer(
    {given}, trainer_init_config={{"no_cuda": True}}, datasets=rows(), scaling_config=ScalingConfig(num_workers=2)
).fit()
"""


@pytest.mark.parametrize(
    ("decorator", "parameters", "given"),
    [
        ("", "self, train_dataset, eval_dataset", "Job().make"),
        ("@staticmethod", "train_dataset, eval_dataset", "trainer_init_per_worker=Job.make"),
        ("@classmethod", "cls, train_dataset, eval_dataset", "Job.make"),
    ],
)
def test_what_a_trainer_gives_a_method_is_told_where_it_is_written(decorator: str, parameters: str, given: str) -> None:
    """The method is its init function, and gets the entries of its configuration."""
    found = converted(METHOD.format(decorator=decorator, parameters=parameters, given=given))
    assert any("no_cuda= raises a TypeError today where TrainingArguments(**config)" in text for text in found.messages)
