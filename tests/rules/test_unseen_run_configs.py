"""RM411: a RunConfig is no trainer's before it is seen that a trainer gets it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from raymigrate.codemods.tuner.tuner_config import ONLY_TUNES
from tests.rules.scripts import converted

HEAD = """
from ray import tune
from ray.air.config import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from ray.tune.tuner import Tuner
from job import loop, read, search

"""
CONFIG = "RunConfig(name='a', verbose=1, log_to_file=True, failure_config=FailureConfig(fail_fast=False))"


@pytest.mark.parametrize(
    "script",
    [
        f"tuner_cls = Tuner if search else None\ntuner_cls(loop, run_config={CONFIG})",
        f"cls = tune.Tuner\nconfig = {CONFIG}\ncls(loop, run_config=config)",
        f"given = {{'run_config': {CONFIG}}}\nTuner(loop, **given)",
        f"Tuner(loop, **dict(run_config={CONFIG}))",
        f"given = read()\ngiven['run_config'] = {CONFIG}\nTuner(loop, **given)",
        f"def make(**given):\n    return Tuner(loop, **given)\n\nmake(run_config={CONFIG})",
        f"def make(config):\n    return Tuner(loop, run_config=config)\n\nmake({CONFIG})",
        f"def config():\n    return {CONFIG}\n\nTuner(loop, run_config=config())",
        f"from functools import partial\nmake = partial(Tuner, loop)\nmake(run_config={CONFIG})",
        f"TUNERS = {{'ray': Tuner}}\nTUNERS['ray'](loop, run_config={CONFIG})",
        f"def config():\n    return {CONFIG}\n\nTuner(loop, **read())",
        f"config = {CONFIG}\nTorchTrainer(loop, run_config=config)\nTuner(loop, **read(config))",
        f"import copy\nconfig = {CONFIG}\nTuner(loop, run_config=copy.deepcopy(config))",
        f"import dataclasses\ndef config():\n    return {CONFIG}\n\n"
        "Tuner(loop, run_config=dataclasses.replace(config(), stop=read))",
    ],
)
def test_what_a_tuner_may_get_is_told_and_kept(script: str) -> None:
    outcome = converted(HEAD + script)
    assert outcome.lines("RM411", Kind.MANUAL)
    assert "verbose=1" in outcome.text and "log_to_file=True" in outcome.text and "fail_fast=False" in outcome.text
    assert not outcome.lines("RM401", Kind.CONVERTED)


@pytest.mark.parametrize(
    "script",
    [
        f"TorchTrainer(loop, run_config={CONFIG}).fit()\nTuner(loop, **read())",
        f"config = {CONFIG}\nTorchTrainer(loop, run_config=config).fit()\nTuner(loop, **read())",
        f"trainer_cls = TorchTrainer\ntrainer_cls(loop, run_config={CONFIG}).fit()\nTuner(loop, **read())",
        f"def fit(config):\n    TorchTrainer(loop, run_config=config).fit()\n\nfit({CONFIG})\nTuner(loop)",
        f"def fit(tuner: Tuner) -> Tuner:\n    return read({CONFIG}, isinstance(tuner, Tuner))",
        f"config = {CONFIG}\nTorchTrainer(loop, run_config=config).fit()\nTuner.restore('a', loop)",
        f"TorchTrainer(loop, run_config={CONFIG}).fit()\nTuner(loop, **{{'param_space': search}})",
    ],
)
def test_what_trainers_get_is_theirs(script: str) -> None:
    outcome = converted(HEAD + script)
    assert not outcome.lines("RM411", Kind.MANUAL)
    assert "verbose" not in outcome.text and "log_to_file" not in outcome.text and "fail_fast" not in outcome.text


@pytest.mark.parametrize(
    "script", [f"Tuner(loop, run_config={CONFIG})", f"config = {CONFIG}\nTuner(loop, run_config=config)"]
)
def test_what_a_tuner_gets_for_sure_is_converted(script: str) -> None:
    outcome = converted(HEAD + script)
    assert outcome.lines("RM411", Kind.CONVERTED) and "tune.RunConfig(name='a', verbose=1" in outcome.text


@pytest.mark.parametrize(
    ("given", "now"),
    [
        ("local_dir='/data/runs'", "storage_path='/data/runs'"),
        ("local_dir='runs', name='a'", "storage_path=os.path.abspath('runs'), name='a'"),
        ("local_dir='runs', sync_config=read()", "local_dir='runs', sync_config=read()"),
        ("storage_path='s3://bucket/runs'", "storage_path='s3://bucket/runs'"),
    ],
)
def test_where_results_go_has_its_name_of_today_in_a_config_of_both(given: str, now: str) -> None:
    script = (
        f"def config():\n    return RunConfig({given})\n\n"
        "TorchTrainer(loop, run_config=config()).fit()\nTuner(loop, run_config=config())"
    )
    outcome = converted(HEAD + script)
    assert outcome.lines("RM411", Kind.MANUAL) and f"RunConfig({now})" in outcome.text
    told = [message for message in outcome.messages if "That of ray.train refuses local_dir=" in message]
    assert bool(told) is ("local_dir" in now)


CONFIGS = """
from dataclasses import dataclass

