"""What a pin or an override answers in place of a script is compared as the script asked for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raymigrate.runtime.verify.compare import compare, pair_of
from raymigrate.runtime.verify.pins import PINS, SEED
from raymigrate.runtime.verify.reporting.wording import verdict
from raymigrate.runtime.verify.request import Request
from raymigrate.runtime.verify.results import Comparison, Status
from raymigrate.runtime.verify.scripts import Sources
from raymigrate.runtime.verify.trace import Trace
from tests.runtime.verify.runs import made_up
from tests.runtime.verify.test_recorder import run, train

OLD = {"torch": "2.13.0", "transformers": "4.30.2", "accelerate": "0.20.3"}
ON_GPUS: dict[str, Any] = {"gpu_asked": True, "cpu_asked": False}


def compared(of_both: dict[str, Any] | None = None, **of_converted: Any) -> Comparison:
    """An arm B, and an arm C that asks for something else; both have trained alike."""
    left, right = made_up("B", **(of_both or {})), made_up("C", **{**(of_both or {}), **of_converted})
    return compare(pair_of("B", "C", [left, right]), "the conversion")


@pytest.mark.parametrize(("asked", "overridden"), [(False, True), (True, False)])
def test_a_copy_of_an_overridden_configuration_asks_for_nothing(asked: bool, overridden: bool) -> None:
    """The stand-in makes a ScalingConfig of the script's own, which `--device` has changed by then."""
    changes = {"gpu_asked": asked, "cpu_asked": not asked}
    left, right = made_up("B", **changes), made_up("C", **changes)
    left.trace.scaling.append({"workers": 1, "use_gpu": overridden})
    assert compare(pair_of("B", "C", [left, right]), "the conversion").status is Status.PASS


@pytest.mark.parametrize(
    ("of_both", "of_converted", "cause"),
    [
        # Hidden by --workers and --device.
        ({}, {"workers_asked": 4}, "other workers are asked for"),
        (ON_GPUS, {"gpu_asked": False, "cpu_asked": True}, "other workers are asked for"),
        # Hidden by --device.
        ({}, {"cpu_asked": False}, "the device is not that of the workers"),
        (ON_GPUS, {"cpu_asked": True}, "the device is not that of the workers"),
        ({"trainer": {}}, {"trainer": {"use_cpu": False}}, "the device is not that of the workers"),
        ({"trainer": {}, **ON_GPUS}, {"trainer": {"use_cpu": True}}, "the device is not that of the workers"),
        # Hidden by --device cpu and --precision.
        ({"trainer": {"fp16": True}}, {"trainer": {"fp16": False}}, "other arguments of the Trainer"),
        (
            {"accelerator": {"mixed_precision": "bf16"}},
            {"accelerator": {"mixed_precision": "no"}},
            "other arguments of the Accelerator",
        ),
        # Hidden by the pins "optimizer", "data-order" and "loss-mean".
        ({"trainer": {"optim": "adafactor"}}, {"trainer": {"optim": "adamw_torch"}}, "other arguments of the Trainer"),
        ({"trainer": {"data_seed": 7}}, {"trainer": {"data_seed": None}}, "other arguments of the Trainer"),
        (
            {"trainer": {"gradient_accumulation_steps": 2}},
            {"trainer": {"gradient_accumulation_steps": 2}, "divides_loss": False},
            "other arguments of the Trainer",
        ),
        # Hidden by the pins "seed", "data-order" and "dropout".
        ({}, {"seed_asked": SEED}, "another seed"),
        ({"prepare_seed": 42}, {"prepare_seed": SEED}, "another seed"),
        (
            {"accelerator": {"use_seedable_sampler": True}},
            {"accelerator": {"use_seedable_sampler": False}},
            "other arguments of the Accelerator",
        ),
        # Hidden by a short run.
        ({"clipped": 100.0}, {"clipped": None}, "gradients are clipped otherwise"),
        ({"clipped": 100.0}, {"clipped": 1.0}, "gradients are clipped otherwise"),
        ({"trainer": {}, "callbacks": ("EarlyStoppingCallback",)}, {"callbacks": ()}, "a callback is missing"),
        # Hidden by the pin "dtype".
        ({"dtype_asked": "bfloat16"}, {"dtype_asked": "default"}, "the model is loaded in another way"),
    ],
)
def test_what_only_one_script_asks_for_fails_although_both_trained_alike(
    of_both: dict[str, Any], of_converted: dict[str, Any], cause: str
) -> None:
    assert compared(of_both).status is Status.PASS

    comparison = compared(of_both, **of_converted)

    assert [gate.name for gate in comparison.gates if gate.status is Status.FAIL] == ["contract"]
    assert [found.name for found in comparison.causes] == [cause]
    assert cause in verdict(comparison)


