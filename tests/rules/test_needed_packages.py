"""RM732: packages that converted code needs and the legacy code did not."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.projects.files import convert
from tests.rules.scripts import converted

SCRIPT = """
import ray
from datasets import {datasets}
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from job import build, ds

ray.init({arguments})
{metric}
TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={{"train": ds}}).fit()
"""


def script(arguments: str = "", metric: str = "") -> str:
    return SCRIPT.format(arguments=arguments, metric=metric, datasets="load_metric" if metric else "Dataset")


@pytest.mark.parametrize(
    "environment",
    [
        '{"pip": ["transformers", "datasets", "torch"]}',
        '{"pip": {"packages": ["transformers>=4.30"]}}',
        '{"uv": ["transformers[sentencepiece]"]}',
        '{"conda": {"dependencies": ["python=3.11", {"pip": ["transformers"]}]}}',
    ],
)
def test_an_environment_without_accelerate_is_told(environment: str) -> None:
    outcome = converted(script(f"runtime_env={environment}"))
    assert outcome.lines("RM732", Kind.MANUAL) == [7]
    assert any("Add accelerate>=1.3" in message for message in outcome.messages)


@pytest.mark.parametrize(
    "environment",
    [
        '{"pip": ["transformers", "accelerate"]}',
        '{"pip": ["transformers[torch]"]}',
        '{"pip": ["transformers[sentencepiece,accelerate]"]}',
        '{"pip": ["datasets"]}',
        '{"env_vars": {"A": "transformers"}}',
    ],
)
def test_an_environment_that_has_it_is_no_news(environment: str) -> None:
    assert not converted(script(f"runtime_env={environment}")).lines("RM732", Kind.MANUAL)


def test_metrics_ask_for_evaluate() -> None:
    outcome = converted(script('runtime_env={"pip": ["datasets"]}', 'print(load_metric("accuracy"))'))
    assert any("Add evaluate" in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("Audio(sampling_rate=16000)", [4]),
        ("datasets.Audio()", [4]),
        ("Features({'audio': Audio()})", [4]),
        ("Audio(decode=False)", []),
        ("display.Audio('a.wav')", []),
    ],
)
def test_audio_asks_for_torchcodec(made: str, told: list[int]) -> None:
    imports = "import datasets, ray\nfrom IPython import display\nfrom datasets import Audio, Features"
    outcome = converted(f"{imports}\nx = {made}")
    assert outcome.lines("RM732", Kind.NOTE) == told


@pytest.mark.parametrize(
    ("requirement", "is_told"), [("datasets", True), ("datasets>=2", True), ("datasets[audio]", False)]
)
@pytest.mark.parametrize(
    "imports",
    ["from datasets import Audio", "import datasets\nx = datasets.Audio()", "from datasets import A"],
)
def test_a_list_without_torchcodec_is_told(tmp_path: Path, imports: str, requirement: str, *, is_told: bool) -> None:
    (tmp_path / "requirements.txt").write_text(f"ray[train]\naccelerate\n{requirement}\n")
    (tmp_path / "train.py").write_text(f"{imports}\n{script()}")
    found = [finding.advice for finding in convert(tmp_path).findings if finding.code == "RM732"]
    is_audio = "Audio" in imports
    assert [advice.split()[1].rstrip(",") for advice in found if "torchcodec" in advice] == (
        ["torchcodec"] if is_told and is_audio else []
    )


@pytest.mark.parametrize("beside", ["transformers", "accelerate", "trl[peft]", "datasets"])
def test_a_plain_script_that_moves_to_ray_needs_ray_beside_whatever_is_listed(tmp_path: Path, beside: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"numpy\n{beside}\n")
    (tmp_path / "train.py").write_text(
        "from transformers import AutoModel, Trainer, TrainingArguments\n\n"
        'trainer = Trainer(AutoModel.from_pretrained("a"), TrainingArguments("out"))\ntrainer.train()\n'
    )
    result = CliRunner().invoke(main, ["--to-ray", str(tmp_path)], catch_exceptions=False)
    assert "requirements.txt:2:1: RM732" in result.output
    assert "Add ray[train]" in result.output


BOTH = ["accelerate", "evaluate"]
FILES = {
    "requirements": ({"requirements.txt": "ray[train]\ntransformers\ndatasets\n"}, BOTH),
    "versions": ({"requirements.txt": "transformers>=4.30  # for accelerate\ndatasets\nevaluate\n"}, ["accelerate"]),
    "two files": ({"requirements.txt": "transformers\n", "requirements-train.txt": "accelerate\n"}, []),
    "extra": ({"requirements.txt": "transformers[torch]\n"}, []),
    "pyproject": ({"pyproject.toml": '[project]\nname = "a"\ndependencies = ["transformers"]\n'}, ["accelerate"]),
    "poetry": ({"pyproject.toml": '[tool.poetry.dependencies]\ntransformers = ">=4"\n'}, ["accelerate"]),
    "conda": ({"environment.yml": "dependencies:\n  - pip:\n    - transformers\n    - datasets\n"}, BOTH),
    "docker": ({"Dockerfile": "FROM python\nRUN pip install -q transformers 'datasets>=2'\n"}, BOTH),
    "lock": ({"poetry.lock": '[[package]]\nname = "transformers"\nversion = "5.2.0"\n'}, []),
}


@pytest.mark.parametrize(("files", "told"), FILES.values(), ids=FILES)
def test_what_the_files_of_a_project_lack_is_told_once(tmp_path: Path, files: dict[str, str], told: list[str]) -> None:
    for name, text in {**files, "train.py": script("", 'print(load_metric("accuracy"))')}.items():
        (tmp_path / name).write_text(text)
    found = [finding.advice for finding in convert(tmp_path).findings if finding.code == "RM732"]
    assert [advice.split()[1].rstrip(",").partition(">")[0] for advice in found] == told


LIST = "transformers\n"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"requirements-serve.txt": LIST, "requirements.txt": LIST}, "requirements.txt"),
        ({"dev-requirements.txt": LIST, "requirements.txt": LIST}, "requirements.txt"),
        ({"a-requirements.txt": "ray[serve]\ntransformers\n", "requirements.txt": LIST}, "requirements.txt"),
        ({"requirements-serve.txt": LIST}, "requirements-serve.txt"),
        ({"requirements.txt": "ray[serve]\ntransformers\n"}, "requirements.txt"),
        (
            {"requirements-observe.txt": LIST, "requirements-train.txt": LIST},
            "requirements-observe.txt",
        ),
    ],
)
def test_a_list_for_something_else_is_told_last(tmp_path: Path, files: dict[str, str], told: str) -> None:
    """One of several lists is told: not that of what serves, where another one may be that of the training."""
    (tmp_path / "train.py").write_text(script())
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = CliRunner().invoke(main, ["--check", "--isolated", str(tmp_path)]).stdout
    assert [line.split(":")[0].rpartition("/")[2] for line in found.splitlines() if " RM732 " in line] == [told]


TODAY = """
{imports}
import ray
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer


