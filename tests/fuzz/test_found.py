"""What damaged input found out about the engine, made small and spelled in several ways."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main

TRAINER = """from ray.train.huggingface import {name}
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make_model(), args=TrainingArguments("out"), train_dataset=train_dataset)


trainer = {name}(trainer_init_per_worker=init, datasets={datasets})
"""
MODEL = """from ray.train.huggingface import {name}
from transformers import {model}

checkpoint = {name}.from_checkpoint(result.checkpoint)
model = checkpoint.get_model({given}{more})
print(checkpoint.get_tokenizer(AutoTokenizer))
"""


def assert_converts(text: str, *options: str) -> str:
    """Converts, and a second run finds nothing more."""
    Path("train.py").write_text(text)
    for _ in range(2):
        result = CliRunner().invoke(main, [*options, "train.py"], catch_exceptions=False)
        assert result.exit_code in (0, 1), result.stderr
    assert "converted" not in result.stderr
    after = Path("train.py").read_text()
    assert after != text
    return after


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["TransformersCheckpoint", "HuggingFaceCheckpoint"])
@pytest.mark.parametrize(
    ("model", "given"), [("AutoModel", "AutoModel"), ("GPT2LMHeadModel as M", "M"), ("AutoTokenizer", "AutoTokenizer")]
)
@pytest.mark.parametrize("more", ["", ", num_labels=2", ", torch_dtype=torch.float16", ", **options"])
def test_a_model_of_a_checkpoint_is_loaded_with_the_old_defaults_at_once(
    name: str, model: str, given: str, more: str
) -> None:
    after = assert_converts(MODEL.format(name=name, model=model, given=given, more=more), "--freeze-numerics")
    frozen = given != "AutoTokenizer" and more != ", **options"
    assert ('attn_implementation="eager"' in after) == frozen


@pytest.mark.parametrize("name", ["TransformersTrainer", "HuggingFaceTrainer"])
@pytest.mark.parametrize(
    "datasets",
    ['{"train": a, "evaluation": b}', '{"train": a, "valid": b}', '{"train": a}', '{"train": a, **others}', "made"],
)
@pytest.mark.parametrize("version", ["2.4", "2.6.3", "2.7"])
@pytest.mark.parametrize("form", ["--style=auto", "--style=adapter", "--style=inline", "--guide"])
def test_whoever_says_the_ray_of_the_code_is_understood_twice(
    name: str, datasets: str, version: str, form: str
) -> None:
    after = assert_converts(TRAINER.format(name=name, datasets=datasets), f"--from-ray={version}", form)
    assert name not in after
