"""RM605: metrics of reports without a checkpoint."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import session
from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from job import save


def loop(config):
    rank = session.get_world_rank()
    for step in range(12):
        metrics = {{"loss": 1.0}}
{reports}


trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
result = trainer.fit()
print(result.metrics["loss"])
"""
SOME = {
    "by one in the middle": "session.report({})\nsession.report(metrics, checkpoint=save(step))\nsession.report({})",
    "else": """
if step % 5 == 0:
    session.report(metrics, checkpoint=save(step))
else:
    session.report(metrics)
""",
    "expression": "session.report(metrics, checkpoint=save(step) if step % 5 == 0 else None)",
    "variable": """
checkpoint = None
if step % 5 == 0:
    checkpoint = save(step)
session.report(metrics, checkpoint=checkpoint)
""",
    "by position": """
session.report(metrics)
if step == 11:
    session.report(metrics, save(step))
""",
    "rank and step": "session.report(metrics, checkpoint=save(step) if rank == 0 and step % 5 == 0 else None)",
    "rank and step by a name": """
wanted = rank == 0 and step % 5 == 0
session.report(metrics, checkpoint=save(step) if wanted else None)
""",
    "rank in a step": """
if rank == 0 and step % 5 == 0:
    session.report(metrics, checkpoint=save(step))
else:
    session.report(metrics)
""",
    "none on the rank, and at times one": """
if rank == 0:
    checkpoint = None
    if step % 5 == 0:
        checkpoint = save(step)
    session.report(metrics, checkpoint=checkpoint)
else:
    session.report(metrics)
""",
    "rank in a step, and none before": """
checkpoint = None
if step % 5 == 0:
    if rank == 0:
        checkpoint = save(step)
    else:
        checkpoint = None
session.report(metrics, checkpoint=checkpoint)
""",
    "rank in the other branch": """
if step % 5:
    checkpoint = None
elif rank == 0:
    checkpoint = save(step)
session.report(metrics, checkpoint=checkpoint)
""",
    "what the rank has at times": """
data = None
if rank == 0 and step % 5 == 0:
    data = {"step": step}
checkpoint = None
if data is not None and rank == 0:
    checkpoint = save(data)
session.report(metrics, checkpoint=checkpoint)
""",
    "what the rank has no longer": """
if rank == 0:
    data = {"step": step}
data = None
session.report(metrics, checkpoint=save(data) if data is not None and rank == 0 else None)
if step == 11:
    session.report(metrics, save(step))
""",
    "what the rank has, or not": """
data = None
if rank == 0:
    data = {"step": step}
session.report(metrics, checkpoint=save(step) if data is not None or step % 5 == 0 else None)
""",
    "none on all ranks": """
if rank == 0:
    checkpoint = None
else:
    checkpoint = None
session.report(metrics, checkpoint=checkpoint)
if step == 11:
    session.report(metrics, save(step))
""",
    "unpacked": """
more = {}
if step % 5 == 0 and rank == 0:
    more["checkpoint"] = save(step)
session.report(metrics, **more)
""",
    "unpacked after update()": """
more = dict(metrics=metrics)
if step % 5 == 0:
    more.update(checkpoint=save(step))
session.report(**more)
""",
    "unpacked in place": "session.report(metrics, **({'checkpoint': save(step)} if step == 11 else {}))",
    "before the one that has none": "session.report(metrics, checkpoint=save(step))\nsession.report(metrics)",
    "left before it": "session.report(metrics)\nif step == 5:\n    return\nsession.report({}, checkpoint=save(0))",
    "next step before it": "session.report(metrics)\nif step == 5:\n    break\nsession.report({}, checkpoint=save(0))",
    "in a loop behind it": "session.report(metrics)\nfor part in save(step):\n    session.report({}, checkpoint=part)",
}
ALL = {
    "always": "session.report(metrics, checkpoint=save(step))",
    "conditional": "if step % 5 == 0:\n    session.report(metrics, checkpoint=save(step))",
    "rank": """
if rank == 0:
    session.report(metrics, checkpoint=save(step))
else:
    session.report(metrics)
""",
    "rank in an expression": "session.report(metrics, checkpoint=save(step) if rank == 0 else None)",
    "rank in a variable": """
checkpoint = None
if rank == 0:
    checkpoint = save(step)
session.report(metrics, checkpoint=checkpoint)
""",
    "rank in a step, and none in it": """
if step % 5 == 0:
    checkpoint = None
    if rank == 0:
        checkpoint = save(step)
    session.report(metrics, checkpoint=checkpoint)
""",
    "rank in a step with the report": """
checkpoint = None
if step % 5 == 0:
    if rank == 0:
        checkpoint = save(step)
    session.report(metrics, checkpoint=checkpoint)
""",
    "none on the other ranks": """
if rank == 0:
    checkpoint = save(step)
else:
    checkpoint = None
session.report(metrics, checkpoint=checkpoint)
""",
    "none first on the rank": """
if rank == 0:
    checkpoint = None
    if session.get_world_rank() == 0:
        checkpoint = save(step)
    session.report(metrics, checkpoint=checkpoint)
else:
    checkpoint = None
    session.report(metrics, checkpoint=checkpoint)
""",
    "what the rank has": """
data = None
if rank == 0:
    data = {"step": step}
checkpoint = None
if data is not None and rank == 0:
    checkpoint = save(data)
session.report(metrics, checkpoint=checkpoint)
""",
    "unpacked": "session.report(**{'metrics': metrics, 'checkpoint': save(step)})",
    "unpacked of a rank": """
more = {"checkpoint": None}
if rank == 0:
    more["checkpoint"] = save(step)
session.report(metrics, **more)
""",
    "unpacked of both branches": """
if step % 2:
    more = {"checkpoint": save(step)}
else:
    more = dict(checkpoint=save(0))
session.report(metrics, **more)
""",
    "unpacked of a rank in place": "session.report(metrics, **({'checkpoint': save(step)} if rank == 0 else {}))",
    "unpacked and unseen": "session.report(metrics, **save(step))",
    "by the last": "session.report({})\nsession.report(metrics, checkpoint=save(step))",
    "by the last, after some": """
for part in range(9):
    if part % 3 == 0:
        session.report({})
session.report(metrics, checkpoint=save(step))
""",
    "by the last of a rank": """
session.report({})
if rank == 0:
    session.report(metrics, checkpoint=save(step))
else:
    session.report(metrics)
""",
    "by the last in a block": """
session.report({})
with open("log") as log:
    session.report(metrics, checkpoint=save(log))
""",
}


