"""RM110 with gradient_accumulation_steps: the loss of each micro-batch is divided by their number, as it was."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

KEPT = "trainer.model_accepts_loss_kwargs = False"
SCRIPT = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments
from job import ds, options

settings = {{"learning_rate": 1e-5, "gradient_accumulation_steps": 4}}
plain = {{"learning_rate": 1e-5}}


class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss


def build(train_dataset, eval_dataset=None, **config):
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
    args = TrainingArguments({arguments})
    return {trainer}(model=model, args=args, train_dataset=train_dataset)


TransformersTrainer(
    build, trainer_init_config={{"steps": 2}}, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": ds}}
).fit()
"""
MANY = [
    '"out", gradient_accumulation_steps=4',
    '"out", gradient_accumulation_steps=config["steps"]',
    '"out", gradient_accumulation_steps=options.steps',
    '"out", **settings',
    '"out", **options',
    '**{**settings, "output_dir": "out"}',
]
ONE = ['"out"', '"out", gradient_accumulation_steps=1', '"out", **plain', '"out", **{"gradient_accumulation_steps": 1}']


@pytest.mark.parametrize("trainer", ["Trainer", "Own"])
@pytest.mark.parametrize("style", ["inline", "adapter"])
@pytest.mark.parametrize("arguments", MANY)
def test_accumulated_losses_are_divided_by_their_number(arguments: str, style: str, trainer: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments, trainer=trainer), style=style)
    assert outcome.text.count(KEPT) == 1
    assert outcome.text.index(KEPT) < outcome.text.index("trainer.train(")
    assert any("by gradient_accumulation_steps" in message for message in outcome.messages)


@pytest.mark.parametrize("arguments", ONE)
def test_without_accumulation_nothing_is_said_of_it(arguments: str) -> None:
    outcome = converted(SCRIPT.format(arguments=arguments, trainer="Trainer"))
    assert KEPT not in outcome.text
    assert not any("by gradient_accumulation_steps" in message for message in outcome.messages)


def test_the_line_is_not_written_twice_for_the_old_numerics() -> None:
    script = SCRIPT.format(arguments=MANY[0], trainer="Trainer")
    assert converted(script, freeze_numerics=True).text.count("model_accepts_loss_kwargs") == 1


LOOP = """
from ray.air.config import ScalingConfig
from ray.train.huggingface.accelerate import AccelerateTrainer
from transformers import Trainer, TrainingArguments
from job import model, rows


def loop():
    args = TrainingArguments("out", {arguments})
    trainer = Trainer(model=model, args=args, train_dataset=rows)
    {before}trainer.train()


AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""


@pytest.mark.parametrize("trainer", ["AccelerateTrainer", "TorchTrainer"])
@pytest.mark.parametrize(
    ("arguments", "before", "told"),
    [
        ("gradient_accumulation_steps=2", "", [8]),
        ("gradient_accumulation_steps=1", "", []),
        ("gradient_accumulation_steps=2", "trainer.model_accepts_loss_kwargs = False; ", []),
    ],
)
def test_a_trainer_that_the_script_trains_itself_is_for_a_person(
    arguments: str, before: str, told: list[int], trainer: str
) -> None:
    script = LOOP.format(arguments=arguments, before=before)
    if trainer == "TorchTrainer":
        script = script.replace("accelerate_config={}, ", "").replace("huggingface.accelerate", "torch")
        script = script.replace("AccelerateTrainer", trainer)
    assert converted(script).lines("RM110", Kind.MANUAL) == told


SHARED = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments
from job import ds, model, rows


def build(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", gradient_accumulation_steps={steps})
    {end}


def on_ray():
    TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": ds}}).fit()


{other}
"""
ON_ITS_OWN = [
    "def plain():\n    build(rows).train()",
    "def plain():\n    trainer = build(rows)\n    trainer.train()",
    "if __name__ == '__main__':\n    build(train_dataset=rows).train()",
    "def again():\n    TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=4)).fit()\n\n\n"
    "build(rows).train()",
]
NAMED = [
    "hf = Trainer(model=model, args=args, train_dataset=train_dataset)\n    return hf",
    "hf = Trainer(model=model, args=args)\n    if config:\n        return hf\n    return hf",
]
UNNAMED = [
    "return Trainer(model=model, args=args, train_dataset=train_dataset)",
    "hf = Trainer(model=model, args=args) if rows else None\n    return hf",
]


