"""Which Ray a script was written for: the option, the pins of its project, what it imports."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.module import Module
from raymigrate.pins import written_for as evidence
from raymigrate.pins.written_for import NEWEST, OLDEST, admitted, averages_tokens, imported_since
from tests.test_pins import project

SCRIPT = """\
from ray.air.config import ScalingConfig
from ray.train.huggingface.accelerate import AccelerateTrainer


def loop(config):
    pass


AccelerateTrainer(
    loop,
    accelerate_config={},
    scaling_config=ScalingConfig(num_workers=2),
    datasets={"train": make(), "valid": make()},
)
"""
MODERN = SCRIPT.replace("ray.air.config", "ray.train")
PLAIN = """\
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer

TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), datasets={"train": make(), "valid": make()})
"""
KEYWORD = "train_loop_per_worker="
MODERN_KEYWORD = MODERN.replace("    loop,", f"    {KEYWORD}loop,")
MODERN_PLAIN = PLAIN.replace("ray.air.config", "ray.train")
SPLIT = 'dataset_config=DataConfig(datasets_to_split=["train"])'


def version(script: Path, text: str = SCRIPT, **options: str) -> tuple[int, int]:
    return Context(Module(text), Options(**options), str(script)).from_ray.version


def converted(folder: Path, script: str, *options: str) -> str:
    path = folder / "train.py"
    path.write_text(script)
    assert CliRunner().invoke(main, [*options, str(folder)]).exit_code in (0, 1)
    return path.read_text()


@pytest.mark.parametrize(
    ("versions", "lowest", "highest"),
    [
        ("==2.6.3", (2, 6), (2, 6)),
        ("==2.0.0rc0", (2, 0), (2, 0)),
        (">=2.0,==2.3.0.dev1", (2, 3), (2, 3)),
        ("==2.7.*", (2, 7), (2, 7)),
        ("~=2.4.0", (2, 4), (2, 4)),
        ("~=2.4", (2, 4), NEWEST),
        (">=2.4,<2.7", (2, 4), (2, 6)),
        (">=2.4,!=2.4.*", (2, 5), NEWEST),
        (">2.6", (2, 6), NEWEST),  # 2.6.1 is more
        ("<=2.7.1", OLDEST, (2, 7)),
        (">=2.7", (2, 7), NEWEST),
    ],
)
def test_what_a_range_lets_in(versions: str, lowest: tuple[int, int], highest: tuple[int, int]) -> None:
    assert admitted(versions) == (lowest, highest)


@pytest.mark.parametrize("versions", ["==2.60.0", ">=2.51", "==1.13", "<2", "==3.*", "latest"])
def test_ranges_that_tell_nothing(versions: str) -> None:
    assert admitted(versions) is None


@pytest.mark.parametrize(
    ("line", "since"),
    [
        ("from ray.train.huggingface import HuggingFaceTrainer as X", OLDEST),
        ("from ray.train.huggingface.accelerate import AccelerateTrainer as X", (2, 4)),
        ("from ray.train.huggingface import AccelerateTrainer as X", (2, 5)),
        ("from ray.train.huggingface import TransformersTrainer as X", (2, 5)),
        ("from ray.train.huggingface.transformers import TransformersTrainer as X", (2, 5)),
        ("from ray.train import DataConfig as X", (2, 6)),
        ("from ray.train import ScalingConfig as X", (2, 7)),
        ("from ray.train import Checkpoint as X", (2, 7)),
        ("from ray import train\nX = train.get_context()", (2, 7)),
        ("from ray.train.huggingface.transformers import prepare_trainer as X", (2, 7)),
        ("from ray.train import report as X", OLDEST),  # there was one in Ray 2.0 as well
        ("from ray.train import report as X\nfrom ray.train.huggingface import AccelerateTrainer as X2\nX2()", (2, 7)),
        (
            "try:\n    from ray.train import Result as X\nexcept ImportError:\n    from ray.air import Result as X",
            OLDEST,
        ),
        ("from somewhere import ScalingConfig as X", OLDEST),
    ],
)
def test_names_tell_since_when_a_script_can_run(line: str, since: tuple[int, int]) -> None:
    assert imported_since(Module(f"{line}\nX()\n")) == since


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("requirements_txt", "ray[air]==2.7.1\n"),
        ("requirements__train_txt", "ray==2.7.1\n"),
        ("pyproject_toml", '[project]\ndependencies = ["ray[train]>=2.7,<2.9"]\n'),
        ("setup_cfg", "[options]\ninstall_requires =\n    ray ~= 2.7.1\n"),
        ("environment_yml", "dependencies:\n  - ray-air=2.7.1\n"),
        ("docker__Dockerfile.train_", "FROM rayproject/ray-ml:2.7.1-py310-gpu\n"),
        ("Dockerfile.gpu_", "FROM python:3.10\nRUN pip install 'ray[train]==2.7.1'\n"),
        ("poetry_lock", 'name = "ray"\nversion = "2.7.1"\n'),
    ],
)
def test_pins_of_the_project_tell(tmp_path: Path, name: str, content: str) -> None:
    project(tmp_path, **{name: content, "setup_py": "", "jobs__train_py": SCRIPT})
    for file in tmp_path.rglob("*."):  # of names without a suffix
        file.rename(file.with_name(file.name.rstrip(".")))
    assert version(tmp_path / "jobs/train.py") == (2, 7)


@pytest.mark.parametrize(
    "text",
    [
        f'import ray\n{SCRIPT}\nray.init(runtime_env={{"pip": ["ray==2.7.1"]}})\n',
        f'"""Needs Ray: pip install "ray[train]==2.7.1"."""\n\n{SCRIPT}',
        f"# Databricks notebook source\n# MAGIC %pip install -q ray[air]==2.7.1\n\n# COMMAND ----------\n{SCRIPT}",
    ],
)
def test_the_script_itself_is_nearer_than_its_project(tmp_path: Path, text: str) -> None:
    project(tmp_path, requirements_txt="ray==2.4\n", setup_py="", train_py=text)
    assert version(tmp_path / "train.py", text) == (2, 7)


def test_the_nearest_file_and_the_narrowest_range_count(tmp_path: Path) -> None:
    project(tmp_path, setup_py="", requirements_txt="ray==2.4\n", jobs__requirements_txt="ray>=2.5\n", up_py=SCRIPT)
    assert version(tmp_path / "jobs/train.py") == (2, 5)
    project(tmp_path, jobs__constraints_txt="ray==2.7.0\n")
    assert version(tmp_path / "jobs/train.py") == (2, 7)
    assert version(tmp_path / "train.py") == (2, 4)


def test_the_option_beats_pins_and_pins_beat_the_usual(tmp_path: Path) -> None:
    assert version(tmp_path / "train.py") == (2, 6)
    assert version(Path()) == (2, 6)
    project(tmp_path, requirements_txt="ray==2.4\n", setup_py="")
    assert version(tmp_path / "train.py") == (2, 4)
    assert version(tmp_path / "train.py", from_ray="2.7.1") == (2, 7)


def test_a_pin_that_was_raised_or_is_too_low_tells_nothing(tmp_path: Path) -> None:
    project(tmp_path, requirements_txt="ray>=2.51\n", setup_py="")
    assert version(tmp_path / "train.py") == (2, 6)
    project(tmp_path, requirements_txt="ray==2.5.1\n")
    assert version(tmp_path / "train.py", MODERN_PLAIN) == (2, 7)


@pytest.mark.parametrize(
    ("pin", "averages"),
    [
        ("==4.55.4", True),
        (">=4.55,<5", True),
        ("~=4.56.0", True),
        ("==4.53.3", False),
        (">=4.46", False),
        (">=5.0", False),  # as it is raised
        ("==4.30.2", False),
    ],
)
def test_pins_tell_how_the_trainer_averaged(tmp_path: Path, pin: str, *, averages: bool) -> None:
    project(tmp_path, requirements_txt=f"transformers{pin}\n", train_py=PLAIN)
    assert averages_tokens(Module(PLAIN), str(tmp_path / "train.py")) == averages


def test_a_script_that_averaged_before_is_left_as_it_is(tmp_path: Path) -> None:
    """Its argument shows transformers 4, and its pin which one."""
    loop = "def loop():\n    args = TrainingArguments('out', warmup_ratio=0.1)\n    make(args).train()\n"
    script = f"from transformers import TrainingArguments\n{loop}{MODERN_PLAIN}"
    (tmp_path / "requirements.txt").write_text("transformers==4.56.1\n")
    assert "average_tokens_across_devices" not in converted(tmp_path, script)
    (tmp_path / "requirements.txt").write_text("transformers==4.50.1\n")
    assert "average_tokens_across_devices=False" in converted(tmp_path, script)


def test_files_above_the_project_tell_nothing(tmp_path: Path) -> None:
    project(tmp_path, requirements_txt="ray==2.7\n", mine__setup_py="")
    assert version(tmp_path / "mine/train.py") == (2, 6)


def test_each_file_is_read_once_and_only_if_somebody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = evidence.read
    monkeypatch.setattr(evidence, "read", lambda path: reads.append(path) or read(path))
    project(tmp_path, requirements_txt="ray==2.7\n", setup_py="")
    context = Context(Module(SCRIPT), Options(), str(tmp_path / "train.py"))
    assert reads == []
    assert context.from_ray.version == (2, 7)
    assert version(tmp_path / "eval.py") == (2, 7)
    assert [path for path in reads if path.endswith("requirements.txt")] == [str(tmp_path / "requirements.txt")]
    assert version(tmp_path / "train.py", MODERN_PLAIN) == (2, 7)
    assert len(reads) == len(set(reads))


# -- what depends on it ------------------------------------------------------------------------------


def test_accelerate_trainer_splits_what_it_split(tmp_path: Path) -> None:
    assert SPLIT in converted(tmp_path, SCRIPT)
    assert "dataset_config" not in converted(tmp_path, SCRIPT, "--from-ray", "2.7.1")
    assert "dataset_config" not in converted(tmp_path, MODERN_KEYWORD)
    assert SPLIT in converted(tmp_path, MODERN, "--from-ray", "2.6")


TWO_RUNS = """\
import yaml
from ray.air import session
from ray.air.config import ScalingConfig
from ray.train.huggingface import AccelerateTrainer
{more}

