"""RM408: what the callbacks of trackers need to log in from the controller."""

import ast
import contextlib
import os
import textwrap
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.tracking import emitted_tracking
from tests.rules.scripts import converted

SCRIPT = """
import os
from ray.air.config import RunConfig, ScalingConfig
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.air.integrations.wandb import WandbLoggerCallback
from ray.train.huggingface import TransformersTrainer
from job import build, train_ds, token

os.environ["{variable}"] = token
trainer = TransformersTrainer(
    trainer_init_per_worker=build,
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    run_config=RunConfig(callbacks=[{callback}]),
    datasets={{"train": train_ds}},
)
trainer.fit()
"""
MLFLOW = 'MLflowLoggerCallback(tracking_uri="https://mlflow.example.org", experiment_name="e")'
LATE = MLFLOW.replace(")", ", save_artifact=True)")
WANDB = 'WandbLoggerCallback(project="p")'


@pytest.mark.parametrize(
    ("variable", "callback", "prefix"),
    [
        ("MLFLOW_TRACKING_TOKEN", MLFLOW, '("MLFLOW_", "DATABRICKS_")'),
        ("DATABRICKS_TOKEN", LATE, '("MLFLOW_", "DATABRICKS_")'),
        ("WANDB_API_KEY", WANDB, '"WANDB_"'),
    ],
)
def test_what_the_driver_sets_in_its_environment_reaches_the_callback(
    variable: str, callback: str, prefix: str
) -> None:
    after = converted(SCRIPT.format(variable=variable, callback=callback)).text
    assert f"for key, value in os.environ.items() if key.startswith({prefix})" in after
    assert "self.client()" in after or "env_vars" in after


def test_why_a_logger_stays_that_something_else_has_too() -> None:
    script = SCRIPT.format(variable="A", callback="logger")
    script = script.replace("trainer = ", f"logger = {WANDB}\nprint(logger)\ntrainer = ")
    message = next(message for message in converted(script).messages if "not converted" in message)
    assert "it is used at several places" in message


def test_a_logger_that_the_script_can_do_without_stays() -> None:
    given = "from ray.air.integrations.mlflow import MLflowLoggerCallback\n"
    tried = f"try:\n    {given}except ImportError:\n    MLflowLoggerCallback = None\n"
    outcome = converted(SCRIPT.replace(given, tried).format(variable="MLFLOW_TRACKING_TOKEN", callback=MLFLOW))
    assert len(outcome.lines("RM408", Kind.MANUAL)) == 1
    assert any("its import may fail, and the file goes on" in message for message in outcome.messages)
    assert tried in outcome.text
    leaves = tried.replace("MLflowLoggerCallback = None", "raise SystemExit")
    outcome = converted(SCRIPT.replace(given, leaves).format(variable="MLFLOW_TRACKING_TOKEN", callback=MLFLOW))
    assert outcome.lines("RM408", Kind.CONVERTED)


def test_every_argument_that_is_in_the_way_is_told_at_once() -> None:
    callback = WANDB.replace(")", ', excludes=["loss"], log_config=True)')
    outcome = converted(SCRIPT.format(variable="A", callback=callback))
    message = next(message for message in outcome.messages if "not converted" in message)
    assert "excludes=: " in message and "; log_config=: " in message


@pytest.mark.parametrize(
    ("by_position", "by_name"),
    [
        ('WandbLoggerCallback("p", group="g")', 'WandbLoggerCallback(project="p", group="g")'),
        ("WandbLoggerCallback(token)", "WandbLoggerCallback(project=token)"),
        (
            'MLflowLoggerCallback("databricks", experiment_name="e")',
            MLFLOW.replace("https://mlflow.example.org", "databricks"),
        ),
    ],
)
def test_the_first_argument_may_be_given_by_position(by_position: str, by_name: str) -> None:
    outcome = converted(SCRIPT.format(variable="A", callback=by_position))
    assert outcome.lines("RM408", Kind.CONVERTED)
    assert outcome.text == converted(SCRIPT.format(variable="A", callback=by_name)).text


