"""The recorder, in a process of its own as in an arm, but without Ray."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from raymigrate.runtime.verify.arms import INJECTED
from raymigrate.runtime.verify.pins import PINS
from raymigrate.runtime.verify.trace import Trace, read_trace, steps_done

SCRIPT = Path(__file__).parent / "scripts" / "train_tiny.py"
ALL_PINS = {pin.name: pin.value for pin in PINS}


def run(
    folder: Path, *arguments: str, rank: str | None = "0", pins: dict[str, Any] | None = None, **settings: Any
) -> subprocess.CompletedProcess[str]:
    """Runs Python with the recorder in it."""
    folder.mkdir(exist_ok=True)
    recorder = {
        "trace": str(folder),
        "storage": str(folder / "storage"),
        "pins": ALL_PINS if pins is None else pins,
        **settings,
    }
    environment = {**os.environ, "PYTHONPATH": str(INJECTED), "RAYMIGRATE_RECORDER": json.dumps(recorder)}
    if rank is not None:
        environment["RANK"] = rank
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def train(folder: Path, batch: int = 3, rate: float = 0.1, **settings: Any) -> Trace:
    """Runs the tiny job."""
    done = run(folder, str(SCRIPT), str(batch), str(rate), **settings)
    assert done.returncode == 0, done.stderr
    assert not list(folder.glob("fault-*")), done.stderr
    return read_trace(folder)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The tiny job with all pins."""
    return train(tmp_path_factory.mktemp("pinned"))


@pytest.mark.ray
@pytest.mark.xdist_group("recorder")
def test_every_step_is_recorded(trace: Trace) -> None:
    attempt = trace.first_rank
    assert [step.number for step in attempt.steps] == list(range(1, 9))
    assert all(len(step.losses) == 1 and step.gradient_norm for step in attempt.steps)
    assert {step.learning_rates for step in attempt.steps} == {(0.1,)}
    assert attempt.optimizer["optimizer"] == "AdamW"
    assert attempt.optimizer["groups"][0]["weight_decay"] == 0.01
    assert attempt.model["model"] == "Sequential"
    assert attempt.model["trainable"] == 22
    assert steps_done(trace.folder) == 8

    first_pass = [row for step in attempt.steps[:4] for batch in step.batches for row in batch.rows]
    assert len(set(first_pass)) == 12
    assert [step.batches[0].tensors["[0]"][0] for step in attempt.steps] == [(3, 2)] * 8
    assert [(step, len(batch.rows)) for step, batch in attempt.evaluation_batches] == [(4, 12), (8, 12)]

    assert attempt.final_weights is not None
    assert attempt.final_weights.keys() == attempt.initial_weights.keys() == trace.weights("final").keys()
    assert all(attempt.final_weights[name] != digest for name, digest in attempt.initial_weights.items())


@pytest.mark.ray
@pytest.mark.xdist_group("recorder")
def test_a_pinned_job_repeats_itself_and_an_unpinned_one_does_not(trace: Trace, tmp_path: Path) -> None:
    again = train(tmp_path / "again")
    assert again.first_rank.steps == trace.first_rank.steps
    assert again.first_rank.final_weights == trace.first_rank.final_weights
    assert train(tmp_path / "unpinned", pins={}).first_rank.steps != trace.first_rank.steps


@pytest.mark.ray
@pytest.mark.xdist_group("recorder")
def test_the_order_of_rows_hangs_on_seed_and_epoch_alone(trace: Trace, tmp_path: Path) -> None:
    def rows(trace: Trace) -> list[str]:
        return [row for step in trace.first_rank.steps for batch in step.batches for row in batch.rows]

    in_threes, in_fours = rows(trace), rows(train(tmp_path, 4))
    assert in_threes == in_fours
    assert in_threes[:12] != in_threes[12:]
    assert set(in_threes[:12]) == set(in_threes[12:])


LAUNCHERS = """
import os
from accelerate import debug_launcher, notebook_launcher

def train(name, epochs=1):
    print(name, epochs, os.getpid() == started)

started = os.getpid()
notebook_launcher(train, ("first", 2), num_processes=2)
debug_launcher(function=train, args=("second",))
"""


@pytest.mark.ray
def test_processes_that_are_started_already_start_no_others_with_the_launchers_of_accelerate(tmp_path: Path) -> None:
    done = run(tmp_path, "-c", LAUNCHERS, plain="-c")
    assert done.stdout.splitlines() == ["first 2 True", "second 1 True"], done.stderr