def script(reports: str) -> str:
    return SCRIPT.format(reports="\n".join(f"        {line}" for line in reports.strip().splitlines()))


@pytest.mark.parametrize("reports", SOME.values(), ids=SOME)
def test_metrics_of_an_older_report_are_told(reports: str) -> None:
    outcome = converted(script(reports))
    assert len(outcome.lines("RM605", Kind.MANUAL)) == 1
    assert any("result.metrics are those of the last one that does" in message for message in outcome.messages)


@pytest.mark.parametrize("reports", ALL.values(), ids=ALL)
def test_metrics_of_the_last_report_are_no_news(reports: str) -> None:
    assert not converted(script(reports)).lines("RM605", Kind.MANUAL)


IN_HELPER = """
from ray.air import ScalingConfig, session
from ray.train.torch import TorchTrainer
from job import save


def done(step, ok):
    HELPER


def loop(config):
    for step in range(config["steps"]):
        for part in range(300):
            session.report({"part": part})
        CALL


result = TorchTrainer(loop, train_loop_config={"steps": 3}, scaling_config=ScalingConfig(num_workers=2)).fit()
print(result.metrics["step"])
"""
CARRIED = 'session.report({"step": step}, checkpoint=save(step))'


@pytest.mark.parametrize(
    ("helper", "call", "told"),
    [
        (CARRIED, "done(step, True)", 0),
        (f"with open('log') as log:\n        {CARRIED}", "done(step, ok=True)", 0),
        (
            f"if session.get_world_rank() == 0:\n        {CARRIED}\n    else:\n        session.report({{}})",
            "done(step, True)",
            0,
        ),
        (f"if ok:\n        {CARRIED}", "done(step, True)", 1),
        (f"if not ok:\n        return\n    {CARRIED}", "done(step, True)", 1),
        (f"for _ in ok:\n        {CARRIED}", "done(step, [])", 1),
        (f"yield\n    {CARRIED}", "done(step, True)", 1),
        (CARRIED, "if step % 2:\n            done(step, True)", 1),
        (CARRIED, "later = lambda: done(step, True)", 1),
    ],
)
def test_the_last_report_may_be_made_by_a_function_that_is_called(helper: str, call: str, told: int) -> None:
    outcome = converted(IN_HELPER.replace("HELPER", helper).replace("CALL", call))
    assert len(outcome.lines("RM605", Kind.MANUAL)) == told


