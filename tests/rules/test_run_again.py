"""A second run on a converted file, as findings advise it: it uses the helpers that the first one wrote."""

import ast
import re
from collections import Counter

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run.engine import convert
from tests.rules.scripts import converted

HEAD = """
import ray
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(None, TrainingArguments("out", use_cpu=True), train_dataset=train_dataset)


def other(train_dataset, eval_dataset=None, **config):
    return Trainer(config["model"], TrainingArguments("out", use_cpu=True), train_dataset=train_dataset)


data = ray.data.from_items([{"a": 1}])
CPU = ScalingConfig(num_workers=2)
"""
FIRST = 'first = TransformersTrainer(init, scaling_config=CPU, datasets={"train": data})\n'
SECOND = FIRST.replace("first =", "second =")
UNPACKED = "second = TransformersTrainer(init, **shared)\n"
SHARED = "shared = dict(scaling_config=CPU, datasets={'train': data})\nprint(shared)\n"
SCRIPT = f"{HEAD}{FIRST}{SHARED}{UNPACKED}"


def again(script: str, before: str, after: str) -> str:
    """The text of a script that is converted, changed as a finding asks for, and converted again."""
    text = converted(script).text
    assert before in text
    return converted(text.replace(before, after)).text


def defined(text: str) -> Counter[str]:
    """The classes and functions of a file, with numbers that tell them apart taken off."""
    tree = ast.parse(text)
    names = [n.name for n in ast.walk(tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef))]
    return Counter(re.sub(r"_\d+$", "", name) for name in names if not name.startswith("_"))


def assert_once(text: str) -> None:
    """Each helper and one training function, by their own names, and one key."""
    for name in ("ReportCallback", "TrainShard", "shard_dataloader", "train_func"):
        assert defined(text)[name] == 1
        assert f"{name}_2" not in text
    assert "num_train_rows" not in text
    assert text.count('"num_rows": data.count()') == 2
    assert "TransformersTrainer(" not in text


# RM102, and RM103 in two forms: what is there first, and what follows the advice.
LEFT = {
    "arguments that cannot be seen": (SCRIPT, UNPACKED),
    "the class by another name": (
        f"{HEAD}{FIRST}made = TransformersTrainer\nsecond = made(init)\n",
        "second = made(init)\n",
    ),
    "a partial": (
        f"import functools\n{HEAD}{FIRST}second = functools.partial(TransformersTrainer, init)()\n",
        "second = functools.partial(TransformersTrainer, init)()\n",
    ),
    "above the other one": (f"{HEAD}shared = {{}}\n{UNPACKED}{FIRST}", UNPACKED),
    "in a function": (
        f"{HEAD}\n\ndef job(shared):\n    {UNPACKED}\n\n{FIRST}",
        UNPACKED,
    ),
}


@pytest.mark.parametrize(("script", "left"), LEFT.values(), ids=LEFT)
def test_the_helpers_of_the_first_run_are_used(script: str, left: str) -> None:
    assert_once(again(script, left, SECOND))


def changed_layout(text: str) -> str:
    """The same code as another formatter and a hand that adds types would leave it."""
    text = text.replace(
        '    """Saves and reports at the end of training too, whatever save_strategy is, as', '    """As'
    )
    text = text.replace("num_rows):", "num_rows: int) -> None:").replace(
        "def __len__(self):", "def __len__(self) -> int:"
    )
    text = text.replace('["step"]', "['step']").replace("(config):", "(config: dict) -> None:")
    return text.replace(
        "            control.should_save = True",
        "\n            control.should_save = (\n                True\n            )",
    )


def test_layout_docstrings_and_annotations_make_no_difference() -> None:
    text = converted(SCRIPT).text
    other_layout = changed_layout(text)
    assert other_layout != text
    assert_once(converted(other_layout.replace(UNPACKED, SECOND)).text)


def test_an_unparsed_file_makes_none_either() -> None:
    text = ast.unparse(ast.parse(converted(SCRIPT).text))
    outcome = converted(text.replace(UNPACKED.strip(), SECOND))
    assert defined(outcome.text)["ReportCallback"] == defined(outcome.text)["train_func"] == 1
    assert "_2" not in outcome.text


def test_helpers_that_have_other_names_are_used_by_these() -> None:
    text = (
        converted(SCRIPT)
        .text.replace("ReportCallback", "SaveCallback")
        .replace("RayTrainSaveCallback", "RayTrainReportCallback")
    )
    outcome = converted(text.replace("train_func", "train_small").replace(UNPACKED, SECOND))
    assert defined(outcome.text)["SaveCallback"] == defined(outcome.text)["train_small"] == 1
    assert "class ReportCallback" not in outcome.text
    assert "train_func" not in outcome.text


