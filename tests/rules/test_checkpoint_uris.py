"""RM607: the URI of a checkpoint, by the storage that it is on."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.projects.files import write
from tests.rules.scripts import converted

SCRIPT = """
import os
import subprocess
import tempfile
from ray import tune
from ray.air import Checkpoint, RunConfig, ScalingConfig
from ray.train.huggingface import TransformersCheckpoint, TransformersTrainer
from job import build, cfg, log, rows


def loop():
    pass


trainer = TransformersTrainer(
    build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets=rows, run_config={run_config}
)
result = trainer.fit()
{use}
"""
LOCAL = [
    "None",
    "RunConfig(name='a')",
    "RunConfig(storage_path='/mnt/runs')",
    "RunConfig(local_dir=tempfile.mkdtemp())",
]
BUCKET = [
    "RunConfig(storage_path='s3://bucket/runs')",
    "RunConfig(storage_path=f's3://{cfg.bucket}/runs')",
    "RunConfig(sync_config=tune.SyncConfig(upload_dir='s3://bucket/runs'))",
    "RunConfig(storage_path=os.path.join('s3://bucket', 'runs'))",
]
UNKNOWN = [
    "RunConfig(storage_path=cfg.storage)",
    "RunConfig(storage_path=os.environ['STORAGE'])",
    "RunConfig(storage_path='s3://b' if cfg.remote else '/mnt')",
    "cfg.run",
    "RunConfig(storage_path='hdfs://host:9000/runs')",
    "RunConfig(storage_path='bucket/runs', storage_filesystem=cfg.filesystem)",
]
WRITTEN = 'open("last.txt", "w").write(result.checkpoint.uri)'


def script(run_config: str, use: str) -> str:
    return SCRIPT.replace("{run_config}", run_config).replace("{use}", use)


@pytest.mark.parametrize("run_config", LOCAL)
def test_a_uri_of_a_folder_is_its_path(run_config: str) -> None:
    outcome = converted(script(run_config, WRITTEN))
    assert WRITTEN.replace("uri", "path") in outcome.text
    assert outcome.lines("RM607", Kind.CONVERTED) and not outcome.lines("RM607", Kind.NOTE)


@pytest.mark.parametrize("run_config", BUCKET)
def test_a_uri_of_a_bucket_keeps_its_scheme(run_config: str) -> None:
    outcome = converted(script(run_config, WRITTEN))
    assert 'write("s3://" + result.checkpoint.path)' in outcome.text
    assert outcome.lines("RM607", Kind.CONVERTED) and not outcome.lines("RM607", Kind.NOTE)


@pytest.mark.parametrize("run_config", UNKNOWN)
def test_where_the_storage_may_be_any_the_scheme_is_spoken_of(run_config: str) -> None:
    outcome = converted(script(run_config, WRITTEN))
    assert WRITTEN.replace("uri", "path") in outcome.text
    assert outcome.lines("RM607", Kind.NOTE)


@pytest.mark.parametrize(
    ("use", "after"),
    [
        ('log.info("at %s", result.checkpoint.uri)', 'log.info("at %s", "s3://" + result.checkpoint.path)'),
        ('print("at %s" % result.checkpoint.uri)', 'print("at %s" % ("s3://" + result.checkpoint.path))'),
        ('print("at " + result.checkpoint.uri)', 'print("at " + ("s3://" + result.checkpoint.path))'),
        ("print(result.best_checkpoints[0][0].uri)", 'print("s3://" + result.best_checkpoints[0][0].path)'),
    ],
)
def test_a_uri_stays_whole_in_what_is_shown(use: str, after: str) -> None:
    assert after in converted(script(BUCKET[0], use)).text


@pytest.mark.parametrize(
    ("run_config", "use", "advice"),
    [
        (
            BUCKET[0],
            'subprocess.run(["aws", "s3", "sync", result.checkpoint.uri, "m"])',
            'Use "s3://" + checkpoint.path',
        ),
        ("None", 'subprocess.run(["cp", "-r", result.checkpoint.uri, "m"])', '"file://" + checkpoint.path where a URI'),
        ("cfg.run", 'subprocess.run(["sync", result.checkpoint.uri, "m"])', "It has no scheme in front"),
        (BUCKET[0], "c = TransformersCheckpoint.from_uri(result.checkpoint.uri)", "Take the checkpoint itself"),
        ("None", "c = Checkpoint.from_uri(result.checkpoint.uri)", "Take the checkpoint itself"),
        ("cfg.run", "c = Checkpoint(uri=result.checkpoint.uri)", "Take the checkpoint itself"),
        ("None", 'c = Checkpoint.from_uri("s3://b/c")\nstore = c.uri', 'Use "s3://" + checkpoint.path'),
        ("None", 'c = Checkpoint.from_directory("/a/c")\nstore = c.uri', '"file://" + checkpoint.path where a URI'),
        ("None", "def keep(c: Checkpoint):\n    return c.uri", "It has no scheme in front"),
    ],
)
def test_what_works_with_a_uri_is_told_by_its_storage(run_config: str, use: str, advice: str) -> None:
    outcome = converted(script(run_config, use))
    assert len(outcome.lines("RM607", Kind.MANUAL)) == 1
    assert any(advice in message for message in outcome.messages)


INSIDE = 'lie in the folder "checkpoint" of the checkpoint'


@pytest.mark.parametrize(
    ("run_config", "use", "is_told"),
    [
        (BUCKET[0], 'subprocess.run(["aws", "s3", "sync", result.checkpoint.uri, "m"])', True),
        ("cfg.run", 'os.system("sync " + result.checkpoint.uri)', True),
        ("None", "send(uri=result.checkpoint.uri)", True),
        ("None", "c = Checkpoint.from_uri(result.checkpoint.uri)", False),
        ("None", "log.info(result.checkpoint.uri)", False),
        ("None", 'c = Checkpoint.from_directory("/a/c")\nstore = c.uri', False),
    ],
)
def test_what_works_with_the_files_is_told_where_they_are(run_config: str, use: str, is_told: bool) -> None:
    messages = converted(script(run_config, use)).messages
    assert any("Checkpoint.uri" in message and INSIDE in message for message in messages) == is_told


def test_a_scheme_that_is_cut_off_stays_off() -> None:
    outcome = converted(script("None", 'folder = result.checkpoint.uri.split("file://")[-1]\nprint(folder)'))
    assert "folder = result.checkpoint.path\n" in outcome.text


def test_uris_of_others_are_theirs() -> None:
    outcome = converted(script("None", "import mlflow\nprint(mlflow.active_run().info.uri, cfg.uri)"))
    assert not outcome.lines("RM607", Kind.CONVERTED) and not outcome.lines("RM607", Kind.MANUAL)


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        ("def where(run):\n    return run.checkpoint.uri", "It has no scheme in front"),
        ("def where(checkpoint):\n    send(checkpoint.uri)", "It has no scheme in front"),
        ("def latest(run):\n    return Checkpoint.from_uri(run.checkpoint.uri)", "Take the checkpoint itself"),
    ],
)
def test_what_is_called_a_checkpoint_may_be_one(use: str, advice: str) -> None:
    message = "If this is a checkpoint of Ray: Checkpoint.uri raises an AttributeError on Ray >= 2.7."
    outcome = converted(script("None", use))
    assert outcome.lines("RM607", Kind.MANUAL)
    assert any(text.startswith(message) and advice in text for text in outcome.messages)


@pytest.mark.parametrize(
    "use",
    [
        "def where(checkpoint: Artifact):\n    return checkpoint.uri",
        "checkpoint = store.latest()\nsend(checkpoint.uri)",
        "run = store.latest()\nsend(run.checkpoint.uri)",
        "def where(artifact):\n    return artifact.uri",
        "def where(checkpoint):\n    return checkpoint.uri if hasattr(checkpoint, 'uri') else checkpoint.path",
    ],
)
def test_what_is_known_to_be_something_else_is_none(use: str) -> None:
    assert not converted(script("None", use)).lines("RM607", Kind.MANUAL)


@pytest.mark.parametrize(
    "use",
    [
        'print(checkpoint.uri if hasattr(checkpoint, "uri") else checkpoint.path)',
        'print(checkpoint.path if not hasattr(checkpoint, "uri") else checkpoint.uri)',
        'print(checkpoint.path if not (hasattr(checkpoint, "uri") and where) else checkpoint.uri)',
        'where = getattr(checkpoint, "uri", None) or checkpoint.path\nprint(where)',
        'if hasattr(checkpoint, "uri"):\n    where = checkpoint.uri\nelse:\n    where = checkpoint.path\nprint(where)',
    ],
)
def test_one_that_is_asked_for_is_not_missed(use: str) -> None:
    outcome = converted(script("None", f"checkpoint = result.checkpoint\n{use}"))
    assert use in outcome.text
    assert not {(code, kind) for code, kind, _ in outcome.findings} & {("RM607", Kind.MANUAL), ("RM602", Kind.MANUAL)}
    on_bucket = converted(script(BUCKET[0], f"checkpoint = result.checkpoint\n{use}"))
    assert bool(on_bucket.lines("RM607", Kind.NOTE)) == (".uri" in use)


def test_one_that_is_read_where_there_is_none_is_told() -> None:
    use = 'checkpoint = result.checkpoint\nupload(checkpoint.path if hasattr(checkpoint, "uri") else checkpoint.uri)'
    assert converted(script("None", use)).lines("RM607", Kind.MANUAL)


@pytest.mark.parametrize(
    ("use", "deeper", "told"),
    [
        ("path = C.path\nstep = int(path.split('_')[-1])\nopen(os.path.join(path, 'a'))", "path", 1),
        ("path = C.path\nprint(path)\nstep = int(path.split('_')[-1])", None, 1),
        ("with C.as_directory() as d:\n    m = re.search('_([0-9]+)', d)\n    open(os.path.join(d, 'a'))", "d", 1),
        ("with C.as_directory() as d:\n    m = re.compile('_([0-9]+)').search(os.path.basename(d))", None, 1),
        ("with C.as_directory() as d:\n    e = d\n    m = e[-6:]", None, 1),
        ("with C.as_directory() as d:\n    open(os.path.join(d, 'a'))", "d", 0),
    ],
)
def test_a_number_is_taken_out_of_the_path_itself(use: str, deeper: str | None, told: int) -> None:
    outcome = converted(script("None", use.replace("C.", "result.checkpoint.")).replace("import os", "import os, re"))
    assert len(outcome.lines("RM609", Kind.MANUAL)) == told
    assert not outcome.lines("RM602", Kind.MANUAL)
    read = [line.strip() for line in outcome.text.splitlines() if "checkpoint'" in line or '"checkpoint"' in line]
    assert bool([line for line in read if line.startswith("open(")]) == (deeper is not None)
    for line in ("re.search('_([0-9]+)', d)", "int(path.split('_')[-1])", "os.path.basename(d)", "e = d"):
        assert line not in use or line in outcome.text


FACTORY = """
from ray.air import RunConfig
from ray.train.huggingface import TransformersTrainer
from job import build, rows


