"""RM823: what epochs change that save_state() of accelerate does not save is told where a run could go on."""

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

MAKE = "torch.optim.lr_scheduler.StepLR(optimizer, 1)"
TRAINER = """\
import torch
from accelerate import Accelerator
from torch.optim.swa_utils import AveragedModel
from transformers import get_cosine_schedule_with_warmup

from job import make, Metric


class Average:
    def __init__(self, model):
        self.weights = [weight.clone() for weight in model.parameters()]

    def update(self, model):
        for mean, weight in zip(self.weights, model.parameters()):
            mean.mul_(0.9).add_(weight, alpha=0.1)


class Stopping:
    def __init__(self):
        self.best = None
        self.bad = 0

    def __call__(self, loss):
        self.bad += 1
        return self.update(loss)

    def update(self, loss):
        if self.best is None or loss < self.best:
            self.best = loss

    def reset(self):
        self.best = None

    def show(self):
        print(self.best)

    def take(self, loss):
        self.last = loss


class Runner:
    def __init__(self):
        self.accelerator = Accelerator()
        model, optimizer, loader = make()
        {made}
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
        {behind}

    def epoch(self):
        for batch in self.loader:
            loss = self.model(**batch).loss
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            {step}

    def run(self):
        for epoch in range(3):
            self.epoch()
            self.accelerator.save_state("out")


if __name__ == "__main__":
    Runner().run()
"""


def told(step: str, made: str = "pass", behind: str = "pass") -> list[str]:
    script = TRAINER.format(made=made, behind=behind, step=step)
    found = convert(script, options=Options(to_ray=True)).findings
    messages = [finding.message for finding in found if "as before the first epoch" in finding.message]
    return [message.partition(" has ")[2].partition(" as before")[0] for message in messages]


@pytest.mark.parametrize(
    "made",
    [MAKE, "torch.optim.lr_scheduler.OneCycleLR(optimizer, 1, 2)", "get_cosine_schedule_with_warmup(optimizer, 1, 2)"],
)
def test_a_scheduler_that_is_not_prepared_is_told(made: str) -> None:
    assert told("self.schedule.step()", f"self.schedule = {made}") == ["self.schedule"]
    assert told("self.schedule.get_last_lr()", f"self.schedule = {made}") == []


@pytest.mark.parametrize(
    "kept",
    [
        "self.schedule = self.accelerator.prepare(self.schedule)",
        "self.schedule = self.accelerator.prepare_scheduler(self.schedule)",
        "self.accelerator.register_for_checkpointing(self.schedule)",
        "self.accelerator.register_for_checkpointing(*make())",
    ],
)
def test_a_scheduler_that_the_accelerator_saves_is_not(kept: str) -> None:
    assert told("self.schedule.step()", f"self.schedule = {MAKE}", kept) == []


@pytest.mark.parametrize(
    ("made", "step", "names"),
    [
        ("self.mean = Average(model)", "self.mean.update(self.model)", ["self.mean"]),
        ("self.mean = AveragedModel(model)", "self.mean.update_parameters(self.model)", ["self.mean"]),
        ("self.stop = Stopping()", "self.stop.update(loss.item())", ["self.stop"]),
        ("self.stop = Stopping()", "self.stop.update(loss.item())\n            self.stop.reset()", []),
        ("self.stop = Stopping()", "self.stop(loss.item())", ["self.stop"]),
        ("self.stop = Stopping()", "self.stop.show()", []),
        ("self.stop = Stopping()", "self.stop.take(loss)", []),
        ("pass", "stop = Stopping()\n            stop.update(1)", []),
        ("self.score = Metric()", "self.score.update(1)", []),
    ],
)
def test_an_object_of_the_script_that_epochs_change_is_told(made: str, step: str, names: list[str]) -> None:
    assert told(step, made) == names


@pytest.mark.parametrize(
    ("made", "step", "names"),
    [
        ("self.steps = 0", "self.steps += 1", ["self.steps"]),
        ("self.best = None", "if not self.best or loss < self.best:\n                self.best = loss", ["self.best"]),
        ("self.steps = 0", "self.steps = self.steps + 1", ["self.steps"]),
        ("self.loss = 0.0", "self.loss = loss.item()", []),
        ("self.total = 0", "self.total = 0\n            self.total += 1", []),
        ("self.names = make()", "self.names += [1]", []),
    ],
)
def test_numbers_of_the_object_that_trains_are_told(made: str, step: str, names: list[str]) -> None:
    assert told(step, made) == names
