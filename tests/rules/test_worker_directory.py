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
parser.add_argument("--shared", default="/shared/outputs")
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


WRITTEN = {
    "command line": "accelerator.unwrap_model(model).save_pretrained(args.folder, is_main_process=True)",
    "namespace in the config": "model.save_pretrained(config['args'].output_dir)",
    "config": "torch.save(model.state_dict(), config['folder'] + '/model.pt')",
    "config with get()": "accelerator.save_state(config.get('folder'))",
    "environment": "open(os.path.join(os.environ['OUT'], 'log.txt'), 'a')",
    "keyword": "accelerator.save_model(model, save_directory=config['folder'])",
    "another module": "accelerator.save(model.state_dict(), settings.FOLDER / 'model.pt')",
    "function of somebody else": "torch.save(model.state_dict(), make_folder())",
    "through a name": "out = config['folder']\n    torch.save(1, out)",
    "beside a checkpoint of another folder": (
        "with tempfile.TemporaryDirectory() as folder:\n        session.report({}, "
        "checkpoint=Checkpoint.from_directory(folder))\n    torch.save(1, config['folder'])"
    ),
}
KNOWN = {
    "temporary folder": "with tempfile.TemporaryDirectory() as folder:\n        torch.save(1, folder + '/model.pt')",
    "temporary folder without with": "torch.save(1, os.path.join(tempfile.mkdtemp(), 'model.pt'))",
    "open file": "with open('/shared/model.pt', 'wb') as file:\n        torch.save(1, file)",
    "buffer": "file = io.BytesIO()\n    torch.save(1, file)",
    "remote file": "with storage.open(config['folder'], 'wb') as file:\n        torch.save(1, file)",
    "read": "open(config['folder'])",
    "made absolute": "torch.save(1, os.path.abspath(config['folder']))",
    "absolute by default": "torch.save(1, args.shared)",
    "beside the script": "torch.save(1, os.path.join(os.path.dirname(__file__), 'model.pt'))",
    "checkpoint": (
        "folder = config['folder']\n    model.save_pretrained(folder)\n    session.report({}, "
        "checkpoint=Checkpoint.from_directory(folder))"
    ),
    "folder below a checkpoint's": (
        "torch.save(1, os.path.join(config['folder'], 'model.pt'))\n    session.report({}, "
        "checkpoint=Checkpoint.from_directory(config['folder']))"
    ),
    "another library": "image.save(config['folder'])",
}
MORE_IMPORTS = "import io\nimport os\nimport tempfile\nimport torch\nimport settings\nfrom job import make_folder\n"


def _written(body: str) -> list[str]:
    script = SCRIPT.format(made=f"Accelerator()\n    {body}").replace("import os\n", MORE_IMPORTS)
    script = script.replace("import ScalingConfig,", "import Checkpoint, ScalingConfig,")
    return [message for message in converted(script).messages if "session's folder" in message]


@pytest.mark.parametrize("body", WRITTEN.values(), ids=WRITTEN)
def test_a_path_that_cannot_be_seen_is_told_as_such(body: str) -> None:
    assert [message for message in _written(body) if message.startswith("If ")]


@pytest.mark.parametrize("body", KNOWN.values(), ids=KNOWN)
def test_what_is_no_path_of_the_user_is_not(body: str) -> None:
    assert not _written(body)


def test_a_folder_that_cannot_be_seen_is_told_once() -> None:
    body = "model.save_pretrained(args.folder)\n    torch.save(1, f'{args.folder}/a')\n    torch.save(1, args.other)"
    assert len(_written(body)) == 2


def test_the_folder_comes_from_another_module_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "settings.py").write_text(
        "OUT = 'outputs'\n\n\nclass Config:\n    out = 'outputs'\n\n\nconfig = Config()\n"
    )
    made = "Accelerator(project_dir=settings.OUT)\n    accelerator = Accelerator(project_dir=settings.config.out)"
    (tmp_path / "job.py").write_text(f"import settings\n{SCRIPT.format(made=made)}")
    assert len([f for f in convert(tmp_path).findings if f.code == "RM483"]) == 2
