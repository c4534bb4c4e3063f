"""RM402 where a command in a cell looks into a local_dir that goes."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.documents.notebooks import notebook
from tests.projects.files import convert

JOB = """from ray import air, tune
from ray.train.torch import TorchTrainer

RUNS = "/mnt/efs/ray"
upload = tune.SyncConfig(upload_dir="s3://b/ray")
run_config = air.RunConfig(name="m", local_dir={folder}{other})
TorchTrainer(loop, run_config=run_config).fit()"""
UPLOADS = ", sync_config=upload"


def told(path: Path, cell: str, folder: str = "RUNS", other: str = UPLOADS) -> list[Finding]:
    """What is told of a cell behind the one that trains, by a run that looks and by one that writes."""
    path.write_text(json.dumps(notebook([JOB.format(folder=folder, other=other), cell])))
    found, written = (
        [f for f in convert(path, job=Job(Options(), write=write)).findings if f.cell == 3 and f.code == "RM402"]
        for write in (False, True)
    )
    assert [(f.line, f.message, f.kind) for f in found] == [(f.line, f.message, f.kind) for f in written]
    assert all(f.message.startswith("If this looks for results: ") for f in found)
    return found


@pytest.mark.parametrize(
    ("cell", "places"),
    [
        ("!du -sh /mnt/efs/ray/m/*", [(1, 9)]),
        ("files = !ls /mnt/efs/ray", [(1, 13)]),
        ("%ls /mnt/efs/ray/m", [(1, 5)]),
        ("print(1)\n%tensorboard --logdir=/mnt/efs/ray", [(2, 23)]),
        ("%%bash\ncd /tmp\nls '/mnt/efs/ray/m' | wc -l", [(3, 5)]),
        ("!aws s3 sync \\\n  /mnt/efs/ray s3://b", [(2, 3)]),
        ("!ls {RUNS}/m", [(1, 5)]),
        ("!mkdir -p /mnt/efs/ray && ls $RUNS/m", [(1, 30)]),
        ("!ls /mnt/efs/ray\n!ls /mnt/efs/ray/m", [(1, 5), (2, 5)]),
        ("!ls /mnt/efs/ray-old /mnt/efs /data/mnt/efs/ray", []),
        ("!mkdir -p /mnt/efs/ray\n!echo /mnt/efs/ray\n%env RUNS=/mnt/efs/ray", []),
        ("# !ls /mnt/efs/ray\n!ls . # /mnt/efs/ray", []),
        ("!ls {RUNSHEET} $RUNSHEET", []),
        ("!ls /mnt/efs/ray  # raymigrate: skip[RM402] -- as there", []),
    ],
)
def test_commands_that_look_into_it_are_told(tmp_path: Path, cell: str, places: list[tuple[int, int]]) -> None:
    found = [f for f in told(tmp_path / "job.ipynb", cell) if f.kind is Kind.MANUAL]
    assert [(f.line, f.column) for f in found] == places


@pytest.mark.parametrize(
    ("folder", "other", "count"),
    [
        ("'/mnt/efs/ray/'", UPLOADS, 1),
        ("'/mnt/efs/ray'", ", storage_path='/mnt/other'", 1),
        ("'/mnt/efs/ray'", ", storage_path='/mnt/efs/ray'", 0),
        ("'/mnt/efs/ray'", "", 0),
        ("'/mnt/efs/other'", UPLOADS, 0),
        ("'ray'", UPLOADS, 0),
    ],
)
def test_only_a_folder_that_gets_no_results_is_meant(tmp_path: Path, folder: str, other: str, count: int) -> None:
    assert len(told(tmp_path / "job.ipynb", "!ls /mnt/efs/ray", folder, other)) == count
