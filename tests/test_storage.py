"""Where results go becomes an absolute path or a URI, whatever the spelling, and is left alone where it is one."""

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert

SCRIPT = """
import os
import tempfile
from pathlib import Path
from ray.air import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
{head}
run_config = RunConfig({given})
TorchTrainer(print, scaling_config=ScalingConfig(num_workers=1), run_config=run_config).fit()
"""


def stored(given: str, head: str = "") -> str:
    after = convert(SCRIPT.format(head=head, given=given)).after
    assert after is not None
    return after.partition("RunConfig(")[2].partition("\n")[0].removesuffix(")").removeprefix("storage_path=")


@pytest.mark.parametrize("argument", ["local_dir", "storage_path"])
@pytest.mark.parametrize(
    ("head", "path", "after"),
    [
        ("", "'/mnt/runs'", "'/mnt/runs'"),
        ("", "'s3://bucket/runs'", "'s3://bucket/runs'"),
        ("BASE = '/mnt'", "BASE", "BASE"),
        ("BASE = '/mnt'", "f'{BASE}/runs'", "f'{BASE}/runs'"),
        ("", "f'/mnt/{user}'", "f'/mnt/{user}'"),
        ("", "'/mnt/' + user", "'/mnt/' + user"),
        ("", "'/mnt/{}'.format(user)", "'/mnt/{}'.format(user)"),
        ("", "'/mnt/%s' % user", "'/mnt/%s' % user"),
        ("", "os.path.join('/mnt', user)", "os.path.join('/mnt', user)"),
        ("", "str(Path('/mnt') / user)", "str(Path('/mnt') / user)"),
        ("", "os.getcwd() + '/runs'", "os.getcwd() + '/runs'"),
        ("", "os.path.join(os.getcwd(), 'runs')", "os.path.join(os.getcwd(), 'runs')"),
        ("", "tempfile.mkdtemp()", "tempfile.mkdtemp()"),
        (
            "BASE = os.path.dirname(os.path.abspath(__file__))",
            "os.path.join(BASE, 'runs')",
            "os.path.join(BASE, 'runs')",
        ),
        ("BASE = Path(__file__).resolve().parents[1]", "str(BASE / 'runs')", "str(BASE / 'runs')"),
        ("import hydra", "hydra.utils.to_absolute_path('runs')", "hydra.utils.to_absolute_path('runs')"),
        ("here = Path(__file__).resolve().parent", "str(Path('runs').resolve())", "str(Path('runs').resolve())"),
        ("", "os.path.abspath('runs')", "os.path.abspath('runs')"),
        ("", "'./runs'", "os.path.abspath('./runs')"),
        ("", "'runs'", "os.path.abspath('runs')"),
        ("BASE = 'runs'", "f'{BASE}/{user}'", "os.path.abspath(f'{BASE}/{user}')"),
        ("", "'~/runs'", "os.path.expanduser('~/runs')"),
        ("", "os.path.expanduser('~/runs')", "os.path.expanduser('~/runs')"),
        ("BASE = 'a' if b else 'c'", "BASE", "os.path.abspath(BASE)"),
    ],
)
def test_a_path_becomes_absolute_and_stays_where_it_is(argument: str, head: str, path: str, after: str) -> None:
    assert stored(f"{argument}={path}", head) == after


@pytest.mark.parametrize("path", ["str(tmp_path)", "tmpdir", "str(tmp_path / 'runs')"])
def test_the_folder_that_pytest_gives_a_test_is_absolute(path: str) -> None:
    script = f"from ray.air import RunConfig\n\n\ndef {{name}}(tmp_path, tmpdir):\n    RunConfig(local_dir={path})\n"
    assert f"RunConfig(storage_path={path})" in str(convert(script.format(name="test_run")).after)
    assert "abspath" in str(convert(script.format(name="run")).after)


def test_a_local_dir_of_which_nothing_is_known_becomes_absolute_at_run_time() -> None:
    assert stored("local_dir=settings.folder") == "os.path.abspath(os.path.expanduser(settings.folder))"