RESUMED = """
import sys, torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
accelerator = Accelerator(cpu=True)
loader = accelerator.prepare(DataLoader(torch.arange(12), batch_size=12, shuffle=True))
folder, passes, goes_on = sys.argv[1:]
if goes_on == "yes":
    accelerator.load_state(folder)
for _ in range(int(passes)):
    print(next(iter(loader)).tolist())
accelerator.save_state(folder)
"""


@pytest.mark.ray
def test_a_job_that_goes_on_from_a_checkpoint_of_accelerate_goes_on_with_its_order(tmp_path: Path) -> None:
    def printed(*arguments: str) -> list[str]:
        done = run(tmp_path / "trace", "-c", RESUMED, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    undisturbed = printed(str(tmp_path / "undisturbed"), "3", "no")
    assert len(set(undisturbed)) == 3
    begun = printed(str(tmp_path / "checkpoint"), "2", "no")
    assert begun + printed(str(tmp_path / "checkpoint"), "1", "yes") == undisturbed


RAY_DATA = """
import sys
from ray.data._internal.batcher import ShufflingBatcher
from ray.data._internal.random_config import RandomSeedConfig
from types import SimpleNamespace

context = SimpleNamespace(_execution_idx=7)
shuffled, seeded = RandomSeedConfig(), RandomSeedConfig(seed=3)
for config in (shuffled, shuffled, seeded, RandomSeedConfig()):
    print(config.get_seed_tuple(data_context=context))
print([ShufflingBatcher(4, 8, *seed)._rng.integers(1000) for seed in ((), (), (5,))])
"""


@pytest.mark.ray
def test_ray_data_shuffles_by_the_seed_and_in_each_pass_anew(tmp_path: Path) -> None:
    first, again = (run(tmp_path / name, "-c", RAY_DATA) for name in ("first", "again"))
    assert first.stdout == again.stdout, first.stderr
    passes = [line.partition("SeedTuple")[2] for line in first.stdout.splitlines()[:4]]
    assert passes[0] == passes[3] != passes[1]
    assert passes[2] == "(seed=3, execution_idx=7)"  # a seed of the script's own
    drawn = first.stdout.splitlines()[-1].strip("[]").split(", ")
    assert len(set(drawn)) == 3
    assert drawn != run(tmp_path / "unpinned", "-c", RAY_DATA, pins={}).stdout.splitlines()[-1].strip("[]").split(", ")


WATCHED = """
import json, pickle
from raymigrate_recorder import results
from ray.train import Result

def result(metrics):
    return Result(metrics=metrics, checkpoint=None, error=None, path="p", metrics_dataframe=None, best_checkpoints=[],
                  _storage_filesystem=None)

read, unread = result({"loss": 1.0}), result({"loss": 2.0})
for one in (read, unread):
    results._watch(one)
print(unread.path, isinstance(unread, Result), read.metrics["loss"])
unread.metrics = {}
again = pickle.loads(pickle.dumps(read))
print(type(again) is Result, again.metrics)
"""


@pytest.mark.ray
def test_it_is_noted_whether_a_script_reads_the_metrics_of_a_result(tmp_path: Path) -> None:
    done = run(tmp_path, "-c", WATCHED, rank=None)
    assert done.stdout.splitlines() == ["p True 1.0", "True {'loss': 1.0}"], done.stderr
    assert read_trace(tmp_path).reads_metrics
    assert sum("metrics read" in path.read_text() for path in tmp_path.glob("events-*")) == 1


@pytest.mark.ray
def test_a_job_stops_after_the_last_step_asked_for(tmp_path: Path) -> None:
    attempt = train(tmp_path, max_steps=5).first_rank
    assert len(attempt.steps) == 5
    assert attempt.final_weights


@pytest.mark.ray
def test_a_worker_is_killed_once(tmp_path: Path) -> None:
    kill = {"rank": 0, "step": 2}
    done = run(tmp_path, str(SCRIPT), "3", "0.1", kill=kill)
    assert done.returncode == -9
    trace = train(tmp_path, kill=kill)
    assert [len(attempt.steps) for attempt in trace.ranks[0]] == [2, 8]
    assert trace.ranks[0][0].final_weights is None


SLOW_NODE = """
from ray._private import services, state

class SlowState:
    left = 3

    def _initialize_global_state(self, options):
        pass

    def get_node(self, node):
        SlowState.left -= 1
        if SlowState.left:
            raise RuntimeError("not there yet")
        return node

state.GlobalState, services._get_gcs_client_options = SlowState, str
print(services.get_node("address", "node"), SlowState.left)
"""


@pytest.mark.ray
def test_ray_has_more_than_its_thirty_seconds_to_start_a_node(tmp_path: Path) -> None:
    """`Node.__init__` asks until 30 seconds are over; each question now waits for the node."""
    done = run(tmp_path, "-c", SLOW_NODE, rank=None)
    assert done.stdout == "node 0\n", done.stderr


@pytest.mark.parametrize(
    ("services", "expected"),
    [("def wait_for_node(address, socket, timeout=30):\n    return timeout\n", "180"), ("", "None")],
)
def test_an_old_ray_that_waits_in_another_function_has_it_too(services: str, expected: str, tmp_path: Path) -> None:
    """Ray 2.6 has no `get_node`; a module that has neither is left alone."""
    folder = tmp_path / "ray/_private"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "services.py").write_text(services)
    ask = "getattr(services, 'wait_for_node', lambda *_: None)('address', 'socket')"
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from ray._private import services; print({ask})"
    done = run(tmp_path / "trace", "-c", code, rank=None)
    assert done.stdout == f"{expected}\n", done.stderr