def test_metrics_without_any_checkpoint_are_none() -> None:
    outcome = converted(script("session.report(metrics)\nsession.report(metrics, checkpoint=None)"))
    assert any("result.metrics is None" in message for message in outcome.messages)


OF_TODAY = """
from ray import train
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from job import save


def loop(config):
    for step in range(config["steps"]):
        train.report({report})


trainer = TorchTrainer(loop, train_loop_config={{"steps": 3}}, scaling_config=ScalingConfig(num_workers=2))
result = trainer.fit()
{read}
"""
IS_NONE = "so result.metrics is None on Ray >= 2.51"
PLAIN = '{"step": step}'


@pytest.mark.parametrize(
    "read",
    [
        'print(result.metrics["loss"])',
        'print(result.metrics.get("loss"))',
        'metrics = result.metrics\nprint(metrics["loss"])',
        'def show(found):\n    print(found.metrics["loss"])\n\n\nshow(result)',
        'print(trainer.fit().metrics["loss"])',
    ],
)
def test_metrics_that_are_none_are_told_whatever_the_age_of_a_script(read: str) -> None:
    outcome = converted(OF_TODAY.format(report=PLAIN, read=read))
    assert len(outcome.lines("RM605", Kind.MANUAL)) == 1
    assert any(IS_NONE in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("report", "read"),
    [
        (PLAIN, "print(result.metrics)"),
        (PLAIN, 'print(result.return_value["loss"])'),
        (PLAIN, 'if result.metrics:\n    print(result.metrics["loss"])'),
        (PLAIN, 'metrics = result.metrics\nif metrics is not None:\n    print(metrics["loss"])'),
        (PLAIN, 'try:\n    print(result.metrics["loss"])\nexcept TypeError:\n    pass'),
        (f"{PLAIN}, checkpoint=save(step)", 'print(result.metrics["loss"])'),
        (f"{PLAIN}, checkpoint=save(step) if step else None", 'print(result.metrics["loss"])'),
        (f"**{PLAIN}", 'print(result.metrics["loss"])'),
    ],
)
def test_scripts_of_today_that_reckon_with_it_are_left_alone(report: str, read: str) -> None:
    assert "RM605" not in [code for code, _, _ in converted(OF_TODAY.format(report=report, read=read)).findings]


def test_a_loop_that_is_not_seen_may_report_a_checkpoint() -> None:
    script = OF_TODAY.format(report=PLAIN, read='print(result.metrics["loss"])')
    unseen = script.replace("TorchTrainer(loop", "TorchTrainer(save")
    assert "RM605" not in [code for code, _, _ in converted(unseen).findings]


def test_metrics_that_are_read_twice_on_a_line_are_told_once() -> None:
    read = "print(result.metrics['a'], result.metrics['b'])"
    assert len(converted(OF_TODAY.format(report=PLAIN, read=read)).lines("RM605", Kind.MANUAL)) == 1


LOST = "only after_report() of a ray.train.UserCallback sees the metrics"


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("", "", 1),
        ("train.report(", "train.report({})\n        train.report(", 1),
        (PLAIN, f"{PLAIN}, checkpoint=save(step)", 0),
        (PLAIN, f"{PLAIN}, checkpoint=None", 1),
        ("print()", 'print(result.metrics["loss"])', 0),  # told of that
        ("print()", "from ray.train import UserCallback\nprint(UserCallback)", 0),
        ("TorchTrainer(loop", "TorchTrainer(save", 0),  # where it runs is not seen
        ("from ray.air import session\n", "", 0),  # of today
    ],
)
def test_reports_that_nobody_sees_are_noted_once(old: str, new: str, count: int) -> None:
    script = "from ray.air import session\n" + OF_TODAY.format(report=PLAIN, read="print()").lstrip("\n")
    outcome = converted(script.replace(old, new, 1))
    assert len(outcome.lines("RM605", Kind.NOTE)) == count
    assert len([message for message in outcome.messages if LOST in message]) == count


