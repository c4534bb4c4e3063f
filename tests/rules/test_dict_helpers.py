"""RM303: a function of the file that makes a checkpoint from a dict for reports."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import torch
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.torch import TorchTrainer


{helper}


def loop(config):
    model = torch.nn.Linear(2, 2)
    start = session.get_checkpoint()
    if start:
        model.load_state_dict(start.to_dict()["model"])
    for epoch in range(2):
        {report}


TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
HELPER = 'def save(model, epoch):\n    return Checkpoint.from_dict({"epoch": epoch, "model": model.state_dict()})'
REPORT = 'session.report({"epoch": epoch}, checkpoint=save(model, epoch))'


@pytest.mark.parametrize(
    "helper",
    [
        HELPER,
        'def save(model, epoch):\n    state = {"epoch": epoch, "model": model.state_dict()}\n'
        "    return Checkpoint.from_dict(state)",
        "def save(model, epoch):\n    if epoch == 0:\n        return Checkpoint.from_dict({})\n"
        "    return Checkpoint.from_dict({'model': model.state_dict()})",
    ],
)
@pytest.mark.parametrize("report", [REPORT, 'session.report({"epoch": epoch}, save(model, epoch))'])
def test_the_function_gives_the_dict_and_its_reports_write_it(helper: str, report: str) -> None:
    outcome = converted(SCRIPT.format(helper=helper, report=report))
    assert "from_dict" not in outcome.text and "to_dict" not in outcome.text
    assert "checkpoint_data = save(model, epoch)" in outcome.text
    assert "if ray.train.get_context().get_world_rank() == 0:" in outcome.text
    assert not outcome.lines("RM303", Kind.MANUAL) and not outcome.lines("RM304", Kind.MANUAL)
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    "helper",
    [
        "def save(model, epoch):\n    if epoch % 2:\n"
        "        return Checkpoint.from_dict({'model': model.state_dict()})",
        "def save(model, epoch):\n    if epoch % 2:\n        return None\n"
        "    return Checkpoint.from_dict({'model': model.state_dict()})",
        "def save(model, epoch):\n    return Checkpoint.from_dict({'model': model.state_dict()}) if epoch else None",
    ],
)
def test_where_it_may_give_nothing_nothing_is_written(helper: str) -> None:
    text = converted(SCRIPT.format(helper=helper, report=REPORT)).text
    assert "if checkpoint_data is not None and ray.train.get_context().get_world_rank() == 0:" in text


@pytest.mark.parametrize(
    ("helper", "report"),
    [
        (HELPER, f"{REPORT}\n        kept = save(model, epoch)"),
        (HELPER.replace(":\n", " -> Checkpoint:\n", 1), REPORT),
        (f"import functools\n@functools.cache\n{HELPER}", REPORT),
        (f"__all__ = ['save']\n{HELPER}", REPORT),
        (f"{HELPER}\n\n\ndef save(model, epoch):\n    return make(model)", REPORT),
        (f"{HELPER}\n\n\nif torch.cuda.is_available():\n    from job import save", REPORT),
        ("def save(model, epoch):\n    yield 1\n    return Checkpoint.from_dict({})", REPORT),
        ("def save(model, epoch):\n    if epoch:\n        return model\n    return Checkpoint.from_dict({})", REPORT),
    ],
)
def test_one_that_gives_more_or_to_others_is_left_to_a_person(helper: str, report: str) -> None:
    outcome = converted(SCRIPT.format(helper=helper, report=report))
    assert outcome.lines("RM303", Kind.MANUAL) and "from_dict" in outcome.text
