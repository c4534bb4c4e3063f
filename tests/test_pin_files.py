"""RM731: which lists of packages are looked at, wherever they are below the named folders, and for whose scripts."""

import json
from pathlib import Path

import pytest

from raymigrate.facts.syntax.module import Module
from raymigrate.pins.written_for import written_for
from tests.test_pins import LEGACY, MODERN, pins_in, project, run

OLD = "ray==2.3.0\n"
NEEDED = "transformers==4.30.2\n"


@pytest.mark.parametrize(
    "name",
    [
        *("environment__requirements_txt", "deps__base_txt", "install__constraints_txt", "whatever__requirements_txt"),
        *("infra__train__requirements-gpu_txt", "environment__gpu__requirements_in"),
        *("build-files__setup_cfg", "images__pyproject_toml", "packaging__setup_py"),
    ],
)
def test_a_list_in_a_folder_beside_the_code_is_for_it(tmp_path: Path, name: str) -> None:
    content = {
        "setup_cfg": "[options]\ninstall_requires = ray==2.3.0\n",
        "pyproject_toml": '[project]\ndependencies = ["ray==2.3.0"]\n',
        "setup_py": "from setuptools import setup\nsetup(install_requires=['ray==2.3.0'])\n",
    }
    project(tmp_path, nb__train_py=LEGACY, nb__deep__data_py="", **{name: content.get(name.rpartition("__")[2], OLD)})
    assert len(pins_in(run("--check", tmp_path))) == 1
    assert pins_in(run("--check", tmp_path / "nb")) == set()


def test_other_kinds_of_lists_there(tmp_path: Path) -> None:
    project(
        tmp_path,
        nb__train_py=LEGACY,
        environment__conda_yml="dependencies:\n  - python=3.9\n  - pip:\n    - ray==2.3.0\n",
        image__Dockerfile_gpu="FROM rayproject/ray:2.3.0-py39\n",
        image__Pipfile="[packages]\nray = '==2.3.0'\n",
        cluster__ray_yaml="image: rayproject/ray:2.3.0-py39\n",
        cluster__values_yaml="replicas: 2\n",
    )
    told = pins_in(run("--check", tmp_path))
    assert told == {"conda.yml:2", "conda.yml:4", "Dockerfile.gpu:1", "Pipfile:2", "ray.yaml:1"}