def test_reports_of_trials_are_seen_by_tune() -> None:
    script = """
    from ray import tune
    from ray.air import session


    def trial(config):
        session.report({"loss": 1})


    tune.Tuner(trial).fit()
    """
    assert not converted(script).lines("RM605", Kind.NOTE)


JOB = """
import abc
from typing import Generic, Optional, TypeVar
from functools import cached_property
from ray.air.config import ScalingConfig
from ray.train.huggingface import HuggingFaceTrainer

class Job({bases}):
    def __init__(self, datasets):
        self.datasets = datasets
        self.result = None
        self._trainer: Optional[HuggingFaceTrainer] = None

    @{decorator}
    def trainer(self):
        if self._trainer is None:
            self._trainer = HuggingFaceTrainer(
                build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets=self.datasets
            )
        return self._trainer

    def run(self):
        self.result = self.trainer.fit()
        return self.result.metrics["time_total_s"]

class OwnJob(Job):
    def export(self, path):
        print(self.result.log_dir)
        self.result.checkpoint.to_directory(path)
"""


@pytest.mark.parametrize(
    ("bases", "decorator"), [("", "property"), ("abc.ABC", "property"), ("object", "cached_property")]
)
def test_results_that_objects_keep_are_known(bases: str, decorator: str) -> None:
    outcome = converted(JOB.format(bases=bases, decorator=decorator))
    assert outcome.lines("RM604", Kind.MANUAL) and outcome.lines("RM602", Kind.CONVERTED)
    assert "print(self.result.path)" in outcome.text
    assert 'os.path.join(checkpoint_dir, "checkpoint")' in outcome.text


FITTED = """
import pandas as pd
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import build, rows

trainer = TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets=rows)
result = trainer.fit()
"""


@pytest.mark.parametrize(
    "read",
    [
        'print(result.metrics["time_total_s"])',
        'metrics = result.metrics\nprint(metrics["time_total_s"])',
        'metrics = result.metrics\nprint(metrics.get("time_total_s", 0))',
        'def show(metrics):\n    print(metrics["time_total_s"])\n\n\nshow(result.metrics)',
        'for key in ["eval_loss", "time_total_s"]:\n    print(result.metrics[key])',
        'print({key: result.metrics[key] for key in ("eval_loss", "time_total_s")})',
        'display(pd.DataFrame([result.metrics])[["eval_loss", "time_total_s"]])',
        'frame = pd.DataFrame([result.metrics])\nprint(frame["time_total_s"])',
    ],
)
def test_what_tune_filled_in_is_told_under_whatever_name_it_is_read(read: str) -> None:
    outcome = converted(f"{FITTED}{read}\n")
    assert len(outcome.lines("RM604", Kind.MANUAL)) == 1
    assert any('no "time_total_s"' in message for message in outcome.messages)
    assert any(
        message.endswith('"time_total_s": take time.monotonic() before and after fit().')
        for message in outcome.messages
    )


@pytest.mark.parametrize(
    "read",
    [
        'print(result.metrics["eval_loss"])',
        'metrics = {"time_total_s": 1}\nprint(metrics["time_total_s"], result.metrics)',
        'for key in ["eval_loss", "epoch"]:\n    print(result.metrics[key])',
        'frame = pd.DataFrame([{"date": 1}])\nprint(frame["date"], result.metrics)',
        "print(result.metrics.get([{}], {}))",  # found by fuzzing: no key, but something that can be written
    ],
)
def test_other_keys_and_other_dicts_are_not_told(read: str) -> None:
    assert not converted(f"{FITTED}{read}\n").lines("RM604", Kind.MANUAL)


SEVERAL = """
from ray import tune
from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer, TransformersTrainer
from job import build, loop, rows

scaling = ScalingConfig(num_workers=2, use_gpu=True)
first = TransformersTrainer(build, scaling_config=scaling, datasets={{"train": rows}})
second = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=scaling)
{read}
"""


