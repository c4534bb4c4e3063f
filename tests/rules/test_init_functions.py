"""RM911: init functions that Ray never accepted; and where the training function stands that takes the place of one."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import pytest\nfrom job import build, make\nfrom ray.train.huggingface import TransformersTrainer\n"


@pytest.mark.parametrize(
    "line",
    [
        "TransformersTrainer(None).fit()",
        "TransformersTrainer(trainer_init_per_worker=None)",
        "INIT = None\nwith pytest.raises(ImportError):\n    TransformersTrainer(INIT)",
    ],
)
def test_none_is_told_and_left(line: str) -> None:
    outcome = converted(f"{HEAD}{line}\n")
    assert len(outcome.lines("RM911", Kind.MANUAL)) == 1
    assert "TorchTrainer" not in outcome.text


@pytest.mark.parametrize(
    "line", ["TransformersTrainer(build)", "init = None\nif make:\n    init = make()\nTransformersTrainer(init)"]
)
def test_functions_that_cannot_be_seen_are_converted(line: str) -> None:
    outcome = converted(f"{HEAD}{line}\n")
    assert not outcome.lines("RM911", Kind.MANUAL)
    assert "TorchTrainer" in outcome.text


LOCAL = """
from transformers import Trainer, TrainingArguments
{top}

def build(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make(), args=TrainingArguments("out"), train_dataset=train_dataset)


def here(rows):
    {here}


def on_ray(rows):
    import ray
    from ray.air.config import ScalingConfig
    from ray.train.huggingface import TransformersTrainer

    TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2), datasets={{"train": rows}}).fit()
"""


@pytest.mark.parametrize("here", ["return rows", "build(rows).train()"])
def test_a_file_that_gets_ray_in_one_function_gets_no_more_of_it_at_its_top(here: str) -> None:
    top, _, below = converted(LOCAL.format(top="", here=here)).text.partition("def on_ray(")
    assert "ray" not in top.replace("on_ray", "")
    assert "    def train_func(config):" in below
    assert "build(train_dataset, None, **config)" in below


def test_a_file_that_has_ray_at_its_top_gets_what_is_new_there() -> None:
    text = converted(LOCAL.format(top="import ray\n", here="return rows")).text
    assert "\ndef train_func(config):" in text
    assert "def build(" not in text


def test_inline_is_inline_where_it_is_asked_for() -> None:
    assert "def build(" not in converted(LOCAL.format(top="", here="return rows"), style="inline").text


CALLED = """
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer


def {name}(train_dataset, eval_dataset=None, lr=1):
    return Trainer(None, train_dataset=train_dataset)


TransformersTrainer({name}, datasets={{"train": rows, "evaluation": others}}).fit()
"""
OF_A_FUNCTION = """
import ray
from init import build
from ray.train.huggingface import TransformersTrainer


def run():
    list = ray.data.read_csv("a.csv")
    TransformersTrainer(build, datasets={"train": list}).fit()
"""


@pytest.mark.parametrize("name", ["list", "TorchTrainer", "os"])
def test_an_init_function_that_is_called_as_what_new_code_uses(name: str) -> None:
    text = converted(CALLED.format(name=name)).text
    assert f"trainer = {name}(train_dataset, eval_dataset, **config)" in text
    list_of = "builtins.list" if name == "list" else "list"
    assert f'{list_of}(ray.train.get_dataset_shard("evaluation").iter_rows())' in text


def test_a_dataset_that_is_called_as_a_builtin() -> None:
    assert '"num_rows": list.count()' in converted(OF_A_FUNCTION).text


ANNOTATED = """
import typing
from typing import {names}

import ray
from ray.air.config import ScalingConfig
from ray.data import Dataset
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def build({head}:
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    {body}
    return Trainer(model=model, args=TrainingArguments("out"), train_dataset=train_dataset)


ds = ray.data.range(3)
TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={{"train": ds}}).fit()
"""
HEADS = [
    ("Any, Dict", "train_dataset: Dict, eval_dataset: Any = None, **config)", "print(config)"),
    ("Optional", "train_dataset, eval_dataset: Optional[list] = None, **config)", "print(config)"),
    ("Any", "train_dataset, eval_dataset=None, **config: Any)", "print(config)"),
    ("Optional", "train_dataset, eval_dataset=None, **config) -> Optional[Trainer]", "print(config)"),
]


@pytest.mark.parametrize(("names", "head", "body"), HEADS)
def test_an_import_of_an_annotation_goes_with_the_head_that_had_it(names: str, head: str, body: str) -> None:
    text = converted(ANNOTATED.format(names=names, head=head, body=body)).text
    assert "def train_func(config):" in text
    assert "from typing import" not in text
    assert "import typing" in text  # which nothing has used before


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("train_dataset: Any, eval_dataset=None, **config)", "rows: Any = config"),
        ("train_dataset: Any, eval_dataset=None, **config)", "rows: 'Any' = config"),
        ("train_dataset, eval_dataset=None, **config)", "print(config)"),  # unused before, and the user's business
    ],
)
def test_an_import_that_something_else_uses_stays(head: str, body: str) -> None:
    text = converted(ANNOTATED.format(names="Any", head=head, body=body)).text
    assert "def train_func(config):" in text
    assert "from typing import Any" in text
