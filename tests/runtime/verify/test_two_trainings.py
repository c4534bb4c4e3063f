"""Any two scripts that train, as they are (arms P and Q): in one environment or in two, however they are started."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main
from raymigrate.runtime.verify.arms import Arm
from raymigrate.runtime.verify.compare import compare, pair_of
from raymigrate.runtime.verify.pins import PINS
from raymigrate.runtime.verify.reporting.wording import verdict
from raymigrate.runtime.verify.results import Check, Comparison, Status
from raymigrate.runtime.verify.scripts import is_legacy, uses_ray
from raymigrate.runtime.verify.verification import with_as_many_processes
from tests.conftest import FIXTURES
from tests.runtime.verify.runs import made_up
from tests.runtime.verify.test_plain_scripts import WITH_LOADERS

TOGETHER = """
import os
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

together = "RANK" in os.environ
if together:
    distributed.init_process_group("gloo")
model = torch.nn.Linear(4, 2)
model = DistributedDataParallel(model) if together else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.01)
for step in range(4):
    loss = model(torch.randn(4, 4)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
if together:
    distributed.destroy_process_group()
"""
PROVED = "P = Q: equal training is proved bit for bit: "
PROVED_BUT = "P = Q: equal training is proved bit for bit, except for what the pins dropout and data-order hide: "
OLD = {"torch": "2.13.0", "transformers": "4.57.6", "accelerate": "1.15.0"}


def verified(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["verify", *map(str, arguments)])


def scripts(folder: Path, text: str, *changes: tuple[str, str]) -> tuple[Path, Path]:
    """A script, and in a folder of its own another one that differs in what is named."""
    other = text
    for old, new in changes:
        assert old in other
        other = other.replace(old, new)
    made = folder / "before" / "train.py", folder / "after" / "train_again.py"
    for path, content in zip(made, (text, other), strict=True):
        path.parent.mkdir()
        path.write_text(content)
    return made


@pytest.mark.ray
def test_two_equal_scripts_are_proved_equal(tmp_path: Path) -> None:
    """Started by Python, which names no rank; the process that loads their data is no worker."""
    before, after = scripts(tmp_path, WITH_LOADERS)
    outcome = verified("--original", before, after)
    assert outcome.exit_code == 0, outcome.output
    assert PROVED in outcome.output
    assert "runs of the train function: 1" in outcome.output
    assert "number of workers: 1" in outcome.output


@pytest.mark.ray
@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (("lr=0.1", "lr=0.2"), "another learning rate schedule"),
        (("weight_decay=0.01", "weight_decay=0.1"), "other settings of the optimizer"),
    ],
)
def test_another_hyperparameter_is_named(change: tuple[str, str], cause: str, tmp_path: Path) -> None:
    before, after = scripts(tmp_path, TOGETHER, change)
    outcome = verified("--original", before, after)
    assert outcome.exit_code == 1, outcome.output
    assert "Q differs from P at the gate 'contract'" in outcome.output
    assert f"Cause: {cause}.\n" in outcome.output


@pytest.mark.ray
def test_rows_in_an_order_of_their_own_are_noticed(tmp_path: Path) -> None:
    """In one environment no pin makes up for the seed of a loader."""
    loader = "DataLoader(rows, batch_size=4, "
    seeded = loader + "shuffle=True, generator=torch.Generator().manual_seed({}), "
    before, after = scripts(tmp_path, WITH_LOADERS.replace(loader, seeded.format(1)), ("seed(1)", "seed(2)"))
    outcome = verified("--original", before, after)
    assert outcome.exit_code == 1, outcome.output
    assert "Cause: rows in another order" in outcome.output


@pytest.mark.ray
@pytest.mark.parametrize(
    ("launch", "workers"),
    [
        (["--launch", "torchrun --nproc-per-node 2"], 2),
        (["--workers", "2"], 2),
        (
            [
                "--launch",
                "accelerate launch --num_processes 1 --num_machines 1 --mixed_precision no --dynamo_backend no",
            ],
            1,
        ),
    ],
    ids=["torchrun", "workers", "accelerate"],
)
def test_they_are_started_as_the_user_says(launch: list[str], workers: int, tmp_path: Path) -> None:
    before, after = scripts(tmp_path, TOGETHER)
    outcome = verified(*launch, "--original", before, after)
    assert outcome.exit_code == 0, outcome.output
    assert PROVED in outcome.output
    assert f"number of workers: {workers}" in outcome.output


@pytest.mark.ray
def test_one_process_against_two(tmp_path: Path) -> None:
    before, after = scripts(tmp_path, TOGETHER)
    launches = ["--launch", "python", "--launch", "torchrun --nproc-per-node 2"]
    outcome = verified(*launches, "--original", before, after)
    assert outcome.exit_code == 1, outcome.output
    assert "Q differs from P at the gate 'contract': number of workers: 1 and 2" in outcome.output


def environment(folder: Path, **versions: str) -> Path:
    """A virtual environment that borrows the packages of the running one, some of which say that they are older."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    borrowed = [path for path in sys.path if path.endswith("-packages")]
    (packages / "borrowed.pth").write_text("\n".join(borrowed))
    for name, version in versions.items():
        told = packages / f"{name}-{version}.dist-info"
        told.mkdir()
        (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder


@pytest.mark.ray
def test_one_script_in_two_environments(tmp_path: Path) -> None:
    script, _ = scripts(tmp_path, TOGETHER)
    older = environment(tmp_path / "older", accelerate="0.99.0")
    report = tmp_path / "report.md"
    outcome = verified("--environment-before", older, script, "--report", report)
    assert outcome.exit_code == 0, outcome.output
    assert PROVED_BUT in outcome.output
    assert "accelerate 0.99.0" in report.read_text()


def test_a_folder_that_is_no_environment_is_refused(tmp_path: Path) -> None:
    script, _ = scripts(tmp_path, TOGETHER)
    outcome = verified("--environment-after", tmp_path, script)
    assert outcome.exit_code == 2
    assert "is not a virtual environment: it has no bin/python." in outcome.output


PAIR = ["--original", str(FIXTURES / "to_accelerate/train_function/before.py")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PAIR, "--kill-worker"], "leave --kill-worker out"),
        ([*PAIR, "--address", "http://head:8265"], "leave --address out"),
        ([*PAIR, "--launch", "mpirun -n 2"], "a launch begins with python, torchrun or accelerate launch"),
        ([*PAIR, "--launch", "python '"], "No closing quotation"),
        ([*PAIR, "--launch", "accelerate test"], "a launch begins with python, torchrun or accelerate launch"),
        ([*PAIR, *["--launch", "python"] * 3], "one launch for both scripts, or one for each"),
        ([*PAIR, "--launch", "torchrun", "--workers", "2"], "leave --workers out"),
        (["--to-accelerate", "--launch", "python"], "this job is converted; leave them out"),
        (["--to-ray", "--environment-before", "."], "this job is converted; leave them out"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_one_sentence(arguments: list[str], message: str) -> None:
    outcome = verified(*arguments, FIXTURES / "to_accelerate/module_level/before.py")
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.output.split())


def test_a_script_is_not_compared_with_itself() -> None:
    legacy = FIXTURES / "accelerate_trainer/bert_mrpc/before.py"
    outcome = verified("--arms", "P,Q", legacy)
    assert outcome.exit_code == 2
    assert "name the other script with --original FILE" in outcome.output


def test_what_starts_a_script() -> None:
    script = Path("train.py")
    assert Arm("P", script, processes=1, launch=("python", "-X", "dev")).launcher == ["-X", "dev"]
    elastic = Arm("P", script, processes=1, launch=("torchrun", "--nproc-per-node", "2")).launcher
    assert elastic == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    nodes = Arm("P", script, processes=1, launch=("torchrun", "--nnodes=1", "--master_port=1")).launcher
    assert "--standalone" not in nodes
    assert Arm("Q", script, launch=("torchrun",)).launcher == []  # it starts Ray itself


@pytest.mark.parametrize(
    ("launch", "processes"), [((), 3), (("python",), 3), (("torchrun", "--nproc-per-node=2"), 1)], ids=str
)
def test_a_plain_script_gets_as_many_processes_as_the_other_has_workers(
    launch: tuple[str, ...], processes: int, tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text("from ray.train import ScalingConfig\nscaling = ScalingConfig(num_workers=3)\n")
    plain = Arm("P", Path("old.py"), processes=1, launch=launch)
    changed, other = with_as_many_processes([plain, Arm("Q", script)])
    assert changed.processes == processes
    assert other.processes == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("import ray.train\n", True), ("from helper import train\n", True), ("import rayon\nimport torch\n", False)],
)
def test_a_script_that_imports_ray_starts_its_workers_itself(text: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("from ray.train.torch import TorchTrainer as train\n")
    (tmp_path / "train.py").write_text(text)
    assert uses_ray(tmp_path / "train.py") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from helper import trainer\n", True),
        ("from ray.train.huggingface import TransformersTrainer\nmade = [TransformersTrainer]\n", True),
        ("import ray\nray.init()\nimport torch\n", False),
        ("from transformers import Trainer\n", False),
    ],
)
def test_a_legacy_original_is_not_run_as_it_is(text: str, expected: bool, tmp_path: Path) -> None:
    """Nor one of which everything is left for a person, who may have converted it."""
    (tmp_path / "helper.py").write_text("from ray.air import session\ntrainer = session.report\n")
    (tmp_path / "train.py").write_text(text)
    assert is_legacy(tmp_path / "train.py") is expected