@pytest.mark.parametrize(
    ("of_both", "of_converted"),
    [
        ({"trainer": {}}, {"trainer": {"output_dir": "elsewhere", "report_to": []}}),
        ({"trainer": {}}, {"trainer": {"average_tokens_across_devices": False}}),
        ({"trainer": {}}, {"trainer": {"dataloader_pin_memory": False}}),
        ({"trainer": {}}, {"divides_loss": False}),  # nothing is accumulated
        ({"workers_asked": 1}, {"cpu_asked": False}),  # nobody to train with
        ({}, {"cpu_asked": None}),  # decided by what made the state before
    ],
)
def test_what_a_conversion_may_change_fails_nothing(of_both: dict[str, Any], of_converted: dict[str, Any]) -> None:
    assert compared(of_both, **of_converted).status is Status.PASS


def test_across_versions_the_verdict_names_the_pins_that_may_hide_a_difference() -> None:
    comparison = compare(pair_of("A", "C", [made_up("A", versions=OLD), made_up("C")]), "the whole migration")

    assert comparison.hidden == ("attention", "loss-mean", "optimizer", "dtype")
    assert "except for what the pins attention, loss-mean, optimizer and dtype hide" in verdict(comparison)
    assert "except" not in verdict(compared())


def test_a_pin_that_was_off_in_one_arm_hides_nothing() -> None:
    without = replace(made_up("C"), pins=("seed", "dtype"))
    comparison = compare(pair_of("A", "C", [made_up("A", versions=OLD), without]), "the whole migration")
    assert comparison.hidden == ("dtype",)


def test_a_pin_can_be_left_out() -> None:
    request = Request(Sources(Path("train.py")), dropped_pins=("threads",))
    assert request.pins.keys() == {pin.name for pin in PINS} - {"threads"}


@pytest.mark.parametrize(("gathered", "references"), [(5, "r"), (10, "other")])
def test_metrics_of_other_rows_fail_although_they_come_out_alike(gathered: int, references: str) -> None:
    own_loop = {"gathered": 10}
    assert compared(own_loop).status is Status.PASS
    comparison = compared(own_loop, gathered=gathered, references=references)
    assert [gate.name for gate in comparison.gates if gate.status is Status.FAIL] == ["evaluation"]


def test_a_loop_that_had_no_accelerator_is_compared_without_it() -> None:
    native = made_up("P", gathered=10)
    for attempt in native.trace.last.values():
        attempt.accelerators.clear()
    converted = made_up("C", gathered=10)
    for attempt in converted.trace.last.values():
        attempt.metric_rows += [{**rows, "metric": "gather_for_metrics"} for rows in attempt.metric_rows]
    assert compare(pair_of("P", "C", [native, converted]), "the conversion of a plain script").status is Status.PASS


def test_a_state_dict_with_other_names_is_another_checkpoint() -> None:
    comparison = compared(prefix="model.module.")
    (gate,) = [gate for gate in comparison.gates if gate.status is Status.FAIL]
    assert gate.name == "outcome"
    assert "C lacks 2 of 2 tensors, the first is model.a, but has model.module.a" in verdict(comparison)


@pytest.mark.parametrize(("versions", "status"), [(OLD, Status.PASS), (None, Status.FAIL)])
def test_a_buffer_that_another_version_keeps_is_no_difference(versions: dict[str, str] | None, status: Status) -> None:
    """transformers 4.30 stored `position_ids`, later ones do not; the same libraries store the same."""
    old = made_up("A", **({"versions": versions} if versions else {}))
    name = "model.embeddings.position_ids"
    old.trace.results[-1]["checkpoint"]["stored"][name] = [[1, 8], "int64", "p", name]
    comparison = compare(pair_of("A", "C", [old, made_up("C")]), "the whole migration")
    assert next(gate.status for gate in comparison.gates if gate.name == "outcome") is status


def test_a_lost_parameter_is_a_difference_between_versions_too() -> None:
    comparison = compare(pair_of("A", "C", [made_up("A", versions=OLD), made_up("C", prefix="model.module.")]), "x")
    assert next(gate.status for gate in comparison.gates if gate.name == "outcome") is Status.FAIL


