"""RM409: setup_wandb() and setup_mlflow() in files that speak of Tune too. RM410: the modules they were in before."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

HEAD = """
from ray import tune
from ray.air.integrations.mlflow import setup_mlflow
from ray.air.integrations.wandb import setup_wandb
from ray.train.torch import TorchTrainer
from transformers import TrainerCallback

SPACE = {"lr": tune.uniform(0, 1)}

"""
EVENT = "class Mine({base}):\n    def on_train_begin(self, args, state, control, **kwargs):\n        {call}\n"
CALLS = [
    "self.run = setup_wandb(config=args.to_dict(), project='a')",
    "setup_mlflow(args.to_dict(), rank_zero_only=True)",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("before", ["", "@tune.register('mine')\n"])
def test_a_callback_of_a_trainer_may_run_on_workers(call: str, before: str) -> None:
    outcome = converted(HEAD + before + EVENT.format(base="TrainerCallback", call=call))
    assert outcome.lines("RM409", Kind.MANUAL)
    assert any("where the workers of a trainer run this." in message for message in outcome.messages)


@pytest.mark.parametrize(
    "script",
    [
        EVENT.format(base="tune.Callback", call=CALLS[0]),
        EVENT.format(base="TrainerCallback", call="setup_wandb(project='a', rank_zero_only=False)"),
        EVENT.format(base="TrainerCallback", call="setup_mlflow(args.to_dict(), experiment_name='a')"),
        "class Mine(tune.Trainable):\n    def setup(self, config):\n        setup_wandb(config)\n",
        "def loop(config):\n    setup_wandb(config)\n    tune.report({'a': 1})\n\ntune.Tuner(loop).fit()",
        "def loop(config):\n    setup_mlflow(config)\n\ntune.run(loop)",
    ],
)
def test_a_trial_finds_its_own(script: str) -> None:
    assert "RM409" not in {code for code, *_ in converted(HEAD + script).findings}


@pytest.mark.parametrize("call", ["setup_wandb(config)", "setup_mlflow(config)"])
def test_a_training_function_of_another_file_runs_on_workers(tmp_path: Path, call: str) -> None:
    (tmp_path / "loops.py").write_text(f"{HEAD}\ndef loop(config):\n    {call}\n    print(tune.choice)\n")
    job = "from ray.train.torch import TorchTrainer\nfrom loops import loop\n\nTorchTrainer(loop).fit()\n"
    (tmp_path / "run.py").write_text(job)
    assert "RM409" in CliRunner().invoke(main, ["check", str(tmp_path)]).stdout


ON_RANK_0 = """
import os

import torch.distributed as dist
from ray import train
from ray.air import session
from ray.air.integrations.wandb import setup_wandb
from transformers import TrainerCallback


def on_first(args):
    setup_wandb(config=args)


class Mine(TrainerCallback):
    def on_train_begin(self, args, state, control, **kwargs):
        {code}
"""
SETUP = "setup_wandb(config=args.to_dict())"


@pytest.mark.parametrize(
    "code",
    [
        f"if state.is_world_process_zero: {SETUP}",
        f"if state.is_world_process_zero and args.log: self.run = {SETUP}",
        f"if session.get_world_rank() == 0: {SETUP}",
        f"if not train.get_context().get_world_rank(): {SETUP}",
        f"if 0 == dist.get_rank(): {SETUP}",
        f"rank = dist.get_rank()\n        if rank == 0: {SETUP}",
        f"first = args.process_index == 0\n        if first: {SETUP}",
        f"if int(os.environ['RANK']) == 0: {SETUP}",
        f"if not state.is_world_process_zero: return\n        {SETUP}",
        f"if dist.get_rank() != 0 or not args.log:\n            return\n        {SETUP}",
        f"if session.get_world_rank() > 0: pass\n        else: {SETUP}",
        f"self.run = {SETUP} if state.is_world_process_zero else None",
        "if state.is_world_process_zero: on_first(args.to_dict())",
    ],
)
def test_what_rank_0_alone_runs_starts_one_run(code: str) -> None:
    script = ON_RANK_0.format(code=code)
    if "on_first(" not in code:
        script = script.replace("    setup_wandb(config=args)\n", "    pass\n")
    assert "RM409" not in {code for code, *_ in converted(script).findings}


@pytest.mark.parametrize(
    "code",
    [
        f"if state.is_local_process_zero: {SETUP}",
        f"if session.get_local_rank() == 0: {SETUP}",
        f"if session.get_world_rank() == 1: {SETUP}",
        f"if state.is_world_process_zero or args.log_all: {SETUP}",
        f"if not state.is_world_process_zero and args.quiet: return\n        {SETUP}",
        f"if state.is_world_process_zero: print(1)\n        {SETUP}",
        f"if state.is_world_process_zero: return\n        {SETUP}",
        f"if state.is_world_process_zero: print(1)\n        else: {SETUP}",
        "on_first(args.to_dict())",
    ],
)
def test_what_others_run_too_is_told(code: str) -> None:
    script = ON_RANK_0.format(code=code)
    if "on_first(" not in code:
        script = script.replace("    setup_wandb(config=args)\n", "    pass\n")
    assert converted(script).lines("RM409", Kind.MANUAL)


OBJECT = """
from ray import tune
from ray.air import RunConfig, ScalingConfig
from ray.air.integrations.wandb import setup_wandb
from ray.train.huggingface import AccelerateTrainer
from ray.tune.logger import CSVLoggerCallback