def test_beside_a_notebook(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": LEGACY}]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    project(tmp_path, nb__train_ipynb=notebook, environment__requirements_txt=OLD)
    assert pins_in(run("--check", tmp_path)) == {"requirements.txt:1"}


@pytest.mark.parametrize(
    "files",
    [
        {"service__requirements_txt": OLD, "service__src__main_py": "print()\n"},
        {"service__requirements_txt": OLD, "service__explore_ipynb": "{}"},
        {"service__deps__requirements_txt": OLD, "service__main_py": "print()\n"},
        {"service__Dockerfile_web": "RUN pip install torch==1.13.1\n"},
        {"node_modules__x__requirements_txt": OLD},
        {"own__pyvenv_cfg": "", "own__requirements_txt": OLD},
        {"ignored__requirements_txt": OLD, "_gitignore": "ignored/\n"},
        {"left_out__requirements_txt": OLD},
        {".hidden__requirements_txt": OLD},
        {"notes__ray_txt": OLD},
    ],
)
def test_lists_of_others_are_left(tmp_path: Path, files: dict[str, str]) -> None:
    project(tmp_path, jobs__train_py=LEGACY, **files)
    (tmp_path / ".git").mkdir()
    assert pins_in(run("--check", "--exclude", "left_out", tmp_path)) == set()


def test_a_list_below_a_project_is_for_its_scripts_only(tmp_path: Path) -> None:
    project(tmp_path, old__train_py=LEGACY, old__environment__requirements_txt=OLD)
    project(tmp_path, new__train_py=MODERN, new__environment__constraints_txt=OLD)
    assert pins_in(run("--check", tmp_path)) == {"requirements.txt:1"}


def test_a_folder_of_lists_that_is_named_is_for_the_scripts_that_are_named(tmp_path: Path) -> None:
    project(tmp_path, nb__train_py=LEGACY, environment__requirements_txt=OLD, other__requirements_txt=OLD)
    assert pins_in(run("--check", tmp_path / "nb", tmp_path / "environment")) == {"requirements.txt:1"}


def test_a_named_list_is_always_looked_at(tmp_path: Path) -> None:
    project(tmp_path, environment__requirements_txt=OLD + NEEDED, other__requirements_txt=NEEDED, train_py=MODERN)
    ours, other = tmp_path / "environment" / "requirements.txt", tmp_path / "other" / "requirements.txt"
    for paths in ([ours], [ours, tmp_path / "train.py"], [tmp_path, ours]):
        result = run("--check", *paths)
        assert pins_in(result) == {"requirements.txt:1", "requirements.txt:2"}, paths
        assert result.exit_code == 1
    assert pins_in(run("--check", other)) == set()  # of which nothing says that it has to do with Ray
    assert "nothing legacy found (1 file scanned)" in run("--check", other).stderr
    run("--unsafe", "--select", "RM731", ours)
    assert ours.read_text() == "ray>=2.51\ntransformers>=5.0\n"


def test_a_list_beside_the_code_tells_which_ray_it_was_written_for(tmp_path: Path) -> None:
    project(tmp_path, nb__train_py=LEGACY, environment__requirements_txt="ray==2.5.1\n", pyproject_toml="")
    script = tmp_path / "nb" / "train.py"
    assert written_for(Module(LEGACY), str(script)).highest == (2, 5)
    (tmp_path / "environment").rename(tmp_path / "versions")
    assert written_for(Module(LEGACY), str(script)).highest == (2, 5)
    project(tmp_path, versions__src__main_py="print()\n")  # now it is a project of its own
    assert written_for(Module(LEGACY), str(script)).highest > (2, 5)


def test_one_list_of_several_is_told_what_the_code_needs_in_addition(tmp_path: Path) -> None:
    script = LEGACY + "\nfrom transformers import TrainingArguments\n"
    project(tmp_path, nb__train_py=script, environment__requirements_txt=OLD + NEEDED, requirements_txt=NEEDED)
    told = [line for line in run("--check", tmp_path).stdout.splitlines() if ": RM732 " in line]
    assert len(told) == 1
    assert told[0].startswith(str(tmp_path / "requirements.txt"))


@pytest.mark.parametrize(
    "more",
    [
        'ray.init(runtime_env={"pip": ["transformers==4.30.2"]})\n',  # a pin that is told in the script itself
        "# raymigrate: skip[RM302] -- of no use\n",
    ],
)
def test_later_runs_tell_the_pins_beside_a_converted_script_that_has_findings_of_its_own(
    tmp_path: Path, more: str
) -> None:
    project(
        tmp_path,
        train_py=f"import ray\n\n{LEGACY}\n\n{more}",
        other__main_py="print()\n",
        other__requirements_txt=OLD,
        requirements_txt=OLD + NEEDED,
        cluster_yaml="image: rayproject/ray:2.3.0-py39\n",
    )
    first = {place for place in pins_in(run(tmp_path)) if "train.py" not in place}
    assert {"requirements.txt:1", "requirements.txt:2", "cluster.yaml:1"} <= first
    again = run("--check", tmp_path)
    assert {place for place in pins_in(again) if "train.py" not in place} == first


def test_code_that_was_never_converted_has_none_though_it_has_findings_of_its_own(tmp_path: Path) -> None:
    project(
        tmp_path, train_py=f"{MODERN}# raymigrate: skip[RM302] -- of no use\n", requirements_txt="ray==2.7.1\n" + NEEDED
    )
    told = run("--check", tmp_path)
    assert "RM906" in told.stdout
    assert pins_in(told) == set()


TRAINED = """import ray
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModel, Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(AutoModel.from_pretrained("x"), TrainingArguments("out"), train_dataset=train_dataset)


TransformersTrainer(init, datasets={"train": ray.data.range(8)}).fit()
"""


@pytest.mark.parametrize(
    ("name", "text", "added"),
    [
        ("requirements.txt", "ray==2.3.0\ntransformers==4.20.0\n", "accelerate>=1.3\n"),
        ("Dockerfile", "FROM x\nRUN pip install ray==2.3.0 transformers==4.20.0\n", "RUN pip install accelerate\n"),
        (
            "environment.yml",
            "dependencies:\n  - pip:\n    - ray==2.3.0\n    - transformers==4.20.0\n",
            "    - accelerate\n",
        ),
    ],
)
@pytest.mark.parametrize("unsafe", [True, False])
def test_accelerate_is_told_once_in_each_run_until_it_is_listed(
    tmp_path: Path, name: str, text: str, added: str, unsafe: bool
) -> None:
    project(tmp_path, train_py=TRAINED)
    path = tmp_path / name
    path.write_text(text)
    for _ in range(3):
        told = [line for line in run(*["--unsafe"] * unsafe, tmp_path).stdout.splitlines() if ": RM732 " in line]
        assert len(told) == 1
        assert told[0].startswith(str(path))
    path.write_text(path.read_text() + added)
    assert ": RM732 " not in run(tmp_path).stdout


def test_accelerate_is_not_told_beside_code_that_was_never_converted(tmp_path: Path) -> None:
    project(tmp_path, train_py=f"{MODERN}from transformers import TrainingArguments\n", requirements_txt=NEEDED)
    assert ": RM732 " not in run("--check", tmp_path).stdout


RAY_JOB = "apiVersion: ray.io/v1\nkind: RayJob\nspec:\n  entrypoint: {}\n  rayClusterSpec:\n    rayVersion: '2.4.0'\n"
SUBMITS = "from ray.job_submission import JobSubmissionClient\nprint(JobSubmissionClient('http://head:8265'))\n"


@pytest.mark.parametrize("folder", ["jobs", "ops__ray", "kube", "team__kuberay"])
@pytest.mark.parametrize(
    "command",
    [
        "python -m code.train --epochs 2",
        "python code/train.py",
        "python ../code/train.py",
        "python /srv/app/train.py",
        "bash -c 'cd code && python3 ./train.py'",
    ],
)
def test_a_job_beside_a_script_of_its_own_is_for_the_script_that_it_starts(
    tmp_path: Path, folder: str, command: str
) -> None:
    files = {f"{folder}__job_yaml": RAY_JOB.format(command), f"{folder}__submit_py": SUBMITS}
    project(tmp_path, code__train_py=LEGACY, code__data_py="", **files)
    assert pins_in(run("--check", tmp_path)) == {"job.yaml:6"}


@pytest.mark.parametrize(
    "files",
    [
        {"web__job_yaml": RAY_JOB.format("python serve.py"), "web__submit_py": SUBMITS},
        {"web__job_yaml": RAY_JOB.format("python train.py"), "web__train_py": "print()\n"},
        {"web__ops__job_yaml": RAY_JOB.format("python train.py"), "web__ops__a_py": "", "web__train_py": "print()\n"},
        {"web__job_yaml": RAY_JOB.format("python retrain.py"), "web__submit_py": SUBMITS},
        {"web__job_yaml": RAY_JOB.format("python -m web"), "web__submit_py": SUBMITS},
        {
            "web__job_yaml": RAY_JOB.format("python train.py"),
            "web__submit_py": SUBMITS,
            "other__train_py": f"{MODERN}\n",
        },
    ],
)
def test_a_job_that_starts_another_script_is_left(tmp_path: Path, files: dict[str, str]) -> None:
    project(tmp_path, code__train_py=LEGACY, **files)
    assert pins_in(run("--check", tmp_path)) == set()
