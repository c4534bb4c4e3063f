"""RM723, RM105, RM106, RM110, RM111: TrainingArguments that get a value once they are made, in whatever way."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForMaskedLM, Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out")
    {line}
    return Trainer(AutoModelForMaskedLM.from_pretrained("bert"), args, train_dataset=train_dataset)


trainer = TransformersTrainer(
    trainer_init_per_worker=init,
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    datasets={{"train": ray.data.range(8)}},
)
"""
MEAN = "model_accepts_loss_kwargs = False  # else some losses grow"
LOGGERS = "get_reporting_integration_callbacks(trainer.args.report_to)"


def told(line: str) -> tuple[str, set[str]]:
    outcome = converted(SCRIPT.format(line=line))
    always = {"RM101", "RM107", "RM301", "RM751"}
    return outcome.text, {code for code, *_ in outcome.findings if code not in always}


@pytest.mark.parametrize(
    ("line", "codes", "written"),
    [
        (
            'setattr(args, "evaluation_strategy", "epoch")',
            {"RM110", "RM723"},
            'setattr(args, "eval_strategy", "epoch")',
        ),
        ('name = "no_cuda"\n    setattr(args, name, True)', {"RM110", "RM723"}, "setattr(args, name, True)"),
        ("for k, v in config.items():\n        setattr(args, k, v)", {"RM105", "RM110", "RM723"}, LOGGERS),
        ('setattr(args, "report_to", ["wandb"])', {"RM105", "RM110"}, LOGGERS),
        ('args.set_logging(report_to=["wandb"])', {"RM105", "RM110"}, LOGGERS),
        ('args = args.set_logging("steps", 5, "wandb")', {"RM105", "RM110"}, LOGGERS),
        ("args.set_logging(steps=5)", {"RM110"}, "args.set_logging(steps=5)"),
        ('setattr(args, "report_to", "none")', {"RM110"}, 'setattr(args, "report_to", "none")'),
        ("args.set_training(gradient_accumulation_steps=4)", {"RM110", "RM111"}, MEAN),
        ('setattr(args, "gradient_accumulation_steps", 4)', {"RM110", "RM111"}, MEAN),
        ("args.gradient_accumulation_steps = 4", {"RM110", "RM111"}, MEAN),
        ("args.set_save(total_limit=1).set_training(1e-4, gradient_accumulation_steps=4)", {"RM110", "RM111"}, MEAN),
        ("args.set_training(max_steps=9, gradient_accumulation_steps=4)", {"RM110"}, MEAN),
        ("args.set_training(learning_rate=1e-4)", {"RM110"}, "args.set_training(learning_rate=1e-4)"),
        ("args.set_dataloader(num_workers=2)", {"RM106", "RM110"}, "num_workers=2"),
        ("args.set_dataloader(16, 16, False, 2)", {"RM106", "RM110"}, "16, False, 2"),
        ("config.set_training(gradient_accumulation_steps=4)", {"RM110"}, "config.set_training("),
        ('setattr(config, "evaluation_strategy", 4)', {"RM110"}, "evaluation_strategy"),
    ],
)
def test_a_field_that_is_set_later(line: str, codes: set[str], written: str) -> None:
    text, found = told(line)
    assert found == codes
    assert written in text
    assert (MEAN in text) is (written == MEAN)
    assert (LOGGERS in text) is (written == LOGGERS)


@pytest.mark.parametrize(
    "line",
    [
        'if hasattr(args, "evaluation_strategy"):\n        setattr(args, "evaluation_strategy", "no")',
        'class Own(TrainingArguments):\n        no_cuda: bool = True\n\n    setattr(Own("out"), "no_cuda", False)',
    ],
)
def test_a_field_that_may_be_there_keeps_its_name(line: str) -> None:
    text, found = told(line)
    assert "RM723" not in found
    assert line in text


def test_a_field_of_a_class_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    own = "from transformers import TrainingArguments\n\n\nclass Own(TrainingArguments):\n    no_cuda: bool = True\n"
    (tmp_path / "own.py").write_text(own)
    made = 'setattr(Own("out"), "no_cuda", True)'
    script = tmp_path / "train.py"
    script.write_text(f"from own import Own\nfrom ray.air import session\n\n\n{made}\nsession.report({{}})\n")
    CliRunner().invoke(main, [str(tmp_path)])
    assert made in script.read_text()


def test_names_that_are_not_seen_are_told_of_scripts_for_old_transformers_alone() -> None:
    script = (
        "from ray.train.torch import TorchTrainer\nfrom transformers import TrainingArguments\n\n\ndef train(config):\n"
        "    args = TrainingArguments('out', {}='no')\n    for k, v in config.items():\n        setattr(args, k, v)\n"
        "\n\nTorchTrainer(train).fit()\n"
    )
    for strategy, told in (("evaluation_strategy", 1), ("eval_strategy", 0)):
        assert len(converted(script.format(strategy)).lines("RM723", Kind.MANUAL)) == told


