"""RM107: the DataConfig that a TransformersTrainer was given, and the order of the evaluation rows."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import sys
import ray
from ray.air.config import DatasetConfig
from ray.data import ExecutionOptions
from ray.train import DataConfig, ScalingConfig
from ray.train.huggingface import TransformersTrainer
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments

def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", max_steps=10)
    return Trainer(model=model(), args=args, train_dataset=train_dataset, eval_dataset=eval_dataset)

train = ray.data.read_csv("/a.csv").map_batches(tokenize)
evaluation = ray.data.read_csv("/b.csv").map_batches(tokenize){end}
{before}
trainer = TransformersTrainer(
    init, scaling_config={scaling}, datasets={{"train": train, "evaluation": evaluation}}, dataset_config={given}
)
"""
ORDER = "execution_options=ExecutionOptions(preserve_order=True)"
WHOLE = f'DataConfig(datasets_to_split=["train"], {ORDER})'


def script(given: str, before: str = "", *, end: str = "", workers: int = 2) -> str:
    scaling = f"ScalingConfig(num_workers={workers})"
    text = SCRIPT.format(given=given, before=before, end=end, scaling=scaling)
    return text if "DatasetConfig" in given else text.replace("from ray.air.config import DatasetConfig\n", "")


@pytest.mark.parametrize(
    ("given", "before", "now"),
    [
        ('DataConfig(datasets_to_split=["train"])', "", WHOLE),
        ('DataConfig(["train"])', "", f'DataConfig(["train"], {ORDER})'),
        ("config", 'config = DataConfig(datasets_to_split=["train"])', WHOLE),
        ('DataConfig(datasets_to_split="all")', "", WHOLE),
        ('DataConfig(datasets_to_split=["train", "evaluation"])', "", WHOLE),
        ("DataConfig(names)", 'names = ["train", "evaluation"]', f'DataConfig(["train"], {ORDER})'),
        ("DataConfig()", "", WHOLE),
        ("DataConfig(execution_options=None)", "", ORDER),
        ("None", "", WHOLE),
        ("config", "config = None", WHOLE),
        (
            'DataConfig(datasets_to_split=["train"], execution_options=options)',
            "options = ExecutionOptions(verbose_progress=True)",
            "ExecutionOptions(verbose_progress=True, preserve_order=True)",
        ),
        ('{"train": DatasetConfig(), "evaluation": DatasetConfig(split=False)}', "", WHOLE),
    ],
)
def test_each_worker_lists_all_evaluation_rows_in_one_order(given: str, before: str, now: str) -> None:
    outcome = converted(script(given, before))
    in_one_line = " ".join(outcome.text.split()).replace("( ", "(").replace(", )", ")")
    assert now in in_one_line
    assert outcome.text.count("preserve_order") == 1
    assert outcome.lines("RM107", Kind.CONVERTED)
    is_told_of_order = any("now in one order" in message for message in outcome.messages)
    assert is_told_of_order is ("DataConfig(" in given + before)
    assert not outcome.lines("RM107", Kind.MANUAL)


# What a DataContext says is lost beside options of the DataConfig (ray 2.60, train/_internal/data_config.py:79).
OF_CONTEXT = "ray.data.DataContext.get_current().execution_options"
LIMITS = {
    "an attribute": f"{OF_CONTEXT}.verbose_progress = True",
    "by a name": "context = ray.data.DataContext.get_current()\ncontext.execution_options.resource_limits.cpu = 2",
    "as a whole": f"{OF_CONTEXT} = ExecutionOptions(verbose_progress=True)",
    "through a name": f"options = {OF_CONTEXT}\noptions.verbose_progress = True",
}


@pytest.mark.parametrize("before", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("given", ['DataConfig(datasets_to_split=["train"])', "DataConfig()", "None"])
def test_options_of_the_context_are_kept_beside_the_order(given: str, before: str) -> None:
    outcome = converted(script(given, before))
    assert before in outcome.text
    in_one_line = " ".join(outcome.text.split()).replace("( ", "(").replace(", )", ")")
    assert 'dataset_config=DataConfig(datasets_to_split=["train"])' in in_one_line
    assert f"\n{OF_CONTEXT}.preserve_order = True\ntrainer = TorchTrainer(" in outcome.text
    assert converted(outcome.text).text == outcome.text


@pytest.mark.parametrize(
    ("given", "before", "end"),
    [
        ('DataConfig(datasets_to_split=["train"])', "", ".materialize()"),
        (f'DataConfig(datasets_to_split=["train"], {ORDER})', "", ""),
        (
            'DataConfig(datasets_to_split=["train"], execution_options=options)',
            "options = ExecutionOptions()\noptions.preserve_order = True",
            "",
        ),
        (
            'DataConfig(datasets_to_split=["train"])',
            "ray.data.DataContext.get_current().execution_options.preserve_order = True",
            "",
        ),
    ],
)
def test_what_keeps_its_order_stays(given: str, before: str, end: str) -> None:
    outcome = converted(script(given, before, end=end))
    assert f"dataset_config={given}" in outcome.text
    assert len(outcome.lines("RM107", Kind.CONVERTED)) == 1
    assert not outcome.lines("RM107", Kind.MANUAL)


@pytest.mark.parametrize(
    ("given", "before"),
    [
        ("make()", "def make():\n    return DataConfig(datasets_to_split=sys.argv[1:])"),
        ("DataConfig(datasets_to_split=sys.argv[1:])", ""),
        ("DataConfig(**arguments)", "arguments = load()"),
        ("arguments.data_config", "arguments = load()"),
        ('DataConfig(["train"], options)', "options = load()"),
        ('DataConfig(["train"], {"train": ExecutionOptions()})', ""),
        ('DataConfig(["train"], ExecutionOptions(None, None, True))', ""),
        ("config", 'config = DataConfig("all")\nother = TorchTrainer(loop, dataset_config=config)'),
        ("DataConfig([])", ""),
    ],
)
def test_what_cannot_be_seen_is_told(given: str, before: str) -> None:
    outcome = converted(script(given, before))
    assert f"dataset_config={given}"[:25] in outcome.text
    assert len(outcome.lines("RM107", Kind.MANUAL)) == 1


def test_one_that_is_chosen_among_right_ones_is_right() -> None:
    one = f'DataConfig(["train"], {ORDER})'
    outcome = converted(script(f'{one} if sys.argv[1:] else DataConfig(datasets_to_split=["train"], {ORDER})'))
    assert not outcome.lines("RM107", Kind.MANUAL)
    outcome = converted(script(f"{one} if sys.argv[1:] else DataConfig()"))
    assert len(outcome.lines("RM107", Kind.MANUAL)) == 1


def test_one_worker_has_nobody_to_share_rows_with() -> None:
    outcome = converted(script("load()", workers=1))
    assert not outcome.lines("RM107", Kind.MANUAL)


def test_evaluation_rows_are_shuffled_once_for_all_workers() -> None:
    outcome = converted(script('{"train": DatasetConfig(), "*": DatasetConfig(split=False, global_shuffle=True)}'))
    assert 'datasets["evaluation"].random_shuffle().materialize()' in outcome.text
