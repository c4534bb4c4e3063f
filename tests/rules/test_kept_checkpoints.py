"""RM604: the best of the checkpoints that a run kept, taken from the front of the list."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert
from tests.rules.scripts import Outcome, converted

SCRIPT = """
from ray.air import Checkpoint, session
from ray.air.config import CheckpointConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

NUMBER = SCORE = None


def loop(config):
    for epoch in range(3):
        session.report({{"loss": 1.0}}, checkpoint=Checkpoint.from_dict({{"epoch": epoch}}))


kept = CheckpointConfig({kept})
trainer = TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=1), run_config=RunConfig(checkpoint_config=kept))
result = trainer.fit()
{reads}
"""
ONE = 'num_to_keep=1, checkpoint_score_attribute="loss", checkpoint_score_order="min"'
SEVERAL = 'num_to_keep=3, checkpoint_score_attribute="loss"'


def outcome(reads: str, kept: str = ONE, **options: object) -> Outcome:
    """What becomes of reads of the result of a run that keeps some checkpoints."""
    return converted(SCRIPT.format(kept=kept, reads=reads), **options)


@pytest.mark.parametrize(
    ("reads", "after"),
    [
        ("best, metrics = result.best_checkpoints[0]", "best, metrics = result.best_checkpoints[-1]"),
        ("print(result.best_checkpoints[0][1])", "print(result.best_checkpoints[-1][1])"),
        ("pairs = result.best_checkpoints\nprint(pairs[0][1])", "print(pairs[-1][1])"),
        ("FIRST = 0\nprint(result.best_checkpoints[FIRST][1])", "print(result.best_checkpoints[-1][1])"),
        (
            "state = result.best_checkpoints[0][0].to_dict()",
            "with result.best_checkpoints[-1][0].as_directory() as checkpoint_dir:",
        ),
    ],
)
def test_the_only_one_is_taken_from_the_end(reads: str, after: str) -> None:
    found = outcome(reads)
    assert after in found.text
    assert len(found.lines("RM604", Kind.CONVERTED)) == 1


@pytest.mark.parametrize("kept", [ONE, '1, "loss", "min"', '**dict(num_to_keep=1, checkpoint_score_attribute="loss")'])
def test_the_number_by_position_and_in_a_dict_too(kept: str) -> None:
    assert "result.best_checkpoints[-1]" in outcome("best, _ = result.best_checkpoints[0]", kept).text


@pytest.mark.parametrize(
    ("reads", "kept"),
    [
        ("best, _ = result.best_checkpoints[0]", SEVERAL),
        ("best, _ = result.best_checkpoints[1]", SEVERAL),
        ("best, _ = result.best_checkpoints[0]", 'num_to_keep=count(), checkpoint_score_attribute="loss"'),
        ("best, _ = result.best_checkpoints[0]", "**settings()"),
        ("best, _ = result.best_checkpoints[0]", f"{ONE}) if input() else Own({ONE}"),
        ("print(result.best_checkpoints[:1])", ONE),
        ("print(result.best_checkpoints.pop(0))", ONE),
        ("((best, metrics),) = result.best_checkpoints", ONE),
        ("pairs = result.best_checkpoints\n[pair] = pairs", ONE),
        ("kept.num_to_keep = 3\nbest, _ = result.best_checkpoints[0]", ONE),
        ("pairs = result.best_checkpoints if input() else []\nprint(pairs[0])", ONE),
        ("print((result.best_checkpoints or [(None, None)])[0])", ONE),
        ("pairs = result.best_checkpoints if input() else others.best_checkpoints\nprint(pairs[0])", ONE),
        ("best = next(iter(result.best_checkpoints))", ONE),
        ("pairs = list(result.best_checkpoints)\nprint(pairs[0])", ONE),
        ("best = [checkpoint for checkpoint, _ in result.best_checkpoints][0]", SEVERAL),
        ("pairs = result.best_checkpoints\nwhile input():\n    print(pairs[0])\n    pairs.sort(key=score)", ONE),
        ("pairs = list(result.best_checkpoints)\npairs.reverse()\nprint(result.best_checkpoints[0])", ONE),
        ("pairs = result.best_checkpoints\nif input():\n    pairs.sort(key=score)\nprint(pairs[0])", ONE),
        (
            "pairs = result.best_checkpoints\nif input():\n    pairs.reverse()\nelse:\n    print(pairs[0])",
            ONE,
        ),
        (
            "def order(a):\n    a.sort()\n\n\nprint(result.best_checkpoints[0])\norder(result.best_checkpoints)",
            ONE,
        ),
        ("pairs = result.best_checkpoints.copy()\nprint(pairs[0])", ONE),
        ("import copy\n\npairs = copy.copy(result.best_checkpoints)\nprint(pairs[0])", ONE),
        ("pairs = result.best_checkpoints[:]\nprint(pairs[0])", ONE),
        ("pairs = [*result.best_checkpoints, None]\nprint(pairs[0])", ONE),
        ("pairs = [*result.best_checkpoints]\npairs = pairs if pairs else pairs[:]\nprint(pairs[0])", ONE),
        ("del result.best_checkpoints[0]", ONE),
        ("result.best_checkpoints.sort()\nresult = trainer.fit()\nprint(result.best_checkpoints[0])", ONE),
    ],
)
def test_other_places_are_told(reads: str, kept: str) -> None:
    found = outcome(reads, kept)
    assert reads in found.text
    assert len(found.lines("RM604", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("reads", "change"),
    [
        ("[pair] = result.best_checkpoints", "there may be more of them than are unpacked here"),
        ("first, *others = result.best_checkpoints", "this may be another one now"),
        ("print(result.best_checkpoints[0])", "this may be another one now"),
    ],
)
def test_what_may_come_of_it_is_said(reads: str, change: str) -> None:
    [message] = [one for one in outcome(reads, SEVERAL).messages if "best_checkpoints" in one]
    assert f"comes first: {change}. The best" in message


@pytest.mark.parametrize(
    "other",
    [
        "TorchTrainer(loop)",
        "TorchTrainer(loop, run_config=RunConfig(checkpoint_config=CheckpointConfig(num_to_keep=2)))",
        "TorchTrainer(loop, run_config=RunConfig(checkpoint_config=None))",
    ],
)
def test_a_result_of_a_run_that_keeps_others_too_is_told_of(other: str) -> None:
    found = outcome(f"if input():\n    result = {other}.fit()\nbest, _ = result.best_checkpoints[0]")
    assert "result.best_checkpoints[0]" in found.text
    assert len(found.lines("RM604", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("other", "is_converted"), [("from train import first\n\nprint(first([1]))\n", False), ("first = 1\n", True)]
)
@pytest.mark.parametrize("reads", ["pairs[0]", "one.best_checkpoints[0]"])
def test_a_function_that_another_file_calls_is_left(tmp_path: Path, reads: str, other: str, is_converted: bool) -> None:
    given = reads.partition("[")[0].partition(".")[0]
    function = f"def first({given}):\n    return {reads}\n\n\n"
    call = "print(first(result.best_checkpoints))" if given == "pairs" else "print(first(result))"
    (tmp_path / "train.py").write_text(SCRIPT.format(kept=ONE, reads=function + call))
    (tmp_path / "other.py").write_text(other)
    kinds = [finding.kind for finding in convert(tmp_path).findings if finding.code == "RM604"]
    assert kinds == [Kind.CONVERTED if is_converted else Kind.MANUAL]


def test_a_ray_that_may_be_newer_is_told_of() -> None:
    """Since 2.7 the last one stood there before, too: the place is left to a person."""
    script = SCRIPT.format(kept=ONE, reads="best, _ = result.best_checkpoints[0]")
    script = script.replace(', checkpoint=Checkpoint.from_dict({"epoch": epoch})', "")
    found = converted(script)
    assert "result.best_checkpoints[0]" in found.text
    assert len(found.lines("RM604", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    ("reads", "kept"),
    [
        ("best, _ = result.best_checkpoints[-1]", ONE),
        ("best, _ = max(result.best_checkpoints, key=lambda pair: pair[1]['loss'])", SEVERAL),
        ("best, _ = sorted(result.best_checkpoints, key=lambda pair: pair[1]['loss'])[0]", SEVERAL),
        ("print(len(result.best_checkpoints))", SEVERAL),
        ("best, _ = result.best_checkpoints[0]", "num_to_keep=2"),  # by time, as before
        ("best, _ = result.best_checkpoints[0]", 'checkpoint_score_attribute="loss"'),  # all are kept
        ("best, _ = result.best_checkpoints[0]", 'num_to_keep=None, checkpoint_score_attribute="loss"'),
        ("best, _ = result.best_checkpoints[0]", "num_to_keep=1, checkpoint_score_attribute=None"),
        ("best, _ = result.best_checkpoints[0]", "num_to_keep=1, checkpoint_score_attribute=SCORE"),
        ("best, _ = result.best_checkpoints[0]", 'num_to_keep=NUMBER, checkpoint_score_attribute="loss"'),
        ("best, _ = others.best_checkpoints[0]", ONE),
        ("print(result.best_checkpoints[-2:])", SEVERAL),
        ("print(result.best_checkpoints.pop())", SEVERAL),
        ("best, metrics = result.best_checkpoints[-1]", SEVERAL),
        ("pairs = [*result.best_checkpoints]\nprint(pairs)", ONE),
        ("best, _ = result.best_checkpoints[0]", "**dict(num_to_keep=2)"),
        ("pairs = result.best_checkpoints\npairs.sort(key=score)\nprint(pairs[0])", ONE),
        ("result.best_checkpoints.sort(key=score)\nprint(result.best_checkpoints[0])", ONE),
        ("result.best_checkpoints.reverse()\npairs = result.best_checkpoints\nprint(pairs[0])", ONE),
        ("pairs = list(result.best_checkpoints)\npairs.sort(key=score)\nprint(pairs[0])", ONE),
        ("pairs = sorted(result.best_checkpoints, key=score)\nprint(pairs[0])", SEVERAL),
        ("*others, best = result.best_checkpoints", SEVERAL),
        ("print(next(iter(result.others)))", SEVERAL),
    ],
)
def test_nothing_is_told_where_the_place_holds_the_same(reads: str, kept: str) -> None:
    found = outcome(reads, kept)
    assert not found.lines("RM604")
    assert reads in found.text


def test_nor_is_it_of_a_run_without_a_configuration() -> None:
    script = SCRIPT.format(kept=ONE, reads="best, _ = result.best_checkpoints[0]")
    assert not converted(script.replace("checkpoint_config=kept", "checkpoint_config=None")).lines("RM604")


def test_a_script_for_a_ray_that_listed_them_so_is_left() -> None:
    found = outcome("best, _ = result.best_checkpoints[0]", from_ray="2.8")
    assert "result.best_checkpoints[0]" in found.text
    assert not found.lines("RM604")


@pytest.mark.parametrize(
    ("reads", "after"),
    [
        ("best, metrics = zip(*result.best_checkpoints)\nprint(best[0])", "print(best[-1])"),
        (
            "pairs = result.best_checkpoints\nbest, metrics = zip(*pairs)\nprint(metrics[0]['loss'])",
            "metrics[-1]['loss']",
        ),
        ("print(list(zip(*result.best_checkpoints))[1][0])", "list(zip(*result.best_checkpoints))[1][-1]"),
        ("columns = tuple(zip(*result.best_checkpoints))\nprint(columns[0][0])", "columns[0][-1]"),
    ],
)
def test_a_column_of_the_pairs_has_their_order(reads: str, after: str) -> None:
    found = outcome(reads)
    assert after in found.text
    assert len(found.lines("RM604", Kind.CONVERTED)) == 1
    assert outcome(reads, SEVERAL).lines("RM604", Kind.MANUAL)


@pytest.mark.parametrize(
    "reads",
    [
        "for best, metrics in result.best_checkpoints:\n    break",
        "def best():\n    for best, metrics in list(result.best_checkpoints):\n        return best",
        "for best, metrics in result.best_checkpoints:\n    if metrics['loss'] < 1:\n        break",
        "import random\npairs = result.best_checkpoints\nrandom.shuffle(pairs)\nprint(pairs[0])",
        "import numpy as np\npairs = list(result.best_checkpoints)\nnp.random.shuffle(pairs)\nbest = pairs[0]",
    ],
)
def test_the_first_of_a_loop_and_of_a_shuffled_list_is_told(reads: str) -> None:
    found = outcome(reads)
    assert len(found.lines("RM604", Kind.MANUAL)) == 1
    assert not found.lines("RM604", Kind.CONVERTED)


@pytest.mark.parametrize(
    "reads",
    [
        "for best, metrics in reversed(result.best_checkpoints):\n    break",
        "for best, metrics in sorted(result.best_checkpoints, key=str):\n    break",
        "for best, metrics in result.best_checkpoints:\n    print(best)",
        "for best, metrics in result.best_checkpoints:\n    if metrics['epoch'] == 3:\n        break",
        "for best, metrics in result.best_checkpoints:\n    for name in metrics:\n        break",
        "a, b = zip(*others)\nprint(a[0], result.best_checkpoints)",
        "best, metrics = zip(*result.best_checkpoints)\nprint(best[-1])",
    ],
)
def test_loops_over_all_and_other_columns_are_not(reads: str) -> None:
    assert not outcome(reads).lines("RM604")


@pytest.mark.parametrize(
    "reads",
    [
        "columns = zip(*result.best_checkpoints)\nwhile loop:\n    columns = list(columns)\nprint(columns[0][0])",
        "def first(both):\n    both = list(both)\n    return both[0][0]\n\nfirst(zip(*result.best_checkpoints))",
    ],
)
def test_columns_may_be_a_copy_of_themselves(reads: str) -> None:
    assert "[0][-1]" in outcome(reads).text


def test_a_copy_of_itself_alone_is_no_column() -> None:
    assert not outcome("columns = list(columns)\nprint(columns[0][0], result.best_checkpoints)").lines("RM604")


@pytest.mark.parametrize(
    "reads",
    [
        "pairs = result.best_checkpoints\nrandom.Random(0).shuffle(pairs)\nprint(pairs[0])",
        "pairs = result.best_checkpoints\nrng.shuffle(pairs)\nprint(pairs[0])",
        "pairs = result.best_checkpoints\npairs.append(mine)\nprint(pairs[0])",
        "pairs = result.best_checkpoints\npairs.insert(0, mine)\nprint(pairs[0])",
        "columns = zip(*result.best_checkpoints) if mine else zip(*others)\nprint(list(columns)[0][0])",
    ],
)
def test_what_may_be_another_first_one_stays(reads: str) -> None:
    found = outcome(f"import random\n{reads}")
    assert found.lines("RM604", Kind.MANUAL) and "[0]" in found.text and "[-1]" not in found.text