@pytest.mark.parametrize(
    "read",
    [
        "result = first.fit() if rows else second.fit()\nprint(result.config)",
        "result = first.fit() if rows else None\nprint(result.config)",
        "result = first.fit() if rows else load()\nprint(result.config)",
        "result = tune.Tuner(second).fit().get_best_result() if rows else first.fit()\nprint(result.config)",
        "if rows:\n    result = first.fit()\nelse:\n    result = second.fit()\nprint(result.config)",
        "print((first.fit() if rows else second.fit()).config)",
        "settings = result.config if (result := first.fit()) else {}",
        "done = []\nfor one in (first, second):\n    done.append(one.fit())\nfor each in done:\n    print(each.config)",
        "done = {'a': first.fit(), 'b': second.fit()}\nfor name, each in done.items():\n    print(each.config)",
        "done = [one.fit() for one in (first, second)]\nprint(min(done, key=lambda each: each.config['lr']))",
    ],
)
def test_the_config_of_a_result_is_told_whichever_trainer_it_comes_from(read: str) -> None:
    outcome = converted(SEVERAL.format(read=read))
    assert len(outcome.lines("RM604", Kind.MANUAL)) == 1
    assert any("result.config raises" in message for message in outcome.messages)


def test_log_dir_is_path_for_results_of_all_trainers_and_told_where_something_else_may_come() -> None:
    shown = "for each in [first.fit(), second.fit()]:\n    print(each.log_dir)"
    assert "print(each.path)" in converted(SEVERAL.format(read=shown)).text
    for tracked in ('mlflow.log_param("logs", str(each.log_dir))', 'mlflow.set_tag("logs", each.log_dir)'):
        assert (
            tracked.replace("log_dir", "path") in converted(SEVERAL.format(read=f"each = first.fit()\n{tracked}")).text
        )
    mixed = "each = first.fit() if rows else load()\nprint(each.log_dir)"
    assert len(converted(SEVERAL.format(read=mixed)).lines("RM604", Kind.MANUAL)) == 1


OF_TORCH = "TorchCheckpoint(checkpoint.path, checkpoint.filesystem).get_model(model) of ray.train.torch loads it"


@pytest.mark.parametrize(
    ("imports", "made", "advice"),
    [
        ("from ray.train.torch import TorchCheckpoint", "TorchCheckpoint.from_model(x)", OF_TORCH),
        ("from ray.train import torch", "torch.TorchCheckpoint(x)", OF_TORCH),
        ("from ray.train.xgboost import XGBoostCheckpoint", "XGBoostCheckpoint(x)", "Make it a XGBoostCheckpoint"),
        ("from ray.train import Checkpoint", "Checkpoint(x)", "from_pretrained"),
    ],
)
def test_a_checkpoint_class_that_loads_models_is_named(imports: str, made: str, advice: str) -> None:
    outcome = converted(
        f"from ray.air.config import ScalingConfig\n{imports}\nmade = {made}\nmodel = result.checkpoint.get_model()\n"
    )
    assert advice in "".join(outcome.messages)


TWO_JOBS = """
from ray.air import session
from ray.train.torch import TorchTrainer
from checkpoints import save


def whole(config):
    for step in range(3):
        session.report({{"step": step}}, checkpoint=save(step))


def loops():
    def inner(config):
        whole(config)

    return inner, {{"step": 1}}


def bare(config):
    session.report({{"loss": 1}})


first, config = loops()
TorchTrainer(bare).fit()
TorchTrainer(lambda config: session.report({{"loss": 2}})).fit()
trainer = {trainer}
result = trainer.fit()
print(result.metrics["step"])
"""


@pytest.mark.parametrize(
    ("trainer", "told"),
    [
        ("TorchTrainer(whole)", []),
        ("TorchTrainer(first, train_loop_config=config)", []),
        ('TorchTrainer.restore("/runs/a", train_loop_per_worker=first)', []),
        ("TorchTrainer(whole if config else bare)", [27]),
        ("TorchTrainer(bare)", [27]),
        ("TorchTrainer(find())", [27]),
    ],
)
def test_the_reports_are_those_of_the_trainer_whose_result_it_is(trainer: str, told: list[int]) -> None:
    assert converted(TWO_JOBS.format(trainer=trainer)).lines("RM605", Kind.MANUAL) == told