def make_trainer({parameter}):
    return TransformersTrainer(build, datasets=rows, run_config={run_config})
"""
FLOW = """
import subprocess
from factory import make_trainer

result = make_trainer({given}).fit()
subprocess.run(["sync", result.checkpoint.uri, "m"])
"""


@pytest.mark.parametrize(
    ("parameter", "run_config", "given", "advice"),
    [
        ("storage", "RunConfig(storage_path=storage)", "input()", "It has no scheme in front"),
        ("", "RunConfig(storage_path='s3://b/runs')", "", 'Use "s3://" + checkpoint.path'),
        ("", "RunConfig(name='a')", "", '"file://" + checkpoint.path where a URI'),
        ("config", "config", "input()", "It has no scheme in front"),
    ],
)
def test_the_storage_of_a_trainer_that_another_file_makes(
    tmp_path: Path, parameter: str, run_config: str, given: str, advice: str
) -> None:
    factory = FACTORY.format(parameter=parameter, run_config=run_config)
    write(tmp_path, {"setup.cfg": "", "factory.py": factory, "flow.py": FLOW.format(given=given)})
    assert advice in CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout


def test_a_trainer_of_a_function_that_is_not_seen_may_have_any_storage() -> None:
    flow = FLOW.format(given="").replace("import subprocess", "import subprocess\nfrom ray.train import Result")
    outcome = converted(flow.replace("result =", "result: Result ="))
    assert outcome.lines("RM607", Kind.MANUAL) and not any("file://" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("body", "given", "advice"),
    [
        (
            "def __init__(self):\n        super().__init__(build, run_config=RunConfig(storage_path='s3://b'))",
            "",
            "no scheme",
        ),
        ("pass", "build, run_config=RunConfig(storage_path='s3://b')", 'Use "s3://" + checkpoint.path'),
        ("pass", "build, run_config=RunConfig(name='a')", '"file://" + checkpoint.path where a URI'),
    ],
)
def test_the_storage_of_a_trainer_of_an_own_class(body: str, given: str, advice: str) -> None:
    own = f"\n\nclass Own(TransformersTrainer):\n    {body}\n\n\n"
    flow = FLOW.format(given=given).replace("make_trainer(", "Own(").replace("from factory import make_trainer\n", own)
    messages = converted(f"{FACTORY.partition('def ')[0]}{flow}").messages
    assert [message for message in messages if advice in message]
