"""RM121: the short data form of Ray's guide, which --guide asks for."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult
from tests.conftest import FIXTURES

SCRIPT = """\
import ray
from ray.train.huggingface import TransformersTrainer
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    model = make_model()
    args = TrainingArguments("out", num_train_epochs=3)
    trainer = Trainer(model=model, args=args, train_dataset=train_dataset, eval_dataset=eval_dataset)
    return trainer


train, rest = make_data()
TransformersTrainer(
    trainer_init_per_worker=init,
    datasets={"train": train, "evaluation": rest},
).fit()
"""
STEPS = "args.max_steps = math.ceil(args.num_train_epochs * math.ceil(num_rows / args.train_batch_size))"


def converted(old: str = "", new: str = "", **options: object) -> FileResult:
    assert old in SCRIPT
    return convert(SCRIPT.replace(old, new) if old else SCRIPT, options=Options(guide=True, **options))


def text(old: str = "", new: str = "") -> str:
    result = converted(old, new)
    assert result.after
    return result.after


def notes(result: FileResult) -> list[str]:
    return [finding.message for finding in result.findings if finding.kind is Kind.NOTE]


def test_the_trainer_gets_batches_and_as_many_steps_as_the_epochs_have() -> None:
    after = text()
    assert 'train_dataset = ray.train.get_dataset_shard("train").iter_torch_batches(' in after
    assert 'eval_dataset = ray.train.get_dataset_shard("evaluation").iter_torch_batches(' in after
    assert STEPS in after
    assert "ignore_data_skip=True" in after
    assert "DataConfig" not in after
    assert "IterableDatasetShard" not in after


def test_each_change_is_a_finding() -> None:
    result = converted()
    assert [message.split(" ")[0] for message in notes(result)] == ["In", "The", "Each", "After"]
    assert [f.kind for f in result.findings if f.code == "RM121"] == [Kind.CONVERTED, *[Kind.NOTE] * 4]


def test_without_it_the_exact_form_is_written() -> None:
    assert "iter_torch_batches" not in str(convert(SCRIPT).after)
    assert "RM121" not in {finding.code for finding in convert(SCRIPT).findings}


@pytest.mark.parametrize("refusal", [{"ignore": ("RM121",)}, {"select": ("RM10",)}])
def test_who_refuses_the_rule_gets_the_exact_form(refusal: dict[str, tuple[str, ...]]) -> None:
    result = converted(**refusal)
    assert "iter_torch_batches" not in str(result.after)
    assert notes(result) == []


def test_without_evaluation_rows_nothing_is_said_of_them() -> None:
    result = converted(', "evaluation": rest', "")
    assert "    eval_dataset = None\n" in str(result.after)
    assert len(notes(result)) == 3


def test_arguments_that_stand_in_the_call_get_a_name() -> None:
    after = text("args=args, train", 'args=TrainingArguments("x"), train')
    assert '    training_args = TrainingArguments("x", ' in after
    assert "args=training_args, train_dataset" in after
    assert STEPS.replace("args.", "training_args.") in after


def test_new_names_hide_none_of_the_script() -> None:
    after = text("train, rest =", "collate = num_rows = 1\ntrain, rest =")
    assert "trainer_collate.trainer = trainer" in after
    assert 'shard_rows = config.pop("num_rows")' in after


def test_settings_of_something_else_may_change() -> None:
    after = text("train, rest =", "job.max_steps = 4\ntrain, rest =")
    assert STEPS in after


def test_a_returned_call_is_as_good_as_a_name() -> None:
    whole = "    trainer = Trainer(model=model, args=args, train_dataset=train_dataset, eval_dataset=eval_dataset)\n"
    returned = text(f"{whole}    return trainer", whole.replace("trainer =", "return").rstrip())
    assert returned == text()


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ("max_steps=30", ""),
        ("max_steps=-1", f"    {STEPS}\n"),
        ("max_steps=steps()", f"    if args.max_steps <= 0:\n        {STEPS}\n"),
        (
            "dataloader_drop_last=True",
            "    args.max_steps = math.ceil(args.num_train_epochs * (num_rows // args.train_batch_size))\n",
        ),
        ("gradient_accumulation_steps=1, dataloader_drop_last=False", f"    {STEPS}\n"),
    ],
)
def test_the_number_of_steps_is_known(given: str, steps: str) -> None:
    after = text("num_train_epochs=3", given)
    assert "iter_torch_batches" in after
    assert steps in after
    assert ("num_rows" in after) == ("math" in after) == bool(steps)


def test_a_short_last_batch_that_was_left_out_still_is() -> None:
    after = text("num_train_epochs=3", "dataloader_drop_last=True")
    assert "batch_size=args.train_batch_size, drop_last=True, collate_fn=collate" in after
    assert "batch_size=args.eval_batch_size, collate_fn=collate" in after
    assert len(notes(converted("num_train_epochs=3", "dataloader_drop_last=True"))) == 3


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("model = make_model()", "model = make_model(len(train_dataset))", "does more with its datasets"),
        ("eval_dataset=eval_dataset)", "eval_dataset=eval_dataset or None)", "does more with its datasets"),
        ("    return trainer", "    trainer.evaluate()\n    return trainer", "does more with its datasets"),
        ("    model =", "    if f():\n        eval_dataset = f(1)\n    model =", "does more with its datasets"),
        ("num_train_epochs=3", "**config", "not written out"),
        ('TrainingArguments("out", num_train_epochs=3)', "make_args()", "not written out"),
        ("    trainer =", "    args.gradient_accumulation_steps = 4\n    trainer =", "not written out"),
        ("Trainer(model=model, args", "Trainer(**config, args", "not written out"),
        ("num_train_epochs=3", "gradient_accumulation_steps=2", "gradients are accumulated"),
        ("num_train_epochs=3", "gradient_accumulation_steps=config['n']", "gradients are accumulated"),
        ("num_train_epochs=3", "dataloader_drop_last=config['drop']", "dataloader_drop_last is decided at run time"),
        ('datasets={"train": train, "evaluation": rest}', "datasets=make_data()", "it cannot be seen which datasets"),
        ('"evaluation": rest},', '"evaluation": rest},\n    dataset_config=make_config(),', "a dataset_config"),
        ("    model =", "    if f():\n        return f(1)\n    model =", "the init function stays as it is"),
    ],
)
def test_where_it_cannot_be_written_the_exact_form_is_and_why_is_said(old: str, new: str, reason: str) -> None:
    result = converted(old, new)
    assert "iter_torch_batches" not in str(result.after)
    (note,) = [note for note in notes(result) if "guide" in note]
    assert reason in note


def test_an_init_function_in_another_file_keeps_the_exact_form(tmp_path: Path) -> None:
    head, init, rest = SCRIPT.partition("def init")
    init, mark, rest = (init + rest).partition("train, rest")
    (tmp_path / "setup.py").touch()
    (tmp_path / "init.py").write_text(f"from transformers import Trainer, TrainingArguments\n\n\n{init}")
    (tmp_path / "job.py").write_text(f"{head.partition('from transformers')[0]}from init import init\n\n{mark}{rest}")
    result = CliRunner().invoke(main, ["--guide", str(tmp_path)])
    assert "the init function is in another file" in result.stdout
    assert "TrainShard" in (tmp_path / "init.py").read_text()


def test_it_is_a_setting(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.raymigrate]\nguide = true\n")
    (tmp_path / "job.py").write_text(SCRIPT)
    assert "RM121 note" in CliRunner().invoke(main, ["--check", str(tmp_path)]).stdout
    assert "RM121" not in CliRunner().invoke(main, ["--check", "--no-guide", str(tmp_path)]).stdout
    assert CliRunner().invoke(main, [str(tmp_path)]).exit_code == 0
    assert "iter_torch_batches" in (tmp_path / "job.py").read_text()


def test_the_fixture_of_the_guide_is_about_this_form() -> None:
    assert "iter_torch_batches" in (FIXTURES / "transformers_trainer/guide_data_form/after.py").read_text()