from ray.air import FailureConfig, RunConfig


def run_config(name):
    return RunConfig(name=name, verbose=1, stop={"loss": 1})


@dataclass
class Factory:
    name: str

    def config(self):
        return RunConfig(name=self.name, verbose=1, failure_config=FailureConfig(fail_fast=True))


DEFAULT = RunConfig(name="a", verbose=1)
"""


@pytest.mark.parametrize(
    ("head", "given", "line"),
    [
        ("from configs import run_config", "run_config('a')", 8),
        ("import configs", "configs.run_config('a')", 8),
        ("from configs import Factory", "Factory('a').config()", 16),
        ("from configs import Factory\nfactory = Factory('a')", "factory.config()", 16),
        ("from configs import DEFAULT", "DEFAULT", 19),
    ],
)
def test_what_a_tuner_of_another_file_gets_is_told_and_kept(tmp_path: Path, head: str, given: str, line: int) -> None:
    (tmp_path / "configs.py").write_text(CONFIGS)
    job = f"from ray import tune\n{head}\nfrom job import loop\n\ntune.Tuner(loop, run_config={given}).fit()\n"
    (tmp_path / "run.py").write_text(job)
    told = [found for found in CliRunner().invoke(main, [str(tmp_path)]).stdout.splitlines() if "RM411" in found]
    assert len(told) == 2
    assert f"configs.py:{line}:" in told[0] and "gives this to one" in told[0] and "run.py gives" in told[0]
    assert f"made in line {line} of" in told[1] and "configs.py." in told[1]
    kept = (tmp_path / "configs.py").read_text()
    of_trainers = [text for text in kept.splitlines() if "RunConfig(" in text and "verbose=1" not in text]
    assert len(of_trainers) == 2  # nothing says that a Tuner gets the others
    assert not CliRunner().invoke(main, ["check", str(tmp_path)]).stdout.count("would convert ")


@pytest.mark.parametrize(
    "job",
    [
        "from ray.train.torch import TorchTrainer\nTorchTrainer(loop, run_config=run_config('a')).fit()",
        "from ray import tune\ntune.Tuner(loop, run_config=tune.RunConfig(name=run_config('a').name)).fit()",
        "from ray import tune\ntune.Tuner(loop).fit()\nrun_config('a')",
        "from ray import tune\ntune.Tuner(loop, run_config=run_config2('a')).fit()",
    ],
)
def test_a_config_of_another_file_that_no_tuner_gets_is_a_trainers(tmp_path: Path, job: str) -> None:
    (tmp_path / "configs.py").write_text(CONFIGS)
    (tmp_path / "run.py").write_text(f"from configs import run_config\nfrom job import loop, run_config2\n{job}\n")
    assert "RM411" not in CliRunner().invoke(main, ["check", str(tmp_path)]).stdout


def test_what_a_base_class_of_another_file_makes_is_told_and_kept(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(
        "from ray import air\n\n\nclass Base:\n    @property\n    def config(self):\n"
        "        return air.RunConfig(name='a', local_dir='runs', verbose=1, callbacks=[self.logger()])\n"
    )
    (tmp_path / "job.py").write_text(
        "from ray import tune\nfrom base import Base\n\n\nclass Job(Base):\n    def tune(self, loop):\n"
        "        return tune.Tuner(loop, **{'run_config': self.config}).fit()\n"
    )
    told = CliRunner().invoke(main, [str(tmp_path)]).stdout
    assert "RM903" not in told and "That of ray.train refuses verbose=, callbacks of Tune." in told
    assert "verbose=1" in (tmp_path / "base.py").read_text()


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("from ray.train.huggingface import HuggingFaceTrainer\nprint(HuggingFaceTrainer)", 1),
        ("from ray.air import session\nprint(session)", 1),
        ("from ray.train.torch import TorchTrainer\nprint(TorchTrainer)", 0),
    ],
)
def test_a_config_from_nowhere_is_told_in_scripts_for_older_ray(head: str, told: int) -> None:
    script = f"from ray import tune\nfrom configs import run_config\n{head}\ntune.Tuner(f, run_config=run_config())\n"
    assert len(converted(script).lines("RM411", Kind.MANUAL)) == told


SHARED = """
{above}
config = RunConfig(name="a", {given})
TorchTrainer(loop, run_config=config).fit()
Tuner(loop, run_config=config)
"""
UNSEEN_CONFIG = """
def config(**more):
    return RunConfig(name="a", {given})


