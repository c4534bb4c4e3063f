"""Checkpoints of what is a trial's result on one way and a trainer's on another, or of which one way is not seen."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import sys
from ray import tune
from ray.air import Checkpoint, ScalingConfig, session
from ray.train.torch import TorchTrainer
from job import best_of_yesterday

def loop(config):
    session.report({{"loss": 1.0}}, checkpoint=Checkpoint.from_dict({{"a": 1}}))

trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2))
tuner = tune.Tuner(trainer, param_space={{"train_loop_config": {{"lr": tune.uniform(0, 1)}}}})

{given}
{read}
"""
TRIAL = "tuner.fit().get_best_result(metric='loss', mode='min')"
EITHER = [
    f"if sys.argv[1:]:\n    r = {TRIAL}\nelse:\n    r = trainer.fit()",
    f"r = {TRIAL} if sys.argv[1:] else trainer.fit()",
    f"def run():\n    if sys.argv[1:]:\n        return {TRIAL}\n    return trainer.fit()\n\nr = run()",
    f"r = None\nif sys.argv[1:]:\n    r = {TRIAL}\nelse:\n    r = trainer.fit()",
]
PARTLY = [
    f"r = {TRIAL} if sys.argv[1:] else best_of_yesterday()",
    "r = trainer.fit() if sys.argv[1:] else best_of_yesterday()",
]
UNSEEN = ["r = best_of_yesterday()", "class R:\n    checkpoint = None\n\nr = R()"]
READS = {
    "r.checkpoint.to_uri('s3://b')": "RM308",
    "c = r.checkpoint\nprint(c.get_internal_representation())": "RM308",
    "print(r.checkpoint._local_path)": "RM308",
    "upload(r.checkpoint.uri)": "RM607",
}
IF = "If this is a checkpoint of Ray"


@pytest.mark.parametrize(("read", "code"), READS.items())
@pytest.mark.parametrize("given", EITHER)
def test_what_no_checkpoint_has_is_told_of_either(given: str, read: str, code: str) -> None:
    outcome = converted(SCRIPT.format(given=given, read=read))
    assert outcome.lines(code, Kind.MANUAL) and not any(message.startswith(IF) for message in outcome.messages)


@pytest.mark.parametrize("given", EITHER)
def test_the_dict_of_either_is_read_from_its_file(given: str) -> None:
    outcome = converted(SCRIPT.format(given=given, read="state = r.checkpoint.to_dict()"))
    assert outcome.lines("RM304", Kind.CONVERTED) and "with r.checkpoint.as_directory() as" in outcome.text


@pytest.mark.parametrize(("read", "code"), READS.items())
@pytest.mark.parametrize("given", PARTLY)
def test_where_one_way_is_not_seen_it_is_told_of_the_other(given: str, read: str, code: str) -> None:
    outcome = converted(SCRIPT.format(given=given, read=read))
    assert outcome.lines(code, Kind.MANUAL) and any(message.startswith(IF) for message in outcome.messages)


@pytest.mark.parametrize(("read", "code"), READS.items())
@pytest.mark.parametrize("given", UNSEEN)
def test_nothing_is_told_of_what_is_not_seen(given: str, read: str, code: str) -> None:
    assert not converted(SCRIPT.format(given=given, read=read)).lines(code, Kind.MANUAL)
