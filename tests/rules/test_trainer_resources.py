"""A number in the first place of ScalingConfig, that of the resources of the trainer, is no number of workers."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
from ray.air import ScalingConfig
from ray.train.torch import TorchTrainer

TorchTrainer(print, scaling_config={given}).fit()
"""


@pytest.mark.parametrize("given", ["ScalingConfig(2)", "ScalingConfig(2, use_gpu=True)", "ScalingConfig('2')"])
def test_what_is_no_dict_is_left_for_a_person(given: str) -> None:
    outcome = converted(SCRIPT.format(given=given))
    assert "ScalingConfig(trainer_resources=" in outcome.text
    assert [kind for code, kind, _ in outcome.findings if code == "RM401"] == [Kind.MANUAL]
    assert any("not a dict" in message for message in outcome.messages)


@pytest.mark.parametrize("given", ["ScalingConfig({'CPU': 0}, 2)", "ScalingConfig(made, 2)"])
def test_what_may_be_one_is_deleted(given: str) -> None:
    outcome = converted(SCRIPT.format(given=given))
    assert "ScalingConfig(num_workers=2)" in outcome.text


@pytest.mark.parametrize(
    ("resources", "told"),
    [
        ("{'large': 0.01}", "large"),
        ("{'CPU': 2, 'memory': 10**9, 'large': 1}", "memory, large"),
        ("dict(memory=10)", "memory"),
        ("{'CPU': 0}", ""),
        ("{'GPU': 1, 'large': 0}", ""),
        ("made", ""),
    ],
)
def test_that_it_chose_the_machine_of_the_first_worker_is_told(resources: str, told: str) -> None:
    given = f"ScalingConfig(trainer_resources={resources}, num_workers=2)"
    outcome = converted(SCRIPT.format(given=given))
    assert "ScalingConfig(num_workers=2)" in outcome.text
    messages = [message for message in outcome.messages if message.startswith("The first worker")]
    assert len(messages) == bool(told)
    assert all(f"on a machine with {told}, which" in message for message in messages)


COUNTED = """
from ray.air import ScalingConfig


def scaling(workers):
    return ScalingConfig(num_workers=workers{given})


def test_scaling():
    {read}
"""
READS = [
    'assert scaling(3).total_resources == {"CPU": 4}',
    'found = scaling(3)\n    assert found.total_resources["CPU"] == 4',
    "print(scaling(3).as_placement_group_factory().required_resources)",
]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("given", ["", ', trainer_resources={"CPU": 2}'])
def test_who_reads_the_resources_is_told_that_the_trainer_has_none(given: str, read: str) -> None:
    found = converted(COUNTED.format(given=given, read=read))
    assert any(" counts the workers alone on Ray >= 2.51" in message for message in found.messages)


@pytest.mark.parametrize("read", [*READS, "print(cluster.total_resources)"])
def test_nobody_is_where_the_trainer_had_none(read: str) -> None:
    found = converted(COUNTED.format(given=', trainer_resources={"CPU": 0}', read=read))
    assert not any("counts the workers alone" in message for message in found.messages)
    assert converted(COUNTED.format(given="", read=read).replace("ray.air", "ray.train")).findings == []
