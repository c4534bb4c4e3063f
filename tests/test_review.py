"""The page for the person who reads converted files (scripts/review.py)."""

from pathlib import Path

from raymigrate.base.options import Options
from raymigrate.run.outcome import FileResult
from scripts.review import complaints, review, verdict
from tests.conftest import FIXTURES

LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"


def test_the_folder_stays_as_it_is_and_each_file_gets_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LEGACY.read_text())
    summary, verdicts = review(tmp_path, Options())
    assert (tmp_path / "train.py").read_text() == LEGACY.read_text()
    assert [result.path for result in summary.results] == [str(tmp_path / "train.py")]
    assert verdicts == {str(tmp_path / "train.py"): "2 left for a person; nothing found against it"}


def test_a_name_that_only_the_result_lacks_speaks_against_it() -> None:
    result = FileResult("train.py", before="print(missing)\n", after="print(missing, torch)\n")
    assert verdict(result, unstable=False) == "nothing left for a person; against it: undefined name 'torch'"
    assert "a second run changes it again" in verdict(result, unstable=True)


def test_what_does_not_compile_is_told() -> None:
    assert complaints("def f(:\n") == {"does not compile: invalid syntax"}
