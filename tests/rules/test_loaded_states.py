"""RM705: weights that a model's class gets beside a name, which transformers 5 refuses."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert, write
from tests.rules.scripts import converted

SCRIPT = """
import ray.air
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, BertForSequenceClassification
from job import choose, load

class Own:
    @classmethod
    def from_pretrained(cls, name, state_dict=None):
        return cls()

{code}

ray.air.session.report({{}})
"""
STATE = "state = torch.load('state.pt')\n"


@pytest.mark.parametrize(
    ("code", "made"),
    [
        (
            "model = AutoModelForCausalLM.from_pretrained('gpt2', state_dict=state)",
            "AutoModelForCausalLM.from_config(AutoConfig.from_pretrained('gpt2'))",
        ),
        (
            "model = transformers.AutoModelForCausalLM.from_pretrained(NAME, state_dict=torch.load('x'))",
            "transformers.AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(NAME))",
        ),
        (
            "BertForSequenceClassification.from_pretrained(pretrained_model_name_or_path=load(), state_dict=state)",
            "BertForSequenceClassification(AutoConfig.from_pretrained(load()))",
        ),
        (
            "cls = BertForSequenceClassification\ncls.from_pretrained('bert', state_dict=state['model'])",
            "cls(AutoConfig.from_pretrained('bert'))",
        ),
    ],
)
def test_weights_beside_a_name_are_told_with_the_way_without(code: str, made: str) -> None:
    outcome = converted(SCRIPT.format(code=STATE + code))
    assert len(outcome.lines("RM705", Kind.MANUAL)) == 1
    assert any("raises a ValueError today" in message and f" {made}, " in message for message in outcome.messages)


@pytest.mark.parametrize(
    "given",
    [
        *("state_dict if load() else None", "state_dict", "state_dict.get('model')", "state_dict.weights"),
        *("load and state_dict", "getattr(state_dict, 'weights', None)", "choose"),
    ],
)
def test_what_may_be_none_is_told_as_that(given: str) -> None:
    code = f"def make(state_dict):\n    return AutoModelForCausalLM.from_pretrained('gpt2', state_dict={given})\n"
    messages = [m for m in converted(SCRIPT.format(code=code)).messages if "ValueError" in m]
    assert len(messages) == 1 and messages[0].startswith(f"Where {given} is not None, ")


@pytest.mark.parametrize(
    "code",
    [
        "AutoModelForCausalLM.from_pretrained('gpt2', state_dict=None)",
        "AutoModelForCausalLM.from_pretrained(None, config=AutoConfig.from_pretrained('gpt2'), state_dict=state)",
        "Own.from_pretrained('gpt2', state_dict=state)",
        "choose().from_pretrained('gpt2', state_dict=state)",
        "AutoModelForCausalLM.from_pretrained('gpt2').save_pretrained('out', state_dict=state)",
        "AutoTokenizer.from_pretrained('gpt2', state_dict=state)",
    ],
)
def test_other_weights_are_left_alone(code: str) -> None:
    assert not converted(SCRIPT.format(code=STATE + code)).lines("RM705", Kind.MANUAL)


LIB = "from transformers import BertModel, BertTokenizer\nKLASS = BertModel\nOTHER = BertTokenizer\nSTATE = None\n"
ELSEWHERE = """\
import torch
from ray.air import session
from lib import KLASS, OTHER, STATE

STATE_OF_FILE = torch.load("x.pt")
{code}
session.report({{}})
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("KLASS.from_pretrained('bert', state_dict=STATE_OF_FILE)", True),
        ("def load(k=KLASS):\n    return k.from_pretrained('bert', state_dict=torch.load('x'))\nload()", True),
        ("import lib\nlib.KLASS.from_pretrained('bert', state_dict=STATE_OF_FILE)", True),
        ("KLASS.from_pretrained('bert', state_dict=STATE)", False),
        ("OTHER.from_pretrained('bert', state_dict=STATE_OF_FILE)", False),
    ],
)
def test_classes_and_weights_of_other_files_are_seen(tmp_path: Path, code: str, told: bool) -> None:
    write(tmp_path, {"lib.py": LIB, "train.py": ELSEWHERE.format(code=code)})
    messages = [found.message for found in convert(tmp_path).findings if found.code == "RM705"]
    assert [message.startswith("from_pretrained('bert'") for message in messages] == [True] * told
