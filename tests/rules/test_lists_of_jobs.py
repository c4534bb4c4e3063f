"""RM731 and RM732: the lists of packages of jobs belong to the scripts that the jobs run."""

import json
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.documents import open_document
from raymigrate.run.conversion import convert_document
from raymigrate.run.job import Job
from tests.documents.notebooks import notebook
from tests.projects.files import convert, write

TRAIN = """\
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments

def loop():
    Trainer(model(), TrainingArguments("out", evaluation_strategy="epoch", report_to="none")).train()

TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""
LEGACY = """\
from datasets import load_metric
from ray.train.huggingface import TransformersTrainer
from transformers import TrainingArguments
from job import build

print(load_metric("accuracy"))
TransformersTrainer(build, datasets={"train": TrainingArguments("out")})
"""
TODAY = TRAIN.replace("evaluation_strategy", "eval_strategy")
CLIENT = "from ray.job_submission import JobSubmissionClient\nclient = JobSubmissionClient('http://head:8265')\n"
OLD = '["ray==2.9.3", "transformers==4.41.2", "datasets"]'
ENV = f'runtime_env={{"pip": {OLD}}}'
SUBMIT = f"{CLIENT}client.submit_job(entrypoint='python train.py', {ENV})\n"

SUBMITS = {
    "the list in the call": SUBMIT,
    "by name": f"{CLIENT}deps = {OLD}\nclient.submit_job(entrypoint='python train.py', runtime_env={{'pip': deps}})\n",
    "all by name": f"{CLIENT}ENV = {{'pip': {OLD}}}\nRUN = 'python train.py'\n"
    "client.submit_job(entrypoint=RUN, runtime_env=ENV)\n",
    "an object": f"from ray.runtime_env import RuntimeEnv\n{CLIENT}env = RuntimeEnv(pip={OLD})\n"
    "client.submit_job(entrypoint='python train.py', runtime_env=env)\n",
    "unpacked": f"{CLIENT}job = dict(entrypoint='python train.py', {ENV})\nclient.submit_job(**job)\n",
    "in a function": f"{CLIENT}def submit(packages):\n"
    "    client.submit_job(entrypoint='python train.py', runtime_env={'pip': packages})\n\n"
    f"submit({OLD})\n",
    "in a folder": SUBMIT.replace("python train.py", "cd /app && python -u ./train.py --lr 1"),
    "a module": SUBMIT.replace("python train.py", "python -m train"),
    "by a condition": f"{CLIENT}deps = {OLD} if gpu else []\n"
    "client.submit_job(entrypoint='python train.py', runtime_env={'pip': deps})\n",
}


def told(found: list[tuple[str, Kind, int]]) -> tuple[int, int]:
    """How many versions are told, and how many packages are missed."""
    codes = [code for code, kind, _ in found if kind in (Kind.MANUAL, Kind.UNSAFE)]
    return codes.count("RM731"), codes.count("RM732")


def in_notebook(*cells: str) -> tuple[int, int]:
    document = open_document(json.dumps(notebook(cells)).encode(), "x.ipynb")
    result = convert_document(document, "x.ipynb", Options(), rewrite=True)
    return told([(f.code, f.kind, f.line) for f in result.in_cells().findings])


def beside(folder: Path, files: dict[str, str]) -> tuple[int, int]:
    write(folder, files)
    return told([(f.code, f.kind, f.line) for f in convert(folder, job=Job(Options(), write=False)).findings])


@pytest.mark.parametrize("submit", SUBMITS.values(), ids=SUBMITS)
@pytest.mark.parametrize(("script", "missed"), [(TRAIN, 1), (LEGACY, 2)], ids=["train", "legacy"])
def test_the_list_of_a_job_is_for_its_script(tmp_path: Path, submit: str, script: str, missed: int) -> None:
    assert in_notebook(f"%%writefile train.py\n{script}", submit) == (2, missed)
    assert in_notebook(submit, f"%%writefile src/train.py\n{script}") == (2, missed)
    assert beside(tmp_path / "a", {"train.py": script, "submit.py": submit}) == (2, missed)


def test_a_job_that_codeflare_describes() -> None:
    job = f"from codeflare_sdk import RayJob\nRayJob(job_name='x', entrypoint='python train.py', {ENV}).submit()\n"
    assert in_notebook(f"%%writefile train.py\n{TRAIN}", job) == (2, 1)
    assert in_notebook(f"%%writefile train.py\n{TRAIN}", job.replace("train.py", "other.py")) == (0, 0)


def test_a_notebook_that_submits_a_file(tmp_path: Path) -> None:
    text = json.dumps(notebook([SUBMIT]))
    assert beside(tmp_path, {"jobs/train.py": TRAIN, "x.ipynb": text, "pyproject.toml": ""}) == (2, 1)


def test_what_the_script_imports_belongs_to_it(tmp_path: Path) -> None:
    start = "import ray\nimport training\n"
    files = {"train.py": start, "training.py": TRAIN, "submit.py": SUBMIT}
    assert beside(tmp_path, files) == (2, 1)
    assert in_notebook(f"%%writefile train.py\n{start}", f"%%writefile training.py\n{TRAIN}", SUBMIT) == (2, 1)


def test_a_script_that_submits_itself(tmp_path: Path) -> None:
    assert beside(tmp_path, {"train.py": f"{TRAIN}\n{SUBMIT}"}) == (2, 1)


def test_a_script_that_is_not_seen_may_be_the_module_itself() -> None:
    assert in_notebook(TRAIN, SUBMIT) == (2, 1)


@pytest.mark.parametrize("command", ["COMMAND", "f'python {script}'", "'bash run.sh'", "sys.argv[1]"])
def test_a_job_of_which_the_script_is_not_seen_may_run_any(command: str) -> None:
    submit = SUBMIT.replace("'python train.py'", command)
    assert in_notebook(f"%%writefile train.py\n{TRAIN}", submit) == (2, 1)
    assert in_notebook(f"%%writefile train.py\n{TODAY.replace('eval_strategy=', 'seed=')}", submit) == (0, 0)


def test_a_list_that_a_job_and_the_notebook_share_is_told_once() -> None:
    own = f"import ray\ndeps = {OLD}\nray.init(runtime_env={{'pip': deps}})\n"
    submit = f"{CLIENT}client.submit_job(entrypoint='python train.py', runtime_env={{'pip': deps}})\n"
    assert in_notebook(f"%%writefile train.py\n{TRAIN}", own, submit) == (2, 1)
    assert in_notebook(f"%%writefile train.py\n{TODAY}", own, TRAIN, submit) == (2, 1)


FRIENDS = {
    "a script of today": {"train.py": TODAY, "submit.py": SUBMIT.replace("2.9.3", "2.60").replace("4.41.2", "5.2")},
    "another script": {
        "train.py": TRAIN,
        "other.py": "import ray\n",
        "submit.py": SUBMIT.replace("train.py", "other.py"),
    },
    "no script that is seen": {"train.py": TRAIN, "submit.py": SUBMIT.replace("train.py", "retrain.py")},
    "no list": {"train.py": TRAIN, "submit.py": SUBMIT.replace(ENV, "runtime_env={'working_dir': '.'}")},
    "a file of its own name elsewhere": {
        "train.py": "import ray\n",
        "old/train.py": TRAIN,
        "old/__init__.py": "",
        "submit.py": SUBMIT.replace("train.py", "./trainer.py"),
    },
}


@pytest.mark.parametrize("files", FRIENDS.values(), ids=FRIENDS)
def test_lists_that_are_for_something_else_are_left(tmp_path: Path, files: dict[str, str]) -> None:
    assert beside(tmp_path, files) == (0, 0)
    cells = [f"%%writefile {name}\n{text}" for name, text in files.items() if name != "submit.py"]
    assert in_notebook(*cells, files["submit.py"]) == (0, 0)


def test_a_legacy_notebook_submits_a_script_of_today() -> None:
    script = "import ray\nprint(ray.cluster_resources())\n"
    assert in_notebook(TRAIN, f"%%writefile train.py\n{script}", SUBMIT) == (0, 0)


def test_versions_are_raised_and_a_second_run_says_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"train.py": TRAIN, "submit.py": SUBMIT})
    first = convert(tmp_path, job=Job(Options(unsafe=True)))
    assert told([(f.code, f.kind, f.line) for f in first.findings]) == (0, 1)
    text = (tmp_path / "submit.py").read_text()
    assert '"ray>=2.51", "transformers>=5.0", "datasets"' in text
    assert beside(tmp_path, {}) == (0, 0)


def test_a_script_and_what_submits_it_may_name_each_other(tmp_path: Path) -> None:
    back = SUBMIT.replace("train.py", "submit.py")
    assert beside(tmp_path, {"train.py": f"{back}{TRAIN}", "submit.py": SUBMIT})[1] >= 1


@pytest.mark.parametrize(
    ("working", "found"),
    [
        ("/home/me/cloned/dreambooth", (0, 0)),
        ("cloned/", (0, 0)),
        ("/home/me/training", (2, 1)),
        ("../training/", (2, 1)),
        (".", (2, 1)),
        ("s3://bucket/code.zip", (2, 1)),
    ],
)
def test_code_of_others_may_have_a_script_of_that_name(tmp_path: Path, working: str, found: tuple[int, int]) -> None:
    submit = SUBMIT.replace('{"pip"', f'{{"working_dir": "{working}", "pip"')
    files = {"training/train.py": TRAIN, "notebooks/submit.py": submit, "pyproject.toml": ""}
    assert beside(tmp_path, files) == found
