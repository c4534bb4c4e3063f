"""RM604, for keys: what is looked up in the metrics of a result, of its checkpoints, and in the table of all."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

FITTED = """
import copy
import pandas as pd
import ray
import seaborn as sns
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import build, rows

trainer = TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets=rows)
result = trainer.fit()
best = result.best_checkpoints
df = result.metrics_dataframe
"""
OF_CHECKPOINT = 'The metrics of a checkpoint have no "date" on Ray >= 2.51: this '
OF_TABLE = 'result.metrics_dataframe has no column "date" on Ray >= 2.51: this '


def told(script: str) -> list[str]:
    """What RM604 says of keys and columns."""
    return [message for message in converted(script).messages if " have no " in message or " has no " in message]


@pytest.mark.parametrize(
    "read",
    [
        'checkpoint, m = min(best, key=lambda c: c[1]["eval_loss"])\nprint(m["date"])',
        'print(best[-1][1]["date"])',
        'print(best[0][-1]["date"])',
        'for checkpoint, m in best:\n    print(m["date"])',
        'for number, (checkpoint, m) in enumerate(best):\n    print(m["date"])',
        'last = max(best, key=lambda pair: pair[1]["date"])',
        'm = sorted(best, key=lambda pair: pair[1]["eval_loss"])[0][1]\nprint(m["date"])',
        'pair = next(p for p in best if p[1]["eval_loss"] < 1)\nprint(pair[1]["date"])',
        'checkpoints, every = zip(*best)\nprint([m["date"] for m in every])',
        'every = [m for _, m in best]\nprint(every[-1]["date"])',
        '*_, (checkpoint, m) = best\nprint(m["date"])',
        '*_, last = best\nprint(last[1]["date"])',
        'print(best.pop()[1]["date"])',
        'm = dict(best[0][1])\nm["own"] = 1\nprint(m["date"])',
        'm = {**best[0][1], "own": 1}\nprint(m["date"])',
        'm = {k: v for k, v in best[0][1].items()}\nprint(m["date"])',
        'm = {key: str(v) for key, v in best[0][1].items() if v}\nprint(m["date"])',
        'm = copy.deepcopy(best[0][1])\nprint(m.pop("date"))',
        'def latest(pairs):\n    return max(pairs, key=lambda p: p[1]["date"])\n\n\nlatest(best)',
        'print(pd.DataFrame([m for _, m in best])["date"])',
        'for one in [trainer.fit() for _ in "ab"]:\n    print(one.best_checkpoints[0][1]["date"])',
    ],
)
def test_the_metrics_of_a_checkpoint_lack_what_tune_filled_in(read: str) -> None:
    assert [m.startswith(OF_CHECKPOINT) for m in told(f"{FITTED}{read}\n")] == [True]


@pytest.mark.parametrize(
    ("read", "outcome"),
    [
        ('print(best[0][1]["date"])', "raises a KeyError."),
        ('print(best[0][1].get("date"))', "gives the default."),
        ('print(best[0][1].pop("date", None))', "gives the default."),
        ('print("date" in best[0][1])', "is False."),
        ('m = best[0][1]\nprint(m["date"] if "date" in m else "")', "is False."),
        ('result.get_best_checkpoint("date", "max")', "raises a RuntimeError."),
        ('print("on {date}".format(**best[0][1]))', "raises a KeyError."),
        ('print("on %(date)s" % best[0][1])', "raises a KeyError."),
        ('match best[0][1]:\n    case {"date": date}:\n        print(date)', "case never fits."),
    ],
)
def test_what_comes_of_a_missing_key_is_told(read: str, outcome: str) -> None:
    (message,) = told(f"{FITTED}{read}\n")
    assert message.startswith(OF_CHECKPOINT + outcome)


@pytest.mark.parametrize(
    ("read", "outcome"),
    [
        ('print(df[["step", "date"]])', "raises a KeyError."),
        ('print(result.metrics_dataframe["date"].max())', "raises a KeyError."),
        ('df.set_index("date")', "raises a KeyError."),
        ('print(df.sort_values(by="date").tail(1))', "raises a KeyError."),
        ('df.plot(x="date", y="loss")', "raises a KeyError."),
        ('df.plot.line(x="date", y="loss")', "raises a KeyError."),
        ('print(df.loc[df["loss"].idxmin(), "date"])', "raises a KeyError."),
        ('print(df.iloc[-1]["date"])', "raises a KeyError."),
        ('for _, row in df.iterrows():\n    print(row["date"])', "raises a KeyError."),
        ('print(df.apply(lambda row: row["date"], axis=1))', "raises a KeyError."),
        ('print(df.dropna().to_dict("records")[0]["date"])', "raises a KeyError."),
        ('print(df.groupby("epoch").agg({"date": "max"}))', "raises a KeyError."),
        ('print(pd.concat([df, df])["date"])', "raises a KeyError."),
        ("print(df.date)", "raises an AttributeError."),
        ('df.drop(columns=["date"])', "raises a KeyError."),
        ('df.drop(columns=["date"], errors="ignore")', "finds nothing."),
        ('df.rename(columns={"date": "day"})', "finds nothing."),
        ("df.query(\"date > '2023'\")", "raises an error."),
        ('sns.lineplot(data=df, x="date", y="loss")', "raises an error."),
        ('columns = ["step", "date"]\nprint(df[columns])', "raises a KeyError."),
        ('df.to_csv("a.csv", columns=["step", "date"])', "raises a KeyError."),
    ],
)
def test_the_table_of_metrics_lacks_the_columns_that_tune_filled_in(read: str, outcome: str) -> None:
    (message,) = told(f"{FITTED}{read}\n")
    assert message.startswith(OF_TABLE + outcome)
    assert message.endswith('"date": report the date from the training function.')


@pytest.mark.parametrize(
    "read",
    [
        'df["date"] = 1\nprint(df["date"])',
        'more = df.assign(date=1)\nprint(more["date"])',
        'm = {**best[0][1], "date": 1}\nprint(m["date"])',
        'm = best[0][1] | {"date": 1}\nprint(m["date"])',
        'm = dict(best[0][1], date=1)\nprint(m["date"])',
        'm = best[0][1]\nm.update({"date": 1})\nprint(m["date"])',
        'result.metrics["date"] = "today"\nprint(result.metrics["date"])',
        'def loop():\n    ray.train.report({"loss": 1, "date": 2})\n\n\nprint(result.metrics["date"])',
        'def loop():\n    m = {"loss": 1}\n    m["date"] = 2\n    ray.train.report(m)\n\n\nprint(best[0][1]["date"])',
        'print(best[0][1]["eval_loss"], df["step"], {"date": 1}["date"], rows["date"])',
        'print(best[0][0]["date"], [1, {"date": 2}][1]["date"])',  # a checkpoint has no keys at all
        'pairs = [("a", {"date": 1})]\nprint(pairs[0][1]["date"], [m["date"] for _, m in pairs])',
        'frame = pd.DataFrame([{"date": 1}])\nprint(frame["date"], frame.date, frame.set_index("date"))',
        'df.to_csv("date")',
        'ask = result.get_best_checkpoint\nprint(ask("date", "max"))',
        'print("date" == best[0][1], "date" < df)',
    ],
)
def test_what_the_script_puts_there_and_what_others_hold_is_not_told(read: str) -> None:
    assert not told(f"{FITTED}{read}\n")


RESTORED = """
import pytest
from ray.air.config import ScalingConfig
from ray.ml.train.integrations.huggingface import HuggingFaceTrainer as OldTrainer
from ray.train.data_parallel_trainer import DataParallelTrainer
from ray.train.huggingface import TransformersTrainer
from ray.train.rl import RLTrainer
from ray.train.torch import TorchTrainer
from ray.train.xgboost import XGBoostTrainer