@pytest.mark.parametrize(
    ("head", "path", "told"),
    [
        ("", "settings.folder", "what this one is cannot be seen."),
        ("", "os.environ.get('RUNS', 'runs')", "this one can be relative."),
        ("def f(path='runs'): return path", "f(anything)", "what this one is cannot be seen."),
        ("BASE = 'a' if b else '/c'", "BASE", "this one can be relative."),
        ("", "os.environ.get('RUNS', '~/runs')", "what this one is cannot be seen."),
    ],
)
def test_a_storage_path_that_may_be_relative_is_told(head: str, path: str, told: str) -> None:
    result = convert(SCRIPT.format(head=head, given=f"storage_path={path}"))
    assert [f.message.partition("; ")[2] for f in result.findings if f.code == "RM402"] == [told]
    assert {f.kind for f in result.findings if f.code == "RM402"} == {Kind.MANUAL}


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("settings['folder']", ["what this one is cannot be seen."]),
        ("os.environ.get('RUNS', 'runs')", ["this one can be relative."]),
        ("'/mnt/runs'", []),
        ("'~/runs'", []),
        ("None", []),
    ],
)
def test_so_is_that_of_a_tuner(path: str, told: list[str]) -> None:
    script = "import os\nfrom ray import air, tune\n\n\ndef train(config):\n    pass\n\n\n"
    result = convert(f"{script}tune.Tuner(train, run_config=air.RunConfig(name='a', storage_path={path})).fit()\n")
    assert "tune.RunConfig(" in str(result.after)
    assert [f.message.partition("; ")[2] for f in result.findings if f.code == "RM402"] == told


FLOW = (
    "from metaflow import Parameter\nclass Flow:\n    storage = Parameter({given})\n"
    "    def train(self): return RunConfig("
)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("'storage', help='where', default='s3://bucket/runs'", Kind.NOTE),
        ("'storage', '/mnt/runs'", Kind.NOTE),
        ("'storage', default='runs'", Kind.MANUAL),
        ("'storage'", Kind.MANUAL),
    ],
)
def test_the_default_of_a_parameter_of_metaflow_is_seen(given: str, kind: Kind) -> None:
    head = f"{FLOW.format(given=given)}storage_path=self.storage)\n"
    result = convert(SCRIPT.format(head=head, given="storage_path='/a'"))
    assert [f.kind for f in result.findings if f.code == "RM402"] == [kind]


def test_an_option_that_is_absolute_by_default_is_a_note() -> None:
    head = (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--to', default='s3://b')\na = p.parse_args()"
    )
    result = convert(SCRIPT.format(head=head, given="storage_path=a.to"))
    assert [f.kind for f in result.findings if f.code == "RM402"] == [Kind.NOTE]


@pytest.mark.parametrize("path", ["'~/a' if b else '/c'", "'s3://a' if b else f'~/{user}'"])
def test_a_storage_path_in_the_home_is_as_good_as_an_absolute_one(path: str) -> None:
    assert "RM402" not in {f.code for f in convert(SCRIPT.format(head="", given=f"storage_path={path}")).findings}


def test_what_makes_a_path_absolute_is_told_with_the_home() -> None:
    given = "storage_path=os.environ.get('RUNS', '~/runs')"
    advice = [f.advice for f in convert(SCRIPT.format(head="", given=given)).findings if f.code == "RM402"]
    assert advice and "os.path.abspath(os.path.expanduser(path))" in advice[0]


@pytest.mark.parametrize("given", ["storage_path=x, storage_filesystem=fs", "storage_path=None", "name='a'"])
def test_nothing_is_said_of_a_storage_path_that_is_no_local_one(given: str) -> None:
    assert "RM402" not in {f.code for f in convert(SCRIPT.format(head="", given=given)).findings}


@pytest.mark.parametrize(
    ("head", "given", "after"),
    [
        ("from ray import tune\nsync = tune.SyncConfig(syncer=None)", "sync_config=sync", ""),
        ("from ray import tune", "sync_config=tune.SyncConfig(syncer=None)", ""),
        ("from ray.tune import SyncConfig\nsync: SyncConfig = SyncConfig(sync_period=1)", "sync_config=sync", ""),
        ("from ray import tune\nsync = tune.SyncConfig(upload_dir='s3://a')", "sync_config=sync", "'s3://a'"),
        ("from ray.tune.syncer import SyncConfig", "sync_config=SyncConfig(upload_dir='s3://a')", "'s3://a'"),
        (
            "from ray.tune import SyncConfig\nbucket = 's3://a' if b else None",
            "local_dir='/c', sync_config=SyncConfig(upload_dir=bucket)",
            "bucket or '/c'",
        ),
        (
            "from ray.tune import SyncConfig",
            "local_dir='/c', sync_config=SyncConfig(upload_dir='s3://a' if b else None)",
            "'s3://a' if b else '/c'",
        ),
    ],
)
def test_a_sync_config_goes_with_the_variable_that_holds_it(head: str, given: str, after: str) -> None:
    text = SCRIPT.format(head=head, given=given)
    result = convert(text)
    assert stored(given, head) == after
    assert result.after is not None and "sync = " not in result.after and "SyncConfig(" not in result.after
    assert {f.kind for f in result.findings} == {Kind.CONVERTED}


