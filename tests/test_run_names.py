"""A run name under which a second run would train nothing is reported, unless something in it is new each time."""

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """
import argparse, datetime, os, time, uuid
from datetime import datetime as dt
from ray.air import RunConfig, ScalingConfig
from ray.train.huggingface import AccelerateTrainer
{head}
def start(args, settings, given=None):
    AccelerateTrainer(print, accelerate_config={{}}, scaling_config=ScalingConfig(use_gpu=True), run_config={config})
"""
SAME = "A second run with this name goes on"
PERHAPS = "If the name is the same each time, a second run goes on"


def told(config: str, head: str = "") -> list[str]:
    findings = convert(SCRIPT.format(head=head, config=config)).findings
    return [finding.message.partition(" from the first")[0] for finding in findings if finding.code == "RM406"]


@pytest.mark.parametrize(
    ("head", "config"),
    [
        ("", "RunConfig(name='a')"),
        ("", "RunConfig('a')"),
        ("NAME = 'a'", "RunConfig(name=NAME)"),
        ("NAME = 'a'", "RunConfig(name=f'run-{NAME}')"),
        ("NAME = 'a'", "RunConfig(name='run-' + NAME)"),
        ("config = RunConfig(name='a')", "config"),
        ("config = {'name': 'a'}", "RunConfig(**config)"),
        ("", "{'name': 'a'}"),
        ("def config(name):\n    return RunConfig(name=name)", "config('a')"),
        ("class Settings:\n    name = 'a'", "RunConfig(name=Settings.name)"),
        ("class Settings:\n    name = 'a'\n    def run(self): return RunConfig(name=self.name)", "Settings().run()"),
        ("NAME = 'a' if big else 'b'", "RunConfig(name=NAME)"),
    ],
)
def test_a_name_that_is_seen_to_be_fixed_is_told(head: str, config: str) -> None:
    assert told(config, head) == [SAME]


@pytest.mark.parametrize(
    ("head", "config"),
    [
        ("", "RunConfig(name=args.name)"),
        ("", "RunConfig(name=settings['name'])"),
        ("", "RunConfig(name=f'bert-{settings.user}')"),
        ("", "RunConfig(name=os.environ['NAME'])"),
        ("", "RunConfig(name=make_name())"),
        ("", "RunConfig(name=str(datetime.date(2026, 1, 2)))"),
        ("", "RunConfig(**settings)"),
        ("", "settings.run_config"),
        ("", "given"),
        (
            "p = argparse.ArgumentParser()\np.add_argument('--name', default='a')\na = p.parse_args()",
            "RunConfig(a.name)",
        ),
        ("NAME = str(uuid.uuid4()) if x else 'a'", "RunConfig(name=NAME)"),
    ],
)
def test_a_name_that_may_be_fixed_is_told_with_an_if(head: str, config: str) -> None:
    assert told(config, head) == [PERHAPS]