def test_another_init_function_shares_helpers_and_key() -> None:
    text = again(SCRIPT, UNPACKED, SECOND.replace("(init", "(other"))
    assert defined(text)["ReportCallback"] == defined(text)["TrainShard"] == 1
    assert text.count('config.pop("num_rows")') == 2
    assert "num_train_rows" not in text


def test_an_init_function_that_was_missing_shares_them_too() -> None:
    text = again(
        f"{HEAD}{FIRST}{SECOND.replace('(init', '(None')}", "TransformersTrainer(None,", "TransformersTrainer(other,"
    )
    assert defined(text)["ReportCallback"] == defined(text)["TrainShard"] == 1
    assert text.count('config.pop("num_rows")') == 2


def test_datasets_of_a_parameter_share_their_keys() -> None:
    head = f"{HEAD}\n\ndef job(datasets, shared):\n"
    first = "    TransformersTrainer(init, scaling_config=CPU, datasets=datasets).fit()\n"
    text = again(
        f"{head}{first}    TransformersTrainer(init, **shared).fit()\n",
        "    TransformersTrainer(init, **shared).fit()\n",
        first,
    )
    assert defined(text)["train_func"] == 1
    assert text.count('"has_evaluation": ') == text.count('"num_rows": ') == 2


# -- false friends -------------------------------------------------------------------------------------


def test_a_class_of_the_same_name_with_other_code_stays_apart() -> None:
    text = converted(SCRIPT).text.replace("torch.distributed.barrier()", "print('saved')")
    outcome = converted(text.replace(UNPACKED, SECOND)).text
    assert defined(outcome)["ReportCallback"] == 2
    assert defined(outcome)["TrainShard"] == 1
    assert "trainer.add_callback(ReportCallback_2())" in outcome
    assert "def train_func_2(config):" in outcome  # which reports in another way


def test_names_that_stand_for_something_else_are_no_helpers() -> None:
    text = converted(SCRIPT).text.replace(UNPACKED, SECOND)
    result = convert(text.replace("from torch.utils.data import DataLoader", "from loaders import DataLoader"))
    assert [finding.code for finding in result.findings if finding.kind is Kind.ERROR] == ["RM910"]


def test_a_changed_training_function_stays_apart() -> None:
    text = converted(SCRIPT).text.replace(
        "    trainer.add_callback(Report", "    print(trainer)\n    trainer.add_callback(Report"
    )
    outcome = converted(text.replace(UNPACKED, SECOND)).text
    assert defined(outcome)["train_func"] == 2
    assert defined(outcome)["ReportCallback"] == 1


def test_helpers_below_the_place_that_trains_are_not_there_yet() -> None:
    script = f"{HEAD}shared = {{}}\n{UNPACKED}second.fit()\n\n\n" + HEAD.partition("\n\n\n")[2].replace(
        "init(", "late("
    )
    script += FIRST.replace("(init", "(late")
    outcome = again(script, UNPACKED, SECOND)
    assert defined(outcome)["ReportCallback"] == 2
    assert outcome.index("class ReportCallback_2") < outcome.index("second.fit()")


NESTED = """
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    return Trainer(None, TrainingArguments("out", use_cpu=True))


def one():
    from ray.train import ScalingConfig
    from ray.train.huggingface import TransformersTrainer

    TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2)).fit()
    {here}


def two(shared):
    from ray.train import ScalingConfig
    from ray.train.huggingface import TransformersTrainer

    {there}
"""


def test_helpers_in_a_function_are_used_there_and_not_from_another_one() -> None:
    left, call = "TransformersTrainer(init, **shared)", "TransformersTrainer(init, scaling_config=ScalingConfig(2))"
    here = again(NESTED.format(here=left, there="pass"), left, call)
    assert defined(here)["ReportCallback"] == defined(here)["train_func"] == 1
    there = again(NESTED.format(here="pass", there=left), left, call)
    assert defined(there)["ReportCallback"] == defined(there)["train_func"] == 2


def test_a_key_that_the_user_has_is_not_shared() -> None:
    script = SCRIPT.replace("init, scaling", "init, trainer_init_config={'num_rows': 5}, scaling")
    assert converted(script).text.count('config.pop("num_train_rows")') == 1
    text = again(SCRIPT, UNPACKED, SECOND.replace("init, ", "init, trainer_init_config={'num_rows': 5}, "))
    assert text.count('config.pop("num_rows")') == text.count('config.pop("num_train_rows")') == 1


def test_the_shard_in_the_class_that_the_first_run_wrote_is_no_news() -> None:
    script = f"{HEAD}import job\nfirst = TransformersTrainer(init, scaling_config=CPU, datasets=job.find())\n"
    text = converted(script).text
    assert "class TrainShard" in text
    left = "from ray.air import session\nprint(session)\n"
    assert not converted(f"{text}{left}").lines("RM514", Kind.MANUAL)
