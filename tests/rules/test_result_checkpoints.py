"""Checkpoints of runs and of trials, however they are read from a result."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

RUN = """
import ray
from ray import tune
from ray.air.config import RunConfig, ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def make(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", save_strategy="epoch")
    return Trainer(model=AutoModelForCausalLM.from_pretrained("gpt2"), args=args, train_dataset=train_dataset)


scaling_config = ScalingConfig(num_workers=2, use_gpu=True)
trainer = TransformersTrainer(make, scaling_config=scaling_config, datasets={"train": ray.data.range(8)})
"""
SEARCH = "grid = tune.Tuner(trainer{more}).fit()\nbest = grid.get_best_result('eval_loss', 'min')\n"
TRIAL = 'ray.train.Checkpoint(best.metrics["checkpoint_path"])'
BEST = "result.get_best_checkpoint('eval_loss', 'min')"


def searched(read: str, more: str = "") -> Outcome:
    return converted(RUN + SEARCH.format(more=more) + read)


def trained(read: str) -> Outcome:
    return converted(RUN + "result = trainer.fit()\n" + read)


@pytest.mark.parametrize(
    ("read", "after"),
    [
        ("print(best.checkpoint.uri)", f"print({TRIAL}.path)"),
        ("ckpt = best.checkpoint\nprint('at', ckpt.uri)", f"ckpt = {TRIAL}\nprint('at', ckpt.path)"),
        ("print(grid[0].checkpoint.uri)", f"print({TRIAL.replace('best', 'grid[0]')}.path)"),
        (
            "all = [best.checkpoint for best in grid]\nfor c in all:\n    print(c.uri)",
            f"all = [{TRIAL} for best in grid]",
        ),
        ("for one in grid:\n    print(one.checkpoint.uri)", f"    print({TRIAL.replace('best', 'one')}.path)"),
        ("c = grid.get_best_result().checkpoint\nprint(c.path, c.uri)", "print(c.path, c.path)"),
    ],
)
def test_the_uri_of_a_checkpoint_of_a_trial_is_its_path(read: str, after: str) -> None:
    outcome = searched(read)
    assert after in outcome.text
    assert outcome.lines("RM608", Kind.CONVERTED) and outcome.lines("RM607", Kind.CONVERTED)
    assert not outcome.lines("RM607", Kind.NOTE)  # the storage is a folder


@pytest.mark.parametrize(
    ("read", "rule"),
    [
        ("print(best.checkpoint.to_dict())", "RM304"),
        ("best.checkpoint.to_uri('s3://bucket')", "RM308"),
        ("print([one.checkpoint.to_bytes() for one in grid])", "RM308"),
        ("print(best.checkpoint.uri if best.checkpoint else None)", "RM607"),
        ("def place(one):\n    return one.checkpoint.uri\nprint(place(best))", "RM607"),
        ("print(best.get_best_checkpoint('eval_loss', 'min').to_dict())", "RM304"),
        ("checkpoint = best.checkpoint\ncheckpoint.get_preprocessor()", "RM510"),
    ],
)
def test_what_a_checkpoint_of_a_trial_lacks_is_told(read: str, rule: str) -> None:
    assert searched(read).lines(rule, Kind.MANUAL)


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("run_config=RunConfig(storage_path='s3://bucket')", '"s3://" + best.checkpoint.path'),
        ("run_config=load()", "best.checkpoint.path"),
    ],
)
def test_a_uri_follows_the_storage_of_the_tuner(given: str, after: str) -> None:
    outcome = searched("print(best.checkpoint.uri)", f", {given}")
    assert f"print({after})" in outcome.text
    assert outcome.lines("RM608", Kind.MANUAL)


@pytest.mark.parametrize(
    "read",
    [
        "print(best.get_best_checkpoint('eval_loss', 'min'))",
        "for one in grid:\n    one.get_best_checkpoint('eval_loss', 'min').to_directory('out')",
        "c = grid.get_best_result().get_best_checkpoint(metric='eval_loss', mode='min')",
        "def last(one):\n    return one.get_best_checkpoint('step', 'max')\nlast(best)",
    ],
)
def test_a_trial_of_a_trainer_has_no_best_checkpoint(read: str) -> None:
    outcome = searched(read)
    assert outcome.lines("RM608", Kind.MANUAL)
    assert any('under "checkpoint_path" in its row' in message for message in outcome.messages)


@pytest.mark.parametrize(
    "read",
    [
        "import glob\nprint(glob.glob(best.path + '/checkpoint_*'))",
        "from pathlib import Path\nfor one in grid:\n    print(max(Path(one.log_dir).glob('checkpoint_*')))",
        "import os\nnames = [name for name in os.listdir(grid[0].path) if name.startswith('checkpoint_')]",
    ],
)
def test_the_folder_of_a_trial_holds_no_checkpoints(read: str) -> None:
    outcome = searched(read)
    assert outcome.lines("RM608", Kind.MANUAL) and not outcome.lines("RM609", Kind.MANUAL)


@pytest.mark.parametrize(
    "read",
    [
        "with best.checkpoint.as_directory() as d:\n    AutoModelForCausalLM.from_pretrained(d)",
        "ckpt = best.checkpoint\nwith ckpt.as_directory() as d:\n    AutoModelForCausalLM.from_pretrained(d)",
        "for one in grid:\n    AutoModelForCausalLM.from_pretrained(one.checkpoint.path)",
        "best.checkpoint.to_directory('out')",
        "def load(ckpt):\n    return AutoModelForCausalLM.from_pretrained(ckpt.to_directory())\nload(best.checkpoint)",
    ],
)
def test_the_files_of_a_trial_are_found_one_folder_deeper(read: str) -> None:
    outcome = searched(read)
    assert outcome.lines("RM602", Kind.CONVERTED) and outcome.lines("RM608", Kind.CONVERTED)
    assert "os.path.join(" in outcome.text and ', "checkpoint")' in outcome.text


@pytest.mark.parametrize(
    ("read", "after"),
    [
        (f"best = {BEST}\nbest.to_directory('out')", 'shutil.copytree(os.path.join(checkpoint_dir, "checkpoint"), '),
        (f"{BEST}.to_directory('out')", f"with {BEST}.as_directory() as checkpoint_dir:\n    shutil.copytree("),
        (f"with {BEST}.as_directory() as d:\n    make(d)", 'make(os.path.join(d, "checkpoint"))'),
        (f"c = {BEST}\nAutoModelForCausalLM.from_pretrained(c.path)", 'os.path.join(c.path, "checkpoint")'),
        (
            f"import os\nwith {BEST}.as_directory() as d:\n    make(os.path.join(d, *parts))",
            'make(os.path.join(d, "checkpoint", *parts))',
        ),
        (
            f"import os\nwith {BEST}.as_directory() as d:\n    make(os.path.join(d, {', '.join('abcefghij')}))",
            f'make(os.path.join(d, "checkpoint", {", ".join("abcefghij")}))',
        ),
        (f"with {BEST}.as_directory() as d:\n    make(f'{{d}}/model/{{n}}')", "make(f'{d}/checkpoint/model/{n}')"),
        (  # the text behind the folder may begin with anything
            f"with {BEST}.as_directory() as d:\n    make(f'{{d}}{{sep}}{{n}}/model')",
            """d = os.path.join(d, "checkpoint")\n    make(f'{d}{sep}{n}/model')""",
        ),
        (
            f"with {BEST}.as_directory() as d:\n    make(d)\nwith other.as_directory() as d:\n    print(d)",
            'make(os.path.join(d, "checkpoint"))',
        ),
        (f"path = {BEST}.to_directory()\nmake(path)", f'path = os.path.join({BEST}.to_directory(), "checkpoint")'),
        (
            f"best = {{'a': {BEST}}}\nfor name, c in best.items():\n    make(c.to_directory())",
            'make(os.path.join(c.to_directory(), "checkpoint"))',
        ),
        (
            "pairs = []\npairs.append(('a', result.checkpoint))\nfor name, c in pairs:\n    make(c.to_directory())",
            'make(os.path.join(c.to_directory(), "checkpoint"))',
        ),
        (f"(result.checkpoint or {BEST}).to_directory('out')", 'os.path.join(checkpoint_dir, "checkpoint"), '),
    ],
)
def test_the_files_of_the_best_checkpoint_are_found_one_folder_deeper(read: str, after: str) -> None:
    outcome = trained(read)
    assert after in outcome.text
    assert outcome.lines("RM602", Kind.CONVERTED)


@pytest.mark.parametrize(
    ("read", "rule"),
    [
        (f"{BEST}.to_dict()", "RM304"),
        ("tune.run(load).get_best_checkpoint('a', 'min').to_dict()", "RM304"),
        (f"best = {BEST}\nprint(best.to_dict()['epoch'])", "RM304"),
        (f"open({BEST}.uri)", "RM607"),
        (f"best = {BEST}\nbest.to_bytes()", "RM308"),
        (f"best = {BEST}\nbest.get_preprocessor()", "RM510"),
    ],
)
def test_what_the_best_checkpoint_lacks_is_told(read: str, rule: str) -> None:
    assert trained(read).lines(rule, Kind.MANUAL)


@pytest.mark.parametrize(
    "read",
    [
        "load().get_best_checkpoint('a', 'min').to_directory('out')",
        "tune.run(load).get_best_checkpoint('a', 'min').to_directory('out')",
        "tune.run_all(load).get_best_checkpoint('a', 'min').to_dict()",
        "print(load().checkpoint.uri, load().get_best_result().checkpoint.uri)",
        "for c in [result.checkpoint, load()]:\n    c.to_directory('out')",
        "with load().get_best_checkpoint('a', 'min').as_directory() as d:\n    AutoModelForCausalLM.from_pretrained(d)",
    ],
)
def test_checkpoints_of_something_else_are_left_alone(read: str) -> None:
    outcome = trained(read)
    assert outcome.text.endswith(read)
    assert not {code for code, _, _ in outcome.findings} & {"RM304", "RM308", "RM602", "RM607", "RM608"}


EITHER = 'result.checkpoint or ray.train.Checkpoint(result.metrics["checkpoint_path"])'
TUNED = "tune.Tuner(trainer).fit().get_best_result()"


@pytest.mark.parametrize(
    "read",
    [
        f"if tuned:\n    result = {TUNED}\nelse:\n    result = trainer.fit()\nprint(result.checkpoint)",
        f"result = {TUNED} if tuned else trainer.fit()\nassert result.checkpoint is not None",
        "def search(given):\n    return tune.Tuner(given).fit().get_best_result()\n"
        "def main(n):\n    result = search(trainer) if n else trainer.fit()\n    return result.checkpoint",
        f"for one in [trainer.fit(), {TUNED}]:\n    print(one.checkpoint)",
        f"def show(result):\n    print(result.checkpoint)\nshow(trainer.fit())\nshow({TUNED})",
        "def loop(config):\n    pass\ngrid = tune.Tuner(trainer).fit() if tuned else tune.Tuner(loop).fit()\n"
        "print(grid.get_best_result().checkpoint)",
    ],
)
def test_a_result_that_may_be_no_trials_keeps_the_checkpoint_that_it_has(read: str) -> None:
    outcome = trained(f"tuned = len(scaling_config.__dict__)\n{read}")
    assert outcome.lines("RM608", Kind.MANUAL)
    told = [message for message in outcome.messages if "is None on Ray >= 2.51" in message]
    assert told and all(EITHER in message and message.startswith("Where this") for message in told)


def test_one_of_two_tuners_has_no_checkpoint_for_sure() -> None:
    outcome = searched(f"best = {TUNED} if grid else {TUNED}\nprint(best.checkpoint)")
    told = [message for message in outcome.messages if "is None on Ray >= 2.51" in message]
    assert told and not any(EITHER in message for message in told)
