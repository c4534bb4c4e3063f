"""RM605 where nothing that a trainer runs reports a checkpoint: its result has neither that nor metrics."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments, TrainerCallback


def loop(config):
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
    args = TrainingArguments("out", save_strategy="epoch", use_cpu=True, report_to="none")
    trainer = Trainer(model=model, args=args, train_dataset=config["rows"])
    trainer.train()


result = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
{read}
"""
WITH_CHECKPOINT = "with result.checkpoint.as_directory() as folder:\n    print(folder)"
BY_CALLBACK, BY_REPORT = "RayTrainReportCallback() by its add_callback()", "ray.train.report(metrics, checkpoint="


def told(script: str) -> list[int]:
    return converted(script).lines("RM605", Kind.MANUAL)


@pytest.mark.parametrize(
    ("read", "count"),
    [
        (WITH_CHECKPOINT, 1),
        ("print(result.checkpoint.path)", 1),
        ("found = result.checkpoint\nprint(found.path)", 1),
        ('print(result.metrics["eval_loss"])', 1),
        ('print(result.metrics["eval_loss"])\nprint(result.metrics["loss"])', 1),
        (f"{WITH_CHECKPOINT}\nprint(result.metrics['eval_loss'])", 2),
        ("print(result.metrics)", 0),
        ("if result.checkpoint:\n    print(result.checkpoint.path)", 0),
        ("if result.checkpoint is not None:\n    print(result.checkpoint.path)", 0),
        ("print(result.path)", 0),
        ("if found := result.checkpoint:\n    print(found.path)", 0),
        ("if (found := result.checkpoint) is not None:\n    print(found.path)", 0),
        ("def show(one):\n    print(one.path)\n\n\nif input():\n    show(result.checkpoint)", 1),
        ("def show(one):\n    if one:\n        print(one.path)\n\n\nshow(result.checkpoint)", 0),
        ("import job\nprint(job.name, result.checkpoint.path)", 1),  # which runs behind the training
        ("found = result.checkpoint\nif other := input():\n    print(found.path)", 1),
    ],
)
def test_what_is_asked_of_a_result_that_holds_nothing_is_told_once(read: str, count: int) -> None:
    assert len(told(SCRIPT.format(read=read))) == count


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "    trainer.train()",
            "    from ray.train.huggingface.transformers import RayTrainReportCallback\n"
            "    trainer.add_callback(RayTrainReportCallback())\n    trainer.train()",
        ),
        (
            "    trainer.train()",
            "    from ray import train\n    trainer.train()\n    train.report({}, checkpoint=save())",
        ),
        ("    trainer.train()", "    from job import Saves\n    trainer.add_callback(Saves())\n    trainer.train()"),
        ("    trainer.train()", "    import lightning\n    lightning.Trainer().fit(model)"),
        ("TorchTrainer(loop", "TorchTrainer(other"),
        ("    trainer.train()", "    import ray.train\n    getattr(ray.train, 'report')({}, checkpoint=save(trainer))"),
        (
            "    trainer.train()",
            "    import ray.train\n    module = ray.train\n    module.report({}, checkpoint=save())",
        ),
        ("    trainer.train()", "    import ray.train\n    run(trainer, ray.train)"),
        ("    trainer.train()", "    import sys\n    sys.modules['ray.train'].report({}, checkpoint=save())"),
        (
            "    trainer.train()",
            "    from ray.train._internal.session import get_session\n    trainer.train()\n    save(get_session())",
        ),
        ("def loop", "def train(self):\n    report(self)\n\n\nTrainer.train = train\n\n\ndef loop"),
        ("def loop", "from job import *\n\n\ndef loop"),
    ],
)
def test_what_may_report_a_checkpoint_keeps_it_silent(old: str, new: str) -> None:
    script = SCRIPT.format(read=WITH_CHECKPOINT)
    assert told(script)
    assert not told(script.replace(old, new, 1))


def test_a_callback_of_the_script_that_reports_metrics_alone_leaves_no_checkpoint() -> None:
    callback = """
    class Reports(TrainerCallback):
        def on_log(self, args, state, control, logs=None, **kwargs):
            train.report(dict(logs))
"""
    script = SCRIPT.format(read=WITH_CHECKPOINT).replace(
        "    model =", f"    from ray import train\n{callback}\n    model ="
    )
    script = script.replace("    trainer.train()", "    trainer.add_callback(Reports())\n    trainer.train()")
    assert len(told(script)) == 1


NO_TRAINER = """
from ray import train
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer


def loop(config):
    for step in range(3):
        train.report({"step": step})


result = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
print(result.checkpoint.path)
"""


