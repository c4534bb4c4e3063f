"""RM697 and RM723: what the Trials of Tune and their checkpoints had, in callbacks and in what a search gives."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.gone.trial_attributes import INSTEAD_OF_LOST
from tests.rules.scripts import converted

CALLBACK = """
import os
from ray import tune
from ray.air.integrations.wandb import WandbLoggerCallback
from ray.tune import Callback
from ray.tune.logger import LoggerCallback
from ray.tune.schedulers import FIFOScheduler
from plugins import register


class Base(LoggerCallback):
    pass


{decorator}
class Mine({base}):
    def {method}:
        {body}
"""
RESULT = "on_trial_result(self, iteration, trials, trial, result, **info)"


@pytest.mark.parametrize(
    ("base", "method", "name"),
    [
        ("Callback", RESULT, "trial"),
        ("tune.Callback", "on_trial_complete(self, iteration, trials, t, **kwargs)", "t"),
        ("LoggerCallback", "log_trial_start(self, trial)", "trial"),
        ("LoggerCallback", "log_trial_result(self, iteration: int, trial: 'Trial', result: dict)", "trial"),
        ("Base", "log_trial_end(self, trial, failed=False)", "trial"),
        ("WandbLoggerCallback", "log_trial_save(self, trial)", "trial"),
        ("FIFOScheduler", "on_trial_complete(self, runner, trial, result)", "trial"),
        ("register, Callback", RESULT, "trial"),
    ],
)
@pytest.mark.parametrize("decorator", ["", "@register('mine')"])
def test_the_folder_of_a_trial_has_another_name(base: str, method: str, name: str, decorator: str) -> None:
    body = f"print(os.path.join({name}.logdir, 'a'))\n        folder = {name}.logdir"
    outcome = converted(CALLBACK.format(base=base, method=method, body=body, decorator=decorator))
    assert len(outcome.lines("RM697", Kind.CONVERTED)) == 2
    assert f"os.path.join({name}.local_path, 'a')" in outcome.text and f"folder = {name}.local_path" in outcome.text


@pytest.mark.parametrize(
    ("base", "method", "body"),
    [
        ("Callback", RESULT, "print(result.logdir, info['run'].logdir)"),
        ("Callback", "on_end(self, iteration, trials, trial)", "print(trial.logdir)"),
        ("Callback", RESULT, "trial = other(trial)\n        print(trial.logdir)"),
        ("Callback", RESULT, "trial.logdir = 'here'"),
        ("Callback", RESULT, "print([run.logdir for run in info['runs'].trials])"),
        ("Callback", RESULT, "if hasattr(trial, 'logdir'):\n            print(trial.logdir)"),
        ("register", RESULT, "print(trial.logdir)"),
        ("object", "log_trial_start(self, trial)", "print(trial.logdir, trial.checkpoint.value)"),
        ("Callback", "on_checkpoint(self, iteration, trials, trial, checkpoint)", "print(checkpoint.path)"),
        ("Callback", RESULT, "print(trial.checkpoint.path, trial.checkpoint.filesystem, trial.last_result)"),
    ],
)
def test_other_folders_keep_their_names(base: str, method: str, body: str) -> None:
    outcome = converted(CALLBACK.format(base=base, method=method, body=body, decorator=""))
    assert not [code for code, *_ in outcome.findings if code in ("RM697", "RM723")]


SEARCH = """
from ray import tune
analysis = tune.run(loop, metric="loss", mode="min")
{use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "print(analysis.best_trial.logdir)",
        "best = analysis.get_best_trial('loss', 'min')\nprint(best.logdir)",
        "print(analysis.get_best_trial().logdir)",
        "for trial in analysis.trials:\n    print(trial.logdir)",
        "print([one.logdir for one in analysis.trials])",
        "from ray.tune.experiment import Trial\n\ndef name(trial: Trial):\n    return trial.logdir",
    ],
)
def test_where_the_results_of_a_trial_are_is_told(use: str) -> None:
    outcome = converted(SEARCH.format(use=use))
    assert len(outcome.lines("RM697", Kind.MANUAL)) == 1 and ".logdir" in outcome.text
    assert any(message.startswith("Trial.logdir raises a DeprecationWarning") for message in outcome.messages)


