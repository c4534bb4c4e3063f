"""Results that an object keeps are known in every class that it is of: its own, those below it, those beside it."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

HEAD = """
import abc
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from lib import Thing, load
from job import init

"""
MAKE = "TransformersTrainer(trainer_init_per_worker=init, scaling_config=ScalingConfig(num_workers=1), datasets=rows)"
READS = """
    def model(self):
        with self._result.checkpoint.as_directory() as folder:
            return load(folder)

    def rows(self):
        return self._result.metrics_dataframe

    def seconds(self):
        return self._result.metrics["time_total_s"]
"""
FITS = f"""
    def fit(self, rows):
        self._trainer = {MAKE}
        self._result = self._trainer.fit()
"""
BUILDS = f"""
    def _build(self, rows):
        return {MAKE}

    def fit(self, rows):
        self._trainer = self._build(rows)
        self._result = self._trainer.fit()
"""
EMPTY = "class Base:\n    def fit(self, rows):\n        raise NotImplementedError\n\n"


def told(outcome: Outcome) -> bool:
    """Whether the reads in READS are all followed."""
    return (
        len(outcome.lines("RM602", Kind.CONVERTED)) == 1
        and len(outcome.lines("RM604", Kind.MANUAL)) == 2
        and not any("If this is" in message for message in outcome.messages)
    )


@pytest.mark.parametrize(
    "classes",
    [
        f"{EMPTY}class Tuned(Base):{FITS}{READS}",
        f"{EMPTY}class Tuned(Base):{BUILDS}{READS}",
        f"class Tuned(Thing):{FITS}{READS}",
        f"class Base(abc.ABC):{READS}\n\nclass Tuned(Base):{BUILDS}",
        f"class Base:\n    def __init__(self):\n        self._result = None\n{READS}\n\nclass Tuned(Base):{FITS}",
        f"class Base:{READS}\n\nclass Tuned(Base):\n    def fit(self, rows):\n        self._result = {MAKE}.fit()\n",
        f"class Base:{READS}\n\nclass Middle(Base):\n    pass\n\nclass Tuned(Middle):{BUILDS}",
        f"class Reads:{READS}\n\nclass Base:{FITS}\n\nclass Tuned(Base, Reads):\n    pass\n",
        f"class Base:{FITS}\n\nclass Tuned(Thing, Base):{READS}",
        f"""class Base:
    def make(self, rows):
        raise NotImplementedError

    def fit(self, rows):
        self._result = self.make(rows).fit()
{READS}

class Tuned(Base):
    def make(self, rows):
        return {MAKE}
""",
        f"""class Base:
    @abc.abstractmethod
    def run(self, rows):
        '''Trains.'''

    def fit(self, rows):
        self._result = self.run(rows)
{READS}

class Tuned(Base):
    def run(self, rows):
        return {MAKE}.fit()
""",
    ],
)
def test_the_result_of_an_object_is_known_in_every_class_of_its(classes: str) -> None:
    assert told(converted(HEAD + classes))


@pytest.mark.parametrize(
    "classes",
    [
        f"class Base:{READS}\n\nclass Tuned(Thing):{FITS}",
        f"class Base:{READS}\n\nclass Tuned(Base):\n    def fit(self, rows):\n        self._result = load(rows)\n",
        f"class Base:\n    def fit(self, rows):\n        self._result = load(rows)\n{READS}\n\nclass Other:{FITS}",
        f"class Base:\n    def fit(self, rows):\n        self._result = self._trainer.fit(rows)\n{READS}",
    ],
)
def test_results_of_other_objects_are_left_alone(classes: str) -> None:
    outcome = converted(f"{HEAD}{classes}\n\nprint({MAKE.replace('rows', 'load()')})")
    assert not {code for code, _, _ in outcome.findings} & {"RM602", "RM604"}


BOTH = f"""
from ray import tune


class Experiment:{FITS}        return self._result

    def search(self, rows):
        grid = tune.Tuner({MAKE}).fit()
        self._result = grid.get_best_result()
        return self._result

    def show(self):
        read(self._result)
"""
EITHER = "Where a trainer gave the result, and not a Tuner: "


@pytest.mark.parametrize(
    ("read", "message"),
    [
        ("print(_.config)", "result.config raises a DeprecationWarning on Ray >= 2.51."),
        ('print(_.metrics["time_total_s"])', 'result.metrics has no "time_total_s" on Ray >= 2.51'),
        ("print(_.metrics_dataframe)", "result.metrics_dataframe has a row for each checkpoint that is kept"),
    ],
)
def test_what_only_a_trainers_result_lacks_is_not_told_of_a_tuners(read: str, message: str) -> None:
    def messages(result: str, inside: str = "pass") -> list[str]:
        body = BOTH.replace("read(self._result)", inside)
        outcome = converted(f"{HEAD}{body}\n\n{result}")
        return [text for text, (code, _, _) in zip(outcome.messages, outcome.findings, strict=True) if code == "RM604"]

    assert [text.startswith(message) for text in messages(read.replace("_", "Experiment().fit(load())", 1))] == [True]
    assert messages(read.replace("_", "Experiment().search(load())", 1)) == []
    found = messages("", read.replace("_", "self._result", 1))
    assert [text.startswith(f"{EITHER}{message}") for text in found] == [True]
