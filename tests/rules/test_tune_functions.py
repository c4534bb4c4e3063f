"""RM414: functions that ray.tune no longer has, and the import by which they are called."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

FUNCTION = """
def f(config):
    return {call}()
"""


@pytest.mark.parametrize(
    ("imported", "call", "imported_then", "called_then"),
    [
        ("from ray import tune", "tune.get_trial_id", "from ray import tune", "tune.get_context().get_trial_id()"),
        ("import ray.tune as rt", "rt.get_trial_id", "import ray.tune", "ray.tune.get_context().get_trial_id()"),
        ("import ray.tune", "ray.tune.get_trial_id", "import ray.tune", "ray.tune.get_context().get_trial_id()"),
        (
            "from ray.tune import get_trial_dir",
            "get_trial_dir",
            "import ray.tune",
            "ray.tune.get_context().get_trial_dir()",
        ),
    ],
)
def test_the_import_stays_where_the_only_call_goes_by_its_name(
    imported: str, call: str, imported_then: str, called_then: str
) -> None:
    outcome = converted(f"{imported}\n\n{FUNCTION.format(call=call)}")
    assert outcome.text == f"{imported_then}\n\n{FUNCTION.format(call=called_then.removesuffix('()'))}"


def test_the_import_inside_a_function_stays_too() -> None:
    outcome = converted("def f():\n    from ray import tune\n\n    return tune.get_trial_name()\n")
    assert outcome.text == "def f():\n    from ray import tune\n\n    return tune.get_context().get_trial_name()\n"


@pytest.mark.parametrize(
    ("call", "then"),
    [
        ("train.report(loss=1, epoch=config)", 'train.report({"loss": 1, "epoch": config})'),
        ("rt.report(loss=1)", 'rt.report({"loss": 1})'),
        ("report(loss=1, **config)", 'report({"loss": 1, **config})'),
        ("ray.train.report(loss=1)", 'ray.train.report({"loss": 1})'),
        ("tune.report(loss=1)", 'tune.report({"loss": 1})'),
        ("tune.report(metrics={}, checkpoint=config)", None),
        ("train.report({}, checkpoint=config)", None),
        ("train.report(**config)", None),
        ("own.report(loss=1)", None),
    ],
)
def test_what_is_reported_as_keywords_becomes_a_dict(call: str, then: str | None) -> None:
    script = f"""import own
import ray.train
import ray.train as rt
from ray import train, tune
from ray.train import report


def f(config):
    {call}
    return ray, rt, train, tune, report, own
"""
    outcome = converted(script)
    assert outcome.text == script.replace(call, then or call)
    assert not outcome.lines("RM693", Kind.MANUAL)


UNPACKED = """
from ray import train, tune
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer


def {place}(config):
    metrics = {{"loss": 1}}
    metrics["epoch"] = 2
    today = {{"metrics": metrics, "checkpoint": None}}
    {call}


tune.Tuner(trial).fit()
TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=1)).fit()
"""


@pytest.mark.parametrize(
    ("call", "then", "told"),
    [
        ("train.report(**metrics)", "train.report({**metrics})", False),
        ("train.report(**dict(loss=1))", "train.report({**dict(loss=1)})", False),
        ("train.report(**metrics, **{'a': 1})", "train.report({**metrics, **{'a': 1}})", False),
        ("train.report(**evaluate())", "train.report(**evaluate())", True),
        ("train.report(**config)", "train.report(**config)", True),
        ("train.report(**today)", "train.report(**today)", False),
        ("train.report(**{'metrics': metrics})", "train.report(**{'metrics': metrics})", False),
    ],
)
def test_metrics_that_a_report_of_train_unpacks_become_a_dict(call: str, then: str, told: bool) -> None:
    first = converted(UNPACKED.format(place="loop", call=call))
    assert f"    {then}\n" in first.text
    assert bool(first.lines("RM414", Kind.MANUAL)) is told
    assert converted(first.text).text == first.text


@pytest.mark.parametrize("given", ["loss=1", "**metrics", "**evaluate()", "loss=1, **config"])
def test_a_report_of_train_in_a_trial_becomes_one_of_tune(given: str) -> None:
    first = converted(UNPACKED.format(place="trial", call=f"train.report({given})"))
    assert "    tune.report({" in first.text
    assert converted(first.text).text == first.text


MIXED = """
import ray.tune.integration.mlflow as integration
from ray import tune
from ray.air import session
from ray.train.torch import TorchTrainer
from ray.tune.integration.wandb import wandb_mixin

{decorator}
def objective(config):
    session.report({{"loss": 1}})

TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=1)).fit()
"""


@pytest.mark.parametrize(
    ("decorator", "module"),
    [("@wandb_mixin", "tune"), ("@integration.mlflow_mixin", "tune"), ("@own.mixin", "ray.train")],
)
def test_a_function_with_a_mixin_of_tune_is_one_of_tune(decorator: str, module: str) -> None:
    assert f"    {module}.report({{" in converted(MIXED.format(decorator=decorator)).text


ONLY_TUNE = """
from ray import tune
from ray.air import session
{more}

def objective(config):
    session.report({{"loss": 1}})

def other(config):
    session.report({{"loss": 2}})