def test_a_name_that_is_tested_is_told_by_the_script_itself() -> None:
    loop = "for k, v in config.items():\n        {}setattr(args, k, v)"
    test = "if not hasattr(args, k):\n            raise ValueError(k)\n        "
    assert "RM723" in told(loop.format(""))[1]
    assert "RM723" not in told(loop.format(test))[1]


PLAIN = """
from transformers import AutoModelForMaskedLM, Trainer, TrainingArguments
import job

args = TrainingArguments("/out", per_device_train_batch_size=4)
{line}
trainer = Trainer(AutoModelForMaskedLM.from_pretrained("bert"), args, train_dataset=job.data)
trainer.train()
"""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "The batch size of 4 is that of one worker"),
        ('setattr(args, "per_device_train_batch_size", 16)', "The batch size of 16 is that of one worker"),
        ("args.per_device_train_batch_size = 16", "The batch size of 16 is that of one worker"),
        ("args.set_training(batch_size=16)", "The batch size of 16 is that of one worker"),
        ("job.other.per_device_train_batch_size = 16", "The batch size of 4 is that of one worker"),
        ("args = args.set_training(1e-4)", "The batch size of 8 is that of one worker"),
        ("args.set_training(batch_size=job.SIZE)", "per_device_train_batch_size is that of one worker"),
        ("if job.LARGE:\n    args.set_training(batch_size=16)", "per_device_train_batch_size is that of one worker"),
        ("args.set_training(batch_size=32 // job.world_size)", "works per_device_train_batch_size out of"),
        ("tests = job.load(batch_size=32 // job.world_size)", "take 1/N of the steps, at the same learning rate"),
        ('args.set_save(strategy="no")', "Nothing is saved, so nothing is reported"),
        ('setattr(args, "save_strategy", "no")', "Nothing is saved, so nothing is reported"),
        ("args.set_dataloader(num_workers=4)", "for loaders of their own ScalingConfig needs"),
        ("args.fp16 = True", "fp16=True does nothing on workers without a GPU"),
    ],
)
def test_a_plain_script_that_sets_a_field_later(line: str, said: str) -> None:
    outcome = converted(PLAIN.format(line=line), to_ray=True, workers=2, gpu=False)
    assert "TorchTrainer(" in outcome.text
    assert any(said in message for message in outcome.messages), outcome.messages


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("per_gpu_train_batch_size=16", "The batch size of 16 is"),
        ("per_gpu_train_batch_size=16, per_device_train_batch_size=4", "The batch size of 16 is"),
        ("per_gpu_train_batch_size=None, per_device_train_batch_size=4", "The batch size of 4 is"),
        ("per_gpu_train_batch_size=None", "The batch size of 8 is"),
        ("per_gpu_train_batch_size=job.SIZE", "per_device_train_batch_size is"),
        ("per_gpu_eval_batch_size=16", "The batch size of 8 is"),
    ],
)
def test_the_batch_size_under_its_old_name_is_the_one_in_force(given: str, said: str) -> None:
    script = PLAIN.format(line="").replace("per_device_train_batch_size=4", given)
    outcome = converted(script, to_ray=True, workers=2, gpu=False)
    assert any(f"{said} that of one worker" in message for message in outcome.messages), outcome.messages


@pytest.mark.parametrize(
    ("end", "is_saved"),
    [
        ("", False),
        ("trainer.save_metrics('train', {})", False),
        ("trainer.save_model('best')", True),
        ("job.save_all(trainer)", True),
        ("job.finish(trainer)", True),
        ("getattr(trainer, 'save_model')('best')", True),
        ("job.copy(trainer.state.best_model_checkpoint)", True),
        ("def shown(made):\n    print(made.state)\n\n\nshown(trainer)", False),
        ("def kept(made):\n    made.save_model('best')\n\n\nkept(trainer)", True),
        ("trainer.push_to_hub()", True),
    ],
)
def test_the_best_model_is_looked_for_where_the_script_saves_it(end: str, is_saved: bool) -> None:
    script = PLAIN.format(line="").replace("per_device_train_batch_size=4", "load_best_model_at_end=True")
    outcome = converted(f"{script}{end}\n", to_ray=True, workers=2, gpu=False)
    told = [message for message in outcome.messages if "not the best" in message]
    assert len(told) == 1
    assert ("take the model that the script saves" in told[0]) == is_saved
    assert ("saves none at its end" in told[0]) != is_saved
