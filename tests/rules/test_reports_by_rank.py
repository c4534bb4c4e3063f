"""RM407: reports that only some workers make, while report() waits for all."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import ScalingConfig, session
from ray.train.torch import TorchTrainer


def train_loop(config):
    rank = session.get_world_rank()
    loss = train(config)
{report}


TorchTrainer(train_loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


def outcome(report: str) -> tuple[str, list[Kind]]:
    found = converted(SCRIPT.format(report=report))
    return found.text, [kind for code, kind, _ in found.findings if code == "RM407"]


@pytest.mark.parametrize("condition", ["rank == 0", "session.get_world_rank() == 0", "not rank"])
def test_a_report_that_stands_alone_under_the_rank_is_made_by_all(condition: str) -> None:
    text, kinds = outcome(f'    if {condition}:\n        session.report({{"loss": loss}})')
    assert kinds == [Kind.CONVERTED]
    assert condition not in text


@pytest.mark.parametrize("name", ["checkpoint=", ""])
def test_its_checkpoint_is_still_made_by_the_one(name: str) -> None:
    text, kinds = outcome(f'    if rank == 0:\n        session.report({{"loss": loss}}, {name}save())')
    assert kinds == [Kind.CONVERTED]
    assert f", {name}save() if (rank == 0) else None" in text


@pytest.mark.parametrize(
    "report",
    [
        '    if rank == 0:\n        save()\n        session.report({"loss": loss})',
        '    if rank == 0 and loss < 1:\n        session.report({"loss": loss})',
        '    if rank == 0:\n        session.report({"loss": evaluate()})',
        '    if rank != 0:\n        return\n    session.report({"loss": loss})',
    ],
)
def test_what_other_workers_do_not_have_is_left_to_a_person(report: str) -> None:
    text, kinds = outcome(report)
    assert kinds == [Kind.MANUAL]
    assert "if rank" in text


@pytest.mark.parametrize(
    "report",
    [
        '    session.report({"loss": loss})',
        '    if loss < 1:\n        session.report({"loss": loss})',
        '    if rank == 0:\n        session.report({"loss": loss})\n    else:\n        session.report({})',
    ],
)
def test_a_report_of_all_workers_is_as_it_should_be(report: str) -> None:
    assert outcome(report)[1] == []
