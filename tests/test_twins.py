"""The fixtures: every legacy script becomes exactly its twin, and the twins are what they claim to be.

After a change to a codemod, `python scripts/update_twins.py` writes the twins anew; read the difference before you
commit it.
"""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from raymigrate.config import Options
from raymigrate.discovery import discover
from raymigrate.engine import convert
from raymigrate.findings import Kind
from raymigrate.gates import NEEDLES
from raymigrate.session import Job, run
from scripts.update_twins import options_of, told
from tests.conftest import FALSE_FRIENDS, FIXTURES, PROJECTS, case_name


def read(path: Path) -> str:
    return path.read_bytes().decode()


def files(folder: Path) -> dict[str, bytes]:
    found = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {str(p.relative_to(folder)): p.read_bytes() for p in found}


def test_every_script_becomes_its_twin(script: Path) -> None:
    result = convert(read(script), str(script), options_of(script))
    assert (result.after or result.before) == read(script.with_name("after.py"))


def test_what_is_said_of_a_script_is_written_down(script: Path) -> None:
    result = convert(read(script), str(script), options_of(script))
    assert told(result.findings) == read(script.with_name("findings.txt"))


def test_no_fixture_makes_the_tool_fail(script: Path) -> None:
    assert not [f for f in convert(read(script), str(script)).findings if f.kind is Kind.ERROR]


def test_a_twin_is_not_changed_again(script: Path) -> None:
    twin = script.with_name("after.py")
    result = convert(read(twin), str(twin), options_of(script))
    assert result.after is None
    assert not [f for f in result.findings if f.kind is Kind.CONVERTED]


def test_comments_survive(script: Path) -> None:
    """Every comment of the legacy script stands in its twin."""
    before, after = read(script), read(script.with_name("after.py"))
    comments = [line[line.index("#") :].strip() for line in before.splitlines() if line.lstrip().startswith("#")]
    assert [comment for comment in comments if comment not in after] == []


def test_twins_compile_and_are_clean_under_pyflakes() -> None:
    twins = [str(path) for path in Path("fixtures").rglob("after*") if path.suffix == ".py" or path.is_dir()]
    for twin in twins:
        if twin.endswith(".py"):
            ast.parse(read(Path(twin)))
    outcome = subprocess.run([sys.executable, "-m", "pyflakes", *twins], capture_output=True, text=True, check=False)
    assert outcome.stdout == ""


@pytest.mark.parametrize("style", ["inline", "adapter"])
def test_both_styles_give_python_that_stays_as_it_is(script: Path, style: str) -> None:
    options = Options(style=style)
    once = convert(read(script), str(script), options)
    assert not [f for f in once.findings if f.kind is Kind.ERROR]
    again = convert(once.after or once.before, str(script), options)
    assert again.after is None


@pytest.mark.parametrize("friend", FALSE_FRIENDS, ids=lambda path: path.stem)
def test_false_friends_are_left_alone(friend: Path) -> None:
    result = convert(read(friend), str(friend))
    assert result.after is None
    # Ray's own MosaicTrainer is nobody's TransformersTrainer, but it is gone as well, and that is said.
    assert {finding.code for finding in result.findings} <= ({"RM692"} if friend.stem == "mosaic_trainer" else set())


@pytest.mark.parametrize("project", PROJECTS, ids=case_name)
def test_every_project_becomes_its_twin(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "before", tmp_path, dirs_exist_ok=True)
    job = Job(options_of(project / "before"))
    run(discover([str(tmp_path)], needles=NEEDLES), job)
    assert files(tmp_path) == files(project / "after")
    run(discover([str(tmp_path)], needles=NEEDLES), job)
    assert files(tmp_path) == files(project / "after")


def test_the_fixtures_are_as_many_as_promised() -> None:
    assert len(list(FIXTURES.rglob("before*"))) >= 24
    assert len(FALSE_FRIENDS) >= 10
