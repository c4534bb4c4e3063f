"""`--interactive`: one question per conversion, and nothing half converted."""

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main
from tests.conftest import FIXTURES

TRAINER = FIXTURES / "transformers_trainer/readme_example/before.py"
# No trainer: each argument stands for itself.
ARGUMENTS = """\
from ray.train import RunConfig, ScalingConfig

one = RunConfig(name="a", verbose=1)
two = ScalingConfig(num_workers=2, trainer_resources={"CPU": 0})
"""
SESSION = """\
from ray.air import session

def train():
    print(session.get_world_rank())
    session.report({})
"""


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(ARGUMENTS)
    return path


def answer(path: Path, answers: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["--interactive", *options, str(path)], input="".join(f"{a}\n" for a in answers))


def test_the_conversion_of_a_trainer_is_one_question(train: Path) -> None:
    train.write_bytes(TRAINER.read_bytes())
    result = answer(train, "y")
    assert result.stdout.count("make this change [y") == 1
    assert train.read_bytes() == TRAINER.with_name("after.py").read_bytes()


def test_no_leaves_a_file_as_it_is(train: Path) -> None:
    train.write_bytes(TRAINER.read_bytes())
    result = answer(train, "n")
    assert train.read_bytes() == TRAINER.read_bytes()
    assert result.exit_code == 1
    assert "You left this edit out" in result.stdout


def test_session_calls_belong_together(train: Path) -> None:
    train.write_text(SESSION)
    assert answer(train, "y").stdout.count("make this change [y") == 1
    assert "ray.train.get_context().get_world_rank()" in train.read_text()
    assert "session" not in train.read_text()


@pytest.mark.parametrize(
    ("answers", "first", "second"),
    [
        ("yy", True, True),
        ("yn", True, False),
        ("ny", False, True),
        ("nn", False, False),
        ("a", True, True),
        ("d", False, False),
        ("q", False, False),
        ("yq", True, False),
        ("?yn", True, False),
        ("y", True, False),  # the input ends
    ],
)
def test_changes_that_stand_for_themselves_are_asked_one_by_one(
    train: Path, answers: str, first: bool, second: bool
) -> None:
    result = answer(train, answers)
    text = train.read_text()
    ast.parse(text)
    assert ("verbose" not in text, "trainer_resources" not in text) == (first, second)
    assert result.exit_code == int(not (first and second))
    if first and not second:
        assert text == ARGUMENTS.replace(", verbose=1", "")


def test_each_question_shows_its_own_change(train: Path) -> None:
    shown = answer(train, "yy").stdout.split("make this change [y")
    assert "-one = " in shown[0] and "-two = " not in shown[0]
    assert "-two = " in shown[1] and "-one = " not in shown[1]
    assert "RM401" in shown[0]


def test_all_and_leave_hold_for_one_file_and_quit_for_the_run(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(ARGUMENTS)
    answer(tmp_path, "aqyy")
    assert [(tmp_path / f"{name}.py").read_text() == ARGUMENTS for name in "abc"] == [False, True, True]


def test_what_was_left_out_is_offered_again(train: Path) -> None:
    answer(train, "nn")
    assert answer(train, "yy").exit_code == 0
    assert answer(train, "").exit_code == 0


@pytest.mark.parametrize("option", ["--check", "--diff", "--todo", "--output-format=json", "--output-format=sarif"])
def test_it_stands_alone(train: Path, option: str) -> None:
    assert answer(train, "y", option).exit_code == 2
    assert train.read_text() == ARGUMENTS


def test_leaving_a_file_out_never_changes_it(script: Path, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(script.read_bytes())
    result = answer(path, "d")
    assert path.read_bytes() == script.read_bytes()
    assert result.exit_code in (0, 1)


def test_a_link_that_leads_out_is_told_of_and_not_written(tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text(SESSION)
    (tmp_path / "p").mkdir()
    (tmp_path / "p/link.py").symlink_to("../outside.py")
    result = answer(tmp_path / "p", "a")
    assert "RM908" in result.stdout
    assert "make this change" not in result.stdout
    assert (tmp_path / "outside.py").read_text() == SESSION
