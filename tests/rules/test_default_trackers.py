"""RM753: TrainingArguments that leave the default of report_to."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import Outcome, converted

SCRIPT = """
from ray.train import ScalingConfig
{imports}
from transformers import Trainer, TrainingArguments


def loop(config):
    args = TrainingArguments("out", {arguments})
    Trainer(model=make(), args=args, train_dataset=rows).train()


{trainer}(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
TORCH = "from ray.train.torch import TorchTrainer"
ACCELERATE = "from ray.train.huggingface.accelerate import AccelerateTrainer"
TRANSFORMERS = "from ray.train.huggingface import TransformersTrainer"


def notes(imports: str, arguments: str) -> list[int]:
    trainer = imports.rpartition(" ")[2]
    return converted(SCRIPT.format(imports=imports, arguments=arguments, trainer=trainer)).lines("RM753", Kind.NOTE)


@pytest.mark.parametrize(
    ("imports", "arguments"),
    [
        (TORCH, 'evaluation_strategy="epoch"'),
        (TORCH, "no_cuda=True, per_device_train_batch_size=8"),
        (ACCELERATE, "learning_rate=0.1"),
    ],
)
def test_what_was_written_for_transformers_4_logged(imports: str, arguments: str) -> None:
    assert notes(imports, arguments) == [7]


@pytest.mark.parametrize(
    ("imports", "arguments"),
    [
        (TORCH, 'eval_strategy="epoch"'),  # may be for transformers 5
        (TORCH, 'evaluation_strategy="epoch", report_to="none"'),
        (TORCH, 'evaluation_strategy="epoch", **{"report_to": "none"}'),
        (TRANSFORMERS, 'evaluation_strategy="epoch", **config'),
        (TRANSFORMERS, 'evaluation_strategy="epoch"'),  # which removed all trackers
    ],
)
def test_else_there_is_nothing_to_say(imports: str, arguments: str) -> None:
    assert not notes(imports, arguments)


INTO = " TensorBoard then writes below output_dir/runs, and no longer into logging_dir"


@pytest.mark.parametrize(
    ("arguments", "said", "into"),
    [
        ("no_cuda=True, **config", "Where no report_to is behind **, TrainingArguments logged to all trackers", False),
        ('no_cuda=True, **{"seed": 3}', 'without report_to= logged to all trackers up to transformers 4; "all"', False),
        ('no_cuda=True, logging_dir="tb"', 'transformers 4; "all" keeps that.', True),
        ('no_cuda=True, **{"logging_dir": "tb"}, **config', "keeps that.", True),
    ],
)
def test_what_is_unpacked_and_where_tensorboard_wrote(arguments: str, said: str, into: bool) -> None:
    outcome = converted(SCRIPT.format(imports=TORCH, arguments=arguments, trainer="TorchTrainer"))
    [message] = [found for found in outcome.messages if "logged to all trackers" in found]
    assert said in message
    assert (INTO in message) is into


@pytest.mark.parametrize(("imports", "now"), [(TORCH, '"all"'), (ACCELERATE, '"all"'), (TRANSFORMERS, '"none"')])
def test_none_meant_all_trackers_except_under_the_legacy_trainer(imports: str, now: str) -> None:
    trainer = imports.rpartition(" ")[2]
    outcome = converted(SCRIPT.format(imports=imports, arguments="report_to=None", trainer=trainer))
    assert f"report_to={now}" in outcome.text


def test_none_in_some_cases_is_told_with_what_it_meant() -> None:
    arguments = "report_to='wandb' if flag else None"
    outcome = converted(SCRIPT.format(imports=TORCH, arguments=arguments, trainer="TorchTrainer"))
    told = 'Write "all" where the value is set. That is what None meant up to transformers 4'
    assert any(told in message for message in outcome.messages)


BESIDE = """
from ray.air.config import ScalingConfig
from ray.train.batch_predictor import BatchPredictor
from ray.train.huggingface import HuggingFacePredictor, HuggingFaceTrainer as Legacy
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

{code}

def build(datasets, rows, **kwargs):
    result = Legacy(trainer_init_per_worker=init, scaling_config=ScalingConfig(num_workers=2), datasets=datasets).fit()
    return BatchPredictor.from_checkpoint(result.checkpoint, HuggingFacePredictor, task="fill-mask").predict(**kwargs)
"""
INIT = """
def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("ray", evaluation_strategy="no", save_strategy="no")
    return Trainer(model=make(), args=args, train_dataset=train_dataset)
"""
PLAIN = """
def plain(rows):
    args = TrainingArguments("plain", max_steps=2)
    Trainer(make(), args, train_dataset=rows).train()
"""
OWN_CLASS = """
class Own(Trainer):
    pass


class Path:
    def __init__(self, rows):
        self.arguments = TrainingArguments("plain", max_steps=2)

    def run(self, rows):
        trainer = Own(model=make(), args=self.arguments, train_dataset=rows)
        trainer.train()
"""
HELPED = """
def arguments(folder):
    return TrainingArguments(folder, evaluation_strategy="no")


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make(), args=arguments("ray"), train_dataset=train_dataset)
"""
GLOBAL = """
ARGUMENTS = TrainingArguments("ray", evaluation_strategy="no")


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make(), args=ARGUMENTS, train_dataset=train_dataset)
"""
METHOD = """
class Job:
    def init(self, train_dataset, eval_dataset=None, **config):
        args = TrainingArguments("ray", evaluation_strategy="no")
        return Trainer(model=make(), args=args, train_dataset=train_dataset)


init = Job().init
"""
HANDED_OVER = """
def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make(), args=config["args"], train_dataset=train_dataset)


CONFIG = {"args": TrainingArguments("ray", evaluation_strategy="no")}
"""
UNKNOWN = """
from functools import partial
from elsewhere import other

init = partial(other, 1)


def may_be_it(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make(), args=TrainingArguments("ray", evaluation_strategy="no"), train_dataset=train_dataset)
"""


@pytest.mark.parametrize("init", [INIT, HELPED, GLOBAL, METHOD])
@pytest.mark.parametrize("plain", [PLAIN, OWN_CLASS])
def test_a_plain_path_beside_the_legacy_trainer_logged(init: str, plain: str) -> None:
    script = BESIDE.format(code=init + plain).lstrip("\n")
    outcome = converted(script)
    assert told(script, outcome) == [True]
    assert told(outcome.text, converted(outcome.text)) in ([], [True])


def told(script: str, outcome: Outcome) -> list[bool]:
    """Of each line that is told, whether it is the one of the plain path."""
    return ['TrainingArguments("plain"' in script.splitlines()[n - 1] for n in outcome.lines("RM753", Kind.NOTE)]


@pytest.mark.parametrize("init", [INIT, HELPED, GLOBAL, METHOD, HANDED_OVER, UNKNOWN])
def test_what_the_legacy_trainer_got_never_logged_nor_does_a_later_run_say_so(init: str) -> None:
    outcome = converted(BESIDE.format(code=init))
    assert not outcome.lines("RM753", Kind.NOTE)
    assert not converted(outcome.text).lines("RM753", Kind.NOTE)


PART = """
from transformers import Trainer, TrainingArguments

def init(train_dataset, eval_dataset=None, **config):
    return Trainer(make(), TrainingArguments("ray", evaluation_strategy="no"), train_dataset=train_dataset)

def plain(rows):
    Trainer(make(), TrainingArguments("plain", evaluation_strategy="no"), train_dataset=rows).train()
"""
JOB = """
from part import init, plain
from ray.train import ScalingConfig
{imports}

def main(datasets, rows):
    plain(rows)
    {trainer}(init, scaling_config=ScalingConfig(num_workers=2), datasets=datasets).fit()
"""


@pytest.mark.parametrize(("imports", "lines"), [(ACCELERATE, ["5", "8"]), (TRANSFORMERS, ["8"])])
def test_other_files_of_the_project_say_which_trainer_it_is(tmp_path: Path, imports: str, lines: list[str]) -> None:
    (tmp_path / "part.py").write_text(PART)
    (tmp_path / "job.py").write_text(JOB.format(imports=imports, trainer=imports.rpartition(" ")[2]))
    said = CliRunner().invoke(main, ["--check", "--verbose", str(tmp_path)]).output
    found = [line.split(":")[1] for line in said.splitlines() if "part.py:" in line and "RM753" in line]
    assert found == lines


CALLED = {
    "in a function": "\ndef here(rows):\n    init(rows).train()\n",
    "at the top": "\nif __name__ == '__main__':\n    init(rows).train()\n",
    "by another name": "\nmake_trainer = init\nmake_trainer(rows).train()\n",
    "by a helper": "\ndef helper(rows):\n    return init(rows)\n\n\ndef here(rows):\n    helper(rows).train()\n",
    "in a method": "\nclass Here:\n    def run(self, rows):\n        init(rows).train()\n",
}


OWN_TRAINER = """
from ray.train.huggingface import TransformersTrainer


class OwnTrainer(TransformersTrainer):
    def __init__(self, function, rows):
        super().__init__(trainer_init_per_worker=function, datasets={"train": rows})
"""


@pytest.mark.parametrize(("base", "logged"), [("OwnTrainer", False), ("Other", True)])
def test_a_function_for_a_class_of_the_project_made_from_the_legacy_trainer_did_not(
    tmp_path: Path, base: str, logged: bool
) -> None:
    (tmp_path / "own.py").write_text(f"{OWN_TRAINER}\n\nclass Other:\n    pass\n")
    job = SCRIPT.format(imports=f"from own import {base}", arguments="no_cuda=True", trainer=base)
    (tmp_path / "job.py").write_text(job.replace("scaling_config=ScalingConfig(num_workers=2)", "rows"))
    said = CliRunner().invoke(main, ["--check", "--verbose", str(tmp_path)]).output
    assert ("RM753" in said) == logged


@pytest.mark.parametrize("call", CALLED.values(), ids=CALLED)
@pytest.mark.parametrize("init", [INIT, HELPED, GLOBAL])
def test_an_init_function_that_is_called_without_ray_logged_there(init: str, call: str) -> None:
    outcome = converted(BESIDE.format(code=init + call))
    assert len(outcome.lines("RM753", Kind.NOTE)) == 1
    assert any("This is also called without Ray" in message for message in outcome.messages)


NOT_CALLED = {
    "by the training function of another trainer": "\ndef loop(config):\n    init(rows).train()\n\n\n"
    "from ray.train.torch import TorchTrainer\nTorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()\n",
    "handed on": "\nother = [init]\n",
    "a function of that name": "\nclass Here:\n    def init(self, rows):\n        pass\n\n\nHere().init(rows)\n",
}


@pytest.mark.parametrize("call", NOT_CALLED.values(), ids=NOT_CALLED)
def test_one_that_only_trainers_of_ray_run_did_not(call: str) -> None:
    assert not converted(BESIDE.format(code=INIT + call)).lines("RM753", Kind.NOTE)


def test_one_that_gives_the_legacy_trainer_its_arguments_did_not() -> None:
    gives = "\ndef given():\n    return TrainingArguments('ray', evaluation_strategy='no')\n"
    call = "\ndef here(rows):\n    build(rows, rows, trainer_init_config={'args': given()})\n"
    assert not converted(BESIDE.format(code=HANDED_OVER + gives + call)).lines("RM753", Kind.NOTE)


HERE = "from part import init\n\ninit(rows).train()\n"
ON_RAY = """
from part import init
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer

TorchTrainer(lambda config: init(rows).train(), scaling_config=ScalingConfig(num_workers=2)).fit()
"""


@pytest.mark.parametrize(("other", "lines"), [(HERE, ["5"]), (ON_RAY, []), ("from part import init\n", [])])
def test_an_init_function_that_another_file_calls_logged_there(tmp_path: Path, other: str, lines: list[str]) -> None:
    (tmp_path / "part.py").write_text(PART.partition("def plain")[0])
    job = JOB.replace("init, plain", "init").replace("    plain(rows)\n", "")
    (tmp_path / "job.py").write_text(job.format(imports=TRANSFORMERS, trainer="TransformersTrainer"))
    (tmp_path / "other.py").write_text(other)
    said = CliRunner().invoke(main, ["--check", "--verbose", str(tmp_path)]).output
    assert [line.split(":")[1] for line in said.splitlines() if "part.py:" in line and "RM753" in line] == lines


OF_TRL = """
import ray
from transformers import Trainer
from trl import {kind}Config, {kind}Trainer

args = {kind}Config("out", {arguments})
trainer = {kind}Trainer("gpt2", {given}train_dataset=rows)
"""


def of_trl(kind: str, arguments: str, given: str = "args=args, ") -> Outcome:
    return converted(OF_TRL.format(kind=kind, arguments=arguments, given=given))


@pytest.mark.parametrize("kind", ["SFT", "DPO", "GRPO", "Reward"])
@pytest.mark.parametrize("old", ["evaluation_strategy='no'", "warmup_ratio=0.1", "overwrite_output_dir=True"])
def test_configurations_of_trl_have_the_same_default(kind: str, old: str) -> None:
    outcome = of_trl(kind, old)
    assert outcome.lines("RM753", Kind.NOTE) == [5]
    assert any(message.startswith(f"{kind}Config without report_to=") for message in outcome.messages)
    assert not of_trl(kind, f"{old}, report_to='wandb'").lines("RM753", Kind.NOTE)


@pytest.mark.parametrize("new", ["eval_strategy='no'", "max_steps=3", "learning_rate=0.1"])
def test_of_trl_those_of_today_say_nothing(new: str) -> None:
    assert not of_trl("SFT", new).lines("RM753", Kind.NOTE)


def test_a_trainer_without_arguments_makes_its_own() -> None:
    for trainer in (
        *("SFTTrainer('gpt2', max_seq_length=5)", "SFTTrainer('gpt2', args=None, max_seq_length=5)"),
        *("Trainer(model, None, tokenizer=tokenizer)", "Trainer(model, tokenizer=tokenizer)"),
    ):
        outcome = converted(f"import ray\nfrom transformers import Trainer\nfrom trl import SFTTrainer\n\n{trainer}")
        assert outcome.lines("RM753", Kind.NOTE) == [5]
    assert any("args=TrainingArguments(...) with" in message for message in outcome.messages)
    outcome = converted("import ray\nfrom trl import SFTTrainer\n\nSFTTrainer('gpt2', **given, max_seq_length=5)")
    assert not outcome.lines("RM753", Kind.NOTE)