@pytest.mark.parametrize(
    "callback", ['WandbLoggerCallback("p", "g")', "WandbLoggerCallback(*token)", "MLflowLoggerCallback(**token)"]
)
def test_other_arguments_by_position_are_in_the_way(callback: str) -> None:
    outcome = converted(SCRIPT.format(variable="A", callback=callback))
    assert outcome.lines("RM408", Kind.MANUAL)
    assert any("its arguments cannot be seen" in message for message in outcome.messages)


BUILT = """
from ray.air.config import RunConfig, ScalingConfig
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.train.huggingface import TransformersTrainer
from job import build, train_ds, arguments

{run_config}
trainer = TransformersTrainer(
    trainer_init_per_worker=build,
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    run_config=run_config,
    datasets={{"train": train_ds}},
)
trainer.fit()
"""


CHOSEN = {
    "appended on a condition": f"callbacks = []\nif arguments.track:\n    callbacks.append({MLFLOW})",
    "extended": f"callbacks = list()\ncallbacks.extend([{MLFLOW}])",
    "in a sum": f"logger = {MLFLOW}\ncallbacks = []\ncallbacks.extend([] + [logger])",
    "in a branch": f"if arguments.track:\n    callbacks = [{MLFLOW}]\nelse:\n    callbacks = None",
}
MADE = f"def make():\n    found = []\n    found.append({MLFLOW})\n    return found\n"


def _ended(run_config: str) -> tuple[list[str], str]:
    """The lines before and after the training that are about a list of callbacks, and all of it."""
    outcome = converted(BUILT.format(run_config=run_config))
    assert outcome.lines("RM408", Kind.CONVERTED)
    assert not outcome.lines("RM408", Kind.MANUAL)
    assert "LoggerCallback(" not in outcome.text
    lines = outcome.text.splitlines()
    assert lines[-3] == "result = trainer.fit()"
    return lines[-2:], outcome.text


@pytest.mark.parametrize("callbacks", CHOSEN.values(), ids=CHOSEN)
def test_loggers_in_a_list_that_is_put_together_end_their_runs(callbacks: str) -> None:
    several = "callbacks or ()" if "None" in callbacks else "callbacks"
    ends, _ = _ended(f"{callbacks}\nrun_config = RunConfig(callbacks=callbacks)")
    assert ends == [f"for callback in {several}:", "    callback.finish(result)"]


@pytest.mark.parametrize(
    ("before", "callbacks"),
    [
        (MADE, "make()"),
        ("", f"[{MLFLOW}] if arguments.track else None"),
        ("", f"[{MLFLOW}] if arguments.track else [MLflowLoggerCallback(experiment_name='f')]"),
        ("", f"[{MLFLOW} if arguments.track else MLflowLoggerCallback(experiment_name='f')]"),
        (f"loggers = [{MLFLOW}] if arguments.track else []\n", "loggers or None"),
    ],
)
def test_a_list_of_loggers_that_has_no_name_gets_one(before: str, callbacks: str) -> None:
    ends, text = _ended(f"{before}run_config = RunConfig(callbacks={callbacks})")
    several = "callbacks or ()" if "None" in callbacks else "callbacks"
    assert ends == [f"for callback in {several}:", "    callback.finish(result)"]
    assert "\ncallbacks = " in text
    assert "RunConfig(callbacks=callbacks)" in text


def test_a_name_that_has_another_list_after_the_training_is_not_read_then() -> None:
    listed = f"callbacks = [{MLFLOW}] if arguments.track else []\nrun_config = RunConfig(callbacks=callbacks)"
    ends, text = _ended(f"{listed}\ncallbacks = []")
    assert ends == ["for callback in user_callbacks:", "    callback.finish(result)"]
    assert "RunConfig(callbacks=user_callbacks)" in text


