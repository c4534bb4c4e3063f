"""RM604, RM304: what a class makes by `cls()`, `type(self)()` or `self.__class__()` is an object of it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import argparse
import copy

from ray.air import Checkpoint, ScalingConfig
from ray.train.huggingface import AccelerateTrainer


def loop(config):
    pass


class Experiment:
    def __init__(self, name="x"):
        self.name = name

    def run(self):
        trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2))
        return trainer.fit()

    @staticmethod
    def best(result) -> Checkpoint:
        return max(result.best_checkpoints, key=lambda item: item[1]["acc"])[0]

    {decorator}
    def make({first}, name):
        {body}

{more}
args = argparse.ArgumentParser().parse_args()
experiment = {made}
result = experiment.run()
print(result.metrics_dataframe)
print({made}.best(result).to_dict())
"""
OF_CLASS = {"decorator": "@classmethod", "first": "cls", "made": "Experiment.make(args.name)"}
OF_SELF = {"decorator": "", "first": "self", "made": 'Experiment().make("y")'}
DERIVED = "class Other(Experiment):\n    pass\n"
OTHER_RUN = "class Other(Experiment):\n    def run(self):\n        return unknown()\n"


@pytest.mark.parametrize("more", ["", DERIVED], ids=["alone", "derived"])
@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("return cls(name)", OF_CLASS),
        ("made = cls(name)\n        made.name = name\n        return made", OF_CLASS),
        ("return cls(name).again()\n\n    def again(self):\n        return self", OF_CLASS),
        ("return type(self)(name)", OF_SELF),
        ("return self.__class__(name)", OF_SELF),
        ("return copy.copy(self)", OF_SELF),
        ("made = copy.deepcopy(self)\n        made.name = name\n        return made", OF_SELF),
    ],
    ids=["cls", "named", "chain", "type", "__class__", "copy", "deep copy"],
)
def test_what_a_class_makes_of_itself_is_followed(body: str, how: dict[str, str], more: str) -> None:
    outcome = converted(SCRIPT.format(body=body, more=more, **how))
    assert len(outcome.lines("RM604", Kind.MANUAL)) == 1
    assert len(outcome.lines("RM304", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("return other(name)", OF_CLASS),
        ("cls = other(name)\n        return cls(name)", OF_CLASS),
        ("return type(name)(name)", OF_SELF),
        ("type = other\n        return type(self)(name)", OF_SELF),
        ("return name.__class__(name)", OF_SELF),
        ("return copy.copy(name)", OF_SELF),
    ],
    ids=[
        "another function",
        "cls bound again",
        "type of another",
        "another type",
        "__class__ of another",
        "copy of another",
    ],
)
def test_objects_of_other_classes_are_not_taken_for_it(body: str, how: dict[str, str]) -> None:
    outcome = converted(SCRIPT.format(body=body, more="", **how))
    assert not outcome.lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize(
    ("more", "kind"), [(DERIVED, Kind.CONVERTED), (OTHER_RUN, Kind.MANUAL)], ids=["inherits", "overrides"]
)
def test_a_derived_class_may_have_the_method_itself(more: str, kind: Kind) -> None:
    script = SCRIPT.replace("metrics_dataframe", "log_dir").format(body="return cls(name)", more=more, **OF_CLASS)
    assert len(converted(script).lines("RM604", kind)) == 1
