"""RM515: predictions, whose rows a BatchPredictor got from a function, from another file, or from the file itself."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import convert
from tests.rules.scripts import converted

SETTING = "enable_arrow_backed_pandas_conversion = False"
SCORES = """
import ray
from ray.air import Checkpoint
from ray.train.batch_predictor import BatchPredictor
from own import OwnPredictor


def score(checkpoint: Checkpoint, rows):
    scored = BatchPredictor(checkpoint, OwnPredictor).predict({given}, keep_columns=["label"])
    frame = scored.to_pandas()
    return (frame["label"] % 2).mean()


if __name__ == "__main__":
    {main}
"""
READ = 'ray.data.read_csv("rows.csv")'


@pytest.mark.parametrize(
    ("given", "main"),
    [
        ("rows", f"print(score(Checkpoint.from_directory('/m'), {READ}))"),
        ("data=rows", f"ds = {READ}\n    print(score(Checkpoint.from_directory('/m'), ds.limit(3)))"),
        ("rows.limit(9)", f"print(score(Checkpoint.from_directory('/m'), {READ}))"),
    ],
)
def test_rows_of_another_file_are_not_set_here(tmp_path: Path, given: str, main: str) -> None:
    (tmp_path / "scores.py").write_text(SCORES.format(given=given, main=main))
    (tmp_path / "train.py").write_text(
        f"import ray\nfrom ray.air import Checkpoint\nfrom scores import score\n\n"
        f"print(score(Checkpoint.from_directory('/m'), {READ}))\n"
    )
    found = [finding for finding in convert(tmp_path).findings if finding.code == "RM515"]
    assert [(Path(finding.path).name, finding.kind) for finding in found] == [("scores.py", Kind.MANUAL)]


@pytest.mark.parametrize(
    ("given", "main"),
    [
        (READ, "print(score(Checkpoint.from_directory('/m'), None))"),
        ("rows", f"print(score(Checkpoint.from_directory('/m'), {READ}))"),
        ("rows", f"ds = {READ}.limit(3)\n    print(score(Checkpoint.from_directory('/m'), rows=ds))"),
    ],
)
def test_rows_of_the_file_itself_are(given: str, main: str) -> None:
    outcome = converted(SCORES.format(given=given, main=main))
    assert SETTING in outcome.text
    assert outcome.lines("RM515", Kind.CONVERTED) and not outcome.lines("RM515", Kind.MANUAL)


@pytest.mark.parametrize(
    ("given", "main"),
    [
        ("rows", f"rows, rest = prepare({READ})\n    print(score(Checkpoint.from_directory('/m'), rows))"),
        ("rows", f"a, b = ({READ} for name in 'ab')\n    print(score(Checkpoint.from_directory('/m'), a), ['score'])"),
    ],
)
def test_rows_of_which_no_other_file_is_seen_to_give_any_are(tmp_path: Path, given: str, main: str) -> None:
    (tmp_path / "scores.py").write_text(SCORES.format(given=given, main=main))
    found = [finding for finding in convert(tmp_path).findings if finding.code == "RM515"]
    assert [finding.kind for finding in found] == [Kind.CONVERTED]


def test_lines_that_come_before_do_not_hide_who_gives_rows(tmp_path: Path) -> None:
    text = SCORES.format(given="rows", main=f"print(score(None, {READ}), session.get_world_rank())")
    (tmp_path / "scores.py").write_text(text.replace("import Checkpoint\n", "import Checkpoint, session\n"))
    (tmp_path / "train.py").write_text(f"import ray\nfrom scores import score\n\nscore(1, {READ})\n")
    found = convert(tmp_path).findings
    after = (tmp_path / "scores.py").read_text()
    assert after.index("def score(") > text.index("def score(") and "import ray.train\n" in after
    assert [finding.kind for finding in found if finding.code == "RM515"] == [Kind.MANUAL]
