"""The keys that converted code adds to a trainer's configuration, and those that it finds there."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert

SCRIPT = """\
from ray.air.config import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments
from job import ds, load, make


def build(train_dataset, eval_dataset=None, {parameters}):
    {body}
    return Trainer(model=make(), args=args, train_dataset=train_dataset)


trainer = TransformersTrainer(
    build,
    {config}
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    datasets={{"train": ds}},
)
"""


def script(parameters: str = "**config", body: str = 'args = TrainingArguments("out")', config: str = "") -> str:
    return SCRIPT.format(parameters=parameters, body=body, config=config and f"trainer_init_config={config},")


def keys(text: str, options: Options | None = None) -> tuple[list[str], str]:
    """The keys of the new configuration, and the one that the training function takes out of it."""
    result = convert(text, "train.py", options)
    assert not [finding for finding in result.findings if finding.kind in (Kind.ERROR, Kind.MANUAL)]
    tree = ast.parse(result.after or "")
    given = next(k.value for k in ast.walk(tree) if isinstance(k, ast.keyword) and k.arg == "train_loop_config")
    literals = [node for node in ast.walk(given) if isinstance(node, ast.Dict)]
    calls = [node for node in ast.walk(given) if isinstance(node, ast.Call)]
    names = [key.value for node in literals for key in node.keys if isinstance(key, ast.Constant)]
    names += [keyword.arg for node in calls for keyword in node.keywords if keyword.arg]
    popped = [
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop"
    ]
    assert len(popped) == 1 or (options and options.guide)  # which needs no number to count to max_steps
    return names, popped[0] if popped else ""


READS = 'args = TrainingArguments("out", max_steps=config["num_rows"] // 8)'


@pytest.mark.parametrize(
    "text",
    [
        script(body=READS, config='{"num_rows": 512}'),
        script(body=READS, config="dict(num_rows=512)"),
        script(body=READS, config="load()"),
        script(body='args = TrainingArguments("out", max_steps=config.get("num_rows", 1))'),
        script("num_rows=8, **config", 'args = TrainingArguments("out", max_steps=num_rows)', "load()"),
        script(config='{**load(), "num_rows": 512, "num_train_rows": 2}'),
    ],
)
@pytest.mark.parametrize("options", [Options(), Options(style="adapter"), Options(guide=True)])
def test_a_key_of_the_user_stays_what_it_is(text: str, options: Options) -> None:
    names, popped = keys(text, options)
    assert popped != "num_rows"
    assert popped == "" or popped not in text
    assert names.count(popped) == bool(popped)
    assert len(names) == len(set(names))


def test_the_key_is_num_rows_where_nothing_else_is_called_so() -> None:
    assert keys(script(config='{"lr": 1}')) == (["lr", "num_rows"], "num_rows")


@given(st.lists(st.sampled_from(["num_rows", "num_train_rows", "num_rows_2", "num_rows_3", "lr"]), unique=True))
@settings(max_examples=20, deadline=None)
def test_no_key_comes_twice(given_keys: list[str]) -> None:
    names, popped = keys(script(config="{" + ", ".join(f'"{key}": 1' for key in given_keys) + "}"))
    assert names == [*given_keys, popped]
    assert popped not in given_keys


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (script(config="load()", body="args = make(config)"), True),
        (script(config="load()", body="args = TrainingArguments(**config)"), True),
        (script(config="load()", body='args = TrainingArguments(config["out"])'), False),
        (script(config='{"lr": 1}', body="args = TrainingArguments(**config)"), False),
        (script(), False),
    ],
)
def test_a_configuration_that_nobody_can_see_is_told(text: str, is_told: bool) -> None:
    notes = [finding for finding in convert(text, "train.py").findings if finding.kind is Kind.NOTE]
    assert bool([note for note in notes if note.code == "RM107" and '"num_rows"' in note.message]) == is_told


FIELDS = """
import dataclasses


@dataclasses.dataclass
class Settings:
    lr: float = 1e-5
    steps: int = 8


class Job:
    def __init__(self, settings: Settings):
        self.settings = settings

"""


@pytest.mark.parametrize(
    ("made", "config", "is_told"),
    [
        ("", "dataclasses.asdict(Settings(lr=1))", False),
        ("settings = Settings()", "dataclasses.asdict(settings)", False),
        ("job = Job(Settings())", "dataclasses.asdict(job.settings)", False),
        ("settings = Settings(**load())", "{**dataclasses.asdict(settings)}", False),
        ("settings = load()", "dataclasses.asdict(settings)", True),
        ("settings = {**dataclasses.asdict(Settings()), **load()}", "settings", True),
    ],
)
def test_the_fields_of_a_dataclass_are_all_that_its_dict_has(made: str, config: str, *, is_told: bool) -> None:
    text = script(config=config, body="args = TrainingArguments(**config)")
    text = text.replace("trainer = T", f"{FIELDS}{made}\ntrainer = T")
    notes = [finding for finding in convert(text, "train.py").findings if finding.kind is Kind.NOTE]
    assert bool([note for note in notes if note.code == "RM107" and '"num_rows"' in note.message]) == is_told


@pytest.mark.parametrize(
    ("signature", "config"),
    [
        ("model, tokenizer, args", '{"model": 1, "tokenizer": 2, "args": 3}'),
        ("model, tokenizer, args", "dict(tokenizer=2, args=3)"),
        ("train_dataset, lr, **config", '{"lr": 1}'),
        ("train_dataset, lr, **config", "settings"),
    ],
)
def test_a_configuration_that_gives_a_dataset_parameter_again_is_told(signature: str, config: str) -> None:
    text = script(config=config).replace("train_dataset, eval_dataset=None, **config", signature)
    text = text.replace("trainer = T", 'settings = {"lr": 1}\n\ntrainer = T')
    findings = convert(text, "train.py").findings
    assert [f.code for f in findings if f.kind is Kind.MANUAL and "a TypeError" in f.message] == ["RM911"]


def test_parameters_behind_the_datasets_come_from_the_configuration() -> None:
    text = script("lr, **config", config='{"lr": 1}').replace("(train_dataset, eval", "(train_dataset, /, eval")
    assert "RM911" not in {finding.code for finding in convert(text, "train.py").findings}