tune.{tuner}
"""


@pytest.mark.parametrize(
    ("more", "tuner", "module"),
    [
        ("", "Tuner(other).fit()", "tune"),
        ("", "run(other)", "tune"),
        ("from ray.train.torch import TorchTrainer\n\nTorchTrainer(loop)", "Tuner(other).fit()", "ray.train"),
        ("", "uniform(1, 2)", "ray.train"),
        ("", "Tuner(other, param_space={0: objective(1)}).fit()", "ray.train"),
    ],
)
def test_where_all_that_runs_functions_is_a_tuner_reports_go_to_tune(more: str, tuner: str, module: str) -> None:
    first = converted(ONLY_TUNE.format(more=more, tuner=tuner))
    assert f'    {module}.report({{"loss": 1}})' in first.text
    assert converted(first.text).text == first.text


@pytest.mark.parametrize(
    ("call", "then"),
    [
        ("tune.report(0.5)", 'tune.report({"_metric": 0.5})'),
        ("tune.report(loss)", 'tune.report({"_metric": loss})'),
        ("tune.report(share)", 'tune.report({"_metric": share})'),
        ("tune.report(half())", 'tune.report({"_metric": half()})'),
        ("tune.report(-x.item())", 'tune.report({"_metric": -x.item()})'),
        ("tune.report(x, loss=1)", 'tune.report({"_metric": x, "loss": 1})'),
        ("session.report(loss)", 'tune.report({"_metric": loss})'),
        ("tune.report(x)", None),
        ("tune.report(dict(loss=1))", None),
        ("tune.report(x | config)", None),
        ("tune.report(x, checkpoint=config)", None),
        ("tune.report(*x)", None),
        ("own.report(0.5)", None),
    ],
)
def test_a_number_that_a_trial_reports_by_position_gets_the_name_it_had(call: str, then: str | None) -> None:
    script = f"""import own
from ray import tune
from ray.air import session


def half():
    return 0.5


def objective(config, x):
    loss = 0.5
    share = x / 3
    {call}


tune.Tuner(objective).fit()
"""
    outcome = converted(script)
    assert f"    {then or call}\n" in outcome.text
    assert bool(outcome.lines("RM414", Kind.CONVERTED)) is (then is not None)
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(("given", "told"), [("0.5", True), ('{"loss": 0.5}', False), ("config", False)])
def test_a_worker_that_reports_a_number_is_told(given: str, told: bool) -> None:
    script = f"""
        from ray.air import session
        from ray.train.torch import TorchTrainer

        def loop(config):
            session.report({given})

        TorchTrainer(loop).fit()
    """
    assert bool(converted(script).lines("RM414", Kind.MANUAL)) is told


IN_TRIAL = """
from ray.air import session
from ray.train import Checkpoint
from ray.tune import Tuner


def objective(config):
    session.report({}, checkpoint=Checkpoint.from_directory("a"))
    print(session.get_trial_id())  # raymigrate: skip[RM413]


Tuner(objective).fit()
"""


def test_a_checkpoint_of_a_trial_is_one_of_tune_and_what_is_skipped_stays() -> None:
    outcome = converted(IN_TRIAL)
    assert "tune.report({}, checkpoint=ray.tune.Checkpoint.from_directory(" in outcome.text
    assert "print(session.get_trial_id())" in outcome.text
    assert not any("Checkpoint.from_directory()" in message for message in outcome.messages)  # it is not called so


METADATA = """
import ray.train
from ray import train, tune
from ray.air import session
from ray.train import get_context


def f(config):
    context = train.get_context()
    print({call})
    print(context.get_trial_id())


tune.Tuner(f).fit()
"""


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("train.get_context().get_metadata()", "RM413"),
        ("ray.train.get_context().get_metadata()", "RM413"),
        ("get_context().get_metadata()", "RM413"),
        ("session.get_metadata()", "RM413"),
        ("context.get_metadata()", "RM697"),
        ("tune.get_context().get_metadata()", "RM697"),
    ],
)
def test_the_metadata_of_a_trial_is_told(call: str, code: str) -> None:
    outcome = converted(METADATA.format(call=call))
    assert f"print({call})" in outcome.text
    assert "context = tune.get_context()" in outcome.text
    assert outcome.lines(code, Kind.MANUAL) == [9]
    assert any("param_space" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "call", ["context.get_experiment_name()", "own.get_context().get_metadata()", "get_metadata()"]
)
def test_other_metadata_is_not(call: str) -> None:
    assert converted(METADATA.format(call=call)).lines("RM697", Kind.MANUAL) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("folder = session.get_trial_dir()", False),
        ("folder = ray.train.get_context().get_trial_dir()", False),
        ("folder = session.get_trial_dir()\n    print(folder)", True),
        ("file = open(session.get_trial_dir() + '/log', 'w')", True),
        ("print(session.get_trial_dir())", True),
        ("config['folder'] = session.get_trial_dir()", True),
    ],
)
def test_the_folder_of_a_trial_that_nothing_reads_is_not_told(body: str, told: bool) -> None:
    text = (
        f"import ray.train\nfrom ray import tune\nfrom ray.air import session\n\ndef objective(config):\n    {body}\n"
    )
    outcome = converted(f"{text}\ntune.Tuner(objective).fit()\n")
    assert any("lies in Ray's session folder" in message for message in outcome.messages) is told
    assert "get_context().get_trial_dir()" in outcome.text