class OwnTrainer(TorchTrainer):
    pass


trainer = {trainer}
result = trainer.fit()
print(result.metrics["training_iteration"], result.best_checkpoints[0][1]["date"])
print(folder in result.log_dir.parents)
"""


@pytest.mark.parametrize(
    "trainer",
    [
        'TorchTrainer.restore("/runs/a")',
        "OldTrainer(loop)",
        'DataParallelTrainer.restore("/runs/a", datasets={})',
        'XGBoostTrainer.restore("/runs/a")',
        'TransformersTrainer.restore("/runs/a")',
        'OwnTrainer.restore("/runs/a")',
        'TorchTrainer.restore("/runs/a") if rows else TorchTrainer(loop)',
        "OwnTrainer(loop)",
        "XGBoostTrainer(loop)",
    ],
)
def test_results_of_restored_trainers_and_of_all_that_ray_has_are_results(trainer: str) -> None:
    outcome = converted(RESTORED.format(trainer=trainer))
    assert outcome.lines("RM604", Kind.MANUAL) == [17, 17, 18]


def test_results_of_a_class_in_a_parameter_are_results() -> None:
    test = """
    import pytest
    from ray.train.lightgbm import LightGBMTrainer
    from ray.train.xgboost import XGBoostTrainer


    @pytest.mark.parametrize("trainer_cls", [XGBoostTrainer, LightGBMTrainer])
    def test_restore(tmpdir, trainer_cls):
        result = trainer_cls.restore(str(tmpdir)).fit()
        assert result.metrics["training_iteration"] == 5
        assert tmpdir in result.log_dir.parents
    """
    assert converted(test).lines("RM604", Kind.MANUAL) == [9, 10]


@pytest.mark.parametrize("trainer", ['Own.restore("/runs/a")', "RLTrainer(algorithm=1)", 'keras.restore("a")'])
def test_what_others_restore_or_fit_has_its_own_results(trainer: str) -> None:
    own = "import keras\n\n\nclass Own:\n    @classmethod\n    def restore(cls, path): ...\n\n\ntrainer = "
    outcome = converted(RESTORED.format(trainer=trainer).replace("trainer = ", own))
    assert not outcome.lines("RM604", Kind.MANUAL)


BESIDE_LOOPS = """
import ray
from ray import train
from ray.train.data_parallel_trainer import DataParallelTrainer
from ray.train.huggingface import TransformersTrainer
from ray.train.torch import TorchTrainer
from transformers import TrainerCallback


