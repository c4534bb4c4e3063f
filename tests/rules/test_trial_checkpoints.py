"""RM608, RM405: what reads a trial's checkpoints otherwise than from its result, and what trials are called."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

SCRIPT = """
import os
from ray import tune
from ray.air.config import RunConfig, ScalingConfig
from ray.air.integrations.comet import CometLoggerCallback
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.air.integrations.wandb import WandbLoggerCallback as Wandb
from ray.train.torch import TorchTrainer as Trainer
from ray.tune import ExperimentAnalysis


def loop(config):
    print(config)


def objective(config):
    tune.report({{"loss": 1.0}})


{before}
trainer = Trainer(loop, scaling_config=ScalingConfig(num_workers=2))
tuner = tune.Tuner({trainable}, run_config={run_config})
results = tuner.fit()
best = results.get_best_result(metric="loss", mode="min")
{after}
"""


def script(*, run_config: str = "RunConfig()", trainable: str = "trainer", before: str = "", after: str = "") -> str:
    return SCRIPT.format(run_config=run_config, trainable=trainable, before=before, after=after)


LOGGERS = {
    "in the list": ("", 'RunConfig(callbacks=[MLflowLoggerCallback(experiment_name="e", save_artifact=True)])'),
    "another name": ("", 'RunConfig(callbacks=[Wandb(project="p", upload_checkpoints=True)])'),
    "old argument": ("", 'RunConfig(callbacks=[Wandb(project="p", save_checkpoints=True)])'),
    "at run time": ("", 'RunConfig(callbacks=[CometLoggerCallback(save_checkpoints=bool(os.environ.get("SAVE")))])'),
    "in a variable": ('logger = Wandb(project="p", upload_checkpoints=True)', "RunConfig(callbacks=[logger])"),
    "list in a variable": ("loggers = [CometLoggerCallback(save_checkpoints=True)]", "RunConfig(callbacks=loggers)"),
    "appended": (
        "loggers = []\nif os.environ.get('LOG'):\n    loggers.append(CometLoggerCallback(save_checkpoints=True))",
        "RunConfig(callbacks=loggers)",
    ),
    "of a function": (
        'def logger():\n    return Wandb(project="p", upload_checkpoints=True)\n\n',
        "RunConfig(callbacks=[logger()])",
    ),
    "config in a variable": (
        "config = RunConfig(callbacks=[CometLoggerCallback(save_checkpoints=True)])",
        "config",
    ),
}


@pytest.mark.parametrize("case", LOGGERS)
def test_a_logger_uploads_no_checkpoints_of_trials(case: str) -> None:
    before, run_config = LOGGERS[case]
    outcome = converted(script(before=before, run_config=run_config))
    assert len(outcome.lines("RM608", Kind.MANUAL)) == 1
    again = converted(outcome.text)
    assert len(again.lines("RM608", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("before", "run_config", "trainable"),
    [
        ("", 'RunConfig(callbacks=[Wandb(project="p")])', "trainer"),
        ("", 'RunConfig(callbacks=[Wandb(project="p", upload_checkpoints=False)])', "trainer"),
        ("", 'RunConfig(callbacks=[MLflowLoggerCallback(save_artifact=None, experiment_name="e")])', "trainer"),
        ("", 'RunConfig(callbacks=[Wandb(project="p", upload_checkpoints=True)])', "objective"),
        ("import mine", "RunConfig(callbacks=[mine.WandbLoggerCallback(upload_checkpoints=True)])", "trainer"),
        (
            "class Own(tune.Callback):\n    def __init__(self, save_artifact):\n        pass\n\n",
            "RunConfig(callbacks=[Own(save_artifact=True)])",
            "trainer",
        ),
    ],
)
def test_other_callbacks_lose_nothing(before: str, run_config: str, trainable: str) -> None:
    outcome = converted(script(before=before, run_config=run_config, trainable=trainable))
    assert not outcome.lines("RM608", Kind.MANUAL)


@pytest.mark.parametrize(
    "read",
    [
        "print(results._experiment_analysis.best_checkpoint)",
        "analysis = results._experiment_analysis\nprint(analysis.get_last_checkpoint())",
        'print(ExperimentAnalysis("/mnt/search").get_best_checkpoint(best, "loss", "min"))',
        "print(tune.run(trainer.as_trainable()).get_best_checkpoint(best))",
        "print(tune.Result.from_path(best.path).checkpoint)",
        'print(tune.Result.from_path(str(best.path) + "/").best_checkpoints[0])',
    ],
)
def test_an_analysis_or_folder_of_trials_has_no_checkpoints(read: str) -> None:
    assert len(converted(script(after=read)).lines("RM608", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("trainable", "read"),
    [
        ("objective", "print(results._experiment_analysis.best_checkpoint)"),
        ("objective", "print(tune.Result.from_path(best.path).checkpoint)"),
        ("trainer", "print(tune.run(objective).best_checkpoint)"),
        ("trainer", "print(tuner.best_checkpoint, os.best_checkpoint)"),
        ("trainer", 'print(tune.Result.from_path("/mnt/older").checkpoint)'),
    ],
)
def test_those_of_other_trials_do(trainable: str, read: str) -> None:
    assert not converted(script(trainable=trainable, after=read)).lines("RM608", Kind.MANUAL)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("objective", "trainer.as_trainable()", "If these trials fit a trainer: get_best_checkpoint of"),
        ("trainer.as_trainable()", "tune.with_parameters(objective)", "If these trials fit a trainer: get_best"),
        ("trainer.as_trainable()", "trainer.as_trainable()", "get_best_checkpoint of an ExperimentAnalysis returns"),
        ("objective", "objective", None),
    ],
)
def test_a_function_may_get_an_analysis_of_other_trials_too(first: str, second: str, told: str | None) -> None:
    show = "def show(analysis):\n    print(analysis.get_best_checkpoint(best))\n\n"
    outcome = converted(script(after=f"{show}show(tune.run({first}))\nshow(tune.run({second}))"))
    messages = [message for message in outcome.messages if "of an ExperimentAnalysis" in message]
    assert len(messages) == (told is not None) and all(message.startswith(told or "") for message in messages)


@pytest.mark.parametrize("of", ["ray.air.Result", "ray.air.result.Result", "ray.train.Result"])
def test_the_result_of_a_trial_is_not_read_by_that_of_a_trainer(of: str) -> None:
    outcome = converted(
        script(before="import ray.air\nimport ray.train", after=f"print({of}.from_path('/mnt/runs/a'))")
    )
    assert len(outcome.lines("RM604", Kind.MANUAL)) == 1
    assert any("or of a Tuner's trial" in message for message in outcome.messages)


def test_a_result_that_is_read_in_code_of_today_is_no_news() -> None:
    outcome = converted("import ray.train\nprint(ray.train.Result.from_path('/mnt/runs/a').checkpoint)\n")
    assert not outcome.findings


def test_a_logger_of_another_file_is_told_at_the_tuner(tmp_path: Path) -> None:
    (tmp_path / "loggers.py").write_text(
        "from ray.air.integrations.wandb import WandbLoggerCallback\n\n"
        'LOGGER = WandbLoggerCallback(project="p", upload_checkpoints=True)\n'
    )
    search = script(before="from loggers import LOGGER", run_config="RunConfig(callbacks=[LOGGER])")
    (tmp_path / "search.py").write_text(search)
    shown = CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    assert "WandbLoggerCallback(upload_checkpoints=) uploads no checkpoints" in shown


NAMED = '\n\ntrain_driver.__name__ = "TorchTrainer"  # what trials are called, as before\n'


@pytest.mark.parametrize(
    "read",
    [
        {"run_config": 'RunConfig(callbacks=[CometLoggerCallback(workspace="w")])'},
        {"after": 'print(open(f"{best.path}/../TorchTrainer_1a2b3_00000/result.json"))'},
        {"before": 'config = RunConfig(callbacks=[Wandb(project="p")])', "run_config": "config"},
    ],
)
def test_trials_keep_their_names_where_something_may_read_them(read: dict[str, str]) -> None:
    outcome = converted(script(**read))
    assert NAMED in outcome.text
    again = converted(outcome.text)
    assert again.text == outcome.text and not again.lines("RM405", Kind.MANUAL)


@pytest.mark.parametrize("config", ["RunConfig()", "RunConfig(callbacks=None)", 'RunConfig(name="n")', "None"])
def test_trials_need_no_name_where_nothing_is_seen_to_read_it(config: str) -> None:
    outcome = converted(script(run_config=config))
    assert "def train_driver" in outcome.text and "__name__" not in outcome.text


def test_the_function_may_read_what_is_bound_between_it_and_the_tuner() -> None:
    later = script().replace("\ntuner = ", '\nconfig = RunConfig(name="search", storage_path=FOLDER)\ntuner = ')
    outcome = converted(later.replace("run_config=RunConfig()", "run_config=config"))
    assert "def train_driver(config):" in outcome.text


def test_the_name_of_a_trial_is_a_tag_in_mlflow() -> None:
    run_config = 'RunConfig(callbacks=[MLflowLoggerCallback(experiment_name="e")])'
    text = script(run_config=run_config).replace("num_workers=2)", f"num_workers=2), run_config={run_config}")
    fitted = text.replace("tuner = tune.Tuner(trainer, run_config=" + run_config + ")\n", "").replace(
        "tuner.", "trainer."
    )
    outcome = converted(fitted.partition("best = ")[0])
    assert 'trial_name = f"TorchTrainer_{run_context.run_config.name}"' in outcome.text
    assert 'client.set_tag(self.run_id, "trial_name", trial_name)' in outcome.text


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("tune.Tuner.restore('/r').get_results()[0].checkpoint", True),
        ("grid = tune.Tuner.restore(path='/r').fit()\nfor one in grid:\n    use(one.best_checkpoints)", True),
        ("tune.Tuner.restore('/r').fit().get_best_result('loss', 'min').get_best_checkpoint('loss', 'min')", True),
        ("tune.Tuner.restore('/r', trainable=objective).get_results()[0].checkpoint", False),
        ("tune.Tuner.restore('/r', objective).get_results()[0].checkpoint", False),
        ("tune.Tuner.restore(**given).get_results()[0].checkpoint", False),
    ],
)
def test_trials_of_a_tuner_that_is_restored_without_its_trainable_may_fit_a_trainer(body: str, told: bool) -> None:
    head = "from ray import tune\n\n\ndef objective(config):\n    tune.report({'loss': 1.0})\n\n\n"
    outcome = converted(f"{head}{body}\n")
    assert bool(outcome.lines("RM608", Kind.MANUAL)) is told
    assert any(message.startswith("Where this is the result of a trial") for message in outcome.messages) is told


COPIED = "The folder of a trial that fits a trainer holds no checkpoints on Ray >= 2.51, so that"


@pytest.mark.parametrize(
    "after",
    [
        "import shutil\nshutil.copytree(best.path, 'best')",
        "from shutil import copytree\nfolder = str(best.log_dir)\ncopytree(folder, 'best')",
        "import shutil\nfor trial in results:\n    shutil.make_archive('best', 'zip', root_dir=trial.path)",
        "dbutils.fs.cp('file:' + str(best.log_dir), 'dbfs:/best', recurse=True)",
        "import mlflow\nmlflow.log_artifacts(f'{results.get_best_result().path}')",
        "import shutil\npath = best.path\nfor _ in range(2):\n    path = str(path)\nshutil.move(path, dst='best')",
        "fs.put(best.path, 'best', recursive=True)",
    ],
)
def test_a_copy_of_the_folder_of_a_trial_has_none(after: str) -> None:
    assert sum(COPIED in message for message in converted(script(after=after)).messages) == 1


@pytest.mark.parametrize(
    ("trainable", "after"),
    [
        ("objective", "import shutil\nshutil.copytree(best.path, 'best')"),
        ("trainer", "import shutil\nshutil.copytree(os.path.join(best.path, 'plots'), 'best')"),
        ("trainer", "import shutil\nshutil.copytree(f'{best.path}/plots', 'best')"),
        ("trainer", "import shutil\nshutil.copytree('data', 'best')\nprint(best.path)"),
        ("trainer", "import shutil\nshutil.copytree(trainer.fit().path, 'best')"),
        ("trainer", "import shutil\nshutil.copytree('plots', best.path, dirs_exist_ok=True)"),
        ("trainer", "import shutil\nshutil.move('plots', dst=best.path)"),
        ("trainer", "import shutil\nshutil.make_archive(best.path, 'zip', 'plots')"),
        ("trainer", "fs.put('plots', best.path)"),
        ("trainer", "queue.put(best.path)\nray.put(best.path)"),
        ("trainer", "text = ''\nfor _ in range(2):\n    text = 'a' + text\n    fs.put(text, 'a')\nprint(best.path)"),
    ],
)
def test_other_copies_are_none_of_its_concern(trainable: str, after: str) -> None:
    outcome = converted(script(trainable=trainable, after=after))
    assert not any(COPIED in message for message in outcome.messages)