def loop(config):
    session.report({{"rows": len(list(session.get_dataset_shard("valid").iter_rows()))}})


AccelerateTrainer(
    {first}loop,
    accelerate_config={config},
    scaling_config=ScalingConfig(num_workers=2),
    datasets={{"train": make(), "valid": make()}},
)
"""
UNREAD = "yaml.safe_load(open('accelerate.yaml'))"
OPEN = "an earlier run may have written them"


def two_runs(folder: Path, first: str = "", more: str = "", *options: str) -> str:
    """What becomes of a script whose accelerate_config cannot be read, once that is a dict, as the first run asks."""
    between = converted(folder, TWO_RUNS.format(first=first, more=more, config=UNREAD))
    assert "AccelerateTrainer(" in between
    assert "from ray.train import ScalingConfig" in between
    after = converted(folder, between.replace(UNREAD, "{}"), *options)
    assert "TorchTrainer(" in after
    assert converted(folder, after) == after
    return after


def test_what_an_earlier_run_wrote_does_not_make_a_script_younger(tmp_path: Path) -> None:
    at_once = TWO_RUNS.format(first="", more="", config="{}")
    assert SPLIT in converted(tmp_path, at_once)
    assert SPLIT in two_runs(tmp_path)  # on Ray 2.7 the function by position raised
    assert SPLIT in two_runs(
        tmp_path, KEYWORD, "from ray.train.batch_predictor import BatchPredictor\nBatchPredictor()\n"
    )
    assert SPLIT in two_runs(tmp_path, KEYWORD, "", "--from-ray", "2.6")
    assert "dataset_config" not in two_runs(tmp_path, KEYWORD)
    project(tmp_path, requirements_txt="ray[train]==2.5.1\n", setup_py="")
    assert SPLIT in two_runs(tmp_path, KEYWORD)


def told_open(folder: Path, script: str, *options: str) -> bool:
    (folder / "train.py").write_text(script)
    return OPEN in CliRunner().invoke(main, ["--check", "--verbose", *options, str(folder)]).output


def test_where_an_earlier_run_may_have_moved_the_imports_it_is_told(tmp_path: Path) -> None:
    assert told_open(tmp_path, MODERN_KEYWORD)
    assert not told_open(tmp_path, MODERN_KEYWORD, "--from-ray", "2.7")
    assert not told_open(tmp_path, MODERN_KEYWORD.replace(', "valid": make()', ""))
    assert not told_open(tmp_path, MODERN_PLAIN)
    assert not told_open(tmp_path, SCRIPT)
    project(tmp_path, requirements_txt="ray==2.7.1\n", setup_py="")
    assert not told_open(tmp_path, MODERN_KEYWORD)


def test_with_a_preprocessor_ray_2_7_split_the_training_data_only(tmp_path: Path) -> None:
    script = MODERN.replace("    accelerate_config", "    preprocessor=make(),\n    accelerate_config")
    assert SPLIT in converted(tmp_path, script)


def test_torch_trainer_keeps_its_split_only_where_the_version_is_known(tmp_path: Path) -> None:
    assert "dataset_config" not in converted(tmp_path, PLAIN)
    assert SPLIT in converted(tmp_path, PLAIN, "--from-ray", "2.6")
    project(tmp_path, requirements_txt="ray>=2.4,<2.9\n", setup_py="")
    assert "dataset_config" not in converted(tmp_path, PLAIN)
    project(tmp_path, requirements_txt="ray[air]==2.6.3\n")
    assert SPLIT in converted(tmp_path, PLAIN)
    assert "dataset_config" not in converted(tmp_path, PLAIN.replace("ray.air.config", "ray.train"))
    assert "dataset_config" not in converted(tmp_path, PLAIN.replace("valid", "train"))


@pytest.mark.parametrize("given", ["DataConfig()", "DataConfig(datasets_to_split=None)"])
def test_a_data_config_of_ray_2_6_split_the_training_data_only(tmp_path: Path, given: str) -> None:
    script = PLAIN.replace("TorchTrainer(loop,", f"TorchTrainer(loop, dataset_config={given},")
    script = f"from ray.train import DataConfig\n{script}"
    assert SPLIT in converted(tmp_path, script, "--from-ray", "2.6.3")
    assert f"dataset_config={given}" in converted(tmp_path, script, "--from-ray", "2.7")


def test_a_transformers_trainer_splits_the_training_data_only_whatever_the_version(tmp_path: Path) -> None:
    """The Trainer splits the evaluation rows itself; Ray 2.7 split them before that too, so that rows were left out.

    Each worker lists them by itself, so they come in one order.
    """
    split = 'DataConfig(datasets_to_split=["train"], execution_options=ExecutionOptions(preserve_order=True))'
    for version in ("2.6", "2.7"):
        call = 'TransformersTrainer(init, dataset_config=DataConfig(), datasets={"train": f(), "evaluation": f()})'
        script = (
            "from ray.train import DataConfig\nfrom ray.train.huggingface import TransformersTrainer\n\n\n"
            "def init(train_dataset, eval_dataset=None, **config):\n    return make(train_dataset, eval_dataset)\n\n\n"
            f"{call}\n"
        )
        assert f"dataset_config={split}" in converted(tmp_path, script, "--from-ray", version)


def bare(source: str) -> str:
    """Source without its layout."""
    return "".join(source.split()).replace(",)", ")")


RUN_CONFIG = """\
from ray.air.config import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