def test_a_sync_config_with_another_use_is_told_where_it_is_made() -> None:
    head = "from ray import tune\nsync = tune.SyncConfig(syncer=None)\nprint(sync)"
    result = convert(SCRIPT.format(head=head, given="sync_config=sync"))
    assert [(f.line, f.message) for f in result.findings if f.kind is Kind.MANUAL] == [
        (8, "SyncConfig(syncer=) raises a TypeError on Ray >= 2.7.")
    ]


@pytest.mark.parametrize(
    ("head", "given"),
    [
        ("", "local_dir='/tmp/x', sync_config=tune.SyncConfig(upload_dir='s3://b/x')"),
        ("", "sync_config=tune.SyncConfig(upload_dir='s3://b/x', syncer='auto'), local_dir='x'"),
        ("sync = tune.SyncConfig(upload_dir='s3://b/x')", "local_dir='~/x', sync_config=sync"),
    ],
)
def test_results_go_where_they_were_uploaded(head: str, given: str) -> None:
    assert stored(given, f"from ray import tune\n{head}") == "'s3://b/x'"


@pytest.mark.parametrize(
    ("upload", "folder", "after"),
    [
        ("bucket if bucket else None", "'/mnt/x'", "bucket if bucket else '/mnt/x'"),
        ("None if local else bucket", "'/mnt/x'", "'/mnt/x' if local else bucket or '/mnt/x'"),
        ("'s3://a' if bucket else given()", "'/mnt/x'", "'s3://a' if bucket else given() or '/mnt/x'"),
        ("os.environ.get('BUCKET')", "'x'", "os.environ.get('BUCKET') or os.path.abspath('x')"),
        ("given()", "'/mnt/x'", "given() or '/mnt/x'"),
    ],
)
def test_results_stay_in_the_local_dir_where_they_may_not_be_uploaded(upload: str, folder: str, after: str) -> None:
    given = f"local_dir={folder}, sync_config=tune.SyncConfig(upload_dir={upload})"
    head = "from ray import tune\nimport os\nfrom own import bucket, given, local"
    assert stored(given, head) == after
    assert stored(f"sync_config=tune.SyncConfig(upload_dir={upload}), local_dir={folder}", head) == after
    told = [f.message for f in convert(SCRIPT.format(head="from ray import tune", given=given)).findings]
    assert "RunConfig(local_dir=) raises on Ray >= 2.51; now storage_path= where there is no upload_dir." in told


@pytest.mark.parametrize("upload", ["None", "NOWHERE"])
def test_no_upload_dir_leaves_the_local_dir_alone(upload: str) -> None:
    given = f"local_dir='/mnt/x', sync_config=tune.SyncConfig(upload_dir={upload})"
    head = "from ray import tune\nNOWHERE = None"
    assert stored(given, head) == "'/mnt/x'"
    told = [f.message for f in convert(SCRIPT.format(head=head, given=given)).findings]
    assert "RunConfig(local_dir=) raises on Ray >= 2.51; now storage_path=." in told
    assert not any("upload_dir" in message for message in told)


@pytest.mark.parametrize(
    "more",
    [
        "local_dir='runs' if local else None",
        "local_dir='/mnt/x' if local else '/mnt/y'",
        "local_dir='/mnt/x', storage_path=None",
    ],
)
def test_a_local_dir_whose_place_is_not_simple_is_told(more: str) -> None:
    given = f"{more}, sync_config=tune.SyncConfig(upload_dir=bucket if bucket else None)"
    found = convert(SCRIPT.format(head="from ray import tune\nfrom own import bucket, local", given=given)).findings
    told = [f.advice for f in found if f.kind is Kind.MANUAL and "local_dir=)" in f.message]
    assert told == ["Drop it, and give the upload_dir as storage_path=, and this where that is None."]


