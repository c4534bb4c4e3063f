"""RM701, RM704, RM705: classes made from TrainingArguments, and methods that a Trainer of the script calls."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import torch
from dataclasses import dataclass, field
from functools import cached_property
from ray.train.torch import TorchTrainer
from transformers import Seq2SeqTrainingArguments, Trainer, TrainingArguments
from job import Unseen


@dataclass
"""


@pytest.mark.parametrize(
    "body",
    [
        "class Own(TrainingArguments):\n    evaluation_strategy: str = 'epoch'\n",
        "class Own(TrainingArguments):\n    warmup_ratio: float = field(default=0.03)\n",
        "class Own(Seq2SeqTrainingArguments):\n    group_by_length: bool = True\n",
        "class Base(TrainingArguments):\n    pass\n\n\nclass Own(Base, Unseen):\n    no_cuda: bool = True\n",
    ],
)
def test_a_field_that_trainer_does_not_read_is_told(body: str) -> None:
    outcome = converted(HEAD + body)
    assert len(outcome.lines("RM701", Kind.MANUAL)) == 1
    assert any("has no effect" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "body",
    [
        "class Own(TrainingArguments):\n    eval_strategy: str = 'epoch'\n",
        "class Own(TrainingArguments):\n    overwrite_output_dir: bool = True\n",
        "class Own(Unseen):\n    evaluation_strategy: str = 'epoch'\n",
        "class Own:\n    warmup_ratio: float = 0.1\n",
        "class Own(TrainingArguments):\n    warmup_ratio: float = 0.1\n\n"
        "    def __post_init__(self):\n        self.warmup_steps = self.warmup_ratio\n",
        "class Own(TrainingArguments):\n    no_cuda: bool = True\n\n\nargs = Own('out')\nargs.use_cpu = args.no_cuda\n",
    ],
)
def test_a_field_with_a_use_is_left(body: str) -> None:
    assert not converted(HEAD + body).lines("RM701", Kind.MANUAL)


DEVICES = "class Own(TrainingArguments):\n    @cached_property\n    def _setup_devices(self):\n        {}\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("return torch.device('cuda', self.local_rank)", 1),
        ("self._n_gpu = 1; return torch.device('cpu')", 1),
        ("device = super()._setup_devices; return device", 0),
        ("self.distributed_state = None; return torch.device('cpu')", 0),
    ],
)
def test_devices_without_the_state_are_told(line: str, told: int) -> None:
    assert len(converted(HEAD + DEVICES.format(line)).lines("RM704", Kind.MANUAL)) == told


def test_devices_of_something_else_are_left() -> None:
    text = HEAD + DEVICES.format("return None").replace("(TrainingArguments)", "(Unseen)")
    assert not converted(text).lines("RM704", Kind.MANUAL)


TRAINER = """
class OwnTrainer(Trainer):
    def evaluate(self, *args, **kwargs):
        {}
"""


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("self._maybe_log_save_evaluate(loss, model, trial, epoch, ignored)", 1),
        ("super()._maybe_log_save_evaluate(loss, model, trial, epoch, ignored)", 1),
        ("self._maybe_log_save_evaluate(loss, norm, model, trial, epoch, ignored, start)", 0),
        ("self._maybe_log_save_evaluate(*given)", 0),
        ("other._maybe_log_save_evaluate(loss)", 0),
    ],
)
def test_calls_with_the_old_arguments_are_told(call: str, told: int) -> None:
    assert len(converted(HEAD.replace("@dataclass\n", "") + TRAINER.format(call)).lines("RM704", Kind.MANUAL)) == told


def test_a_method_of_the_script_takes_what_it_wants() -> None:
    own = "\n    def _maybe_log_save_evaluate(self, loss, grad_norm): pass\n"
    text = HEAD.replace("@dataclass\n", "") + TRAINER.format("self._maybe_log_save_evaluate(1, 2)") + own
    assert not converted(text).lines("RM704", Kind.MANUAL)


def test_the_tokenizer_of_a_trainer_has_its_new_name_beside_a_method_that_is_gone() -> None:
    text = HEAD.replace("@dataclass\n", "") + TRAINER.format("return self.tokenizer.batch_encode_plus(['a'])")
    outcome = converted(text)
    assert "return self.processing_class.batch_encode_plus(['a'])" in outcome.text
    assert outcome.lines("RM721", Kind.MANUAL)


@pytest.mark.parametrize(
    "body",
    [
        "class Own(TrainingArguments):\n    report_to: str = None\n",
        "class Own(TrainingArguments):\n    report_to: str = field(default=None, metadata={})\n",
        "class Own(Seq2SeqTrainingArguments):\n    optim: str = field(default='adamw_hf')\n",
        "class Own(TrainingArguments):\n    report_to: str = None\n\n\nOwn('a', report_to='none')\nOwn('b')\n",
    ],
)
def test_a_default_that_is_refused_is_told(body: str) -> None:
    outcome = converted(HEAD + body)
    assert len(outcome.lines("RM705", Kind.MANUAL)) == 1
    assert outcome.text == (HEAD + body).lstrip()


@pytest.mark.parametrize(
    "body",
    [
        "class Own(TrainingArguments):\n    report_to: str = 'none'\n",
        "class Own(TrainingArguments):\n    report_to: list = field(default_factory=list)\n",
        "class Own(TrainingArguments):\n    report_to: str\n",
        "class Own(Unseen):\n    report_to: str = None\n",
        "class Own:\n    optim: str = 'adamw_hf'\n",
        "class Own(TrainingArguments):\n    report_to: str = None\n\n\nOwn('a', report_to='none')\n",
        "class Own(TrainingArguments):\n    report_to: str = None\n\n    def __post_init__(self):\n"
        "        self.report_to = self.report_to or 'none'\n        super().__post_init__()\n",
    ],
)
def test_a_default_that_is_taken_or_replaced_is_left(body: str) -> None:
    assert not converted(HEAD + body).lines("RM705")


def test_a_class_that_is_no_dataclass_declares_no_field() -> None:
    body = "class Own(TrainingArguments):\n    report_to: str = None\n"
    assert not converted(HEAD.replace("@dataclass\n", "") + body).lines("RM705")