TABLE = """
from ray.air import RunConfig, ScalingConfig, session
from ray.air.checkpoint import Checkpoint
from ray.air.config import CheckpointConfig
from ray.train.torch import TorchTrainer

def loop(config):
    for epoch in range(3):
        session.report({{"epoch": epoch}}, {checkpoint})

def fit():
    return TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2){more}).fit()

print(fit().metrics_dataframe)
"""
EACH = "checkpoint=Checkpoint.from_dict({'epoch': epoch})"


@pytest.mark.parametrize("more", ["", ", run_config=RunConfig(name='a')", ", run_config=None"])
def test_a_table_has_all_rows_where_each_report_has_a_checkpoint(more: str) -> None:
    outcome = converted(TABLE.format(checkpoint=EACH, more=more))
    assert outcome.lines("RM604", Kind.NOTE) and not outcome.lines("RM604", Kind.MANUAL)
    assert any("a row for each report on Ray >= 2.51 too" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("checkpoint", "more", "by_score"),
    [
        (EACH.replace(")", ") if epoch else None"), "", False),
        (EACH, ", run_config=RunConfig(checkpoint_config=CheckpointConfig(num_to_keep=2))", False),
        (EACH, ", run_config=found()", False),
        (EACH, ", **more", False),
        (EACH, ", run_config=RunConfig(**more)", False),
        (EACH, ", run_config=RunConfig(checkpoint_config=CheckpointConfig(checkpoint_score_attribute=None))", False),
        ("checkpoint=config.get('checkpoint')", "", False),
        (EACH, ", run_config=RunConfig(checkpoint_config=CheckpointConfig(checkpoint_score_attribute='epoch'))", True),
    ],
)
def test_a_table_lacks_rows_else_and_is_in_the_order_of_a_score(checkpoint: str, more: str, by_score: bool) -> None:
    outcome = converted(TABLE.format(checkpoint=checkpoint, more=more))
    (said,) = (message for message in outcome.messages if "has a row for each checkpoint that is kept" in message)
    assert outcome.lines("RM604", Kind.MANUAL)
    assert ("in the order of the score" in said) == ("Sort the rows" in said) == by_score


@pytest.mark.parametrize("more", ["", ", run_config=RunConfig(checkpoint_config=CheckpointConfig(num_to_keep=2))"])
def test_a_table_without_any_checkpoint_is_none(more: str) -> None:
    outcome = converted(TABLE.format(checkpoint="checkpoint=None", more=more))
    assert outcome.lines("RM604", Kind.MANUAL)
    assert any("metrics_dataframe is None on Ray >= 2.51, as nothing" in message for message in outcome.messages)
    assert not any("for each checkpoint" in message for message in outcome.messages)


def test_a_legacy_trainer_reports_by_itself() -> None:
    script = """
    from ray.train.huggingface import TransformersTrainer
    from transformers import Trainer, TrainingArguments

    def init(train_dataset, eval_dataset=None, **config):
        return Trainer(model=config["model"], args=TrainingArguments("out", save_strategy="epoch"))

    result = TransformersTrainer(trainer_init_per_worker=init).fit()
    print(result.metrics_dataframe)
    """
    outcome = converted(script)
    assert any("has a row for each checkpoint that is kept" in message for message in outcome.messages)
    assert not any("metrics_dataframe is None" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("def loop(config)", "def loop(config, last=None)"),
        ("session.report({", "(report := session.report)({"),
        ("return TorchTrainer(", "return TorchTrainer.restore('/runs/a')\n    return TorchTrainer("),
        ("def fit():", "CONFIG = RunConfig()\nCONFIG.checkpoint_config.num_to_keep = 1\n\ndef fit():"),
        ("TorchTrainer(loop", "TorchTrainer(find()"),
    ],
)
def test_a_table_is_not_said_to_be_whole_where_that_is_not_seen(part: str, other: str) -> None:
    checkpoint = "checkpoint=last" if "last" in other else EACH
    more = ", run_config=CONFIG" if "CONFIG" in other else ""
    whole = TABLE.format(checkpoint=EACH, more="")
    assert part in whole
    outcome = converted(TABLE.format(checkpoint=checkpoint, more=more).replace(part, other))
    assert outcome.lines("RM604", Kind.MANUAL)
    assert not any("a row for each report on Ray" in message for message in outcome.messages)