def compared(of_left: dict[str, Any], of_right: dict[str, Any], *, upgrade: bool = True) -> Comparison:
    """Two scripts that have trained alike, under another transformers if it is an upgrade."""
    left = made_up("P", **of_left, **({"versions": OLD} if upgrade else {}))
    right = made_up("Q", **of_right)
    return compare(pair_of("P", "Q", [left, right]), "equal training")


def asked(comparison: Comparison) -> Check:
    [contract] = (gate for gate in comparison.gates if gate.name == "contract")
    return next(check for check in contract.checks if check.name == "arguments of the Trainer")


def test_a_default_that_an_upgrade_changes_is_explained_and_named() -> None:
    sides = [
        {"trainer": {"optim": value}, "defaults": {"optim": value, "fsdp": nothing}}
        for value, nothing in (("adamw_torch", ""), ("adamw_torch_fused", None))
    ]
    found = compared(*sides)
    assert asked(found).status is Status.EXPLAINED
    assert asked(found).figures == "by default optim is adamw_torch and adamw_torch_fused"
    [cause] = (cause for cause in found.causes if "defaults" in cause.name)
    assert cause.name == "other defaults of the Trainer (optim)"
    assert cause.evidence == "by default optim is adamw_torch in transformers 4.57.6 and adamw_torch_fused in 5.23.0"
    assert "write down optim in TrainingArguments" in cause.remedy
    assert found.status is Status.EXPLAINED


@pytest.mark.parametrize("upgrade", [True, False])
def test_what_a_script_itself_asks_for_is_no_default(upgrade: bool) -> None:
    left = {"trainer": {"weight_decay": 0.0}, "defaults": {"weight_decay": 0.0}}
    right = {"trainer": {"weight_decay": 0.1}, "defaults": {"weight_decay": 0.0}, "given": {"weight_decay": 0.1}}
    found = compared(left, right, upgrade=upgrade)
    assert asked(found).status is Status.FAIL
    assert asked(found).figures == "weight_decay is 0.0 and 0.1"
    assert "other arguments of the Trainer" in verdict(found)


def test_what_a_version_makes_of_the_same_value_is_its_own_business() -> None:
    given = {"given": {"fsdp": "full_shard"}}
    found = compared({"trainer": {"fsdp": ["full_shard"]}, **given}, {"trainer": {"fsdp": True}, **given})
    assert asked(found).status is Status.PASS


def test_pins_that_may_hide_other_draws_are_named() -> None:
    assert compared({}, {}, upgrade=False).hidden == tuple(pin.name for pin in PINS if pin.of_draws)
