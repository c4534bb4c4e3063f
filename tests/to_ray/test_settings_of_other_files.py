"""--to-ray: an object of a dataclass of another file stays where it is made, as other plain values do."""

from pathlib import Path

import pytest

from tests.test_cli import invoke

SCRIPT = """from transformers import AutoModel, Trainer, TrainingArguments

from config import Settings

cfg = Settings({given})


def main():
    trainer = Trainer(AutoModel.from_pretrained(cfg.name), TrainingArguments(cfg.out))
    trainer.train()


if __name__ == "__main__":
    main()
"""
SETTINGS = """import os
from dataclasses import dataclass, field

import torch
from transformers import AutoTokenizer

NUMBER = 3
OUT = os.path.join("out", "run")
RANK = int(os.environ.get("LOCAL_RANK", "0"))
MODEL = torch.nn.Linear(1, 1)


@dataclass
class Part:
    size: int = 8


{head}
    name: str = "bert"
    out: str = "out"
    more: object = {more}
"""
BARE = "@dataclass\nclass Settings:"


def after(folder: Path, more: str = "None", head: str = BARE, given: str = "") -> str:
    (folder / "config.py").write_text(SETTINGS.format(more=more, head=head))
    (folder / "train.py").write_text(SCRIPT.format(given=given))
    invoke("--to-ray", str(folder))
    return (folder / "train.py").read_text()


@pytest.mark.parametrize(
    ("more", "head", "given"),
    [
        ("3e-4", BARE, ""),
        ("field(default_factory=list)", BARE, "'roberta', out='runs'"),
        ("field(default_factory=lambda: [1, 2])", "@dataclass(frozen=True)\nclass Settings:", ""),
        ("field(default_factory=Part)", BARE, ""),
        ("{'number': NUMBER, 'out': OUT, 'dtype': torch.float16}", BARE, ""),
    ],
)
def test_plain_settings_stay(tmp_path: Path, more: str, head: str, given: str) -> None:
    text = after(tmp_path, more, head, given)
    assert "TorchTrainer(" in text and f"\ncfg = Settings({given})\n" in text


@pytest.mark.parametrize(
    ("more", "head", "given"),
    [
        ("torch.device('cuda')", BARE, ""),
        ("field(default_factory=lambda: AutoTokenizer.from_pretrained('bert'))", BARE, ""),
        ("field(default_factory=AutoTokenizer)", BARE, ""),
        ("RANK", BARE, ""),
        ("os.environ['RANK']", BARE, ""),
        ("field(default_factory=lambda: [RANK])", BARE, ""),
        ("MODEL", BARE, ""),
        ("None", BARE, "more=AutoModel.from_pretrained('bert')"),
        ("None", "@dataclass\nclass Settings(Part):", ""),
        ("None", f"{BARE}\n    def __new__(cls):\n        torch.cuda.set_device(0)\n", ""),
        ("None", f"{BARE}\n    __post_init__ = print\n", ""),
        ("None", f"{BARE}\n    def __post_init__(self):\n        self.device = torch.device('cuda')\n", ""),
    ],
)
def test_settings_that_may_hold_anything_move(tmp_path: Path, more: str, head: str, given: str) -> None:
    text = after(tmp_path, more, head, given)
    assert "TorchTrainer(" in text and f"\n    cfg = Settings({given})\n" in text


def test_dataclasses_of_two_files_may_make_each_other(tmp_path: Path) -> None:
    other = "from dataclasses import dataclass, field\n\nimport config\n\n\n@dataclass\nclass Other:\n"
    (tmp_path / "other.py").write_text(f"{other}    more: object = field(default_factory=lambda: config.Settings())\n")
    (tmp_path / "config.py").write_text(
        "import other\n" + SETTINGS.format(more="field(default_factory=lambda: other.Other())", head=BARE)
    )
    (tmp_path / "train.py").write_text(SCRIPT.format(given=""))
    invoke("--to-ray", str(tmp_path))
    assert "\n    cfg = Settings()\n" in (tmp_path / "train.py").read_text()