@pytest.mark.parametrize("other", ["sync_config=tune.SyncConfig(upload_dir='s3://b/x')", "storage_path='s3://b/x'"])
@pytest.mark.parametrize(
    ("head", "folder", "tail", "is_told"),
    [
        ("", "'/mnt/x'", "print(os.listdir('/mnt/x/run'))", True),
        ("", "'~/x'", "open(os.path.expanduser('~/x/run/result.json'))", True),
        ("X = '/mnt/x'", "X", "print(os.listdir(f'{X}/run'))", True),
        ("X = '/mnt/x'", "X", "print([p for p in Path(X).iterdir()])", True),
        ("X = '/mnt/x'\nos.makedirs(X)", "X", "print(X)", False),
        ("X = '/mnt/x'", "X", "RunConfig(local_dir=X)", False),
        ("X = '/mnt/x'", "X", "RunConfig(storage_path=os.path.join(X, 'run'))", False),
        ("", "'/mnt/x'", "print(os.listdir('/mnt/xy'), os.listdir('/mnt'))", False),
        ("", "'x'", "print(os.listdir('x'), {'x': 1})", False),
        ("", "'/mnt/x'", "", False),
        ("", "os.path.expanduser('~/x')", "print(os.listdir(os.path.expanduser('~/x/run')))", True),
        ("X = '/mnt/x'", "X", "open(f'{X}/run/result.json')", True),
        ("X = '/mnt/x'", "X", "open(f'{X}/metrics.json', 'w')", False),
        ("X = '/mnt/x'", "X", "Path(X, 'metrics.json').open(mode='a')", False),
        ("X = '/mnt/x'", "X", "(Path(X) / 'metrics.json').write_text('{}')", False),
        ("X = '/mnt/x'", "X", "print(f'results are in {X}')", False),
        ("X = '/mnt/x'", "X", "os.makedirs(os.path.join(X, 'plots'), exist_ok=True)", False),
        ("X = '/mnt/x'\nsettings = open(f'{X}/settings.json')", "X", "", False),
        ("X = '/mnt/x'\nsettings = (Path(X) / 'settings.json').read_text()", "X", "print(os.listdir(X))", True),
    ],
)
def test_what_looks_into_a_folder_that_gets_no_results_is_told(
    head: str, folder: str, tail: str, other: str, *, is_told: bool
) -> None:
    script = SCRIPT.format(head=f"from ray import tune\n{head}", given=f"local_dir={folder}, {other}") + tail
    told = [f for f in convert(script).findings if f.message.startswith("If this looks for results: ")]
    assert [script.split("\n")[f.line - 1] for f in told] == [tail] * is_told


@pytest.mark.parametrize(
    "look",
    [
        "if os.path.exists(f'{X}/run/result.json'): print(1)",
        "if go_on: metrics = open(f'{X}/run/result.json')",
        "runs = os.listdir(X)",
        "def earlier(): return open(f'{X}/run/result.json')",
    ],
)
def test_what_may_look_for_an_earlier_run_is_told(look: str) -> None:
    given = "local_dir=X, sync_config=tune.SyncConfig(upload_dir='s3://b/x')"
    script = SCRIPT.format(head=f"from ray import tune\nX = '/mnt/x'\n{look}", given=given)
    assert [f for f in convert(script).findings if f.message.startswith("If this looks for results: ")]


@pytest.mark.parametrize("given", ["local_dir='/tmp/x', sync_config=sync", "sync_config=make_sync()"])
def test_a_sync_config_that_cannot_be_seen_stays_and_is_told(given: str) -> None:
    outcome = convert(SCRIPT.format(head="sync = make_sync()", given=given))
    assert outcome.after is not None and "sync_config=" in outcome.after
    told = [f.advice for f in outcome.findings if f.code == "RM402" and f.kind is Kind.MANUAL]
    assert told == ["Drop it. Where it has an upload_dir, that is the storage_path= today, in place of any local_dir=."]


OPTIONS = """
import argparse
from typing import Optional
from ray.air import RunConfig


def config(folder: Optional[str], args):
    return RunConfig(local_dir={path})


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument({option})
    {parsed} = parser.parse_{how}(argv)
    return config(args.out, args)
"""


@pytest.mark.parametrize("path", ["folder", "args.out"])
@pytest.mark.parametrize(("parsed", "how"), [("args", "args"), ("args, rest", "known_args")])
@pytest.mark.parametrize(
    "option",
    [
        '"--out"',
        '"-o", "--out", help="results"',
        '"--out", type=str, default=None',
        '"--out", action="store"',
        '"out", nargs="?"',
    ],
)
def test_an_option_that_is_left_out_leaves_the_place_to_ray(path: str, parsed: str, how: str, option: str) -> None:
    after = str(convert(OPTIONS.format(path=path, parsed=parsed, how=how, option=option)).after)
    assert f"storage_path=os.path.abspath(os.path.expanduser({path})) if {path} else None" in after


@pytest.mark.parametrize(
    "option", ['"--out", required=True', '"out"', '"--out", default="runs"', '"out", nargs="?", default="runs"']
)
def test_an_option_that_has_a_value_is_asked_for_none(option: str) -> None:
    after = str(convert(OPTIONS.format(path="args.out", parsed="args", how="args", option=option)).after)
    assert "storage_path=os.path.abspath(" in after
    assert " if args.out" not in after