TorchTrainer(loop, run_config=RunConfig({given}))
"""


@pytest.mark.parametrize(
    ("ray", "given", "expected"),
    [
        ("2.4", '"a", "/b"', 'RunConfig(name="a", storage_path="/b")'),
        ("2.4", '"a", "/b", None', 'RunConfig(name="a", storage_path="/b")'),
        ("2.6", '"a", "/b"', 'RunConfig("a", "/b")'),
        (
            "2.6",
            '"a", "/b", None, None, FailureConfig(1)',
            'RunConfig(name="a", storage_path="/b", failure_config=FailureConfig(1))',
        ),
        ("2.7", '"a", "/b", None, FailureConfig(1)', 'RunConfig("a", "/b", None, FailureConfig(1))'),
        (
            "2.7",
            '"a", "/b", None, None, None, None, 2',
            'name="a", storage_path="/b", storage_filesystem=None, failure_config=',
        ),
    ],
)
def test_the_order_of_run_config_is_that_of_the_version(tmp_path: Path, ray: str, given: str, expected: str) -> None:
    after = converted(tmp_path, RUN_CONFIG.replace("{given}", given), "--from-ray", ray)
    assert bare(expected) in bare(after)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "checkpoint_config=CheckpointConfig(2, None, 'max', 0, False)",
            "CheckpointConfig(num_to_keep=2, checkpoint_score_attribute=None, checkpoint_score_order='max')",
        ),
        ("checkpoint_config=CheckpointConfig(2, 'loss', 'min')", "CheckpointConfig(2, 'loss', 'min')"),
        ("failure_config=FailureConfig(2, False)", "FailureConfig(max_failures=2)"),
    ],
)
def test_other_orders_need_no_version(tmp_path: Path, given: str, expected: str) -> None:
    after = converted(tmp_path, RUN_CONFIG.replace("{given}", given))
    assert bare(expected) in bare(after)


@pytest.mark.parametrize("given", ['"a", "/b", None, None', "*values", '"a", *values'])
def test_positions_that_cannot_be_told_are_left(tmp_path: Path, given: str) -> None:
    assert f"RunConfig({given})" in converted(tmp_path, RUN_CONFIG.replace("{given}", given))


def test_the_order_is_told_by_what_every_possible_version_has(tmp_path: Path) -> None:
    script = RUN_CONFIG.replace("{given}", '"a", "/b", None, None')
    project(tmp_path, requirements_txt="ray>=2.5,<2.7\n", setup_py="")
    assert "callbacks" not in converted(tmp_path, script)
    assert 'name="a"' in converted(tmp_path, script)
    project(tmp_path, requirements_txt="ray>=2.4,<2.7\n")  # local_dir up to 2.4, which is storage_path today
    assert 'RunConfig(name="a", storage_path="/b")' in converted(tmp_path, script)
    project(tmp_path, requirements_txt="ray>=2.4,<2.8\n")
    assert 'RunConfig("a", "/b", None, None)' in converted(tmp_path, script)


# -- the option --------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["1.13", "2.51", "2.60.0", "3.0", "2", "2.6.3.1", "latest", "2.06"])
def test_other_versions_are_refused_in_one_sentence(tmp_path: Path, given: str) -> None:
    result = CliRunner().invoke(main, ["--from-ray", given, str(tmp_path)])
    assert result.exit_code == 2
    sentence = f"Invalid value for '--from-ray': '{given}' is not a version of Ray from 2.0 to 2.50, such as 2.4"
    assert sentence in " ".join(result.stderr.split())


def test_it_is_a_setting(tmp_path: Path) -> None:
    project(tmp_path, pyproject_toml='[tool.raymigrate]\nfrom-ray = "2.7"\n')
    assert "dataset_config" not in converted(tmp_path, SCRIPT)
    assert SPLIT in converted(tmp_path, SCRIPT, "--from-ray", "2.6")
    project(tmp_path, pyproject_toml='[tool.raymigrate]\nfrom-ray = "2.70"\n')
    result = CliRunner().invoke(main, [str(tmp_path)])
    assert result.exit_code == 2
    assert "[tool.raymigrate] from-ray: '2.70' is not a version of Ray" in result.stderr


def test_a_check_that_asks_does_without_libcst(tmp_path: Path) -> None:
    project(tmp_path, requirements_txt="ray==2.7\n", setup_py="", train_py=SCRIPT)
    code = (
        "import sys\nfrom raymigrate.cli import main\n"
        f"try:\n    main(['--check', {str(tmp_path)!r}])\n"
        "except SystemExit:\n    assert 'libcst' not in sys.modules\n"
        "    assert 'raymigrate.pins.written_for' in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