def loop():
    ray.train.report({{"accuracy": compute()}})


ray.init({environment})
TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2)).fit()
"""


@pytest.mark.parametrize(
    ("imports", "environment", "files", "count"),
    [
        ("import evaluate", "", {"requirements.txt": "ray[train]\ndatasets\n"}, 1),
        ("from evaluate import load", "", {"Dockerfile": "FROM x\nRUN pip install datasets ray[train]\n"}, 1),
        ("import evaluate", 'runtime_env={"pip": ["datasets"]}', {}, 1),
        ("import evaluate", 'runtime_env={"pip": ["datasets", "evaluate"]}', {}, 0),
        ("import evaluate", "", {"requirements.txt": "ray[train]\ndatasets\nevaluate\n"}, 0),
        ("import evaluate", "", {"requirements.txt": "ray[train]\n"}, 0),
        ("from job import evaluate", "", {"requirements.txt": "ray[train]\ndatasets\n"}, 0),
        ("try:\n    import evaluate\nexcept ImportError:\n    pass", "", {"requirements.txt": "datasets\n"}, 0),
    ],
)
def test_later_runs_tell_it_too(
    tmp_path: Path, imports: str, environment: str, files: dict[str, str], count: int
) -> None:
    for name, text in {**files, "train.py": TODAY.format(imports=imports, environment=environment)}.items():
        (tmp_path / name).write_text(text)
    found = [finding.message for finding in convert(tmp_path).findings if finding.code == "RM732"]
    assert found == ["The code imports evaluate, which is not listed here."] * count


def test_evaluate_is_not_asked_for_where_nothing_is_of_current_ray(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("datasets\n")
    (tmp_path / "score.py").write_text("import evaluate\n\nevaluate.load('f1')\n")
    assert not list(convert(tmp_path).findings)


def test_what_the_first_run_told_the_second_tells(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("ray[train]\ndatasets\naccelerate\n")
    (tmp_path / "train.py").write_text(script("", 'print(load_metric("accuracy"))'))
    for _ in range(2):
        outcome = CliRunner().invoke(main, [str(tmp_path)])
        assert "requirements.txt:2:1: RM732 manual" in outcome.stdout
    assert "import evaluate" in (tmp_path / "train.py").read_text()


@pytest.mark.parametrize("more", ["", "resume_from_checkpoint=chosen, "])
def test_the_second_run_tells_it_where_another_file_makes_the_trainer(tmp_path: Path, more: str) -> None:
    (tmp_path / "requirements.txt").write_text("ray[train]\ntransformers\n")
    imports = "import sys\nfrom job import build, ds\n\nchosen = sys.argv[1:] or None"
    train = script().replace("from job import build, ds", imports).replace("datasets=", f"{more}datasets=")
    (tmp_path / "train.py").write_text(train)
    (tmp_path / "job.py").write_text(
        "import ray\nfrom transformers import AutoModel, Trainer, TrainingArguments\n\nds = ray.data.range(8)\n\n\n"
        "def build(train_dataset, eval_dataset=None, **config):\n"
        "    return Trainer(AutoModel.from_pretrained('m'), TrainingArguments('out'), train_dataset=train_dataset)\n"
    )
    (tmp_path / "test_job.py").write_text("from job import build\n\n\ndef test_it():\n    assert build([], None)\n")
    for _ in range(2):
        outcome = CliRunner().invoke(main, [str(tmp_path)])
        assert "requirements.txt:2:1: RM732 manual" in outcome.stdout
    assert "= build(train_dataset" in (tmp_path / "train.py").read_text()
    assert "TransformersTrainer" not in (tmp_path / "train.py").read_text()


NATIVE = """
import torch
from torch.utils.data import DataLoader
from job import rows

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(rows):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
""".replace("for x, y in DataLoader(rows)", "loader = DataLoader(rows)\nfor x, y in loader")


@pytest.mark.parametrize(
    ("options", "lines", "needed"),
    [
        (["--to-accelerate"], "torch\ntorchvision\n", ["accelerate"]),
        (["--to-accelerate", "--to-ray"], "torch\n", ["accelerate", "ray[train]"]),
        (["--to-accelerate"], "torch\naccelerate>=1.3\n", []),
        (["--to-accelerate", "--to-ray"], "torch\naccelerate\nray[train]\n", []),
        ([], "torch\n", []),
        (["--to-accelerate"], "numpy\n", []),
    ],
)
def test_a_native_loop_that_moves_needs_accelerate(
    options: list[str], lines: str, needed: list[str], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(NATIVE)
    (tmp_path / "requirements.txt").write_text(lines)
    said = CliRunner().invoke(main, ["--check", *options, str(tmp_path)]).stdout
    assert said.count(": RM732 manual: ") == len(needed)
    assert all(f"Add {package}>=" in said for package in needed)


METADATA = """# /// script
# requires-python = ">=3.10"
# dependencies = [{}]
# ///

"""


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ('"transformers", "torch"', 1),
        ("\n#   'transformers>=4.30',\n# ", 1),
        ('"transformers", "accelerate>=1.3"', 0),
        ('"transformers[torch]"', 0),
        ('"numpy"', 0),
    ],
)
def test_dependencies_at_the_top_of_a_script_are_read(listed: str, told: int) -> None:
    outcome = converted(METADATA.format(listed) + script().lstrip())
    assert len(outcome.lines("RM732", Kind.MANUAL)) == told
    assert len(outcome.lines("RM732", Kind.MANUAL)) == ["do not list" in text for text in outcome.messages].count(True)


def test_a_plain_script_that_moves_to_ray_lacks_ray_there() -> None:
    trains = "from transformers import Trainer\nfrom job import model\nTrainer(model).train()\n"
    text = METADATA.format('"transformers", "accelerate"') + trains
    assert any("Add ray[train]" in message for message in converted(text, to_ray=True).messages)
    assert not converted(text).findings


def test_they_are_read_in_a_file_of_windows_too() -> None:
    text = (METADATA.format('"transformers"') + script().lstrip()).replace("\n", "\r\n")
    assert converted(text).lines("RM732", Kind.MANUAL)