@pytest.mark.parametrize(
    ("script", "advice"), [(SCRIPT.format(read=WITH_CHECKPOINT), BY_CALLBACK), (NO_TRAINER, BY_REPORT)]
)
def test_the_advice_names_what_reports(script: str, advice: str) -> None:
    messages = [message for message in converted(script).messages if "reports a checkpoint" in message]
    assert len(messages) == 1
    assert advice in messages[0]


RAY_CALLBACK = (
    "    from ray.train.huggingface.transformers import RayTrainReportCallback\n"
    "    trainer.add_callback(RayTrainReportCallback())\n    trainer.train()"
)


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("", "", 1),
        ('"no"', '"epoch"', 0),
        ('save_strategy="no"', "save_strategy=config['save']", 0),
        (', save_strategy="no"', "", 0),
        ("args=args, ", "", 0),
        ("    trainer.add", '    args.save_strategy = "epoch"\n    trainer.add', 0),
        ("    trainer.add", '    args.set_save("epoch")\n    trainer.add', 0),
        ("    trainer.add", '    args = replace(args, save_strategy="epoch")\n    trainer.add', 0),
        ("    trainer.add", '    setattr(args, "save_strategy", "epoch")\n    trainer.add', 0),
        ("    trainer.add", "    from trl import SFTConfig\n    trainer.args = SFTConfig()\n    trainer.add", 0),
        ("RayTrainReportCallback())", "type('Mine', (RayTrainReportCallback,), {})())", 0),
    ],
)
def test_the_callback_of_ray_reports_nothing_where_the_trainer_never_saves(old: str, new: str, count: int) -> None:
    script = SCRIPT.format(read=WITH_CHECKPOINT).replace("    trainer.train()", RAY_CALLBACK)
    script = script.replace('save_strategy="epoch"', 'save_strategy="no"')
    outcome = converted(script.replace(old, new, 1))
    assert len(outcome.lines("RM605", Kind.MANUAL)) == count
    assert len([message for message in outcome.messages if 'save_strategy="no" saves nothing' in message]) == count


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("with checkpoint.as_directory() as folder:\n        print(folder)", 1),
        ("print(checkpoint.path)", 1),
        ("if checkpoint is not None:\n        print(checkpoint.path)", 0),
        ("print(checkpoint)", 0),
    ],
)
def test_a_function_that_opens_the_checkpoint_it_gets(body: str, count: int) -> None:
    read = f"def show(checkpoint):\n    {body}\n\n\nshow(result.checkpoint)"
    assert len(told(SCRIPT.format(read=read))) == count


TUNED = """
from ray import tune
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments


def loop(config):
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
    args = TrainingArguments("out", learning_rate=config["lr"], use_cpu=True, report_to="none")
    trainer = Trainer(model=model, args=args, train_dataset=[])
    {trains}


trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
grid = tune.Tuner(trainer, param_space={{"train_loop_config": {{"lr": tune.uniform(0, 1)}}}}).fit()
print(grid.get_best_result("loss", "min").checkpoint.path)
"""


@pytest.mark.parametrize(
    ("trains", "nothing"),
    [
        ("trainer.train()", True),
        ("from job import Saves; trainer.add_callback(Saves()); trainer.train()", False),
    ],
)
def test_trials_whose_trainer_reports_nothing(trains: str, nothing: bool) -> None:
    outcome = converted(TUNED.format(trains=trains))
    assert len(outcome.lines("RM608", Kind.MANUAL)) == 1
    found = [message for message in outcome.messages if "nothing that the trainer runs reports a checkpoint" in message]
    assert bool(found) is nothing


OF_RAY = "from ray.train.huggingface.transformers import RayTrainReportCallback\n"
LIST = "from transformers.trainer import DEFAULT_CALLBACKS\n"


@pytest.mark.parametrize(
    ("top", "inside"),
    [
        (f"{OF_RAY}{LIST}DEFAULT_CALLBACKS.append(RayTrainReportCallback)", ""),
        (f"{OF_RAY}{LIST}DEFAULT_CALLBACKS.extend([RayTrainReportCallback])", ""),
        (f"{OF_RAY}{LIST}DEFAULT_CALLBACKS += [RayTrainReportCallback]", ""),
        (f"{OF_RAY}import transformers\ntransformers.trainer.DEFAULT_CALLBACKS.insert(0, RayTrainReportCallback)", ""),
        (f"{LIST}import mine\nDEFAULT_CALLBACKS.append(mine.Reporter)", ""),
        (f"{OF_RAY}{LIST}MORE = [RayTrainReportCallback]\nDEFAULT_CALLBACKS.extend(MORE)", ""),
        (OF_RAY, "for callback in [RayTrainReportCallback()]:\n        trainer.add_callback(callback)"),
        (f"{OF_RAY}ALL = [RayTrainReportCallback]", "for made in ALL:\n        trainer.add_callback(made())"),
        ("import mine", "for callback in mine.callbacks():\n        trainer.add_callback(callback)"),
        ("import ray.train.huggingface.transformers as t", "trainer.add_callback(getattr(t, NAME))"),
    ],
)
def test_a_callback_may_come_by_a_list(top: str, inside: str) -> None:
    script = SCRIPT.format(read=WITH_CHECKPOINT).replace("    trainer.train()", f"    {inside}\n    trainer.train()")
    assert not told(f"{top}\n{script}")