@pytest.mark.parametrize(
    "run_config",
    [
        f"callbacks = []\ncallbacks.append({MLFLOW})\nrun_config = RunConfig(callbacks=callbacks)\nuse(callbacks)",
        f"{MADE}run_config = RunConfig(callbacks=make())\nother = make()",
        f"callbacks = arguments.callbacks + [{MLFLOW}]\nrun_config = RunConfig(callbacks=callbacks)",
        f"callbacks = []\nadd(callbacks)\ncallbacks.append({MLFLOW})\nrun_config = RunConfig(callbacks=callbacks)",
    ],
    ids=["used otherwise", "made twice", "with others", "given away"],
)
def test_loggers_in_a_list_that_others_may_use_are_told(run_config: str) -> None:
    outcome = converted(BUILT.format(run_config=run_config))
    assert len(outcome.lines("RM408", Kind.MANUAL)) == 1
    assert any("raises for MLflowLoggerCallback on Ray >= 2.51; " in message for message in outcome.messages)


LOOP = "for seed in range(2):\n    trainer.fit()"
IN_FUNCTION = ("trainer = TransformersTrainer(", "def train():\n    trainer = TransformersTrainer(")
IN_LOOP = ("trainer = TransformersTrainer(", "for seed in range(2):\n    trainer = TransformersTrainer(")


@pytest.mark.parametrize(
    ("logger", "start", "fit", "stays"),
    [
        (f"logger = {MLFLOW}", ("", ""), LOOP, True),
        (f"logger = {MLFLOW}", ("", ""), "while trainer.fit().metrics['loss'] > 1:\n    pass", True),
        (f"logger = {MLFLOW}", ("", ""), "found = [trainer.fit() for seed in range(2)]", True),
        (f"logger = {MLFLOW}", ("", ""), "for one in trainer.fit().best_checkpoints:\n    print(one)", False),
        (f"logger = {MLFLOW}", ("", ""), "found = [one for one in trainer.fit().best_checkpoints]", False),
        (f"logger = {MLFLOW}", IN_FUNCTION, "    trainer.fit()\n\n\ntrain()", False),
        (f"logger = {MLFLOW}", IN_FUNCTION, "    trainer.fit()\n\n\ntrain()\ntrain()", True),
        (f"logger = {MLFLOW}", IN_FUNCTION, "    trainer.fit()\n\n\nfor seed in range(2):\n    train()", True),
        (f"def make():\n    return {MLFLOW}", IN_LOOP, "    trainer.fit()", False),
    ],
)
def test_a_logger_with_which_several_trainings_log_is_told(
    logger: str, start: tuple[str, str], fit: str, stays: bool
) -> None:
    made = "make()" if "make" in logger else "logger"
    script = BUILT.format(run_config=logger).replace(
        "run_config=run_config", f"run_config=RunConfig(callbacks=[{made}])"
    )
    told = converted(script.replace("trainer.fit()\n", f"{fit}\n").replace(*start)).lines("RM408", Kind.MANUAL)
    assert bool(told) == stays


@pytest.mark.parametrize(
    "fit",
    [
        "result = trainer.fit() if arguments.train else None",
        "arguments.train and print(trainer.fit())",
        "if arguments.test:\n    test()\nelif trainer.fit().metrics:\n    print()",
    ],
)
def test_a_training_on_a_condition_is_not_taken_out_of_it(fit: str) -> None:
    script = BUILT.format(run_config=f"run_config = RunConfig(callbacks=[{MLFLOW}])")
    outcome = converted(script.replace("trainer.fit()\n", f"{fit}\n"))
    assert outcome.lines("RM408", Kind.MANUAL) and fit in outcome.text


def test_a_training_in_a_nested_branch_ends_there() -> None:
    script = BUILT.format(run_config=f"run_config = RunConfig(callbacks=[{MLFLOW}])")
    fit = "if arguments.test:\n    test()\nelse:\n    if trainer.fit().metrics:\n        print()"
    text = converted(script.replace("trainer.fit()\n", f"{fit}\n")).text
    assert "else:\n    result = trainer.fit()\n    mlflow_callback.finish(result)\n    if result.metrics:" in text


def test_what_a_logger_needs_that_is_not_chosen_is_told() -> None:
    """Legacy Ray imported mlflow where a logger was made, the script imports it now."""
    needed = "mlflow has to be installed now, also where it is not chosen."
    for chosen in (True, False):
        loggers = f"[{MLFLOW}]{' if arguments.track else []' if chosen else ''}"
        outcome = converted(BUILT.format(run_config=f"run_config = RunConfig(callbacks={loggers})"))
        assert any(needed in message for message in outcome.messages) == chosen


