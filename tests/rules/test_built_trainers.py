"""RM104 and RM110 where another function than the init function makes the TrainingArguments of its Trainer."""

import pytest

from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Seq2SeqTrainer, Trainer, TrainingArguments

data = ray.data.from_items([{{"a": 1}}])
scaling_config = ScalingConfig(num_workers=2{gpu})


{functions}


TransformersTrainer(init, scaling_config=scaling_config, datasets={{"train": data}}).fit()
{after}
"""
VARIABLE = 'os.environ["ACCELERATE_USE_CPU"]'
ON_TRAINER = "trainer.args.average_tokens_across_devices = False"
IN_CALL = "average_tokens_across_devices=False"

BUILT = """
def build(train_dataset, **config):
    return Trainer(config["model"], TrainingArguments("out", no_cuda=True), train_dataset=train_dataset)


def init(train_dataset, eval_dataset=None, **config):
    return build(train_dataset, **config)
"""
BY_NAME = """
def arguments():
    return TrainingArguments("out", use_cpu=True)


def init(train_dataset, eval_dataset=None, **config):
    args = arguments()
    trainer = Seq2SeqTrainer(args=args, model=None, train_dataset=train_dataset)
    return trainer
"""
TWO_WAYS = """
def small(rows):
    return Trainer(None, TrainingArguments("small", no_cuda=True), train_dataset=rows)


def large(rows):
    args = TrainingArguments("large", no_cuda=True)
    trainer = Trainer(None, args, train_dataset=rows)
    return trainer


def init(train_dataset, eval_dataset=None, **config):
    return large(train_dataset) if config else small(train_dataset)
"""
OWN_CLASS = """
class Own(Trainer):
    def compute_loss(self, *args, **kwargs):
        return super().compute_loss(*args, **kwargs)


def build(train_dataset):
    return Own(None, TrainingArguments("out", **{"no_cuda": True}), train_dataset=train_dataset)


def init(train_dataset, eval_dataset=None, **config):
    return build(train_dataset)
"""
GIVEN = BUILT.replace("no_cuda=True", "no_cuda=True, average_tokens_across_devices=False")


@pytest.mark.parametrize("functions", [BUILT, BY_NAME, TWO_WAYS, OWN_CLASS, GIVEN])
def test_what_another_function_settles_is_not_set_again(functions: str) -> None:
    outcome = converted(SCRIPT.format(functions=functions.strip(), gpu="", after=""))
    assert VARIABLE not in outcome.text
    assert ON_TRAINER not in outcome.text
    assert outcome.text.count(IN_CALL) == functions.count("TrainingArguments(")
    assert not any("ACCELERATE_USE_CPU" in message for message in outcome.messages)


def test_an_init_function_that_another_one_calls_is_settled_whichever_trainer_comes_first() -> None:
    first = "TransformersTrainer(build, scaling_config=scaling_config, datasets={'train': data}).fit()"
    functions = BUILT.replace("def build(train_dataset, **", "def build(train_dataset, eval_dataset=None, **")
    before = SCRIPT.format(functions=f"{functions.strip()}\n\n\n{first}", gpu="", after="")
    after = SCRIPT.format(functions=functions.strip(), gpu="", after=first)
    for script in (before, after):
        outcome = converted(script)
        assert VARIABLE not in outcome.text
        assert ON_TRAINER not in outcome.text
        assert outcome.text.count(IN_CALL) == 1


UNTOLD = BUILT.replace(", no_cuda=True", "")
# Made on the driver, it has asked for its device there: a worker that unpickles it does not ask again.
MADE_BEFORE = """
args = TrainingArguments("out", no_cuda=True)


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(None, args, train_dataset=train_dataset)
"""
ONE_WAY_UNTOLD = TWO_WAYS.replace('TrainingArguments("large", no_cuda=True)', 'TrainingArguments("large")')
OWN_MAKING = OWN_CLASS.replace("def compute_loss", "def __init__").replace(".compute_loss", ".__init__")
UNSEEN = BUILT.replace('TrainingArguments("out", no_cuda=True)', "config.pop('args')")


@pytest.mark.parametrize("functions", [UNTOLD, MADE_BEFORE, ONE_WAY_UNTOLD, OWN_MAKING, UNSEEN])
def test_what_is_not_settled_or_not_seen_is_set(functions: str) -> None:
    outcome = converted(SCRIPT.format(functions=functions.strip(), gpu="", after=""))
    assert outcome.text.count(VARIABLE) == 1
    assert any("ACCELERATE_USE_CPU" in message for message in outcome.messages)


@pytest.mark.parametrize("functions", [MADE_BEFORE, OWN_MAKING, UNSEEN])
def test_the_loss_is_kept_on_the_trainer_where_its_arguments_are_not_seen(functions: str) -> None:
    assert converted(SCRIPT.format(functions=functions.strip(), gpu="", after="")).text.count(ON_TRAINER) == 1


def test_a_function_that_is_not_for_trainers_alone_keeps_its_arguments() -> None:
    outcome = converted(SCRIPT.format(functions=BUILT.strip(), gpu="", after="build(None, model=None).train()"))
    assert outcome.text.count(ON_TRAINER) == 1
    assert IN_CALL not in outcome.text
    assert VARIABLE not in outcome.text


def test_an_inline_form_that_builds_one_of_its_trainers_elsewhere_joins_that_one_too() -> None:
    functions = UNTOLD.replace(
        "    return build(train_dataset, **config)",
        '    return build(train_dataset) if config else Trainer(None, TrainingArguments("out"))',
    )
    outcome = converted(SCRIPT.format(functions=functions.strip(), gpu="", after=""))
    assert "use_cpu=True" in outcome.text
    assert outcome.text.count(VARIABLE) == 1


def test_on_gpus_nothing_is_said_of_the_cpu() -> None:
    outcome = converted(SCRIPT.format(functions=UNTOLD.strip(), gpu=", use_gpu=True", after=""))
    assert VARIABLE not in outcome.text
    assert outcome.text.count(IN_CALL) == 1
