"""RM406 of a trainer that gets its RunConfig out of a dict, or that is made by another name than that of its class."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import functools
import time
from ray.air import session
from ray.air.config import RunConfig
from ray.train.torch import TorchTrainer

def loop(config):
    print(session.get_checkpoint())

def config():
    return RunConfig(name={name})

{made}
"""
MADE = {
    "by keyword": "TorchTrainer(loop, run_config=config())",
    "in a dict": "options = {'run_config': config()}\nTorchTrainer(loop, **options)",
    "in a dict, later": "options = {}\noptions['run_config'] = config()\nTorchTrainer(loop, **options)",
    "held by a class": (
        "class Job:\n    cls = TorchTrainer\n\n    def fit(self):\n        options = dict(run_config=config())\n"
        "        return self.cls(loop, **options).fit()"
    ),
    "a parameter": "def fit(cls=TorchTrainer):\n    return cls(loop, run_config=config())\n\nfit()",
    "partial": "make = functools.partial(TorchTrainer, loop)\nmake(run_config=config())",
    "partial with it": "make = functools.partial(TorchTrainer, loop, run_config=config())\nmake()",
    "a subclass": "class Own(TorchTrainer):\n    pass\n\nOwn(loop, run_config=config())",
}


@pytest.mark.parametrize("made", MADE)
def test_a_second_run_goes_on_however_the_trainer_gets_the_name(made: str) -> None:
    outcome = converted(SCRIPT.format(name="'run'", made=MADE[made]))
    assert outcome.lines("RM406", Kind.MANUAL) == [11]
    assert not converted(SCRIPT.format(name="f'run-{time.time()}'", made=MADE[made])).lines("RM406", Kind.MANUAL)


@pytest.mark.parametrize(
    "made", ["options = load()\nTorchTrainer(loop, **options)", "cls = pick()\ncls(loop, run_config=config())"]
)
def test_what_is_not_seen_is_no_name(made: str) -> None:
    assert not converted(SCRIPT.format(name="'run'", made=made)).lines("RM406", Kind.MANUAL)
