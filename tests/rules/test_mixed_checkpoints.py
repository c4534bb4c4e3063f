"""RM602 of a checkpoint whose run may be one of a Transformers trainer, or of another one."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import sys
from ray.train.huggingface import AccelerateTrainer, TransformersTrainer
from ray.train.torch import TorchTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from lib import loop, S, make, rows

def init(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make(), args=TrainingArguments("o"), train_dataset=train_dataset)

"""
HF = "TransformersTrainer(init, scaling_config=S, datasets={'train': rows})"
OTHERS = ["TorchTrainer(loop, scaling_config=S)", "AccelerateTrainer(loop, accelerate_config={}, scaling_config=S)"]
CHOSEN = [
    "if sys.argv[1]:\n    t = {hf}\nelse:\n    t = {other}\nres = t.fit()\n",
    "t = {hf} if sys.argv[1] else {other}\nres = t.fit()\n",
    "def build():\n    if sys.argv[1]:\n        return {hf}\n    return {other}\n\nres = build().fit()\n",
    "class J:\n  def f(s):\n    if sys.argv[1]:\n      return {hf}.fit()\n    return {other}.fit()\n\nres = J().f()\n",
]
LOAD = "AutoModelForCausalLM.from_pretrained"
READS = [
    f"with res.checkpoint.as_directory() as d:\n    m = {LOAD}(d)\n",
    f"m = {LOAD}(res.checkpoint.to_directory())\n",
    f"m = {LOAD}(res.checkpoint.path)\n",
    f"c = res.checkpoint\nd = c.to_directory()\nm = {LOAD}(d)\n",
]
WORDS = "Where this is the run of a Transformers trainer, and not of another one"


def told(script: str) -> bool:
    outcome = converted(SCRIPT + script)
    return bool(outcome.lines("RM602", Kind.MANUAL)) and any(message.startswith(WORDS) for message in outcome.messages)


@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("read", READS)
def test_a_model_is_loaded_from_one_of_several_runs(chosen: str, other: str, read: str) -> None:
    assert told(chosen.format(hf=HF, other=other) + read)


@pytest.mark.parametrize("read", READS)
def test_of_one_trainer_it_is_known(read: str) -> None:
    assert not told(f"res = {HF}.fit()\n{read}")
    assert not told(f"res = {OTHERS[0]}.fit()\n{read}")


def test_what_loads_no_model_is_not_told() -> None:
    read = "import torch\nwith res.checkpoint.as_directory() as d:\n    state = torch.load(d + '/x.pt')\n"
    assert not told(CHOSEN[0].format(hf=HF, other=OTHERS[0]) + read)
    assert not told(CHOSEN[0].format(hf=HF, other=OTHERS[0]) + "print(res.checkpoint.path)\n")
