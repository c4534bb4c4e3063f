"""RM712: the AdamW of transformers comes along, since torch's takes other steps."""

import ast
import math

import pytest

from raymigrate.base.findings import Kind
from raymigrate.codemods.libraries.adamw import ADAMW
from tests.rules.scripts import converted

IMPORTED = {
    "by name": "from transformers import AdamW\n\noptimizer = AdamW(weights, lr=1e-3)\n",
    "of its module": "from transformers.optimization import AdamW\n\noptimizer = AdamW(weights, lr=1e-3)\n",
    "by another name": "from transformers import AdamW as HFAdamW\n\noptimizer = HFAdamW(weights)\n",
    "by attribute": "import transformers\n\noptimizer = transformers.AdamW(weights)\n",
    "in a function": "def made(weights):\n    from transformers import AdamW\n\n    return AdamW(weights)\n",
    "without bias correction": "from transformers import AdamW\n\noptimizer = AdamW(weights, correct_bias=False)\n",
    "unpacked": "from transformers import AdamW\n\noptimizer = AdamW(weights, **settings)\n",
    "handed over": "from transformers import AdamW\n\noptimizers = {'adamw': AdamW}\n",
    "base class": "from transformers import AdamW\n\n\nclass Mine(AdamW):\n    pass\n",
    "all names": "from transformers import *\n\noptimizer = AdamW(weights)\n",
}
HEAD = "import ray.train\nfrom ray.air import session\n"


@pytest.mark.parametrize("body", IMPORTED.values(), ids=IMPORTED)
def test_the_old_class_comes_along(body: str) -> None:
    outcome = converted(HEAD + body)
    assert outcome.lines("RM712", Kind.CONVERTED)
    assert not outcome.lines("RM712", Kind.MANUAL)
    assert "torch.optim.AdamW" not in outcome.text
    found = [node for node in ast.walk(ast.parse(outcome.text)) if isinstance(node, ast.ClassDef)]
    made = [node for node in found if [ast.unparse(base) for base in node.bases] == ["torch.optim.Optimizer"]]
    assert len(made) == 1
    assert converted(outcome.text).text == outcome.text


def test_uses_under_several_names_share_one_class() -> None:
    body = (
        "import transformers\nfrom transformers import AdamW\nfrom transformers.optimization import AdamW as Other\n\n"
        "one, two, three = AdamW(a), Other(b), transformers.AdamW(c)\n\n\ndef later(d):\n"
        "    from transformers import AdamW as Late\n    return Late(d)\n"
    )
    outcome = converted(HEAD + body)
    assert outcome.text.count("(torch.optim.Optimizer)") == 1
    assert "one, two, three = AdamW(a), AdamW(b), AdamW(c)" in outcome.text
    assert "return AdamW(d)" in outcome.text


def test_a_use_that_is_kept_keeps_its_import() -> None:
    body = "from transformers import AdamW\n\none = AdamW(a)\ntwo = AdamW(b)  # raymigrate: skip RM712\n"
    text = converted(HEAD + body).text
    assert "from transformers import AdamW\n" in text
    assert "two = AdamW(b)" in text
    assert "class AdamW(" not in text


@pytest.mark.parametrize(
    "body",
    [
        "from torch.optim import AdamW\n\noptimizer = AdamW(weights)\n",
        "try:\n    from transformers import AdamW\nexcept ImportError:\n    from torch.optim import AdamW\nAdamW(a)\n",
        "from mine import AdamW\n\noptimizer = AdamW(weights)\n",
    ],
)
def test_another_adamw_is_left_alone(body: str) -> None:
    outcome = converted(HEAD + body)
    assert not [finding for finding in outcome.findings if finding[0] == "RM712"]
    assert body in outcome.text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"lr": 1.0}, 0.24025),  # torch.optim.AdamW(eps=1e-6) makes 0.90909 of it
        ({"lr": 1.0, "correct_bias": False, "eps": 1e-8}, 1e-6 / (math.sqrt(1e-13) + 1e-8)),
        ({"lr": 1.0, "eps": 0.0, "no_deprecation_warning": True}, 1.0),
    ],
)
def test_its_first_step_is_that_of_transformers(options: dict[str, object], expected: float) -> None:
    torch = pytest.importorskip("torch")
    names = {"torch": torch, "math": math}
    exec(ADAMW.source(), names)
    weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    weight.grad = torch.tensor([1e-5], dtype=torch.float64)
    names["AdamW"]([weight], **options).step()
    assert weight.item() == pytest.approx(-expected, rel=1e-4)


TRAINER = """
import ray
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments


def train_func():
    args = TrainingArguments("out", {arguments})
    trainer = Trainer(model=model, args=args, {more})
    trainer.train()


TorchTrainer(train_func).fit()
"""


def test_adamw_hf_is_told_and_kept_where_exact_numbers_are_asked_for() -> None:
    script = TRAINER.format(arguments='optim="adamw_hf"', more="train_dataset=rows")
    outcome = converted(script)
    assert outcome.lines("RM705", Kind.CONVERTED)
    assert any("longer first steps" in message for message in outcome.messages)
    frozen = converted(script, freeze_numerics=True).text
    assert 'optim="adamw_torch"' in frozen
    assert "optimizer_cls_and_kwargs=(\n" in frozen
    assert '"eps": args.adam_epsilon' in frozen
    assert frozen.count("class AdamW(torch.optim.Optimizer):") == 1


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        ('optim="adamw_torch"', "train_dataset=rows"),
        ('optim="adamw_hf"', "optimizers=(mine, None)"),
        ('optim="adamw_hf"', "**given"),
    ],
)
def test_a_trainer_that_has_another_optimizer_keeps_it(arguments: str, more: str) -> None:
    text = converted(TRAINER.format(arguments=arguments, more=more), freeze_numerics=True).text
    assert "optimizer_cls_and_kwargs" not in text