SCALING = "from ray.train import ScalingConfig; ScalingConfig(num_workers=3, use_gpu={gpu})\n"
ACCELERATOR = """
from accelerate import Accelerator
accelerator = Accelerator(cpu={cpu}, gradient_accumulation_steps=4)
print(accelerator.gather_for_metrics([1, 2]))
"""
ARGUMENTS = """
from transformers import TrainingArguments
from raymigrate_recorder import asked
arguments = TrainingArguments("out", optim="sgd", fp16={fp16})
print(arguments.use_cpu, vars(arguments).get(asked.ON_INSTANCE))
"""


def recorded(folder: Path, *code: str, **settings: Any) -> str:
    """Runs each piece of code in a process of its own, as driver and worker are; what the last one printed."""
    done = None
    for number, piece in enumerate(code):
        done = run(folder, "-c", piece, rank=None if number == 0 else "0", **settings)
        assert done.returncode == 0, done.stderr
    assert done is not None
    return done.stdout


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = [line for path in sorted(folder.glob("events-*")) for line in path.read_text().splitlines()]
    return [event for event in map(json.loads, lines) if event["kind"] == kind]


@pytest.mark.ray
def test_the_device_is_overridden_only_where_the_script_asks_for_another(tmp_path: Path) -> None:
    """`--device cpu` for a script whose workers have no GPU changes nothing, so what the script forgets shows."""
    same, other = tmp_path / "same", tmp_path / "other"
    printed = recorded(same, SCALING.format(gpu=False), ARGUMENTS.format(fp16=False), device="cpu")
    assert printed.split(maxsplit=1)[0] == "False"
    printed = recorded(other, SCALING.format(gpu=True), ARGUMENTS.format(fp16=True), device="cpu")
    assert printed.split(maxsplit=1)[0] == "True"
    assert "'fp16': True" in printed
    assert "'optim': 'sgd'" in printed
    assert [event["use_gpu"] for event in events(other, "asked of Ray")] == [True]


@pytest.mark.ray
def test_what_a_run_is_asked_for_is_recorded(tmp_path: Path) -> None:
    code = """
from ray.train import CheckpointConfig, FailureConfig, RunConfig
RunConfig()
RunConfig(failure_config=FailureConfig(max_failures=3), checkpoint_config=CheckpointConfig(num_to_keep=2))
"""
    recorded(tmp_path, code)
    asked = events(tmp_path, "asked of a run")
    assert [event["max_failures"] for event in asked] == [0, 3]
    assert [event["num_to_keep"] for event in asked] == [None, 2]
    assert {event["checkpoint_score_order"] for event in asked} == {"max"}


@pytest.mark.ray
def test_what_an_accelerator_is_asked_for_is_recorded(tmp_path: Path) -> None:
    recorded(tmp_path, SCALING.format(gpu=False), ACCELERATOR.format(cpu=True), device="cpu")
    (asked,) = events(tmp_path, "asked of accelerate")
    assert asked["cpu"] is True
    assert asked["arguments"]["gradient_accumulation_steps"] == 4
    assert asked["arguments"]["mixed_precision"] == "no"


@pytest.mark.ray
@pytest.mark.parametrize(("value", "asks"), [("true", "True"), ("false", "False"), (None, "False")])
def test_a_job_may_ask_for_the_cpu_by_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, asks: str
) -> None:
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    if value is not None:
        monkeypatch.setenv("ACCELERATE_USE_CPU", value)
    printed = recorded(tmp_path, "pass", "from raymigrate_recorder import asked; print(asked._by_environment())")
    assert printed.strip() == asks


METRICS = """
import evaluate, numpy, torch

class Own(evaluate.Metric):
    def _info(self):
        import datasets
        features = datasets.Features({"predictions": datasets.Value("int64"), "references": datasets.Value("int64")})
        return evaluate.MetricInfo(description="", citation="", features=features)

    def _compute(self, predictions, references):
        return {"equal": sum(a == b for a, b in zip(predictions, references))}

metric = Own()
metric.add_batch(predictions=torch.tensor([1, 0, 1]), references=[1, 1, 1])
metric.add(prediction=1, reference=0)
print(metric.compute())
print(metric.compute(predictions=numpy.array([1, 0]), references=numpy.array([1, 1])))
"""


