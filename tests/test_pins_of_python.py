"""RM731: Python itself, wherever a project says which one it takes: Ray and transformers of today need 3.10."""

from pathlib import Path

import pytest

from tests.test_pins import LEGACY, project, run

CONDA = "apiVersion: ray.io/v1\nruntime_env:\n  conda:\n    dependencies:\n      - {}\n      - pip:\n        - {}\n"
PLACES = {
    "requirements.txt": ("python==3.9.16\n", "python>=3.10\n"),
    "pyproject.toml": ('[project]\nrequires-python = ">=3.7,<3.10"\n', '[project]\nrequires-python = ">=3.10"\n'),
    "Pipfile": ('[requires]\npython_version = "3.9"\n', '[requires]\npython_version = "3.10"\n'),
    "setup.cfg": ("[options]\npython_requires = >=3.7, <3.10\n", "[options]\npython_requires = >=3.10\n"),
    "setup.py": (
        "from setuptools import setup\nPYTHON = '~=3.8.0'\nsetup(python_requires=PYTHON)\n",
        "from setuptools import setup\nPYTHON = '>=3.10'\nsetup(python_requires=PYTHON)\n",
    ),
    "environment.yml": ("dependencies:\n  - python=3.9\n", "dependencies:\n  - python>=3.10\n"),
    "Dockerfile": ("RUN conda create -n x python=3.8\n", "RUN conda create -n x 'python>=3.10'\n"),
    "cluster.yaml": (CONDA.format("python=3.8.10", "ray>=2"), CONDA.format("python>=3.10", "ray>=2")),
    ".python-version": ("3.8.10\n", "3.10\n"),
    ".tool-versions": ("nodejs 18.0.0\npython 3.9.1 # of CI\n", "nodejs 18.0.0\npython 3.10 # of CI\n"),
    "runtime.txt": ("python-3.9.16\n", "python-3.10\n"),
    ".devcontainer/devcontainer.json": (
        '{"features": {"ghcr.io/devcontainers/features/python:1": {"installTools": true, "version": "3.8"}}}\n',
        '{"features": {"ghcr.io/devcontainers/features/python:1": {"installTools": true, "version": "3.10"}}}\n',
    ),
    ".devcontainer.json": (
        '{\n  // python\n  "build": {"args": {"VARIANT": "0-3.9-buster"}}\n}\n',
        '{\n  // python\n  "build": {"args": {"VARIANT": "0-3.10-buster"}}\n}\n',
    ),
    ".devcontainer/Dockerfile": ("RUN conda create -n x python=3.8\n", "RUN conda create -n x 'python>=3.10'\n"),
    "job.yaml": (CONDA.format("python=3.11", "ray==2.3"), CONDA.format("python=3.11", "ray>=2.51")),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_python_that_is_too_old_is_raised(tmp_path: Path, name: str) -> None:
    before, after = PLACES[name]
    project(tmp_path, train_py=LEGACY)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(before)
    assert run("--check", tmp_path).stdout.count(": RM731 unsafe: ") == 1
    run("--unsafe", "--select", "RM731", tmp_path)
    assert (tmp_path / name).read_text() == after
    assert ": RM731 " not in run("--check", "--select", "RM731", tmp_path).stdout


@pytest.mark.parametrize(
    ("image", "example"),
    [
        ("python:3.9", "python:3.10."),
        ("python:3.8.10-slim-bullseye AS base", "python:3.10-slim-bullseye."),
        ("mcr.microsoft.com/devcontainers/python:1-3.9-bullseye", "python:3.10-bullseye."),
        ("docker.io/library/python:3.7-alpine", "python:3.10-alpine."),
        ("--platform=linux/amd64 bitnami/python:3.9.7", "python:3.10."),
    ],
)
def test_an_image_of_python_is_left_for_a_person(tmp_path: Path, image: str, example: str) -> None:
    project(tmp_path, train_py=LEGACY, Dockerfile_gpu=f"FROM {image}\n")
    said = run("--unsafe", tmp_path).stdout
    assert "Dockerfile.gpu:1:" in said
    assert f"Take the image of Python >= 3.10, for example {example}" in said
    assert (tmp_path / "Dockerfile.gpu").read_text() == f"FROM {image}\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", "FROM python:3.11-slim\nFROM python:3\nFROM own-python:3.8\nFROM cpython/x:3.8\nFROM python\n"),
        ("Dockerfile", "RUN apt-get install -y python3.8\nRUN conda env create -f environment.yml\n"),
        ("compose.yaml", "services:\n  web:\n    image: python:3.8\n"),
        ("setup.cfg", "[options]\npython_requires = >=3.7\n[tool:x]\npython_requires = ==3.8.*\n"),
        ("setup.py", "from setuptools import setup\nsetup(python_requires='>=3.8')\nother(python_requires='<3.9')\n"),
        ("Pipfile", '[requires]\npython_version = "3.12"\n'),
        (".python-version", "3.11.4\n"),
        (".python-version", "my-environment\npypy3.9-7.3\n3.12\n3\n"),
        (".tool-versions", "python 3.12.1\nray 2.3\n"),
        ("runtime.txt", "python-3.12\nR-3.8\n"),
        (".devcontainer.json", '{"image": "mcr.microsoft.com/devcontainers/python:3.11", "name": "python 3.8"}\n'),
        (".devcontainer.json", '{\n  // "image": "python:3.8"\n  "image": "base:3.8"\n}\n'),
        ("settings.json", '{"image": "python:3.8"}\n'),
        ("chart.yaml", "dependencies:\n  - name: python\n    version: 3.8\n"),
    ],
)
def test_others_are_left(tmp_path: Path, name: str, text: str) -> None:
    project(tmp_path, train_py=LEGACY)
    (tmp_path / name).write_text(text)
    assert ": RM731 " not in run("--check", tmp_path).stdout


def test_the_image_of_a_container_for_editors_is_left_for_a_person(tmp_path: Path) -> None:
    project(tmp_path, train_py=LEGACY)
    (tmp_path / ".devcontainer").mkdir()
    text = '{"image": "mcr.microsoft.com/devcontainers/python:0-3.8"}\n'
    (tmp_path / ".devcontainer" / "devcontainer.json").write_text(text)
    said = run("--unsafe", tmp_path).stdout
    assert "devcontainer.json:1:12: RM731 manual" in said
    assert (tmp_path / ".devcontainer" / "devcontainer.json").read_text() == text
