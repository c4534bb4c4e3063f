"""`--todo`: comments at what is left for a person, never twice, and gone when their reason is."""

import ast
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.comments.tokens import read_comments
from raymigrate.documents import open_document
from raymigrate.run.conversion import convert_document
from raymigrate.run.engine import convert
from scripts.update_twins import options_of
from tests.conftest import FIXTURES

TODO = Options(todo=True)
EXAMPLE = FIXTURES / "transformers_trainer/readme_example/before.py"


def statement_of(text: str, line: int) -> int:
    return next(one.first for one in read_comments(text)[1] if one.first <= line <= one.last)


def test_the_comment_stands_before_the_statement() -> None:
    text = EXAMPLE.read_text()
    after = convert(text, options=TODO).after
    lines = after.splitlines()
    at = next(number for number, line in enumerate(lines) if "TODO(raymigrate): RM604" in line)
    assert lines[at].startswith("# TODO(raymigrate): RM604 result.metrics has no")
    assert "time_total_s" in lines[at + 1]


def test_only_comments_are_added_and_a_second_run_changes_nothing(script: Path) -> None:
    document = open_document(script.read_bytes(), script.name)
    once = convert_document(document, str(script), TODO)
    with_todos = once.after or document.text
    kept = [line for line in with_todos.splitlines(keepends=True) if "# TODO(raymigrate)" not in line]
    assert "".join(kept) == without_todos(script)
    assert not [f for f in once.findings if f.kind is Kind.ERROR]
    written = open_document(document.encode(once.after or once.before), script.name)
    text = written.text
    ast.parse(text)
    again = convert_document(written, str(script), TODO)
    assert again.after is None
    left = [f for f in again.findings if f.kind is Kind.MANUAL]
    assert {(f.code, f.message, f.line) for f in left} <= {(f.code, f.message, f.line) for f in once.written().findings}
    assert text.count("# TODO(raymigrate): ") == len(
        {(f.code, f.message, statement_of(text, f.line)) for f in left if f.code != "RM906"}
    )


def without_todos(script: Path) -> str:
    """What a script becomes without comments: its twin, which `test_every_file_becomes_its_twin` converts it to."""
    if options_of(script) == Options():
        twin = script.with_name("after.py")
        return open_document(twin.read_bytes(), twin.name).text
    document = open_document(script.read_bytes(), script.name)
    return convert_document(document, str(script), Options()).after or document.text


def test_a_comment_goes_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    shutil.copy(EXAMPLE, path)
    run = CliRunner().invoke
    assert run(main, ["--todo", str(path)]).exit_code == 1
    text = path.read_text()
    assert [f"RM{part[:3]}" for part in text.split("TODO(raymigrate): RM")[1:]] == ["RM406", "RM604"]
    lines = text.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "RM604" in line)
    path.write_text("".join(lines[: at + 1]))  # the statement is deleted, its comment forgotten
    assert run(main, ["--check", "--todo", str(path)]).exit_code == 1
    run(main, ["--todo", str(path)])
    assert "RM604" not in path.read_text()


@pytest.mark.parametrize("options", [["--todo"], ["--todo", "--check"]])
def test_what_only_the_converting_run_can_tell_stays_until_it_is_deleted(tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "train.py"
    shutil.copy(EXAMPLE, path)
    run = CliRunner().invoke
    assert "reported by this run only" not in run(main, ["--todo", str(path)]).stderr
    text = path.read_text()
    assert [line.split(" (")[1] for line in text.splitlines() if "RM406" in line] == [
        "told once: delete this line when it is done)"
    ]
    again = run(main, [*options, str(path)])
    assert path.read_text() == text
    assert again.exit_code == 1
    assert f"{path}:" in again.stdout and "RM406 manual: A second run with this name" in again.stdout
    path.write_text("".join(line for line in text.splitlines(keepends=True) if "RM406" not in line))
    assert "RM406" not in run(main, [*options, str(path)]).stdout


MODEL = """from transformers import AutoModel, Trainer, TrainingArguments


def build_trainer(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", **config["more"])
    return Trainer(AutoModel.from_pretrained("x"), args, train_dataset=train_dataset)
"""
JOB = """from ray.train.huggingface import TransformersTrainer

from model import build_trainer
from settings import make

trainer = TransformersTrainer({given})
"""


@pytest.mark.parametrize("given", ["trainer_init_per_worker=build_trainer", "**make(build_trainer)"])
def test_what_is_told_of_a_module_because_of_its_job_stays_when_the_job_is_converted(
    tmp_path: Path, given: str
) -> None:
    (tmp_path / "train.py").write_text(JOB.format(given=given))
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "settings.py").write_text("def make(init):\n    return {'trainer_init_per_worker': init}\n")
    CliRunner().invoke(main, ["--todo", str(tmp_path)])
    text = (tmp_path / "model.py").read_text()
    assert text.count("# TODO(raymigrate): RM706") == 1
    again = CliRunner().invoke(main, ["--todo", str(tmp_path)])
    assert (tmp_path / "model.py").read_text() == text
    assert again.stdout.count("RM706") == 1


def test_without_comments_the_closing_sentence_says_what_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    shutil.copy(EXAMPLE, path)
    outcome = CliRunner().invoke(main, [str(path)])
    assert (
        "2 places left for a person, 1 of them reported by this run only (--todo or --report keeps them)"
        in outcome.stderr
    )
    assert "reported by this run only" not in CliRunner().invoke(main, [str(path)]).stderr


def test_a_file_with_nothing_but_an_old_comment_is_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text('x = "# TODO(raymigrate): RM604 y"\n# TODO(raymigrate): RM604 result.metrics\nimport os\n')
    outcome = CliRunner().invoke(main, ["--todo", str(path)])
    said = f"commented {path}\n1 file got other TODO comments (1 file scanned)\n"
    assert (outcome.exit_code, outcome.stderr) == (0, said)
    assert path.read_text() == 'x = "# TODO(raymigrate): RM604 y"\nimport os\n'


def test_without_the_option_comments_stay(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("# TODO(raymigrate): RM604 result.metrics\nimport os\n")
    before = path.read_bytes()
    CliRunner().invoke(main, [str(path)])
    assert path.read_bytes() == before


def test_windows_line_ends_and_places_are_kept() -> None:
    text = EXAMPLE.read_text().replace("\n", "\r\n")
    result = convert(text, options=TODO)
    assert result.after.count("\n") == result.after.count("\r\n")
    lines = result.after.split("\r\n")
    for finding in result.written().findings:
        if finding.code == "RM604":
            assert "time_total_s" in lines[finding.line - 1][finding.column - 1 :]