def other():
    report()


def report():
    train.report({{"training_iteration": 1}})


class Counter(TrainerCallback):
    def on_log(self, args, state, control, **kwargs):
        {callback}


def test_restore(path):
    result = {trainer}.fit()
    assert result.metrics["training_iteration"] == 5


def test_other():
    {loop}.fit()
"""
RESTORES = "TransformersTrainer.restore(path, datasets={})"


@pytest.mark.parametrize("trainer", [RESTORES, "TransformersTrainer(**read(path))", "TransformersTrainer(find(path))"])
@pytest.mark.parametrize(
    "loop", ["TorchTrainer(other)", "DataParallelTrainer(lambda: report())", "TorchTrainer.restore('/runs/a', other)"]
)
def test_reports_of_other_loops_are_none_of_a_trainer_that_cannot_be_seen(trainer: str, loop: str) -> None:
    outcome = converted(BESIDE_LOOPS.format(trainer=trainer, loop=loop, callback="pass"))
    assert outcome.lines("RM604", Kind.MANUAL) == [24]


@pytest.mark.parametrize(
    ("trainer", "loop", "callback"),
    [
        (RESTORES, "find()", "pass"),  # whose loop report() is, cannot be seen
        (RESTORES, "TorchTrainer(other)", 'train.report({"training_iteration": 2})'),
        ("TorchTrainer(find(path))", "TorchTrainer(other)", "pass"),
    ],
)
def test_a_key_that_may_be_reported_is_not_told(trainer: str, loop: str, callback: str) -> None:
    outcome = converted(BESIDE_LOOPS.format(trainer=trainer, loop=loop, callback=callback))
    assert not outcome.lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize("key", ["_training_iteration", "_time_this_iter_s", "_timestamp", "_time_total_s", "_pid"])
def test_what_ray_train_filled_in_itself_is_told(key: str) -> None:
    (message,) = told(f'{FITTED}print(result.metrics["{key}"])\n')
    assert f'no "{key}"' in message
    assert told(f'{FITTED}print(df[["step", "{key}"]])\n')
    assert not told(f'def loop():\n    ray.train.report({{"{key}": 1}})\n\n\n{FITTED}print(result.metrics["{key}"])\n')


@pytest.mark.parametrize(
    "made",
    [
        "{'date' + k: v for k, v in best[0][1].items()}",
        "{v: k for k, v in best[0][1].items()}",
        "{k: v for k, v in rows.items()}",
    ],
)
def test_a_dict_with_other_keys_is_left(made: str) -> None:
    assert told(f"{FITTED}m = {made}\nprint(m['date'])\n") == []
