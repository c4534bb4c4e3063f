"""RM731: what jobs of Databricks in JSON and shell scripts install beside Ray, or give to jobs that they submit."""

import json
import time
from pathlib import Path

import pytest

from raymigrate.pins.job_files import submitted_packages
from tests.test_pins import LEGACY, pins_in, project, run


def job(*packages: str, runtime: str = "15.4.x-scala2.12", **more: object) -> str:
    libraries: list[object] = [{"pypi": {"package": package}} for package in packages]
    task = {
        "spark_python_task": {"python_file": "train.py"},
        "new_cluster": {"spark_version": runtime},
        "libraries": [*libraries, {"jar": "x.jar"}],
    }
    return json.dumps({"name": "train", "tasks": [{**task, **more}]}, indent=2)


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("job.json", job("ray[air]==2.3.0", "transformers==4.26.0"), 2),
        ("train_task.json", job("ray==2.3.0", runtime="11.3.x-gpu-ml-scala2.12"), 2),
        ("databricks.json", job("ray>=2.51", "transformers>=5.0", runtime="11.3.x-scala2.12"), 1),
        ("init.sh", '#!/bin/bash\n/databricks/python/bin/pip install "ray==2.3.0" transformers==4.26.0\n', 2),
        ("setup.sh", "set -e\nuv pip install 'ray[train]==2.3'\npip install \\\n  accelerate==0.17\n", 2),
        (
            "bundle.yml",
            "new_cluster:\n  spark_version: 11.3.x-scala2.12\nlibraries:\n  - pypi: {package: ray==2.3.0}\n",
            2,
        ),
        # of others, or of nothing that is too old
        ("job.json", job("transformers==4.26.0", runtime="11.3.x-scala2.12"), 0),
        ("job.json", job("ray==2.55.0", "transformers>=5.0"), 0),
        ("job.json", '{"package": "ray==2.3.0", "libraries": "ray==2.3.0"}', 0),
        ("job.json", '{"libraries": [{"pypi": {"package": "ray==2.3.0"}', 0),
        ("data.json", job("ray==2.3.0"), 0),
        ("serve.sh", "pip install transformers==4.26.0\n", 0),
        ("serve.sh", "# pip install ray==2.3.0\necho ray==2.3.0\n", 0),
        ("serve.sh", "pip install ray-lightning==0.3 transformers==4.26.0\n", 0),
    ],
)
def test_what_a_job_or_a_shell_script_installs_beside_ray(tmp_path: Path, name: str, text: str, codes: int) -> None:
    project(tmp_path, train_py=LEGACY)
    (tmp_path / name).write_text(text)
    said = [line for line in run("--check", tmp_path).stdout.splitlines() if ": RM731 " in line]
    assert len(said) == codes
    assert all(line.startswith(f"{tmp_path / name}:") for line in said)
    run("--unsafe", tmp_path)
    after = (tmp_path / name).read_text()
    raised = (">=2.51" in after and ">=2.51" not in text) or (">=5.0" in after and ">=5.0" not in text)
    assert raised is (codes > 0 and ">=2.51" not in text)
    assert after == text if codes == 0 else not name.endswith(".json") or json.loads(after)


BUNDLE = """tasks:
  - task_key: train
    new_cluster: {{spark_version: {runtime}, num_workers: 2}}
    libraries:
      - pypi: {{package: "ray[train]>=2.51"}}
      - pypi: {{package: "{other}"}}
"""


@pytest.mark.parametrize(
    ("runtime", "other", "said"),
    [
        ("13.1.x-cpu-ml-scala2.12", "transformers>=5.0", "torch"),
        ("13.3.x-gpu-ml-scala2.12", "transformers>=5.0", "torch"),
        ("14.3.x-photon-ml-scala2.12", "torch", "torch"),  # which pip takes for installed
        ("15.4.x-gpu-ml-scala2.12", "torchvision>=0.21", "torch"),
        ("11.3.x-gpu-ml-scala2.12", "transformers>=5.0", "python"),
        ("11.3.x-scala2.12", "transformers>=5.0", "python"),
        # without torch, with a new one, and with one that pip puts in its place
        ("13.3.x-scala2.12", "transformers>=5.0", ""),
        ("13.3.x-cpu-mlflow-scala2.12", "transformers>=5.0", ""),
        ("16.4.x-gpu-ml-scala2.12", "transformers>=5.0", ""),
        ("17.3.x-cpu-ml-scala2.13", "transformers>=5.0", ""),
        ("13.3.x-gpu-ml-scala2.12", "torch>=2.6", ""),
    ],
)
def test_a_runtime_for_machine_learning_brings_a_torch(tmp_path: Path, runtime: str, other: str, said: str) -> None:
    project(tmp_path, train_py=LEGACY)
    (tmp_path / "bundle.yml").write_text(BUNDLE.format(runtime=runtime, other=other))
    of_yaml = run("--check", tmp_path).stdout
    (tmp_path / "bundle.yml").unlink()
    (tmp_path / "job.json").write_text(job("ray[train]>=2.51", other, runtime=runtime))
    for shown in (of_yaml, run("--check", tmp_path).stdout):
        found = [line for line in shown.splitlines() if ": RM731 " in line]
        assert [f"{runtime} excludes {said} >= " in line for line in found] == [True] * bool(said)
        assert ("List torch>=2.6 among the libraries" in shown) is (bool(said) and "-ml-" in runtime)


def test_a_list_with_torch_is_for_its_own_task_only(tmp_path: Path) -> None:
    project(tmp_path, train_py=LEGACY)
    of_ml = "15.4.x-gpu-ml-scala2.12"
    texts = [job("ray>=2.51", *more, runtime=of_ml) for more in (["torch==2.6.0"], ["transformers>=5.0"])]
    tasks = [task for text in texts for task in json.loads(text)["tasks"]]
    (tmp_path / "job.json").write_text(json.dumps({"tasks": tasks}, indent=1))
    assert "excludes torch" in run("--check", tmp_path).stdout