Tuner(loop, run_config=config({call}))
"""
BOTH = "That of ray.train refuses stop=, callbacks of Tune."


@pytest.mark.parametrize(
    ("above", "given"),
    [
        ("", "stop=search, callbacks=[read()]"),
        ("more = {'stop': search, 'callbacks': [read()]}\n", "**more"),
        ("more = dict(callbacks=[read()])\n", "stop=search, **more"),
        ("some = []\nsome.append(read())\n", "stop=search, callbacks=some"),
        ("some = []\nread(some)\n", "stop=search, **{'callbacks': some}"),
        ("more = {}\nmore['stop'] = search\nmore.update(callbacks=[read()])\n", "**more"),
    ],
)
def test_a_trainer_that_shares_it_is_told_what_it_refuses(above: str, given: str) -> None:
    messages = converted(HEAD + SHARED.format(above=above, given=given)).messages
    assert [message for message in messages if BOTH in message and ONLY_TUNES in message]


@pytest.mark.parametrize(
    ("given", "call", "said"),
    [
        ("**more", "stop=search, callbacks=[read()]", BOTH),
        ("**more", "**read()", "What ** gives it cannot be seen; look for callbacks, "),
        ("stop=search, **read()", "", "refuses stop=. What ** gives it cannot be seen; look for callbacks, "),
        ("**more", "storage_path='/a'", ""),
        ("**more", "callbacks=None", ""),
        ("**more", "callbacks=[]", ""),
        ("callbacks=[]", "", ""),
        ("callbacks=()", "", ""),
        ("**{'callbacks': ()}", "", ""),
        ("callbacks=[*read()]", "", "refuses callbacks of Tune."),
        ("", "", ""),
    ],
)
def test_what_two_stars_give_a_config_is_told_too(given: str, call: str, said: str) -> None:
    messages = converted(HEAD + UNSEEN_CONFIG.format(given=given, call=call)).messages
    [told] = [message.partition(" Make it ")[0] for message in messages if ONLY_TUNES in message]
    assert said in told
    assert bool(said) == ("ray.train" in told)


OF_BOTH = "RunConfig(name='a', storage_path='runs', verbose=1)"
FIT = "TorchTrainer(loop, run_config={}).fit()\nTuner(read, run_config={}).fit()"
OF_NAME = FIT.format("config", "config")


@pytest.mark.parametrize(
    "script",
    [
        f"config = {OF_BOTH}\n{OF_NAME}",
        f"def config():\n    return {OF_BOTH}\n\n{FIT.format('config()', 'config()')}",
        f"class Job:\n    def config(self):\n        return {OF_BOTH}\n\n    def fit(self):\n"
        "        TorchTrainer(loop, run_config=self.config()).fit()\n"
        "        Tuner(read, run_config=self.config()).fit()",
        "def fit(config):\n    TorchTrainer(loop, run_config=config).fit()\n"
        "    Tuner(read, run_config=config).fit()\n\n"
        f"fit({OF_BOTH})",
        f"def config():\n    return {OF_BOTH}\n\ndef make():\n    return TorchTrainer(loop, run_config=config())\n\n"
        "make().fit()\nTuner(make(), run_config=config()).fit()",
    ],
)
def test_a_trainer_that_shares_it_is_told_of_its_name_and_folder_too(script: str) -> None:
    outcome = converted(HEAD + script)
    assert outcome.lines("RM411", Kind.MANUAL) and len(outcome.lines("RM406", Kind.MANUAL)) == 1
    assert outcome.lines("RM402", Kind.CONVERTED) and "storage_path=os.path.abspath('runs')" in outcome.text


def test_a_folder_that_may_be_relative_is_told_in_a_config_of_both() -> None:
    above = "import os\nconfig = RunConfig(storage_path=os.getenv('RUNS', 'runs'))\n"
    outcome = converted(HEAD + above + OF_NAME)
    alone = converted(HEAD + above + FIT.format("config", "None"))
    assert outcome.lines("RM402", Kind.MANUAL) == alone.lines("RM402", Kind.MANUAL) != []


@pytest.mark.parametrize(
    "script",
    [
        f"Tuner(read, run_config={OF_BOTH}).fit()\nTorchTrainer(loop).fit()",
        "import uuid\nconfig = RunConfig(name=uuid.uuid4().hex, storage_path='/runs')\n" + OF_NAME,
        "config = RunConfig(storage_path='/runs')\n" + OF_NAME,
    ],
)
def test_a_name_of_a_tuner_alone_or_a_new_one_each_time_is_not_told(script: str) -> None:
    outcome = converted(HEAD + script)
    assert not outcome.lines("RM406", Kind.MANUAL) and not outcome.lines("RM402", Kind.CONVERTED)


def test_the_name_of_a_config_of_another_file_is_told_where_a_trainer_gets_it(tmp_path: Path) -> None:
    (tmp_path / "configs.py").write_text(
        "from ray.air import RunConfig\n\n\ndef config():\n    return " + OF_BOTH + "\n"
    )
    head = "from configs import config\nfrom job import loop\n"
    (tmp_path / "fit.py").write_text(
        f"from ray.air import session\nfrom ray.train.torch import TorchTrainer\n{head}\n"
        "print(session.get_checkpoint())\nTorchTrainer(loop, run_config=config()).fit()\n"
    )
    (tmp_path / "search.py").write_text(f"from ray import tune\n{head}\ntune.Tuner(loop, run_config=config()).fit()\n")
    told = CliRunner().invoke(main, ["check", str(tmp_path)]).stdout
    assert "fit.py:7:31: RM406" in told and "configs.py:5:12: RM411" in told and "configs.py:5:32: RM402" in told


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("verbose=1, log_to_file=True", "Leave verbose=, log_to_file= out of a trainer's."),
        ("stop=search", "In place of stop= use num_train_epochs, max_steps or EarlyStoppingCallback"),
        ("callbacks=[read()]", "In place of callbacks of Tune write a ray.train.UserCallback with after_report()"),
        ("storage_path='/a'", ""),
    ],
)
def test_the_advice_says_what_a_trainer_has_in_place_of_what_it_refuses(given: str, advice: str) -> None:
    for script in (SHARED.format(above="", given=given), UNSEEN_CONFIG.format(given=given, call="")):
        [told] = [message for message in converted(HEAD + script).messages if ONLY_TUNES in message]
        assert advice in told and bool(advice) == ("Leave " in told or "In place of " in told)