@pytest.mark.parametrize(
    ("head", "config"),
    [
        ("", "None"),
        ("", "RunConfig()"),
        ("", "RunConfig(name=None, storage_path='/mnt')"),
        ("config = {'storage_path': '/mnt'}", "RunConfig(**config)"),
        ("", "RunConfig(name=f'a-{time.time()}')"),
        ("", "RunConfig(name='a' + str(uuid.uuid4())[:8])"),
        ("", "RunConfig(name='a-{}'.format(dt.now().strftime('%Y%m%d%H%M%S')))"),
        ("", "RunConfig(name='a-%s' % datetime.datetime.now())"),
        ("NOW = time.strftime('%Y%m%d-%H%M')\nNAME = f'a-{NOW}'", "RunConfig(name=NAME)"),
        ("def name(): return 'a' + uuid.uuid4().hex", "RunConfig(name=name())"),
        ("", "RunConfig(name=os.environ['SLURM_JOB_ID'])"),
        ("", "RunConfig(name=os.environ.get('RUN_ID', str(os.getpid())))"),
        ("import wandb", "RunConfig(name=wandb.run.name)"),
        ("now = dt.now()", "RunConfig(name=f'a-{now:%Y%m%d}-{now:%H%M%S}')"),
        ("now = dt.now()", "RunConfig(name=f'{now.day}-{now.hour}-{now.minute}-{now.second}')"),
        ("", "RunConfig(name=f'{datetime.date.today()}-{uuid.uuid4().hex[:8]}')"),
        ("", "RunConfig(name=f'{dt.now():%c}')"),
        ("", "RunConfig(name='a-{:%Y%m%d}-{}'.format(dt.now(), uuid.uuid4()))"),
        ("", "RunConfig(name='{}-{}'.format('a', time.time()))"),
        ("", "RunConfig(name='{day:%Y%m%d}-{0}'.format(time.time(), day=dt.now()))"),
        ("", "RunConfig(name=dt.now().strftime(f'%Y%m%d-{uuid.uuid4()}'))"),
        ("NAME = 'a'", "RunConfig(name=dt.now().strftime(f'%Y%m%d-{NAME}-%H%M%S'))"),
        ("", "RunConfig(name=str(dt.now())[:19])"),
        ("", "RunConfig(name=str(dt.now())[:-7])"),
        ("", "RunConfig(name=str(dt.now(datetime.timezone.utc))[:-16])"),
        ("", "RunConfig(name=str(dt.now())[11:])"),
        ("", "RunConfig(name=str(time.time())[:10])"),
        ("", "RunConfig(name=str(dt.now().timestamp())[:10])"),
        ("", "RunConfig(name=dt.now().isoformat().split('.')[0])"),
        ("", "RunConfig(name=str(dt.fromtimestamp(time.time())))"),
        ("", "RunConfig(name=str(dt.now().replace(hour=0)))"),
    ],
)
def test_a_name_that_is_new_each_time_is_not_told(head: str, config: str) -> None:
    assert told(config, head) == []


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("", "f'a-{datetime.date.today()}'"),
        ("", "f'a-{datetime.date.today():%Y%m%d}'"),
        ("", "'a-' + dt.now().strftime('%Y-%m-%d')"),
        ("", "time.strftime('a-%Y%m%d')"),
        ("", "time.strftime(format='%d%b')"),
        ("from time import strftime", "strftime('%j')"),
        ("", "dt.strftime(dt.now(), '%Y%m%d')"),
        ("", "'a-{:%Y%m%d}'.format(dt.now())"),
        ("", "format(dt.now(), '%Y%m%d')"),
        ("FORMAT = '%Y%m%d'", "f'a-{dt.now():{FORMAT}}'"),
        ("", "f'a-{dt.now() - datetime.timedelta(days=1):%Y%m%d}'"),
        ("", "str(dt.now().date())"),
        ("now = dt.now()", "f'{now.year}-{now.month}-{now.day}'"),
        ("FORMAT = '%Y%m%d'\nTODAY = dt.utcnow().strftime(FORMAT)", "'-'.join(['a', TODAY])"),
        ("def name(): return f'a-{datetime.date.today().isoformat()}'", "name()"),
        ("now = dt.now()", "str(now)[:10]"),
        ("", "'a-' + f'{dt.now()}'[:10]"),
        ("", "dt.now().isoformat()[0:10]"),
        ("", "str(dt.now()).split()[0]"),
        ("", "dt.utcnow().isoformat().split('T')[0]"),
        ("", "str(dt.now()).partition(' ')[0]"),
        ("", "time.ctime()[:10]"),
        ("", "'-'.join(map(str, time.localtime()[:3]))"),
        ("", "f'{time.localtime().tm_yday}'"),
        ("", "str(dt.now().replace(hour=0, minute=0, second=0, microsecond=0))"),
        ("NAME = str(datetime.date.today()) if x else str(time.time())", "NAME"),
    ],
)
def test_a_name_that_all_runs_of_a_day_have_is_told(head: str, name: str) -> None:
    assert told(f"RunConfig(name={name})", head) == ["A second run on the same day has the same name: it goes on"]


@pytest.mark.parametrize("name", ["f'{dt.now():%Y%m%d-%H}'", "f'{dt.now().hour}'", "f'{time.localtime().tm_hour}'"])
def test_a_name_that_all_runs_of_an_hour_have_is_told(name: str) -> None:
    assert told(f"RunConfig(name={name})") == ["A second run in the same hour has the same name: it goes on"]