def test_of_several_tasks_those_with_ray_are_read(tmp_path: Path) -> None:
    tasks = [json.loads(job(package))["tasks"][0] for package in ("ray==2.3.0", "transformers==4.26.0")]
    project(tmp_path, train_py=LEGACY)
    (tmp_path / "job.json").write_text(json.dumps({"tasks": tasks}, indent=1))
    assert len(pins_in(run("--check", tmp_path))) == 1


def test_accelerate_is_asked_for_in_a_shell_script_that_installs_ray(tmp_path: Path) -> None:
    project(tmp_path, train_py=f"{LEGACY}\nfrom transformers import TrainingArguments\n")
    (tmp_path / "init.sh").write_text("pip install ray==2.3.0 transformers==4.26.0\n")
    assert "RM732 manual" in run("--check", tmp_path).stdout
    (tmp_path / "init.sh").write_text("pip install transformers==4.26.0\n")
    assert "RM732" not in run("--check", tmp_path).stdout


def test_what_is_called_a_package_elsewhere_stays(tmp_path: Path) -> None:
    other = {"package": "ray==2.3.0", "note": 'see "package": "ray==2.3.0"', "old": {"pypi": {"package": "ray==2.3.0"}}}
    project(tmp_path, train_py=LEGACY)
    (tmp_path / "job.json").write_text(job("ray==2.3.0", **other))
    run("--unsafe", tmp_path)
    [task] = json.loads((tmp_path / "job.json").read_text())["tasks"]
    assert {key: task[key] for key in other} == other
    assert task["libraries"][0] == {"pypi": {"package": "ray>=2.51"}}


@pytest.mark.parametrize(
    ("command", "raised"),
    [
        ("ssh host pip install ray==2.3.0", False),
        ("ssh host \\\n  sudo pip install ray==2.3.0", False),
        ("eval pip install ray==2.3.0", False),
        ("ray exec cluster.yaml pip install ray==2.3.0", False),
        ("docker run image pip install ray==2.3.0", True),
        ("apt install openssh-server && pip install ray==2.3.0", True),
        ("ssh host ls; pip install ray==2.3.0", True),
        ("ssh host true\npip install ray==2.3.0", True),
    ],
)
def test_a_command_for_another_shell_is_left(tmp_path: Path, command: str, raised: bool) -> None:
    project(tmp_path, train_py=LEGACY)
    (tmp_path / "init.sh").write_text(f"{command}\n")
    said = run("--unsafe", tmp_path).stdout
    after = command.replace("ray==2.3.0", "'ray>=2.51'") if raised else command
    assert (tmp_path / "init.sh").read_text() == f"{after}\n"
    assert ("go to another shell" in said and """write "'ray>=2.51'" there""" in said) is not raised


@pytest.mark.parametrize(
    ("command", "after"),
    [
        (
            """ray job submit --runtime-env-json '{"pip": ["ray[air]==2.6.3", "torch"]}' -- ./run""",
            """ray job submit --runtime-env-json '{"pip": ["ray[air]>=2.51", "torch"]}' -- ./run""",
        ),
        (
            'ray job submit --runtime-env-json="{\\"pip\\": {\\"packages\\": [\\"transformers==4.30.2\\"]}}" -- ./run',
            'ray job submit --runtime-env-json="{\\"pip\\": {\\"packages\\": [\\"transformers>=5.0\\"]}}" -- ./run',
        ),
        (
            'ray job submit \\\n  --runtime-env-json \'{\n  "uv": ["accelerate==0.20.3"]\n}\' \\\n  -- ./run',
            'ray job submit \\\n  --runtime-env-json \'{\n  "uv": ["accelerate>=1.3"]\n}\' \\\n  -- ./run',
        ),
    ],
)
def test_the_packages_of_a_job_that_a_script_submits_are_raised(tmp_path: Path, command: str, after: str) -> None:
    project(tmp_path, train_py=LEGACY)
    (tmp_path / "submit.sh").write_text(f"#!/bin/bash\n{command}\n")
    assert run("--check", tmp_path).stdout.count(": RM731 unsafe: ") == 1
    run("--unsafe", tmp_path)
    assert (tmp_path / "submit.sh").read_text() == f"#!/bin/bash\n{after}\n"


@pytest.mark.parametrize(
    "command",
    [
        """# ray job submit --runtime-env-json '{"pip": ["ray==2.6.3"]}' -- python train.py""",
        """ray job submit --runtime-env-json '{"env_vars": {"A": "ray==2.6.3"}}' -- python train.py""",
        """other submit --runtime-env-json '{"pip": ["ray==2.6.3"]}'""",
        """ray job submit --runtime-env-json "$ENVIRONMENT" -- python train.py; echo '{"pip": ["ray==2.6.3"]}'""",
    ],
)
def test_what_no_job_gets_is_nobodys_concern(tmp_path: Path, command: str) -> None:
    project(tmp_path, train_py=LEGACY)
    (tmp_path / "submit.sh").write_text(f"{command}\n")
    assert "RM731" not in run("--check", tmp_path).stdout


def test_a_list_without_an_end_is_read_in_no_time() -> None:
    items = ", ".join([r"\"ray==2.6.3\""] * 40)
    command = f"""ray job submit --runtime-env-json "{{\\"pip\\": [{items}}}" -- ./run"""
    start = time.process_time()
    assert not list(submitted_packages(command))
    assert len(list(submitted_packages(command.replace("}", "]}")))) == 40
    assert time.process_time() - start < 1