@pytest.mark.parametrize("callbacks", ["None", "[]", "None if arguments.track else []"])
def test_without_a_logger_nothing_reports_what_is_logged(callbacks: str) -> None:
    text = converted(BUILT.format(run_config=f"run_config = RunConfig(callbacks={callbacks})")).text
    assert "LogReportCallback" not in text


def test_a_trainer_that_may_be_another_one_is_in_the_way() -> None:
    script = BUILT.format(run_config=f"run_config = RunConfig(callbacks=[{MLFLOW}])")
    restored = "if arguments.resume:\n    trainer = TransformersTrainer.restore(arguments.resume)\ntrainer.fit()"
    outcome = converted(script.replace("trainer.fit()", restored))
    assert any("where the trainer is fitted, it may be another one." in message for message in outcome.messages)
    assert converted(script).lines("RM408", Kind.CONVERTED)


RUNNER = """
class Runner:
    def __init__(self):
        self.callbacks{start}
    def track(self):
        {filled}
    def config(self):
        return RunConfig(callbacks=self.callbacks)
run_config = Runner().config()
"""


@pytest.mark.parametrize("start", [" = []", ": list = list()"])
@pytest.mark.parametrize(
    "filled",
    [
        f"self.callbacks.append({MLFLOW})",
        f"self.callbacks.extend([{MLFLOW}])",
        f"self.callbacks.insert(0, {MLFLOW})",
        f"self.callbacks += [{MLFLOW}]",
        f"self.callbacks[:] = [{MLFLOW}]",
        f"callbacks = self.callbacks\n        callbacks.append({MLFLOW})",
    ],
)
def test_loggers_that_an_attribute_gets_later_are_told(start: str, filled: str) -> None:
    outcome = converted(BUILT.format(run_config=RUNNER.format(start=start, filled=filled)))
    assert len(outcome.lines("RM408", Kind.MANUAL)) == 1
    assert any("raises for MLflowLoggerCallback on Ray >= 2.51; " in message for message in outcome.messages)


OWN = """
from ray.train import UserCallback
class Mine(UserCallback):
    pass
class Theirs(MLflowLoggerCallback):
    pass
"""


@pytest.mark.parametrize(
    "run_config",
    [
        RUNNER.format(start=" = []", filled="self.callbacks.append(Mine())"),
        RUNNER.format(start=" = [Mine()]", filled="pass"),
        "callbacks = []\ncallbacks.append(Mine())\nrun_config = RunConfig(callbacks=callbacks)",
        "callbacks = [Mine()]\ncallbacks.clear()\nrun_config = RunConfig(callbacks=callbacks)",
    ],
)
def test_callbacks_of_train_are_no_loggers_of_tune(run_config: str) -> None:
    outcome = converted(BUILT.format(run_config=OWN + run_config))
    assert not [code for code, _, _ in outcome.findings if code == "RM408"]


@pytest.mark.parametrize(("package", "name"), [("swanlab", "SwanLabLoggerCallback"), ("comet_ml", "CometTrainLogger")])
def test_the_callback_of_another_package_is_told_where_it_is_one_of_tune(package: str, name: str) -> None:
    script = SCRIPT.format(variable="A", callback=f"{name}()")
    messages = converted(f"from {package}.integration.ray import {name}\n{script}").messages
    told = f"RunConfig(callbacks=) raises for {name} on Ray >= 2.51; not converted: nothing is known to take the place"
    assert any(told in message for message in messages) == (package == "swanlab")


