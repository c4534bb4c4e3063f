"""RM417: results on a cluster without storage that all machines see."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os
from argparse import ArgumentParser
import ray
from ray import air, tune
from ray.air import RunConfig, ScalingConfig, session
from ray.train.torch import TorchTrainer
from ray.tune import SyncConfig
from ray.util.spark import setup_ray_cluster

parser = ArgumentParser()
parser.add_argument("--address")
options = parser.parse_args()


def loop(config):
    session.report({report})


{connection}
trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2){arguments})
"""
TRAINER = 20  # the line of the trainer
SAVES = '{"loss": 1.0}, checkpoint=air.Checkpoint.from_directory("saved")'


def lines(connection: str = 'ray.init("auto")', arguments: str = "", report: str = SAVES) -> list[int]:
    script = SCRIPT.format(connection=connection, arguments=arguments, report=report)
    return converted(script).lines("RM417", Kind.MANUAL)


@pytest.mark.parametrize(
    "connection",
    [
        'ray.init("auto")',
        'ray.init(address="ray://head:10001", runtime_env={})',
        "ray.init(address=options.address)",
        'ray.init(os.environ["RAY_ADDRESS"])',
        'ray.util.connect("head:10001")',
        "setup_ray_cluster(max_worker_nodes=2)",
        "hosts = [node['NodeID'] for node in ray.nodes()]",
    ],
)
def test_a_cluster_that_a_script_connects_to(connection: str) -> None:
    assert lines(connection) == [TRAINER]


@pytest.mark.parametrize(
    "connection",
    ["", "ray.init()", "print(ray.nodes())", "ray.init(num_cpus=4)", 'ray.init("local")', "ray.init(None)"],
)
def test_a_single_machine_needs_no_storage(connection: str) -> None:
    assert not lines(connection)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        ", run_config=None",
        ", run_config=RunConfig()",
        ', run_config=RunConfig(name="run", storage_path=None)',
        ', run_config=air.RunConfig(local_dir="~/runs")',
        ', run_config=RunConfig(storage_path=os.path.join("/tmp/", "runs"))',
    ],
)
def test_storage_of_each_machine(arguments: str) -> None:
    assert lines(arguments=arguments) == [TRAINER]


@pytest.mark.parametrize(
    "arguments",
    [
        ', run_config=RunConfig(storage_path="s3://bucket/runs")',
        ', run_config=RunConfig(local_dir="/mnt/shared")',
        ', run_config=RunConfig(sync_config=SyncConfig(upload_dir="s3://bucket"))',
        ", run_config=RunConfig(storage_path=options.storage)",
        ", run_config=RunConfig(**options)",
        ", run_config=options.run",
        ", **options",
    ],
)
def test_storage_that_is_named_or_unseen(arguments: str) -> None:
    assert not lines(arguments=arguments)


@pytest.mark.parametrize(("path", "is_told"), [("s3://bucket", False), ("~/runs", True)])
def test_the_storage_of_a_tuner_is_that_of_its_trainer(path: str, is_told: bool) -> None:
    script = SCRIPT.format(connection='ray.init("auto")', arguments="", report=SAVES)
    tuner = f'tune.Tuner(trainer, run_config=RunConfig(storage_path="{path}")).fit()\n'
    assert bool(converted(script + tuner).lines("RM417", Kind.MANUAL)) == is_told


@pytest.mark.parametrize(("report", "found"), [('{"loss": 1.0}', []), (SAVES, [TRAINER]), ("{}, **config", [TRAINER])])
def test_only_checkpoints_need_it(report: str, found: list[int]) -> None:
    assert lines(report=report) == found


@pytest.mark.parametrize(
    ("star", "config", "is_told"),
    [
        ("from ray.air.config import *", "RunConfig(name='run')", True),
        ("from ray.air import *", "RunConfig()", True),
        ("from ray.train import *", "RunConfig(storage_path='~/runs')", True),
        ("from ray.air.config import *\nfrom transformers import *", "RunConfig(name='run')", True),
        ("from ray.air.config import *", "RunConfig(storage_path='s3://bucket/runs')", False),
        ("from ray.air.config import *\nfrom helpers import *", "RunConfig(name='run')", False),
        ("from helpers import *", "RunConfig(name='run')", False),
        ("from ray.air.config import *\nfrom helpers import RunConfig", "RunConfig(name='run')", False),
    ],
)
def test_a_configuration_from_a_star_import_names_storage_too(star: str, config: str, is_told: bool) -> None:
    script = SCRIPT.format(connection='ray.init("auto")', arguments=f", run_config={config}", report=SAVES)
    script = script.replace(
        "from ray.air import RunConfig, ScalingConfig, session", f"from ray.air import session\n{star}"
    )
    assert bool(converted(script).lines("RM417", Kind.MANUAL)) == is_told


def test_ray_2_7_needed_it_as_well() -> None:
    script = SCRIPT.format(connection='ray.init("auto")', arguments="", report=SAVES)
    assert not converted(script, from_ray="2.7").lines("RM417", Kind.MANUAL)


IN_SIGHT = """
import os
import ray
from helpers import helper
from ray import air, train
from ray.air import ScalingConfig, session
from ray.air.integrations.keras import ReportCheckpointCallback
from ray.train.torch import TorchTrainer


def saves():
    session.report({{}}, checkpoint=air.Checkpoint.from_directory("saved"))


def loop(config):
    {body}


ray.init("auto")
trainer = TorchTrainer({given}, scaling_config=ScalingConfig(num_workers=2))
"""


def of_a_loop(body: str, given: str = "loop") -> list[int]:
    return converted(IN_SIGHT.format(body=body, given=given)).lines("RM417", Kind.MANUAL)


@pytest.mark.parametrize("body", ["return 'done'", "print(os.getpid())", "session.report({'loss': 1})", "pass"])
def test_a_function_in_sight_that_reports_no_checkpoint_needs_no_storage(body: str) -> None:
    assert not of_a_loop(body)
    assert not of_a_loop(body, "train_loop_per_worker=loop")


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("saves()", "loop"),
        ("helper()", "loop"),  # of a package that is not seen
        ("config['hook']()", "loop, train_loop_config={'hook': saves}"),
        ("config['trainer'].add(ReportCheckpointCallback())", "loop"),
        ("helper.run(session.report)", "loop"),
        ("getattr(config, config['name'])()", "loop"),
        ("pass", "helper.loop"),
    ],
)
def test_one_that_may_report_one_does(body: str, given: str) -> None:
    assert len(of_a_loop(body, given)) == 1


@pytest.mark.parametrize(
    "imported",
    ["from tqdm.auto import tqdm", "from torchvision import models as tqdm", "from PIL.Image import open as tqdm"],
)
def test_packages_that_know_nothing_of_ray_report_nothing(imported: str) -> None:
    assert not of_a_loop(f"{imported}\n    tqdm(range(3))")
