"""RM101, RM912, RM913: what an init function returns, and what else a TransformersTrainer is given."""

import re

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from datasets import load_dataset
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, Trainer, TrainingArguments
from trl import SFTTrainer
from job import ds, make, make_trainer


class Job:
    pass


class Own(Trainer):
    pass


def build(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", no_cuda=True)
    model = AutoModel.from_pretrained("gpt2")
    arguments = {{"model": model, "args": args}}
    return {returned}


trainer = TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": ds}})
trainer.fit()
"""


@pytest.mark.parametrize(
    "returned",
    [
        "dict(model=model, args=args, train_dataset=train_dataset)",
        "arguments",
        "dict(arguments, train_dataset=train_dataset)",
        "{**arguments}",
        "Trainer(**arguments), make()",
        "[Trainer(**arguments)]",
        "model",
        "args",
        "AutoModel.from_pretrained('gpt2')",
        "Job()",
    ],
)
def test_what_is_no_trainer_is_reported_and_left(returned: str) -> None:
    outcome = converted(SCRIPT.format(returned=returned))
    assert outcome.lines("RM912", Kind.MANUAL) == [17]
    assert not outcome.lines("RM101", Kind.CONVERTED)
    assert "add_callback" not in outcome.text


@pytest.mark.parametrize(
    "returned",
    [
        "Trainer(**arguments)",
        "Own(**arguments)",
        "SFTTrainer(**arguments)",
        "make_trainer(model, args)",
        "config['trainer']",
        "make()(model)",
    ],
)
def test_what_can_be_a_trainer_is_converted(returned: str) -> None:
    assert converted(SCRIPT.format(returned=returned)).lines("RM101", Kind.CONVERTED)


@pytest.mark.parametrize("returned", ["Trainer(**arguments), make()", "[Trainer(**arguments)]"])
def test_a_trainer_among_other_things_has_its_own_advice(returned: str) -> None:
    messages = [message for message in converted(SCRIPT.format(returned=returned)).messages if "by itself" in message]
    assert len(messages) == 1 and messages[0].endswith(
        "a function that returns the Trainer only, and run raymigrate again."
    )


def test_a_lambda_that_returns_a_dict_is_reported() -> None:
    script = SCRIPT.format(returned="Own(**arguments)").replace(
        "TransformersTrainer(build,", "TransformersTrainer(lambda train, rest, **config: dict(model=make()),"
    )
    assert converted(script).lines("RM912", Kind.MANUAL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("train_function", "train_function"),
        ("_train_fn_per_worker", "_train_fn_per_worker"),
        ("finetune", "finetune"),
        ("trainer_init_per_worker", "train_func"),
        ("init_training", "train_func"),
        ("build", "train_func"),
    ],
)
def test_a_name_that_fits_a_training_function_is_kept(old: str, new: str) -> None:
    text = SCRIPT.format(returned="Trainer(**arguments, train_dataset=train_dataset)").replace("build", old)
    outcome = converted(text)
    assert f"def {new}(config):" in outcome.text and f"TorchTrainer(\n    {new}," in outcome.text


@pytest.mark.parametrize(
    "use",
    [
        "class Job:\n    trainer_class = TransformersTrainer\n",
        "def trainer_class():\n    return TransformersTrainer\n",
        "run(TransformersTrainer)\n",
        "classes = {'hf': TransformersTrainer}\n",
    ],
)
def test_a_class_that_is_passed_on_is_to_be_constructed_by_its_name(use: str) -> None:
    outcome = converted(f"from ray.train.huggingface import TransformersTrainer\n{use}")
    assert outcome.lines("RM103", Kind.MANUAL)
    assert any("Call TransformersTrainer(...) by its name" in message for message in outcome.messages)


def test_a_method_of_the_class_has_its_own_advice() -> None:
    outcome = converted("from ray.train.huggingface import TransformersTrainer\nTransformersTrainer.restore('x')\n")
    (told,) = (message for message in outcome.messages if "restore() is gone" in message)
    assert "RunConfig(name=, storage_path=) of the first run" in told


METHOD = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer


class Experiment:
    def __init__(self, builder):
        self.builder = builder

    {decorator}
    def build({self}train_dataset, eval_dataset=None, **config):
        return Trainer(make(config), train_dataset=train_dataset)

    def run(self, **data):
        return TransformersTrainer(trainer_init_per_worker={init}, scaling_config=ScalingConfig(num_workers=1), **data)
"""


@pytest.mark.parametrize("init", ["self.build", "self.builder", "self.builder.init"])
def test_what_an_object_holds_goes_to_the_workers_without_the_object(init: str) -> None:
    script = METHOD.replace(", **data)", ")").format(decorator="@staticmethod", self="", init=init)
    after = converted(script).text
    assert f"        trainer_init_per_worker = {init}\n" in after
    assert "            trainer = trainer_init_per_worker(None, None, **config)\n" in after


def test_a_method_takes_its_object_along() -> None:
    script = METHOD.replace(", **data)", ")").format(decorator="", self="self, ", init="self.build")
    assert "            trainer = self.build(None, None, **config)\n" in converted(script).text


def test_a_static_method_of_a_class_is_named_by_its_class() -> None:
    script = METHOD.replace(", **data)", ")").format(decorator="@staticmethod", self="", init="Experiment.build")
    assert "            trainer = Experiment.build(None, None, **config)\n" in converted(script).text


@pytest.mark.parametrize(
    "spelling",
    [
        "trainer_class: Type[TransformersTrainer] = TransformersTrainer",
        "def start(trainer_class: type[TransformersTrainer] = TransformersTrainer): ...",
        "def start(*, trainer_class: Optional[Type[TransformersTrainer]] = TransformersTrainer): ...",
        "class Settings:\n    trainer_class: Type[TransformersTrainer] = TransformersTrainer",
    ],
)
def test_a_variable_that_holds_a_legacy_class_keeps_its_annotation(spelling: str) -> None:
    script = (
        f"from typing import Optional, Type\n\nfrom ray.train.huggingface import TransformersTrainer\n\n{spelling}\n"
    )
    outcome = converted(script)
    assert outcome.text == script
    assert outcome.lines("RM103", Kind.MANUAL)


def test_other_annotations_follow_the_trainer() -> None:
    script = (
        "from ray.train.huggingface import TransformersTrainer\n\n\ndef fit(trainer: TransformersTrainer = None): ...\n"
    )
    assert "def fit(trainer: TorchTrainer = None)" in converted(script).text


READS_FROM_OUTSIDE = """
from datasets import load_dataset
from ray.air import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments

{outside} = "bert-base-cased"


def build(train_dataset, eval_dataset=None, **config):
    return Trainer({outside}, TrainingArguments("out"), train_dataset=load_dataset("imdb"))


TransformersTrainer({given}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""


@pytest.mark.parametrize("outside", ["checkpoint", "checkpoint_dir", "trainer"])
def test_local_names_of_the_training_function_hide_none_that_it_reads_from_outside(outside: str) -> None:
    text = converted(READS_FROM_OUTSIDE.format(outside=outside, given="build")).text
    assert re.search(rf"Trainer\(\s*{outside},", text)
    assert f"ray_{outside}" in text


@pytest.mark.parametrize("name", ["checkpoint", "checkpoint_dir"])
def test_local_names_of_the_training_function_do_not_hide_the_init_function(name: str) -> None:
    script = READS_FROM_OUTSIDE.format(outside="model", given=name).replace("def build(", f"def {name}(")
    text = converted(script, style="adapter").text
    assert f"trainer = {name}(" in text
    assert f"ray_{name}" in text


def test_a_variable_that_is_called_as_what_prepares_trainers_stays_in_its_function() -> None:
    script = READS_FROM_OUTSIDE.format(outside="model", given="build")
    body = 'prepare_trainer = Trainer(model, TrainingArguments("out"))\n    return prepare_trainer'
    text = converted(re.sub(r"return Trainer.*", body, script)).text
    assert "return prepare_trainer\n" in text
    assert "    trainer = prepare_trainer(trainer)\n" in text


@pytest.mark.parametrize(
    ("datasets", "evaluates"),
    [
        ('{"train": ds}', False),
        ("dict(train=ds)", False),
        ('{"train": ds, "evaluation": ds}', True),
        ("dict(train=ds, evaluation=ds)", True),
    ],
)
def test_evaluation_rows_are_spoken_of_where_there_are_some(datasets: str, *, evaluates: bool) -> None:
    returned = "Trainer(**arguments, train_dataset=train_dataset, eval_dataset=eval_dataset)"
    outcome = converted(SCRIPT.format(returned=returned).replace('{"train": ds}', datasets))
    (told,) = (message for message in outcome.messages if "how many training rows there are" in message)
    assert ("evaluation rows" in told) is evaluates


@pytest.mark.parametrize("given", ["train_loop_per_worker=loop", "**dict(train_loop_per_worker=loop)"])
def test_a_training_loop_was_never_for_this_trainer(given: str) -> None:
    script = SCRIPT.replace("(build,", f"({given},").replace("def build", "def loop(config):\n    pass\n\n\ndef build")
    outcome = converted(script.format(returned="None"))
    assert outcome.lines("RM913", Kind.CONVERTED)
    assert re.search(r"TorchTrainer\(\s*train_loop_per_worker=loop,", outcome.text)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('{"eval_dataset": ds, "lr": 1}', "and eval_dataset again from here"),
        ('{"train_dataset": ds, "eval_dataset": ds}', "and train_dataset and eval_dataset again from here"),
        ('{"lr": 1}', ""),
    ],
)
def test_a_configuration_that_gives_a_dataset_again_is_refused(config: str, said: str) -> None:
    given = SCRIPT.replace("TransformersTrainer(build, ", "TransformersTrainer(build, trainer_init_config={config}, ")
    outcome = converted(given.format(returned="Trainer(model, args, train_dataset=train_dataset)", config=config))
    assert bool(outcome.lines("RM911", Kind.MANUAL)) is bool(said)
    assert any("gets the two datasets" in each and said in each for each in outcome.messages) is bool(said)
    assert bool(outcome.lines("RM101", Kind.CONVERTED)) is not bool(said)
