"""RM702: save_pretrained(safe_serialization=False) writes safetensors today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from elsewhere import accelerator, any_model, flag
from transformers import AutoModel, BertModel
{more}
{use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "AutoModel.from_pretrained('a').save_pretrained('x', safe_serialization=False)",
        "model = BertModel.from_pretrained('a').to('cuda')\nmodel.save_pretrained('x', safe_serialization=False)",
        "SAFE = False\nmodel = AutoModel.from_pretrained('a')\nmodel.push_to_hub('x', safe_serialization=SAFE)",
        "def f():\n    m = BertModel(None)\n    m.save_pretrained(save_directory='x', safe_serialization=False)",
    ],
)
def test_a_model_of_transformers_loses_the_argument(use: str) -> None:
    outcome = converted(SCRIPT.format(use=use, more=""))
    assert outcome.lines("RM702", Kind.CONVERTED) == outcome.lines("RM702", Kind.NOTE)
    assert "safe_serialization=" not in outcome.text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("TrainingArguments('x', save_safetensors=False)", True),
        ("Seq2SeqTrainingArguments(output_dir='x', save_safetensors=False)", True),
        ("TrainingArguments('x', save_safetensors=True)", False),
        ("TrainingArguments('x', save_safetensors=flag)", True),  # it may be False
        ("TrainingArguments('x', save_safetensors=SAFE)", True),
    ],
)
def test_checkpoints_that_were_to_be_of_pytorch_are_spoken_of(given: str, told: bool) -> None:
    more = "from transformers import Seq2SeqTrainingArguments, TrainingArguments\nSAFE = False"
    outcome = converted(SCRIPT.format(use=f"args = {given}", more=more))
    assert "save_safetensors=" not in outcome.text
    assert any("pytorch_model.bin" in message for message in outcome.messages) is told
    assert bool(outcome.lines("RM702", Kind.NOTE)) is told


@pytest.mark.parametrize(
    "use",
    [
        "any_model.save_pretrained('x', safe_serialization=False)",
        "m = accelerator.unwrap_model(BertModel(None))\nm.save_pretrained('x', safe_serialization=False)",
    ],
)
def test_what_may_be_a_model_is_told(use: str) -> None:
    outcome = converted(SCRIPT.format(use=use + "\nAutoModel.register", more=""))
    assert outcome.lines("RM702", Kind.MANUAL)


@pytest.mark.parametrize(
    ("use", "more"),
    [
        ("any_model.save_pretrained('x', safe_serialization=True)", ""),
        ("any_model.save_pretrained('x', safe_serialization=flag)", ""),
        ("AutoModel.from_pretrained('a').save_pretrained('x')", ""),
        ("accelerator.save_model(any_model, 'x', safe_serialization=False)", ""),
        ("get_peft_model(any_model, None).save_pretrained('x', safe_serialization=False)", "from peft import *"),
        (
            "m = get_peft_model(AutoModel(), flag)\nm.save_pretrained('x', safe_serialization=False)",
            "from peft import get_peft_model",
        ),
        ("Pipe().save_pretrained('x', safe_serialization=False)", "from diffusers import DiffusionPipeline as Pipe"),
    ],
)
def test_what_others_still_heed_stays(use: str, more: str) -> None:
    outcome = converted(SCRIPT.format(use=use, more=more))
    assert not [code for code, _, _ in outcome.findings if code == "RM702"]
