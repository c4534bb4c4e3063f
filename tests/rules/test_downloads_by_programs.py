"""RM483: what programs and archives write on each worker, and files of a folder that every worker reports."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import os
import shutil
import subprocess
import tarfile
import zipfile

import torch
from filelock import FileLock
from ray.air import session
from ray.air.checkpoint import Checkpoint
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer

URL = "https://example.org/a.zip"


def fetch(model=None):
    {code}


def loop(config):
    fetch()
    session.report({{"loss": 1.0}})


{outside}
TorchTrainer(loop, scaling_config=ScalingConfig(num_workers={workers})).fit()
"""


def told(code: str, workers: int = 2, outside: str = "") -> list[int]:
    return converted(SCRIPT.format(code=code, workers=workers, outside=outside)).lines("RM483", Kind.MANUAL)


HERE = [
    'os.system("wget https://example.org/a.zip")',
    'os.system("wget -q https://example.org/a.zip -P data && echo done")',
    'os.system(f"wget {URL}")',
    'os.system("unzip -q a.zip")',
    'os.system("mkdir data; tar -xzf a.tgz -C data")',
    'os.popen("curl -LO https://example.org/a.zip")',
    'subprocess.run(["wget", URL])',
    'subprocess.run(["curl", "-L", "-o", "a.zip", URL], check=True)',
    'subprocess.check_call("git clone https://example.org/a", shell=True)',
    'subprocess.call(["unzip", "a.zip", "-d", "data"])',
    'subprocess.Popen(["/usr/bin/wget", URL])',
    'subprocess.run(["aws", "s3", "cp", "s3://bucket/a", "data"])',
    'zipfile.ZipFile("a.zip").extractall("data")',
    "zipfile.ZipFile('a.zip').extractall()",
    'with tarfile.open("a.tgz") as archive:\n        archive.extractall(path="data")',
    'shutil.unpack_archive("a.zip", "data")',
]
ELSEWHERE = [
    'os.system("wget https://example.org/a.zip -P /shared/data")',
    'os.system("wget -qO- https://example.org/a.txt")',
    'os.system("cd /shared && wget https://example.org/a.zip")',
    'os.system("curl https://example.org/status")',
    'os.system("tar -czf a.tgz data")',
    'os.system("git status")',
    'os.system("nvidia-smi")',
    'os.system("echo wget")',
    'subprocess.run(["wget", URL], cwd="/shared")',
    'subprocess.run(["unzip", "a.zip", "-d", folder])',
    'subprocess.run(["unzip", "a.zip", "-d", "~/data"])',
    'subprocess.run(["aws", "s3", "cp", "s3://bucket/a", "/shared/a"])',
    "subprocess.run(command)",
    'zipfile.ZipFile("a.zip").extractall("/shared/data")',
    'if session.get_local_rank() == 0:\n        os.system("wget https://example.org/a.zip")',
    'with FileLock("/tmp/lock"):\n        os.system("wget https://example.org/a.zip")',
]


@pytest.mark.parametrize("code", HERE)
def test_what_every_worker_downloads_to_the_same_folder_is_told(code: str) -> None:
    assert len(told(code)) == 1
    assert not told(code, workers=1)
    assert not told("pass", outside=code.replace("\n    ", "\n"))  # on the driver


@pytest.mark.parametrize("code", ELSEWHERE)
def test_what_goes_elsewhere_or_comes_in_turn_is_left(code: str) -> None:
    assert not told(code)


@pytest.mark.parametrize(
    ("save", "folder", "lines"),
    [
        ('torch.save(model, "my_model/model.pt")', '"my_model"', 1),
        ('torch.save(model, os.path.join("my_model", "model.pt"))', '"my_model"', 1),
        ('if session.get_world_rank() == 0:\n        torch.save(model, "my_model/model.pt")', '"my_model"', 0),
        ('torch.save(model, "/shared/my_model/model.pt")', '"/shared/my_model"', 0),
        ('torch.save(model, f"my_model/{session.get_world_rank()}.pt")', '"my_model"', 0),
    ],
)
def test_a_file_of_a_folder_that_each_worker_reports_is_told(save: str, folder: str, lines: int) -> None:
    code = f"{save}\n    session.report({{}}, checkpoint=Checkpoint.from_directory({folder}))"
    assert len(told(code)) == lines
    assert not told(code, workers=1)