@pytest.mark.parametrize("other", ON_ITS_OWN)
@pytest.mark.parametrize("end", NAMED)
def test_what_is_trained_without_ray_too_is_switched_where_it_is_made(end: str, other: str) -> None:
    outcome = converted(SHARED.format(steps=4, end=end, other=other))
    assert outcome.text.count("model_accepts_loss_kwargs = False") == end.count("return")
    assert "hf.model_accepts_loss_kwargs = False" in outcome.text.partition("def train_func")[0]
    assert not outcome.lines("RM110", Kind.MANUAL)


@pytest.mark.parametrize("other", ON_ITS_OWN)
@pytest.mark.parametrize("end", UNNAMED)
def test_where_it_has_no_name_for_sure_the_other_place_is_told(end: str, other: str) -> None:
    script = SHARED.format(steps=4, end=end, other=other).lstrip("\n")
    outcome = converted(script)
    (line,) = outcome.lines("RM110", Kind.MANUAL)
    assert "build(" in script.split("\n")[line - 1]
    assert KEPT in outcome.text.partition("def train_func")[2]


@pytest.mark.parametrize(
    ("steps", "other"),
    [(1, ON_ITS_OWN[0]), (1, ON_ITS_OWN[1]), (4, "print(build)"), (4, "own.build(rows).train()"), (4, "")],
)
def test_where_it_is_not_nothing_is(steps: int, other: str) -> None:
    outcome = converted(SHARED.format(steps=steps, end=UNNAMED[0], other=other))
    assert not outcome.lines("RM110", Kind.MANUAL)


def test_frozen_numerics_need_it_once() -> None:
    script = SHARED.format(steps=4, end=NAMED[0], other=ON_ITS_OWN[0])
    assert converted(script, freeze_numerics=True).text.count("model_accepts_loss_kwargs = False") == 1


MODELS = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import (
    AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, GPT2Config, GPT2LMHeadModel, LlamaConfig,
    Trainer, TrainingArguments,
)
from job import ds, pick, settings

NAME = "gpt2"


def build(train_dataset, eval_dataset=None, **config):
    model = {model}
    return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)


TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": ds}}).fit()
"""


@pytest.mark.parametrize(
    "model",
    [
        'AutoModelForCausalLM.from_pretrained("gpt2")',
        "AutoModelForCausalLM.from_pretrained(NAME)",
        "AutoModelForCausalLM.from_pretrained(config['model'])",
        'AutoModelForCausalLM.from_pretrained("microsoft/DialoGPT-small")',
        "AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(NAME))",
        "AutoModelForCausalLM.from_config(GPT2Config(n_layer=2))",
        "AutoModelForCausalLM.from_config(settings.model)",
        "GPT2LMHeadModel(GPT2Config())",
        'GPT2LMHeadModel.from_pretrained("gpt2")',
        "pick(config)",
    ],
)
def test_what_may_be_gpt2_takes_the_mean_of_its_model(model: str) -> None:
    outcome = converted(MODELS.format(model=model))
    assert KEPT in outcome.text
    assert any("by one label a row too many" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "model",
    [
        'AutoModelForCausalLM.from_pretrained("facebook/opt-125m")',
        'AutoModelForCausalLM.from_pretrained("EleutherAI/gpt-j-6B")',
        "AutoModelForCausalLM.from_config(LlamaConfig())",
        'AutoModelForSequenceClassification.from_pretrained("gpt2")',
    ],
)
def test_other_models_are_counted_rightly(model: str) -> None:
    assert KEPT not in converted(MODELS.format(model=model)).text


OTHERS_OF_THE_FILE = """


def loop(config):
    return AutoModelForCausalLM.from_pretrained(NAME)


class Scorer:
    def __init__(self):
        self.model = GPT2LMHeadModel.from_pretrained("gpt2")
"""


@pytest.mark.parametrize(
    ("model", "is_told"),
    [
        ('AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased")', False),
        ('AutoModelForCausalLM.from_pretrained("facebook/opt-125m")', False),
        ("AutoModelForCausalLM.from_pretrained(NAME)", True),
        ("pick(config)", True),
        ('pick(AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased"))', True),
    ],
)
def test_other_models_of_the_file_are_not_those_of_the_trainer(model: str, *, is_told: bool) -> None:
    head, _, rest = MODELS.format(model=model).partition("\n\n\ndef build")
    outcome = converted(f"{head}{OTHERS_OF_THE_FILE}\n\ndef build{rest}")
    assert (KEPT in outcome.text) is is_told
    by_place = converted(f"{head}{OTHERS_OF_THE_FILE}\n\ndef build{rest.replace('model=model, ', 'model, ')}")
    assert (KEPT in by_place.text) is is_told


def test_what_collates_for_a_model_is_none() -> None:
    collator = "DataCollatorForLanguageModeling"
    text = MODELS.format(model="pick(config)").replace("    Trainer,", f"    Trainer, {collator},", 1)
    text = text.replace("train_dataset=train_dataset)", f"train_dataset=train_dataset, data_collator={collator}(None))")
    assert KEPT in converted(text).text


def test_what_trains_such_a_model_without_ray_too_gets_a_note() -> None:
    outcome = converted(SHARED.format(steps=1, end=UNNAMED[0], other=ON_ITS_OWN[0]))
    assert outcome.lines("RM110", Kind.NOTE)


TWO_TRAINERS = """
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments


def build(train_dataset, eval_dataset=None, **config):
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
    trainer = Trainer(model=model, args=TrainingArguments("out", **config), train_dataset=train_dataset)
    {set}
    return trainer


def talk(train_dataset, eval_dataset=None, **config):
    print("hello")
    return build(train_dataset, eval_dataset, **config)


def run(ds, extra):
    scaling = ScalingConfig(num_workers=2)
    TransformersTrainer(build, scaling_config=scaling, datasets={{"train": ds}}).fit()
    TransformersTrainer(talk, scaling_config=scaling, datasets={{"train": ds}}).fit()
    TransformersTrainer(build, scaling_config=scaling, datasets={{"train": ds}}, **extra).fit()
"""


def test_it_is_set_once_also_where_a_second_run_converts_the_rest() -> None:
    first = converted(TWO_TRAINERS.format(set="print(trainer)"))
    assert first.lines("RM102", Kind.MANUAL)
    second = converted(first.text.replace(", **extra)", ")"))
    assert not second.lines("RM102", Kind.MANUAL)
    assert first.text.count(KEPT) == second.text.count(KEPT) == 1


@pytest.mark.parametrize(("line", "times"), [(KEPT, 1), (f"if config: {KEPT}", 2)])
def test_an_init_function_that_sets_it_is_left_as_it_is(line: str, times: int) -> None:
    outcome = converted(TWO_TRAINERS.format(set=line))
    assert outcome.text.count(KEPT) == times


LOOP_OF_A_TRAINER = """
from ray.train import ScalingConfig
from ray.train.huggingface.transformers import prepare_trainer
from ray.train.torch import TorchTrainer
from transformers import AutoModelForSequenceClassification, GPT2LMHeadModel, Trainer, TrainingArguments
from job import rows


def train_func(config):
    model = {model}
    trainer = Trainer(model=model, args=TrainingArguments("out", no_cuda=True), train_dataset=rows)
    {before}
    prepare_trainer(trainer).train()


TorchTrainer(train_func, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


@pytest.mark.parametrize(
    ("model", "before", "noted"),
    [
        ('GPT2LMHeadModel.from_pretrained("gpt2")', "pass", 1),
        ('GPT2LMHeadModel.from_pretrained("gpt2")', KEPT, 0),
        ('AutoModelForSequenceClassification.from_pretrained("gpt2")', "pass", 0),
    ],
)
def test_a_loop_that_came_to_torch_trainer_by_hand_gets_a_note(model: str, before: str, noted: int) -> None:
    assert len(converted(LOOP_OF_A_TRAINER.format(model=model, before=before)).lines("RM110", Kind.NOTE)) == noted


MOVED_BY_HAND = """
import torch
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from job import rows, settings


def train_func(config):
    model = AutoModelForCausalLM.from_pretrained("own"{loaded})
    args = TrainingArguments("out", warmup_ratio=0.1, gradient_accumulation_steps=4)
    Trainer(model=model, args=args, train_dataset=rows()).train()


TorchTrainer(train_func, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
"""


@pytest.mark.parametrize(
    ("loaded", "is_late"),
    [
        (", dtype=torch.bfloat16", True),
        (', dtype="auto"', True),
        (", dtype=settings.dtype", True),
        ("", False),
        (", torch_dtype=torch.bfloat16", False),
        (', dtype="float32"', False),
        (", dtype=torch.float32", False),
    ],
)
def test_a_script_for_a_transformers_that_averaged_so_already_keeps_its_loss(loaded: str, is_late: bool) -> None:
    outcome = converted(MOVED_BY_HAND.format(loaded=loaded))
    assert ("average_tokens_across_devices" in outcome.text) != is_late
    assert bool(outcome.lines("RM110", Kind.MANUAL)) != is_late


def test_a_legacy_job_is_of_no_such_transformers() -> None:
    script = MOVED_BY_HAND.replace("from ray.train import Scaling", "from ray.air.config import Scaling")
    assert "average_tokens_across_devices" in converted(script.format(loaded=", dtype=torch.bfloat16")).text
