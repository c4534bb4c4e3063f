"""Plain scripts that are left as they are: byte for byte, with one reason."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

HEAD = """\
from transformers import AutoModel, Trainer, TrainingArguments
"""
TRAIN = """\
trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("out"))
trainer.train()
"""
HYDRA = f"import hydra\n{HEAD}"


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (f"{HEAD}{TRAIN}trainer.hyperparameter_search()\n", "hyperparameter_search starts its own trials"),
        (f"import torch.multiprocessing as mp\n{HEAD}def f(rank):\n{indented(TRAIN)}mp.spawn(f)\n", "spawn"),
        (
            f"import subprocess\n{HEAD}{TRAIN}subprocess.run(['torchrun', 'train.py'])\n",
            "starts its own processes (subprocess.run)",
        ),
        # without version_base hydra goes to a folder of its own, where relative paths are others
        (f"import hydra\n{HEAD}@hydra.main()\ndef main(cfg):\n{indented(TRAIN)}main()\n", "hydra.main reads the"),
        (f"{HYDRA}@hydra.main(version_base='1.1')\ndef main(cfg):\n{indented(TRAIN)}main()\n", "hydra.main reads the"),
        (
            f"{HYDRA}@hydra.main(version_base=None)\ndef main(cfg):\n    hydra.core.hydra_config.HydraConfig.get()\n"
            f"{indented(TRAIN)}main()\n",
            "hydra.core.hydra_config.HydraConfig.get holds in the process of hydra only",
        ),
        (
            f"import click\n{HEAD}@click.command()\n@click.pass_context\ndef main(c):\n{indented(TRAIN)}main()\n",
            "click.pass_context holds in the process of click only",
        ),
        (f"import click\n{HEAD}@click.group()\ndef c():\n    pass\n{TRAIN}", "give it a script of its own"),
        (f"import fire\n{HEAD}def main():\n{indented(TRAIN)}fire.Fire([main])\n", "with what argparse parsed"),
        (f"import fire\n{HEAD}def main():\n{indented(TRAIN)}fire.Fire(main, name='x')\n", "with what argparse parsed"),
        (f"import fire\n{HEAD}def main():\n{indented(TRAIN)}fire.Fire(main)\nmain()\n", "Let it stand below `if"),
        (f"import fire\n{HEAD}@timed\ndef main():\n{indented(TRAIN)}fire.Fire(main)\n", "Let it stand below `if"),
        (f"import pytorch_lightning\n{HEAD}{TRAIN}pytorch_lightning.Trainer()\n", "uses pytorch_lightning"),
        (f"{HEAD}{TRAIN.replace('trainer.train()', 'print(trainer.train())')}", "give it a statement of its own"),
        (
            f"import torch.distributed as dist\n{HEAD}group = dist.init_process_group()\n{TRAIN}",
            "it does what Ray does for its workers",
        ),
        (f"{HEAD}name = input()\n{TRAIN}", "asks for input"),
        (f"{HEAD}def run(model, args):\n{indented(TRAIN)}", "not called in this file"),
        (
            f"import argparse\n{HEAD}{TRAIN}args = argparse.ArgumentParser().parse_args(trainer.label_names)\n",
            "it reads the command line, and is part of the training too",
        ),
    ],
)
def test_what_is_in_the_way_is_named_and_nothing_is_changed(script: str, message: str) -> None:
    outcome = converted(script, to_ray=True)
    assert outcome.text == script
    assert [(code, kind) for code, kind, _ in outcome.findings] == [("RM802", Kind.MANUAL)]
    assert message in outcome.messages[0]


def test_other_processes_are_not_in_the_way() -> None:
    script = f"import subprocess\n{HEAD}subprocess.run(['nvidia-smi'])\n{TRAIN}"
    assert "TorchTrainer" in converted(script, to_ray=True).text


@pytest.mark.parametrize(
    "script",
    [
        f"import ray.train\n{HEAD}{TRAIN}",
        "from keras import Trainer\ntrainer = Trainer()\ntrainer.train()\n# transformers\n",
        "from transformers import AutoModel\nAutoModel.from_pretrained('bert').train()\n# Trainer\n",
        "class Trainer:\n    def train(self): pass\n\nTrainer().train()\n# transformers\n",
        f"{HEAD}def make():\n    return Trainer(AutoModel.from_pretrained('bert'))\n",
    ],
)
def test_other_trainers_and_files_that_train_nothing_are_passed_over(script: str) -> None:
    outcome = converted(script, to_ray=True)
    assert outcome.text == script
    assert not [finding for finding in outcome.findings if finding[0].startswith("RM8")]


def project(folder: Path, train: str, other: str) -> str:
    """What the tool says of a project of two files."""
    (folder / "train.py").write_text(train)
    (folder / "other.py").write_text(other)
    return CliRunner().invoke(main, ["--check", "--to-ray", str(folder)]).stdout


def test_a_file_that_trains_while_it_is_imported_is_left(tmp_path: Path) -> None:
    assert "trains where its file is imported" in project(tmp_path, HEAD + TRAIN, "from train import trainer\n")


def test_a_class_that_trains_in_a_method_does_not_train_while_it_is_imported(tmp_path: Path) -> None:
    method = indented(indented(TRAIN))
    script = f"import torch\nif torch:\n{indented(HEAD)}\nclass Fit:\n    def run(self):\n{method}"
    said = project(tmp_path, script, "from train import Fit\nFit().run()\n")
    assert "RM802" in said
    assert "trains where its file is imported" not in said


def test_a_name_that_another_file_imports_does_not_move(tmp_path: Path) -> None:
    guarded = f'{HEAD}size = AutoModel.from_pretrained("b").size\nif __name__ == "__main__":\n    print(size)\n'
    said = project(tmp_path, guarded + indented(TRAIN), "import train\nprint(train.size)\n")
    assert "size has to move into the training function, but" in said


def test_a_file_whose_other_names_are_imported_is_converted(tmp_path: Path) -> None:
    guarded = f'{HEAD}SIZE = 3\nif __name__ == "__main__":\n{indented(TRAIN)}'
    said = project(tmp_path, guarded, "from train import SIZE\n")
    assert "RM802" not in said
    assert "train.py" in said


def test_arguments_that_another_file_makes_are_in_the_way(tmp_path: Path) -> None:
    train = f"from other import arguments\n{HEAD}{TRAIN}".replace('TrainingArguments("out")', "arguments")
    said = project(tmp_path, train, f'{HEAD}arguments = TrainingArguments("out")\n')
    assert "arguments holds TrainingArguments made in" in said


NO_TRAINING = """
from accelerate import Accelerator
from elsewhere import fit
{code}
"""


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("accelerator = Accelerator()\naccelerator.print(accelerator.state)", Kind.NOTE),
        ("Accelerator().print('here')", Kind.NOTE),
        ("def main():\n    accelerator = Accelerator()\n    accelerator.wait_for_everyone()\nmain()", Kind.NOTE),
        ("accelerator = Accelerator()\nfit(accelerator)", Kind.MANUAL),
        ("fit(Accelerator())", Kind.MANUAL),
        ("accelerator = Accelerator()\nmodel = accelerator.prepare(build())\nfit(model)", Kind.MANUAL),
        ("accelerator = Accelerator()\nstart = accelerator.prepare_model(build())", Kind.MANUAL),
        ("class Job:\n    def __init__(self):\n        self.accelerator = Accelerator()", Kind.MANUAL),
        ("accelerator = Accelerator()\ndef get():\n    return accelerator", Kind.MANUAL),
        ("accelerator = Accelerator()\nloss().backward()", Kind.MANUAL),
    ],
)
def test_an_accelerator_that_trains_nothing_is_no_training_elsewhere(code: str, kind: Kind) -> None:
    outcome = converted(NO_TRAINING.format(code=code), to_ray=True)
    assert [(code, found) for code, found, _ in outcome.findings if code == "RM802"] == [("RM802", kind)]
    assert any("Nothing trains" in message for message in outcome.messages) == (kind is Kind.NOTE)