CONFIG = RunConfig(
    sync_config=tune.SyncConfig(syncer=None), progress_reporter=tune.CLIReporter(), callbacks=[CSVLoggerCallback()]
)


class Job:
    def {method}(self, config):
        setup_wandb(config)

    def fit(self, chosen):
        AccelerateTrainer({given}, accelerate_config={accelerate}, run_config=CONFIG, scaling_config=chosen).fit()
"""
NOW = 'mode=None if ray.train.get_context().get_world_rank() == 0 else "disabled",'


@pytest.mark.parametrize(
    ("method", "given"), [("__call__", "self"), ("__call__", "Job()"), ("loop", "self.loop"), ("loop", "Job().loop")]
)
@pytest.mark.parametrize("accelerate", ["{}", "chosen.file"])
def test_an_object_and_its_method_run_on_workers_whatever_the_run_config_takes_of_tune(
    method: str, given: str, accelerate: str
) -> None:
    outcome = converted(OBJECT.format(method=method, given=given, accelerate=accelerate))
    assert NOW in outcome.text
    assert "RM122" not in {code for code, *_ in outcome.findings}


IN_BOTH = """
class Job:
    def loop(self, config):
        setup_wandb(config, project="a")


def loop(config):
    setup_wandb(config, project="a")


TorchTrainer({given}).fit()
tune.Tuner({given}, param_space=SPACE).fit()
"""


@pytest.mark.parametrize("given", ["loop", "Job().loop"])
def test_a_function_that_runs_in_trials_too_does_not_ask_for_a_rank(given: str) -> None:
    outcome = converted(HEAD + IN_BOTH.format(given=given))
    assert outcome.lines("RM409", Kind.MANUAL) and "get_world_rank" not in outcome.text


@pytest.mark.parametrize("place", ["ray.air.callbacks", "ray.tune.integration"])
@pytest.mark.parametrize(
    ("service", "name"),
    [
        ("mlflow", "MLflowLoggerCallback"),
        ("mlflow", "setup_mlflow"),
        ("wandb", "WandbLoggerCallback"),
        ("wandb", "setup_wandb"),
        ("comet", "CometLoggerCallback"),
    ],
)
def test_a_logger_is_imported_from_where_it_is_today(place: str, service: str, name: str) -> None:
    now = f"ray.air.integrations.{service}"
    imported = converted(f"from {place}.{service} import {name}\nkept = {name}\n")
    assert imported.lines("RM410", Kind.CONVERTED) == [1]
    assert imported.text == f"from {now} import {name}\nkept = {name}\n"
    attribute = converted(f"import {place}.{service}\nkept = {place}.{service}.{name}\n")
    assert attribute.lines("RM410", Kind.CONVERTED) == [2]
    assert attribute.text == f"import {now}\nkept = {now}.{name}\n"


@pytest.mark.parametrize(("service", "name"), [("mlflow", "mlflow_mixin"), ("wandb", "wandb_mixin")])
def test_a_mixin_has_no_place_any_more(service: str, name: str) -> None:
    script = f"from ray.tune.integration.{service} import {name}\n\n\n@{name}\ndef loop(config):\n    pass\n"
    outcome = converted(script)
    assert outcome.lines("RM410", Kind.MANUAL) and outcome.text == script
    assert any(f"{service}.{name} is gone: current Ray raises an ImportError." in told for told in outcome.messages)


@pytest.mark.parametrize("place", ["ray.tune.integration.keras", "ray.air.integrations.wandb", "own.callbacks.wandb"])
def test_other_modules_are_left(place: str) -> None:
    script = f"import ray\nfrom {place} import WandbLoggerCallback\n"
    assert "RM410" not in {code for code, *_ in converted(script).findings}


GUARDED = """
from ray.air import ScalingConfig, session
from ray.air.integrations.wandb import setup_wandb
from ray.train.torch import TorchTrainer


def is_first():
    return session.get_world_rank() == 0


def loop(config):
    rank = session.get_world_rank()
    {code}


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


@pytest.mark.parametrize(
    "code",
    [
        "if is_first():\n        setup_wandb(config)",
        "if rank == 0:\n        setup_wandb(config)",
        "if not is_first():\n        return\n    setup_wandb(config)",
    ],
)
def test_what_rank_0_alone_runs_gets_the_names_and_asks_for_no_rank(code: str) -> None:
    outcome = converted(GUARDED.format(code=code))
    assert "trial_name=ray.train.get_context().get_experiment_name()," in outcome.text
    assert "mode=" not in outcome.text
    named = code.replace("config)", 'config, name="a", group="b")')
    assert not converted(GUARDED.format(code=named)).lines("RM409")
