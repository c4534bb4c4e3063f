"""Scripts that cells of a notebook write with %%writefile: each is a file of its own."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from scripts.update_twins import converted
from tests.documents.notebooks import SERIALISATIONS, notebook, sources

NAME = Path("nb.ipynb")
SCRIPT = """\
from ray.air import session
from ray.air.config import RunConfig


def loop(config):
    session.report({"naïve": 1})  # "quoted" \\ back


run_config = RunConfig(name="a", verbose=1)
"""


def as_bytes(*cells: str, form: str = "indent 1") -> bytes:
    return SERIALISATIONS[form](notebook(cells)).encode()


def alone() -> str:
    """What becomes of the script in a file."""
    return converted(Path("train.py"), Options(), SCRIPT.encode())[0].decode()


@pytest.mark.parametrize("form", SERIALISATIONS)
@pytest.mark.parametrize(
    "magic",
    [
        "%%writefile train.py",
        "%%file src/train.py",
        '%%writefile "train.py"',
        "#@title The job\n\n%%writefile train.py",
    ],
)
def test_a_script_that_a_cell_writes_is_converted_as_in_a_file(form: str, magic: str) -> None:
    data = as_bytes("import os", f"{magic}\n{SCRIPT}", "!python train.py", form=form)
    after, result = converted(NAME, Options(), data)
    _, first, cell, last = ("".join(lines) for lines in sources(after))
    assert cell == f"{magic}\n{alone()}"
    assert (first, last) == ("import os", "!python train.py")
    assert converted(NAME, Options(), after)[0] == after
    assert {finding.code for finding in result.findings} == {"RM301", "RM302", "RM401"}


def test_its_findings_have_the_places_of_the_cell() -> None:
    data = as_bytes("import os", f"%%writefile train.py\n{SCRIPT}")
    _, result = converted(NAME, Options(), data)
    lines = ["%%writefile train.py", *SCRIPT.split("\n")]
    told = {finding.code: finding for finding in result.findings}
    assert {finding.cell for finding in result.findings} == {3}
    assert lines[told["RM302"].line - 1][told["RM302"].column - 1 :].startswith("session.report")
    assert lines[told["RM401"].line - 1][told["RM401"].column - 1 :].startswith("verbose=")


def test_names_of_the_script_are_not_those_of_the_notebook() -> None:
    """`session` of the script is Ray's, that of the notebook somebody else's, and both are bound once."""
    data = as_bytes("session = open_database()", f"%%writefile train.py\n{SCRIPT}", "session.report({})")
    after, _ = converted(NAME, Options(), data)
    assert sources(after)[3] == ["session.report({})"]
    assert "    ray.train.report(" in "".join(sources(after)[2])


def test_notebook_and_script_are_converted_together(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    data = as_bytes("from ray.air import session\nsession.report({})", f"%%writefile train.py\n{SCRIPT}")
    path.write_bytes(data)
    shown = CliRunner().invoke(main, ["--diff", str(path)])
    checked = CliRunner().invoke(main, ["--check", "--verbose", str(path)])
    done = CliRunner().invoke(main, ["--verbose", str(path)])
    after = path.read_bytes()
    assert [cell[-1].startswith("ray.train.report") for cell in sources(after)[1:2]] == [True]
    assert checked.stdout.count("would convert:") == done.stdout.count("converted:") == 4
    path.write_bytes(data)
    (tmp_path / "change.patch").write_text(shown.stdout.replace(str(path).lstrip("/"), "nb.ipynb"))
    subprocess.run(["git", "apply", "change.patch"], cwd=tmp_path, check=True)
    assert path.read_bytes() == after


@pytest.mark.parametrize(
    "cells",
    [
        ["%%writefile -a train.py\n" + SCRIPT],
        ["%%writefile train.py\nimport os", "%%writefile --append train.py\n" + SCRIPT],
        ["%%writefile notes.txt\n" + SCRIPT],
        ["%%writefile train.py\n" + SCRIPT + "x = = 1"],
        ["%%bash\ncat > train.py <<E\n" + SCRIPT + "E"],
    ],
    ids=["appended", "appended to", "not a script", "not Python", "bash"],
)
def test_what_is_no_whole_script_stays_and_is_told(cells: list[str]) -> None:
    data = as_bytes(*cells)
    after, result = converted(NAME, Options(), data)
    assert after == data
    assert [(finding.code, finding.kind) for finding in result.findings] == [("RM905", Kind.MANUAL)]


def test_a_script_that_never_heard_of_ray_stays_and_nothing_is_said_of_it() -> None:
    data = as_bytes(
        "%%writefile train.py\nfrom transformers import TrainingArguments\nTrainingArguments('o', no_cuda=True)"
    )
    after, result = converted(NAME, Options(), data)
    assert (after, result.findings) == (data, [])


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        (["# raymigrate: skip-file -- for the old cluster\nimport ray", f"%%writefile train.py\n{SCRIPT}"], {"RM905"}),
        ([f"%%writefile train.py\n# raymigrate: skip-file -- for the old cluster\n{SCRIPT}"], {"RM301", "RM302"}),
    ],
    ids=["of the notebook", "of the script"],
)
def test_a_comment_keeps_the_script(cells: list[str], codes: set[str]) -> None:
    data = as_bytes(*cells)
    after, result = converted(NAME, Options(), data)
    assert after == data
    assert {finding.kind for finding in result.findings} == {Kind.SKIPPED}
    assert codes <= {finding.code for finding in result.findings}


def test_versions_that_the_notebook_installs_for_its_script_are_told_and_raised() -> None:
    data = as_bytes("!pip install 'ray[air]==2.6.3'", f"%%writefile train.py\n{SCRIPT}")
    _, result = converted(NAME, Options(), data)
    assert [(finding.cell, finding.kind) for finding in result.findings if finding.code == "RM731"] == [
        (2, Kind.UNSAFE)
    ]
    after, result = converted(NAME, Options(unsafe=True), data)
    assert sources(after)[1] == ["!pip install 'ray[air]>=2.51'"]
    assert "".join(sources(after)[2]) == f"%%writefile train.py\n{alone()}"
    assert [finding.kind for finding in result.findings if finding.code == "RM731"] == [Kind.CONVERTED]


def test_todo_marks_what_is_left_in_the_script() -> None:
    data = as_bytes("%%writefile train.py\nfrom ray.train.rl import RLTrainer\nRLTrainer()\n")
    after, _ = converted(NAME, Options(todo=True), data)
    assert any(line.startswith("# TODO(raymigrate): RM692 ray.train.rl") for line in sources(after)[1])
    assert converted(NAME, Options(todo=True), after)[0] == after


def test_a_check_without_libcst_sees_the_script_too(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_bytes(as_bytes(f"%%writefile train.py\n{SCRIPT}"))
    outcome = CliRunner().invoke(main, ["--check", str(path)])
    assert outcome.exit_code == 1
    assert "1 file would be converted" in outcome.stderr
