"""An accelerate_config that the script loads from a file itself, or that lies above the script in its project."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write

HEAD = """
import json, os, sys
from pathlib import Path
import yaml
from accelerate import Accelerator
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer

HERE = Path(__file__).parent


def loop():
    accelerator = Accelerator()


"""
TRAINER = (
    "AccelerateTrainer(loop, accelerate_config={}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()\n"
)
FILES = {"c/a.yaml": "mixed_precision: bf16\nnum_processes: 4\n", "c/a.json": '{"mixed_precision": "bf16"}'}


def run(folder: Path, head: str, config: str, name: str = "train.py") -> tuple[str, set[str]]:
    """What becomes of a script, and the rules that leave something to a person."""
    write(folder, {**FILES, "setup.py": "", name: HEAD + head + TRAINER.format(config)})
    manual = {finding.code for finding in convert(folder).findings if finding.kind is Kind.MANUAL}
    return (folder / name).read_text(), manual


@pytest.mark.parametrize(
    ("head", "config"),
    [
        ('with open("c/a.yaml") as f:\n    config = yaml.safe_load(f)\n', "config"),
        ("", 'yaml.safe_load(open("c/a.yaml"))'),
        ("", 'json.load(open("c/a.json"))'),
        ('config = yaml.safe_load(Path("c/a.yaml").read_text())\n', "config"),
        ('config = yaml.load((HERE / "c" / "a.yaml").open(), Loader=yaml.FullLoader)\n', "config"),
        ('config = yaml.safe_load((Path(__file__).resolve().parent / "c/a.yaml").read_text())\n', "config"),
        ('p = os.path.join(os.path.dirname(__file__), "c", "a.json")\nconfig = json.loads(open(p).read())\n', "config"),
        ('config = yaml.safe_load(open("c/a.yaml"))\nconfig["num_processes"] = 8\n', "config"),
    ],
)
def test_a_file_that_the_script_loads_is_read(tmp_path: Path, head: str, config: str) -> None:
    text, manual = run(tmp_path, head, config)
    assert 'Accelerator(mixed_precision="bf16")' in text and not manual
    assert "open(" not in text and "pass" not in text and "read_text" not in text


@pytest.mark.parametrize(
    "head",
    [
        'config = yaml.safe_load(open("c/a.yaml"))\nconfig["mixed_precision"] = "no"\n',
        'config = yaml.safe_load(open("c/a.yaml"))\nconfig.update(more())\n',
        "config = yaml.safe_load(open(sys.argv[1]))\n",
        'config = yaml.safe_load(open("c/a.yaml"))["accelerate"]\n',
        'config = yaml.safe_load(open("c/none.yaml"))\n',
        'config = yaml.safe_load("c/a.yaml")\n',
        'def open(name):\n    return "{}"\n\nconfig = yaml.safe_load(open("c/a.yaml"))\n',
    ],
)
def test_what_is_changed_or_not_seen_is_not_read(tmp_path: Path, head: str) -> None:
    text, manual = run(tmp_path, head, "config")
    assert "Accelerator()" in text and manual == {"RM207"}


@pytest.mark.parametrize("config", ['"c/a.yaml"', 'Path("c/a.yaml")', 'yaml.safe_load(open("c/a.yaml"))'])
def test_a_file_is_looked_up_above_the_script_in_its_project(tmp_path: Path, config: str) -> None:
    text, manual = run(tmp_path, "", config, "package/jobs/train.py")
    assert 'Accelerator(mixed_precision="bf16")' in text and not manual


def test_one_beside_the_script_counts_first_and_none_above_the_project(tmp_path: Path) -> None:
    write(tmp_path, {"job/c/a.yaml": "mixed_precision: fp16\n"})
    assert 'mixed_precision="fp16"' in run(tmp_path, "", '"c/a.yaml"', "job/train.py")[0]
    write(tmp_path, {"other/setup.py": "", "other/b/train.py": HEAD + TRAINER.format('"c/a.yaml"')})
    assert "RM207" in {finding.code for finding in convert(tmp_path / "other").findings}


def test_a_block_with_more_in_it_stays(tmp_path: Path) -> None:
    head = 'with open("c/a.yaml") as f:\n    config = yaml.safe_load(f)\n    print(f.name)\n'
    assert 'with open("c/a.yaml") as f:\n    print(f.name)' in run(tmp_path, head, "config")[0]
