"""The command line of `raymigrate verify`: usage, errors, interruption. Jobs that train are in the files beside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from raymigrate.runtime.verify import verification
from raymigrate.runtime.verify.arms import Arm, Run
from raymigrate.runtime.verify.processes import RUN_VARIABLE
from raymigrate.runtime.verify.scripts import Sources
from scripts.verify_mutants import Silent
from tests.conftest import FIXTURES
from tests.runtime.verify.runs import made_up

BERT = FIXTURES / "accelerate_trainer/bert_mrpc"


@pytest.fixture
def legacy(tmp_path: Path) -> Path:
    """A legacy script that does what its first line says, instead of training."""
    (tmp_path / "job").mkdir()
    return Path(shutil.copy(BERT / "before.py", tmp_path / "job" / "train.py"))


def behaving(script: Path, line: str) -> Path:
    script.write_text(f"{line}\n{script.read_text()}")
    return script


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--arms", "C"], "two or more of P, A, O, B and C"),
        (["--arms", "B,X"], "two or more of P, A, O, B and C"),
        (["--arms", "P,Q,C"], "Q is compared with P and with nothing else"),
        (["--no-pin", "sead"], "there is no pin sead; there are seed, dropout"),
        (["--report", "out.pdf"], "must end in .html, .md, .json or .xml"),
        (["--workers", "0"], "0 is not in the range x>=1"),
        (["--from-ray", "2.60"], "'2.60' is not a version of Ray from 2.0 to 2.50"),
        (["--original", "nowhere.py"], "File 'nowhere.py' does not exist"),
        (["--original", str(BERT / "before.py"), "--original-rev", "HEAD"], "not both"),
        (["--address", "http://head:8265"], "name a folder that all of its nodes see with --shared-folder"),
        (["--address", "http://head:8265", "--shared-folder", ".", "--arms", "A,O"], "leave --address out"),
        (["--address", "http://head:8265", "--shared-folder", ".", "--keep", "/new"], "a folder inside ."),
    ],
)
def test_wrong_usage_is_told_in_one_sentence(arguments: list[str], message: str, legacy: Path) -> None:
    outcome = CliRunner().invoke(main, ["verify", str(legacy), *arguments])
    assert outcome.exit_code == 2
    assert message in outcome.output


def test_a_script_without_legacy_version_is_refused() -> None:
    outcome = CliRunner().invoke(main, ["verify", str(BERT / "after.py")])
    assert outcome.exit_code == 2
    assert "after.py has nothing to convert; name its legacy version with --original FILE or" in outcome.output


def test_an_arm_that_fails_gives_exit_code_2_and_its_log(legacy: Path) -> None:
    behaving(legacy, "import sys; sys.exit('no such dataset')")
    outcome = CliRunner().invoke(main, ["verify", str(legacy)])
    assert outcome.exit_code == 2
    assert "Arm B (original script under the stand-in, current libraries) ended with exit status 1." in outcome.output
    assert "no such dataset" in outcome.output


def test_arguments_behind_the_dashes_reach_the_script(legacy: Path) -> None:
    behaving(legacy, "import sys; sys.exit(str(sys.argv[1:]))")
    outcome = CliRunner().invoke(main, ["verify", str(legacy), "--", "--epochs", "1", "--arms", "x"])
    assert "['--epochs', '1', '--arms', 'x']" in outcome.output


def test_kept_folders_have_to_be_new(legacy: Path) -> None:
    outcome = CliRunner().invoke(main, ["verify", str(legacy), "--keep", str(legacy.parent)])
    assert outcome.exit_code == 2
    assert "is not empty; --keep takes a new folder" in outcome.output


def test_what_ran_is_kept_where_it_is_asked_for(legacy: Path, tmp_path: Path) -> None:
    behaving(legacy, "import sys; sys.exit('stopped')")
    CliRunner().invoke(main, ["verify", str(legacy), "--keep", str(tmp_path / "kept")])
    assert (tmp_path / "kept/runs/B/log.txt").read_text() == "stopped\n"
    assert "TorchTrainer(" in (tmp_path / "kept/scripts/C/train.py").read_text()


def runs_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes of arms that descend from a command, and those that have outlived it."""
    found = []
    for other in psutil.process_iter():
        try:
            environment = other.environ()
        except (psutil.Error, OSError):
            continue
        if RUN_VARIABLE in environment and environment.get("STARTED_BY") == str(process.args):
            found.append(other)
    return found


def started(script: Path, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Starts a verification with temporary folders of its own."""
    command = [sys.executable, "-m", "raymigrate", "verify", str(script), *arguments]
    environment = {**os.environ, "TMPDIR": str(folder), "STARTED_BY": str(command)}
    folder.mkdir()
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def in_the_middle(script: Path, folder: Path, *, train: bool) -> subprocess.Popen[str]:
    """A verification whose first arm waits, or trains on real Ray."""
    if not train:
        behaving(script, "import time; time.sleep(600)")
    process = started(script, folder, *(["--offline"] if train else []))
    wanted = "raylet" if train else "train.py"
    deadline = time.monotonic() + 600
    while not any(wanted in " ".join(other.cmdline()) for other in runs_of(process)):
        assert time.monotonic() < deadline, process.communicate(timeout=5)
        time.sleep(0.5)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize("train", [False, pytest.param(True, marks=pytest.mark.ray)], ids=["waiting", "training"])
def test_an_interrupted_run_leaves_nothing_behind(train: bool, number: int, legacy: Path, tmp_path: Path) -> None:
    process = in_the_middle(legacy, tmp_path / "temporary", train=train)
    family = psutil.Process(process.pid).children(recursive=True)

    process.send_signal(number)
    output, _ = process.communicate(timeout=300)

    assert process.returncode == 2
    assert "Interrupted; everything that ran was ended." in output
    assert runs_of(process) == []
    assert psutil.wait_procs(family, timeout=10)[1] == []
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("train", [False, pytest.param(True, marks=pytest.mark.ray)], ids=["waiting", "training"])
def test_nothing_of_a_killed_run_lives_on_for_more_than_ten_seconds(train: bool, legacy: Path, tmp_path: Path) -> None:
    """SIGKILL leaves it no chance to clean up; memory that runs out and `timeout --signal=KILL` send it."""
    process = in_the_middle(legacy, tmp_path / "temporary", train=train)
    family = psutil.Process(process.pid).children(recursive=True)  # Ray's agents do not carry the name of the run
    assert len(family) > (5 if train else 1)

    process.kill()
    process.wait()

    assert psutil.wait_procs(family, timeout=10)[1] == []
    assert runs_of(process) == []
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("keep", [True, False])
def test_what_a_run_wrote_goes_when_it_is_recorded(
    keep: bool, legacy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints of four runs of a large model would fill a disk."""

    def run_arm(arm: Arm, name: str, folder: Path, **_: object) -> Run:
        assert not list(tmp_path.glob("verify/runs/*/storage")) or keep
        for part in ("trace", "storage", "work"):
            (folder / part).mkdir(parents=True)
            (folder / part / "file").touch()
        return made_up(name)

    monkeypatch.setattr(verification, "run_arm", run_arm)
    request = verification.Request(Sources(legacy), repeat=2)
    runs = verification.run_arms(request, tmp_path / "verify", None, Silent(), keep=keep)
    assert [run.name for run in runs] == ["B", "B2", "C", "C2"]
    written = sorted(str(path.relative_to(tmp_path / "verify/runs")) for path in tmp_path.glob("verify/runs/*/*"))
    parts = ("storage", "trace", "work") if keep else ("trace",)
    assert written == sorted(f"{run.name}/{part}" for run in runs for part in parts)