@pytest.mark.ray
def test_nothing_is_recorded_outside_a_worker(tmp_path: Path) -> None:
    code = "import torch; m = torch.nn.Linear(2, 2); torch.optim.SGD(m.parameters()).step(); m(torch.ones(1, 2))"
    done = run(tmp_path, "-c", code, rank=None)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.ray
def test_a_fault_of_the_recorder_is_loud(tmp_path: Path) -> None:
    """It ends the job, and is found by whoever runs the arm."""
    code = (
        "import raymigrate_recorder.training as t, torch\n"
        "t.batch_of = lambda *a: 1 / 0\n"
        "m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))\n"
        "m(torch.ones(1, 2))"
    )
    done = run(tmp_path, "-c", code)
    assert done.returncode == 1
    (fault,) = tmp_path.glob("fault-*.txt")
    assert "ZeroDivisionError" in fault.read_text()


def test_starting_python_imports_nothing_heavy_and_runs_the_hidden_sitecustomize(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import os\nos.environ['HIDDEN_RAN'] = 'yes'\n")
    code = (
        f"import os, sys; sys.path.append({str(hidden)!r})\n"
        "import importlib, sitecustomize; importlib.reload(sitecustomize)\n"
        "print(os.environ['HIDDEN_RAN'], {'torch', 'ray', 'pathlib'} & set(sys.modules))"
    )
    done = run(tmp_path, "-S", "-c", code)
    assert done.stdout.split(maxsplit=1)[0] == "yes", done.stderr
    assert "torch" not in done.stdout
    assert "ray" not in done.stdout


@pytest.mark.parametrize("pin", PINS, ids=lambda pin: pin.name)
def test_every_pin_that_is_named_is_carried_out(pin: Any) -> None:
    """The names in the user's table are those that the recorder knows."""
    recorder = INJECTED / "raymigrate_recorder"
    source = "".join((recorder / name).read_text(encoding="utf-8") for name in ("pins.py", "order.py"))
    assert f'@pin("{pin.name}")' in source or f'"{pin.name}" in settings.pins' in source


def test_padding_changes_the_tensor_but_not_the_row(tmp_path: Path) -> None:
    code = (
        "import torch\n"
        "from raymigrate_recorder.digests import batch_of\n"
        "short = {'input_ids': torch.tensor([[5, 6, 7]]), 'attention_mask': torch.ones(1, 3)}\n"
        "padded = {'input_ids': torch.tensor([[5, 6, 7, 0]]), 'attention_mask': torch.tensor([[1., 1, 1, 0]])}\n"
        "a, b = batch_of((), short), batch_of((), padded)\n"
        "print(a['rows'] == b['rows'], a['tensors']['input_ids'] == b['tensors']['input_ids'])"
    )
    done = run(tmp_path, "-c", code)
    assert done.stdout.split() == ["True", "False"], done.stderr