@pytest.mark.parametrize("name", ["dir_or_data", "value", "to_air_checkpoint()"])
def test_what_a_checkpoint_of_a_trial_lost_is_told(name: str) -> None:
    checkpoint = "on_checkpoint(self, iteration, trials, trial, checkpoint, **info)"
    body = f"print(checkpoint.{name})\n        print(trial.checkpoint.{name})"
    outcome = converted(CALLBACK.format(base="Callback", method=checkpoint, body=body, decorator=""))
    assert len(outcome.lines("RM723", Kind.MANUAL)) == 2
    found = converted(SEARCH.format(use=f"load(analysis.best_trial.checkpoint.{name})"))
    assert len(found.lines("RM723", Kind.MANUAL)) == 1


@pytest.mark.parametrize("name", sorted(INSTEAD_OF_LOST))
def test_what_a_trial_lost_is_told(name: str) -> None:
    body = f"print(trial.{name}, result.{name}, self.owner.{name})"
    outcome = converted(CALLBACK.format(base="Callback", method=RESULT, body=body, decorator=""))
    told = [message for message in outcome.messages if message.startswith(f"{name} of a Trial raises")]
    assert len(told) == 1 and len(converted(SEARCH.format(use=f"analysis.best_trial.{name}")).findings) == 1


@pytest.mark.parametrize(
    "body",
    [
        "print(trial.run_metadata.start_time, trial.temporary_state.location, trial.path, trial.trial_id)",
        "if hasattr(trial, 'start_time'):\n            print(trial.start_time)",
        "trial.start_time = 1\n        print(trial.start_time)",
    ],
)
def test_what_a_trial_has_is_not_told(body: str) -> None:
    outcome = converted(CALLBACK.format(base="Callback", method=RESULT, body=body, decorator=""))
    assert "RM723" not in {code for code, *_ in outcome.findings}


OF_TUNE = [
    "best = analysis.best_checkpoint\nprint(best{read})",
    "print(analysis.get_best_checkpoint(analysis.best_trial){read})",
    "print(analysis.get_last_checkpoint(){read})",
    "for trial in analysis.trials:\n    kept = trial.checkpoint\n    print(kept{read})",
    "for number, trial in enumerate(sorted(analysis.trials, key=str)):\n    print(trial.checkpoint{read})",
    "for kept in [trial.checkpoint for trial in analysis.trials]:\n    print(kept{read})",
    "print(analysis.trials[0].checkpoint{read})",
    "kept = max(analysis.trials, key=str).checkpoint\nprint(kept{read})",
    "best = None\nif analysis:\n    best = analysis.get_best_trial('loss').checkpoint\n    print(best{read})",
    "grid = tune.Tuner(loop).fit()\nprint(grid._experiment_analysis.best_checkpoint{read})",
    "def show(found: tune.ExperimentAnalysis):\n    print(found.best_checkpoint{read})",
    "class A(tune.Callback):\n    def on_checkpoint(self, step, trials, trial, kept): print(kept{read})",
    "class A(tune.Callback):\n    def on_trial_save(self, step, trials, t): print(t.checkpoint{read})",
]


@pytest.mark.parametrize("use", OF_TUNE)
@pytest.mark.parametrize(
    ("read", "code"),
    [(".uri", "RM607"), (".to_dict()", "RM304"), (".to_uri('a')", "RM308"), (".dir_or_data", "RM723")],
)
def test_a_checkpoint_that_tune_keeps_is_one_of_ray(use: str, read: str, code: str) -> None:
    outcome = converted(SEARCH.format(use=use.replace("{read}", read)))
    kind = Kind.CONVERTED if code == "RM607" else Kind.MANUAL
    assert len(outcome.lines(code, kind)) == 1
    assert code != "RM607" or ".path)" in outcome.text


@pytest.mark.parametrize(
    "use",
    [
        "other = study()\nprint(other.best_checkpoint{read})",
        "other = study()\nfor trial in other.trials:\n    print(trial.checkpoint{read})",
        "print(analysis.best_result['model']{read}, analysis.trials[0].config{read})",
        "class A(tune.Callback):\n    def on_trial_save(self, step, trials, trial): print(trial.config['a']{read})",
        "class Mine:\n    def on_checkpoint(self, step, trials, trial, kept): print(trial.checkpoint{read})",
    ],
)
@pytest.mark.parametrize("read", [".uri", ".to_dict()", ".to_uri('a')", ".dir_or_data"])
def test_other_checkpoints_are_not_spoken_of_as_those_of_tune(use: str, read: str) -> None:
    outcome = converted(SEARCH.format(use=use.replace("{read}", read)))
    told = [m for m in outcome.messages if not m.startswith("If this is a checkpoint of Ray: ")]
    assert not told and ".path" not in outcome.text