@pytest.mark.ray
def test_rows_that_enter_a_metric_are_counted_once_and_hashed_whatever_holds_them(tmp_path: Path) -> None:
    recorded(tmp_path, "pass", METRICS)
    found = events(tmp_path, "metric rows")
    assert [event["rows"] for event in found] == [3, 1, 2]
    assert found[0]["values"][1] != found[1]["values"][1]

    as_list = METRICS.replace("torch.tensor([1, 0, 1])", "[1, 0, 1]")
    recorded(tmp_path / "lists", "pass", as_list)
    assert [event["values"] for event in events(tmp_path / "lists", "metric rows")] == [e["values"] for e in found]


FAKE_SKLEARN = """
__all__ = ["accuracy_score", "make_scorer"]

def accuracy_score(y_true, y_pred, *, normalize=True):
    return sum(a == b for a, b in zip(y_true, y_pred)) / len(y_true)

def make_scorer(score_func):
    return score_func
"""
FAKE_TORCHMETRICS = """
class Metric:
    def __init__(self):
        self.update = self._wrap_update(self.update)

    def _wrap_update(self, update):
        return update
"""
OTHER_METRICS = """
from sklearn.metrics import accuracy_score
from torchmetrics.metric import Metric
import torch

class Own(Metric):
    def update(self, preds, target):
        accuracy_score(target, preds)

accuracy_score([1, 0], y_pred=[1, 1])
Own().update(torch.tensor([1, 0, 1]), torch.tensor([1, 1, 1]))
"""


@pytest.mark.ray
def test_rows_of_sklearn_and_torchmetrics_are_counted(tmp_path: Path) -> None:
    """Made-up modules of their shape, which are not among the tests' packages."""
    for name, text in (("sklearn/metrics", FAKE_SKLEARN), ("torchmetrics/metric", FAKE_TORCHMETRICS)):
        path = tmp_path / "packages" / f"{name}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        (path.parent / "__init__.py").touch()
    path = f"import sys; sys.path.insert(0, {str(tmp_path / 'packages')!r})\n"
    recorded(tmp_path / "trace", "pass", path + OTHER_METRICS)
    found = events(tmp_path / "trace", "metric rows")
    assert [(event["metric"], event["rows"]) for event in found] == [("accuracy_score", 2), ("Own", 3)]


@pytest.mark.ray
def test_the_seed_in_force_is_recorded(tmp_path: Path) -> None:
    trace: Trace = train(tmp_path)
    assert trace.first_rank.model["asked"]["seed"] == SEED
    assert trace.first_rank.prepare_seed is None


LOOP = """
import torch
from accelerate import Accelerator
torch.manual_seed(7)
accelerator = Accelerator(cpu=True)
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.1))
torch.manual_seed(8)
accelerator.prepare(torch.optim.Adam(model.parameters(), lr=0.1))
for _ in range(2):
    accelerator.backward(model(torch.ones(1, 2)).sum())
    accelerator.clip_grad_norm_(model.parameters(), max_norm=50)
    torch.nn.utils.clip_grad_value_(model.parameters(), 30)
    optimizer.step()
accelerator.backward(model(torch.ones(1, 2)).sum())
optimizer.step()
"""


@pytest.mark.ray
def test_what_a_short_run_does_not_show_is_recorded(tmp_path: Path) -> None:
    """The seed at prepare(), where the order of rows is drawn, and bounds that no gradient exceeds."""
    recorded(tmp_path, "pass", LOOP)
    assert [event["seed"] for event in events(tmp_path, "asked at prepare")] == [7]
    assert [event["clipped"] for event in events(tmp_path, "step")] == [[50.0, 30.0], [50.0, 30.0], []]
    assert [event["goes_on"] for event in events(tmp_path, "optimizer")] == [False]


CALLBACKS = """
from transformers import EarlyStoppingCallback, ProgressCallback, TrainerCallback
from raymigrate_recorder.asked import _acts

class Own(TrainerCallback):
    pass

class TrainReportCallback(TrainerCallback):
    __module__ = "raymigrate_standin.transformers_report"

callbacks = Own(), EarlyStoppingCallback(2), ProgressCallback(), TrainReportCallback()
print([type(callback).__name__ for callback in callbacks if _acts(callback)])
"""


@pytest.mark.ray
def test_callbacks_that_show_or_report_are_not_compared(tmp_path: Path) -> None:
    assert recorded(tmp_path, "pass", CALLBACKS).split("\n")[0] == "['Own', 'EarlyStoppingCallback']"


