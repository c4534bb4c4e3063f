"""--to-ray and --to-accelerate: nothing changes without them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.codemods import all_codemods, codemods_for, words_for
from raymigrate.files.needles import NEEDLES, needles
from raymigrate.files.scanner import Words

PLAIN = """\
from transformers import Trainer, TrainingArguments

trainer = Trainer(model, TrainingArguments("out"))
trainer.train()
"""


def test_a_plain_script_is_not_looked_at_without_the_option(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PLAIN)
    result = CliRunner().invoke(main, ["--check", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (0, "")
    assert not any(needle in PLAIN.encode() for needle in needles())
    assert needles() == NEEDLES


def test_codemods_of_an_option_run_and_lend_their_words_only_with_it() -> None:
    optional = {item for item in all_codemods() if item.option}
    assert optional.isdisjoint(codemods_for(Options()))
    assert words_for() == words_for(Options(style="adapter"))


@pytest.mark.parametrize("option", ["to_ray", "to_accelerate"])
def test_the_search_for_plain_scripts_finds_them_and_legacy_ones(option: str) -> None:
    words = Words(needles(**{option: True}))
    assert words.found_in(b"import torch\nfrom transformers import Trainer\n")
    assert words.found_in(b"from ray.air import session\n")
    assert not words.found_in(b"import numpy\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("workers = 0", "workers: 0 is not in the range x>=1"),
        ("workers = true", "workers: must be a whole number"),
        ('gpu = "yes"', "gpu: must be true or false"),
    ],
)
def test_settings_of_the_options_are_checked(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.raymigrate]\n{text}\n")
    result = CliRunner().invoke(main, ["--check", str(tmp_path)])
    assert result.exit_code == 2
    assert message in result.stderr


def test_both_options_may_be_settings(tmp_path: Path) -> None:
    lines = ["to-ray = true", "to-accelerate = true", "workers = 2", "gpu = false"]
    (tmp_path / "pyproject.toml").write_text("\n".join(["[tool.raymigrate]", *lines, ""]))
    (tmp_path / "train.py").write_text("import numpy\n")
    assert CliRunner().invoke(main, ["--check", str(tmp_path)]).exit_code == 0
