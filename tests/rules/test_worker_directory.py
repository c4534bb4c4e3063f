"""RM483: what a training function writes into its working directory."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert
from tests.rules.scripts import converted

SCRIPT = """
import argparse
import os
import pathlib

from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration
from ray.air import ScalingConfig, session
from ray.train.huggingface import AccelerateTrainer

OUT = "outputs"
parser = argparse.ArgumentParser()
parser.add_argument("--out", default="outputs")
args = parser.parse_args()


class Settings:
    out = "outputs"


def loop(config):
    accelerator = {made}
    accelerator.init_trackers("run")
    session.report({{"loss": 1.0}})


trainer = AccelerateTrainer(loop, accelerate_config={{}}, scaling_config=ScalingConfig(num_workers=2, use_gpu=True))
trainer.fit()
"""


@pytest.mark.parametrize(
    "made",
    [
        'Accelerator(log_with="tensorboard", project_dir="logs")',
        'Accelerator(log_with="tensorboard", logging_dir="./logs")',
        'Accelerator(project_config=ProjectConfiguration(project_dir="runs/one"))',
        'Accelerator(project_config=ProjectConfiguration("/runs", logging_dir="logs"))',
        'Accelerator(project_dir=f"{OUT}/logs")',
        "Accelerator(project_dir=os.path.join(OUT, config['run']))",
        "Accelerator(project_dir=pathlib.Path(OUT) / 'logs')",
        "Accelerator(project_dir=args.out)",
        "Accelerator(project_dir=Settings.out)",
    ],
)
def test_a_relative_folder_of_accelerate_is_told(made: str) -> None:
    assert converted(SCRIPT.format(made=made)).lines("RM483", Kind.MANUAL)


@pytest.mark.parametrize(
    "made",
    [
        "Accelerator()",
        'Accelerator(project_dir="/shared/logs")',
        'Accelerator(project_dir="~/logs")',
        "Accelerator(project_dir=None)",
        "Accelerator(project_dir=os.path.abspath(args.out))",
        'make(project_dir="logs")',
    ],
)
def test_other_folders_are_not(made: str) -> None:
    assert not converted(SCRIPT.format(made=made)).lines("RM483", Kind.MANUAL)


@pytest.mark.parametrize("folder", ["config['folder']", "load_settings().folder", "os.environ['OUT']"])
def test_a_folder_that_cannot_be_seen_is_told_as_such(folder: str) -> None:
    messages = converted(SCRIPT.format(made=f"Accelerator(project_dir={folder})")).messages
    assert any(f"If {folder} is a relative path, it is written to" in message for message in messages)


@pytest.mark.parametrize(
    "written",
    [
        "accelerator.save_state('states')",
        "accelerator.save_model(model, OUT)",
        "torch.save(model.state_dict(), f'{OUT}/{name}.pt')",
        "model.save_pretrained(args.out)",
        "open(pathlib.Path(OUT) / 'log.txt', 'w')",
    ],
)
def test_what_is_written_below_a_named_folder_is_told(written: str) -> None:
    script = SCRIPT.format(made=f"Accelerator()\n    {written}").replace("import os\n", "import os\nimport torch\n")
    assert len(converted(script).lines("RM483", Kind.MANUAL)) == 1


def test_the_folder_comes_from_another_module_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text(
        "OUT = 'outputs'\n\n\nclass Config:\n    out = 'outputs'\n\n\nconfig = Config()\n"
    )
    made = "Accelerator(project_dir=settings.OUT)\n    accelerator = Accelerator(project_dir=settings.config.out)"
    (tmp_path / "job.py").write_text(f"import settings\n{SCRIPT.format(made=made)}")
    assert len([f for f in convert(tmp_path).findings if f.code == "RM483"]) == 2