FILES = """
import os, sys
from types import SimpleNamespace
from raymigrate_recorder.checkpoints import outline

def written(name, content):
    os.makedirs(f"{sys.argv[0]}/{name}/below", exist_ok=True)
    with open(f"{sys.argv[0]}/{name}/below/model.pt", "wb") as stream:
        stream.write(content)
    return outline(SimpleNamespace(path=f"{sys.argv[0]}/{name}"))

large = bytes(300_000)
first, same, other, longer = map(written, "abcd", (large + b"1", large + b"1", large + b"2", large + b"11"))
print(list(first) == ["below/model.pt"], first == same, first != other, first != longer, outline(SimpleNamespace()))
"""


@pytest.mark.ray
def test_files_of_a_checkpoint_are_told_apart_by_their_ends(tmp_path: Path) -> None:
    code = FILES.replace("sys.argv[0]", repr(str(tmp_path / "files")))
    assert recorded(tmp_path / "trace", "pass", code).split() == ["True", "True", "True", "True", "{}"]


SCALED = """
import torch
weight = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(weight.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled={enabled})
torch.nn.init.ones_(weight.weight), torch.nn.init.ones_(weight.bias)
loss = weight(torch.tensor([[2.5]])).sum()
scaler.scale(loss).backward()
scaler.step(optimizer)
"""


@pytest.mark.ray
@pytest.mark.parametrize("enabled", [True, False])
def test_a_loss_is_recorded_as_it_was_before_a_grad_scaler(tmp_path: Path, enabled: bool) -> None:
    recorded(tmp_path, "pass", SCALED.format(enabled=enabled))
    (step,) = events(tmp_path, "step")
    assert step["losses"] == [3.5]


STORED = """
import json, os, torch
from ray.train import Checkpoint
from raymigrate_recorder.checkpoints import contents
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.25)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
torch.save({"module." + name: value for name, value in model.state_dict().items()}, "model.pt")
torch.save(optimizer.state_dict(), "optimizer.pt")
print(json.dumps(contents(Checkpoint(os.getcwd()))))
"""


@pytest.mark.ray
def test_a_checkpoint_is_read_with_the_state_of_its_optimizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "checkpoint").mkdir()
    monkeypatch.chdir(tmp_path / "checkpoint")
    found = json.loads(recorded(tmp_path / "trace", "pass", STORED))
    assert {name: kept[3] for name, kept in found["stored"].items()} == {
        "module.weight": "weight",
        "module.bias": "bias",
    }
    assert found["training"]["optimizer.pt: param_groups[0].lr"] == 0.25
    assert found["training"]["optimizer.pt: state.0.exp_avg"][:2] == [[1, 2], "float32"]
    assert found["unreadable"] == {}


TWO_WRITERS = """
import json, os
from ray.train import Checkpoint
from raymigrate_recorder.checkpoints import contents
for left in ('{"global_step": 4, "epoch": 1.0}', '{"global_step": 4, "epoch": 1.0}}', ""):
    with open("trainer_state.json", "w") as stream:
        stream.write(left)
    print(json.dumps(contents(Checkpoint(os.getcwd()))))
"""


@pytest.mark.ray
def test_a_state_that_two_workers_wrote_at_once_is_a_fault_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that each take themselves for the first write one file together."""
    (tmp_path / "checkpoint").mkdir()
    monkeypatch.chdir(tmp_path / "checkpoint")
    whole, broken, empty = map(json.loads, recorded(tmp_path / "trace", "pass", TWO_WRITERS).splitlines())
    assert (whole["state"], whole["unreadable"]) == ({"step": 4, "epoch": 1.0}, {})
    for found in (broken, empty):
        assert found["state"] is None
        assert found["unreadable"].keys() == {"trainer_state.json"}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"optimizer.pt: lr": 0.1}, "lacks 1 of 2 values, the first is optimizer.pt: step"),
        ({"optimizer.pt: lr": 0.2, "optimizer.pt: step": 8}, "the first is optimizer.pt: lr: 0.1 and 0.2"),
    ],
)
def test_another_state_of_the_optimizer_is_another_checkpoint(changed: dict[str, Any], told: str) -> None:
    state = {"optimizer.pt: lr": 0.1, "optimizer.pt: step": 8}
    assert compared({"training": state}).status is Status.PASS
    comparison = compared({"training": state}, training=changed)
    assert [gate.name for gate in comparison.gates if gate.status is Status.FAIL] == ["outcome"]
    assert told in verdict(comparison)


def test_an_optimizer_that_the_original_does_not_store_is_not_compared() -> None:
    assert compared({}, training={"optimizer.pt: step": 8}).status is Status.PASS