@pytest.mark.parametrize(
    "top",
    [
        f"{LIST}from transformers import EarlyStoppingCallback\nDEFAULT_CALLBACKS.append(EarlyStoppingCallback)",
        f"{LIST}print(len(DEFAULT_CALLBACKS))",
        f"{OF_RAY}CALLBACKS = []\nCALLBACKS.append(RayTrainReportCallback)",
    ],
)
def test_another_callback_or_list_reports_nothing(top: str) -> None:
    assert told(f"{top}\n{SCRIPT.format(read=WITH_CHECKPOINT)}")


EITHER = """
import sys

import ray.data
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersCheckpoint, TransformersTrainer
from ray.train.huggingface.transformers import prepare_trainer
from ray.train.torch import TorchTrainer
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments


def make(rows, evaluation=None, **config):
    model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
    args = TrainingArguments("out", save_strategy="epoch", use_cpu=True, report_to="none")
    return Trainer(model=model, args=args, train_dataset=rows)


def loop(config):
    prepare_trainer(make(config["rows"])).train()


def old(scaling):
    datasets = {{"train": ray.data.range(8)}}
    return TransformersTrainer(trainer_init_per_worker=make, scaling_config=scaling, datasets=datasets)


def new(scaling):
    return TorchTrainer(loop, train_loop_config={{"rows": []}}, scaling_config=scaling)


scaling = ScalingConfig(num_workers=2)
{made}
result = trainer.fit()
{read}
"""
CHOICES = [
    "trainer = new(scaling) if sys.argv[1:] else old(scaling)",
    "if sys.argv[1:]:\n    trainer = old(scaling)\nelse:\n    trainer = new(scaling)",
]
OF_CHECKPOINT = (
    "model = TransformersCheckpoint.from_checkpoint(result.checkpoint).get_model(AutoModelForSequenceClassification)"
)


@pytest.mark.parametrize("made", CHOICES)
@pytest.mark.parametrize("read", ["print(result.metrics['loss'])", OF_CHECKPOINT, WITH_CHECKPOINT])
def test_a_run_of_either_trainer_is_told_of_where_one_reports_nothing(made: str, read: str) -> None:
    messages = [
        message for message in converted(EITHER.format(made=made, read=read)).messages if "is None where" in message
    ]
    assert len(messages) == 1
    assert "where the run is that of TorchTrainer" in messages[0] and BY_CALLBACK in messages[0]


@pytest.mark.parametrize(
    ("read", "count"),
    [
        (OF_CHECKPOINT, 1),
        (OF_CHECKPOINT.replace("(result", "(other=result"), 1),
        (f"found = result.checkpoint\n{OF_CHECKPOINT.replace('result.checkpoint', 'found')}", 1),
        (f"if result.checkpoint:\n    {OF_CHECKPOINT}", 0),
        (f"assert result.checkpoint is not None\n{OF_CHECKPOINT}", 0),
        (f"found = result.checkpoint\nif found:\n    {OF_CHECKPOINT.replace('result.checkpoint', 'found')}", 0),
    ],
)
def test_a_copy_of_the_checkpoint_is_told_of_where_nobody_looks_for_none(read: str, count: int) -> None:
    assert len(told(EITHER.format(made="trainer = new(scaling)", read=read))) == count


@pytest.mark.parametrize("made", CHOICES)
def test_a_run_of_either_trainer_that_reports_is_not(made: str) -> None:
    callback = "from ray.train.huggingface.transformers import RayTrainReportCallback"
    new = f"{callback}\n    made = make(config['rows'])\n    made.add_callback(RayTrainReportCallback())"
    script = EITHER.format(made=made, read=OF_CHECKPOINT)
    script = script.replace('prepare_trainer(make(config["rows"]))', f"{new}\n    prepare_trainer(made)")
    assert "add_callback" in script
    assert not told(script)


@pytest.mark.parametrize(
    "made", ["trainer = old(scaling)", "trainer = bring()", "trainer = new(scaling) if sys.argv else bring()"]
)
def test_a_run_of_the_transformers_trainer_or_an_unseen_one_is_not(made: str) -> None:
    assert not told(EITHER.format(made=f"from job import bring\n{made}", read=OF_CHECKPOINT))