@pytest.mark.parametrize("item", ["Theirs()", "make()", "callback"])
def test_what_may_be_a_callback_of_tune_is_told(item: str) -> None:
    run_config = (
        f"def configure(callback):\n    return RunConfig(callbacks=[{item}])\nrun_config = configure(None or x)"
    )
    outcome = converted(BUILT.format(run_config=OWN + run_config))
    assert len(outcome.lines("RM408", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "run_config",
    [
        f"run_config = RunConfig()\nrun_config.callbacks = [{MLFLOW}]",
        f"run_config = RunConfig()\nloggers = []\nloggers.append({MLFLOW})\nrun_config.callbacks = loggers",
    ],
)
def test_loggers_that_a_run_config_gets_later_are_told_to_do_nothing(run_config: str) -> None:
    outcome = converted(BUILT.format(run_config=run_config))
    assert len(outcome.lines("RM408", Kind.MANUAL)) == 1
    assert any(message.startswith("Nothing calls MLflowLoggerCallback ") for message in outcome.messages)


def test_callbacks_of_other_objects_are_their_own() -> None:
    script = BUILT.format(run_config=f"run_config = RunConfig()\narguments.callbacks = [{MLFLOW}]")
    assert not [code for code, _, _ in converted(script).findings if code == "RM408"]


ON_DATABRICKS = {
    "argument": ("", 'MLflowLoggerCallback(tracking_uri="databricks", experiment_name="/Shared/x")'),
    "profile": ("", 'MLflowLoggerCallback(tracking_uri="databricks://prod", experiment_name="/Shared/x")'),
    "set before": ('mlflow.set_tracking_uri("databricks")', 'MLflowLoggerCallback(experiment_name="/Shared/x")'),
    "asked for": ("", 'MLflowLoggerCallback(tracking_uri=mlflow.get_tracking_uri(), experiment_name="/Shared/x")'),
    "by the place": ("spark = dbutils.widgets", 'MLflowLoggerCallback(experiment_name="/Shared/x")'),
    "by the name": ("", 'MLflowLoggerCallback(experiment_name="/Shared/x")'),
    "by a name with a user": ("", 'MLflowLoggerCallback(experiment_name=f"/Users/{name}/x")'),
    "by a name elsewhere": ('path = "/Shared/x"', "MLflowLoggerCallback(experiment_name=path)"),
    "by a variable": (
        'import os\nos.environ["DATABRICKS_HOST"] = arguments.host',
        'MLflowLoggerCallback(experiment_name="x")',
    ),
    "in a name": ('uri = "databricks"', 'MLflowLoggerCallback(tracking_uri=uri, experiment_name="/Shared/x")'),
}
ELSEWHERE = {
    "server": ("", 'MLflowLoggerCallback(tracking_uri="http://mlflow:5000", experiment_name="x")'),
    "folder": (
        "spark = dbutils.widgets",
        'MLflowLoggerCallback(tracking_uri=f"file:///runs/{name}", experiment_name="x")',
    ),
    "set before": ('mlflow.set_tracking_uri("sqlite:///runs.db")', 'MLflowLoggerCallback(experiment_name="x")'),
    "by default": (
        'parser.add_argument("--uri", default="http://mlflow:5000")\nargs = parser.parse_args()',
        'MLflowLoggerCallback(tracking_uri=args.uri, experiment_name="x")',
    ),
    "server and path": ("", 'MLflowLoggerCallback(tracking_uri="http://mlflow:5000", experiment_name="/Shared/x")'),
    "nothing said": ("", 'MLflowLoggerCallback(experiment_name="x")'),
}


def _logged(before: str, callback: str) -> str:
    run_config = f"import mlflow\n{before}\nrun_config = RunConfig(callbacks=[{callback}])"
    outcome = converted(BUILT.format(run_config=run_config))
    assert outcome.lines("RM408", Kind.CONVERTED)
    return outcome.text


@pytest.mark.parametrize(("before", "callback"), ON_DATABRICKS.values(), ids=ON_DATABRICKS)
def test_the_login_of_a_databricks_notebook_goes_to_the_controller(before: str, callback: str) -> None:
    assert "self.login.update(login)" in _logged(before, callback)


@pytest.mark.parametrize(("before", "callback"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_other_servers_need_no_login_of_databricks(before: str, callback: str) -> None:
    assert "databricks_utils" not in _logged(before, callback)


def test_a_callback_of_an_earlier_run_is_no_sign_of_databricks() -> None:
    """It takes along the variables of a login, if there are some."""
    logger = 'MLflowLoggerCallback(experiment_name="x")'
    earlier = _logged("", logger)
    assert '"DATABRICKS_"' in earlier
    another = BUILT.format(run_config=f"run_config = RunConfig(callbacks=[{logger}])")
    assert "databricks_utils" not in converted(f"{earlier}\n{another}").text


def test_the_parameters_of_a_trial_are_logged_but_a_transformers_trainer_had_none() -> None:
    assert "client.log_param(" not in _logged("", MLFLOW)
    script = BUILT.format(run_config=f"run_config = RunConfig(callbacks=[{MLFLOW}])")
    script = script.replace("ray.train.huggingface import TransformersTrainer", "ray.train.torch import TorchTrainer")
    script = script.replace("TransformersTrainer(\n    trainer_init_per_worker=", "TorchTrainer(\n    ")
    assert "client.log_param(" in converted(script).text


def test_the_login_of_a_profile_is_read_on_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    utils = pytest.importorskip("mlflow.utils.databricks_utils")
    (tmp_path / ".databrickscfg").write_text("[prod]\nhost = https://example.org\ntoken = secret\n")
    monkeypatch.setenv("DATABRICKS_CONFIG_FILE", str(tmp_path / ".databrickscfg"))
    monkeypatch.setattr(mlflow, "MlflowClient", lambda *uri: MagicMock(uri=uri))
    tree = ast.parse(_logged("", ON_DATABRICKS["profile"][1]))
    callback = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "MLflowCallback")
    names = {"UserCallback": object, "os": os, "contextlib": contextlib, "mlflow": mlflow}
    names["get_databricks_env_vars"] = utils.get_databricks_env_vars
    exec(ast.unparse(callback), names)
    try:
        made = names["MLflowCallback"](experiment_name="x", tracking_uri="databricks://prod")
    finally:
        mlflow.set_tracking_uri(None)
    assert made.login["DATABRICKS_HOST"] == "https://example.org"
    assert made.login["DATABRICKS_TOKEN"] == "secret"
    assert made.tracking_uri == "databricks"  # whose controller has no such profile


def test_all_that_hinders_is_told_at_once() -> None:
    callbacks = (
        'WandbLoggerCallback(project="p", excludes=["loss"], log_config=True), '
        'MLflowLoggerCallback(experiment_name="e", log_params=True, save_artifact=late)'
    )
    outcome = converted(SCRIPT.format(variable="X", callback=callbacks))
    (message,) = [text for text in outcome.messages if "not converted" in text]
    for reason in ("excludes=", "log_config=", "log_params= has no successor", "save_artifact= is decided"):
        assert reason in message


TWO = 'MLflowLoggerCallback(experiment_name="runs"), WandbLoggerCallback(project="jobs")'


@pytest.mark.parametrize(
    "fit", ["trainer.fit()", "result = trainer.fit()", "print(trainer.fit())", "loss = trainer.fit().metrics['loss']"]
)
def test_the_runs_of_all_callbacks_are_ended_after_one_training(fit: str) -> None:
    script = SCRIPT.format(variable="MODE", callback=TWO).replace("trainer.fit()", fit)
    text = converted(script).text
    ends = [line for line in text.splitlines() if "_callback.finish(" in line]
    assert ends == ["mlflow_callback.finish(result)", "wandb_callback.finish(result)"]
    assert text.count("trainer.fit()") == 1
    assert text.index("trainer.fit()") < text.index(ends[0])


def test_trainers_with_the_same_loggers_share_their_callbacks() -> None:
    script = SCRIPT.format(variable="MODE", callback=TWO)
    another = script[script.index("trainer = ") :].replace("trainer", "other").replace("other_init", "trainer_init")
    script = f"{script}{another}"
    left = "RunConfig(callbacks=seen + "
    unseen = left.join(script.rsplit("RunConfig(callbacks=", 1))
    again = converted(unseen).text
    assert left in again
    for text in (converted(script).text, converted(again.replace(left, "RunConfig(callbacks=")).text):
        names = [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
        assert not any(name.endswith("_2") for name in names if not name.startswith("MLflow"))
        assert {"WandbRun", "WandbCallback", "LogReportCallback"} <= set(names)
    assert "MLflowCallback_2" not in converted(script).text


@pytest.mark.parametrize(
    ("storage", "is_folder"),
    [
        ('name="run"', True),
        ('storage_path="/mnt/runs"', True),
        ('local_dir="~/runs"', True),
        ('storage_path="s3://bucket/runs"', False),
        ('sync_config=SyncConfig(upload_dir="gs://bucket/runs")', False),
        ("storage_path=token", False),  # what it is cannot be seen
    ],
)
def test_artifacts_are_brought_from_a_storage_that_is_no_folder(storage: str, is_folder: bool) -> None:
    script = f"from ray.tune import SyncConfig\n{SCRIPT.format(variable='A', callback=LATE)}"
    after = converted(script.replace("RunConfig(callbacks", f"RunConfig({storage}, callbacks")).text
    assert ("client.log_artifacts(self.run_id, result.path)" in after) is is_folder
    assert ("copy_files(result.path, folder, source_filesystem=result.filesystem)" in after) is not is_folder
    assert ("from pyarrow.fs import copy_files\n" in after) is ("import tempfile\n" in after) is not is_folder


def test_artifacts_of_a_storage_are_those_of_the_run(tmp_path: Path) -> None:
    for name in ("run/checkpoint_1/model.bin", "run/progress.csv", "other"):
        (tmp_path / "bucket" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bucket" / name).write_text("1")
    logged: set[str] = set()

    def log(run_id: str, folder: str) -> None:
        logged.update(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file())

    fs = pytest.importorskip("pyarrow.fs")
    made = {"self": MagicMock(), "result": MagicMock()}
    made["self"].client().log_artifacts.side_effect = log
    made["result"].path = "bucket/run"
    made["result"].filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    body = textwrap.dedent(emitted_tracking.MLFLOW_ARTIFACTS_OF_STORAGE)
    exec(f"import tempfile\nfrom pyarrow.fs import copy_files\n{body}", made)
    assert logged == {"checkpoint_1/model.bin", "progress.csv"}


@pytest.mark.parametrize(
    ("given", "name"),
    [("api_key=token", "api_key"), ('api_key_file="~/.key"', "api_key_file"), ('group="g", api_key=key', "api_key")],
)
def test_the_key_of_wandb_reaches_its_callback(given: str, name: str) -> None:
    after = converted(SCRIPT.format(variable="A", callback=f'WandbLoggerCallback(project="p", {given})')).text
    assert f"def __init__(self, {name}, **options):" in after and f'WandbCallback(project="p", {given})' in after


@pytest.mark.parametrize("given", ["api_key=None", 'api_key_file=""', "api_key=None, api_key_file=None"])
def test_no_key_of_wandb_leaves_the_variable(given: str) -> None:
    plain = converted(SCRIPT.format(variable="A", callback='WandbLoggerCallback(project="p")')).text
    assert converted(SCRIPT.format(variable="A", callback=f'WandbLoggerCallback(project="p", {given})')).text == plain


def test_two_keys_of_wandb_were_an_error() -> None:
    callback = 'WandbLoggerCallback(project="p", api_key="a", api_key_file="b")'
    outcome = converted(SCRIPT.format(variable="A", callback=callback))
    assert any("together were a ValueError" in message for message in outcome.messages)


@pytest.mark.parametrize(("given", "key"), [("api_key='one'", "one"), ("api_key_file=path", "two"), ("", "old")])
def test_the_callback_reads_the_key(given: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "old")
    (tmp_path / "key").write_text("two\nmore\n")
    after = converted(SCRIPT.format(variable="A", callback=f'WandbLoggerCallback(project="p", {given})')).text
    callback = next(node for node in ast.parse(after).body if getattr(node, "name", "") == "WandbCallback")
    names = {name: MagicMock() for name in ("ray", "NodeAffinitySchedulingStrategy", "WandbRun")}
    exec(ast.unparse(callback), names | {"os": os, "UserCallback": object}, made := dict[str, type]())
    made["WandbCallback"](project="p", **eval(f"dict({given})", {"path": str(tmp_path / "key")}))
    login = names["WandbRun"].options.call_args.kwargs["runtime_env"]["env_vars"]
    assert login["WANDB_API_KEY"] == key