def test_a_time_that_is_made_of_a_text_is_as_new_as_the_text() -> None:
    assert told("RunConfig(name=str(dt.strptime('2024', '%Y')))") == [PERHAPS]


def test_a_name_of_very_many_parts_is_not_followed_to_its_end() -> None:
    parts = "\n".join(f"NAME{n + 1} = NAME{n} + other(NAME{n})" for n in range(200))
    assert told("RunConfig(name=NAME200)", f"NAME0 = 'a'\n{parts}") == [PERHAPS]


BEGINS_ANEW = """
import uuid
from ray.air.config import CheckpointConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from ray.air import session

def loop(config):
    session.report({{"loss": 1}}, checkpoint={checkpoint})

def start(settings):
    result = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig({given})).fit()
    return {read}
"""
ADDS = "A second run with this name adds to the first one's checkpoints: those of both runs are in "
SCORED = "name='a', checkpoint_config=CheckpointConfig(checkpoint_score_attribute={})"


@pytest.mark.parametrize(
    ("given", "read", "said"),
    [
        ("name='a'", "result.best_checkpoints", [f"{ADDS}result.best_checkpoints."]),
        ("name='a'", "result.metrics_dataframe", [f"{ADDS}result.metrics_dataframe."]),
        ("name='a'", "result.get_best_checkpoint('loss', 'min')", [f"{ADDS}result.get_best_checkpoint."]),
        (SCORED.format("'loss'"), "result.checkpoint", [f"{ADDS}what CheckpointConfig compares."]),
        (SCORED.format("None"), "result.checkpoint", []),
        ("name='a'", "result.metrics", []),
        ("name=uuid.uuid4().hex", "result.best_checkpoints", []),
        ("", "result.best_checkpoints", []),
        ("name='a'", "settings.best_checkpoints", []),
    ],
)
def test_a_function_that_begins_anew_adds_to_the_checkpoints_of_the_first_run(
    given: str, read: str, said: list[str]
) -> None:
    script = BEGINS_ANEW.format(given=given, read=read, checkpoint="make(1)")
    assert [found.message for found in convert(script).findings if found.code == "RM406"] == said


def test_a_function_that_goes_on_is_told_so_alone() -> None:
    script = BEGINS_ANEW.format(given="name='a'", read="result.best_checkpoints", checkpoint="session.get_checkpoint()")
    assert [found.message for found in convert(script).findings if found.code == "RM406"] == [
        "A second run with this name goes on from the first one's last checkpoint."
    ]


OF_TODAYS_NAMES = """
from ray import train
from ray.train import CheckpointConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def loop(config):
    train.report({{"loss": 1.0}}, checkpoint=train.Checkpoint.from_directory("saved"))


trainer = TorchTrainer(
    loop,
    scaling_config=ScalingConfig(num_workers=2{scaling}),
    run_config=RunConfig(name="run"{run}, checkpoint_config=CheckpointConfig(num_to_keep=1{keep})),
    {more}
)
print(trainer.fit().best_checkpoints)
"""
MIXES = "A second run with this name adds to the first one's checkpoints: those of both runs are in"


def told_of_todays(from_ray: str = "", **parts: str) -> list[str]:
    script = OF_TODAYS_NAMES.format(**{"scaling": "", "run": "", "keep": "", "more": "", **parts})
    findings = convert(script, options=Options(from_ray=from_ray)).findings
    return [finding.message.rpartition(" ")[0] for finding in findings if finding.code == "RM406"]


@pytest.mark.parametrize(
    "parts",
    [
        {"from_ray": "2.8"},
        {"run": ", local_dir='runs'"},
        {"run": ", verbose=1"},
        {"scaling": ", trainer_resources={'CPU': 0}"},
        {"keep": ", checkpoint_at_end=True"},
        {"more": "metadata={'a': 1},"},
        {"more": "resume_from_checkpoint=None,"},
    ],
)
def test_a_job_for_an_older_ray_is_known_by_what_is_refused_today(parts: dict[str, str]) -> None:
    assert told_of_todays(**parts) == [MIXES]


@pytest.mark.parametrize("parts", [{}, {"run": ", callbacks=[callback]"}, {"run": ", storage_path='/runs'"}])
def test_one_for_the_ray_of_today_is_not(parts: dict[str, str]) -> None:
    assert told_of_todays(**parts) == []
