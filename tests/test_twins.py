"""The fixtures: every legacy script becomes exactly its twin, and the twins are what they claim to be.

After a change to a codemod, `python -m scripts.update_twins` writes the twins anew; read the difference before you
commit it.
"""

import ast
import os
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind, Rule
from raymigrate.base.options import Options
from raymigrate.documents import open_document
from raymigrate.run.engine import convert
from raymigrate.run.job import Job
from raymigrate.run.outcome import FileResult
from raymigrate.run.rules import every_rule
from raymigrate.run.session import run
from scripts.update_twins import converted, found_in, options_of, project_findings, told
from tests.conftest import DOCUMENTS, FALSE_FRIENDS, FIXTURES, PROJECTS, case_name

# Of files that are not read, parsed or written, and of comments for the tool that silence nothing.
OF_FILES = {"RM901", "RM902", "RM903", "RM905", "RM906", "RM908", "RM910"}


def read(path: Path) -> str:
    return path.read_bytes().decode()


def files(folder: Path) -> dict[str, bytes]:
    found = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {str(p.relative_to(folder)): p.read_bytes() for p in found}


def twin_of(document: Path) -> Path:
    return document.with_name(f"after{document.suffix}")


def module(path: Path) -> str:
    """The Python of a file as one module."""
    return open_document(path.read_bytes(), str(path)).text


@pytest.mark.parametrize(
    "rule", [rule for rule in every_rule() if rule.code not in OF_FILES], ids=lambda rule: rule.code
)
def test_a_fixture_shows_the_rule(rule: Rule) -> None:
    missing = f"no fixture shows {rule.code}: write a before.py, then python -m scripts.update_twins"
    assert f" {rule.code} " in all_findings(), missing


@cache
def all_findings() -> str:
    return "\n".join(map(read, sorted(FIXTURES.rglob("findings.txt"))))


@cache
def converted_once(document: Path, options: Options) -> tuple[bytes, FileResult]:
    """One conversion of a file, of which several tests ask something."""
    return converted(document, options)


def test_every_file_becomes_its_twin(document: Path) -> None:
    after, _ = converted_once(document, options_of(document))
    assert after == twin_of(document).read_bytes()


def test_what_is_said_of_a_file_is_written_down(document: Path) -> None:
    _, result = converted_once(document, options_of(document))
    assert told(result.findings) == read(document.with_name("findings.txt"))


def test_no_fixture_makes_the_tool_fail(document: Path) -> None:
    _, result = converted_once(document, Options())
    assert not [f for f in result.findings if f.kind is Kind.ERROR]


def test_a_twin_is_not_changed_again(document: Path) -> None:
    _, result = converted(twin_of(document), options_of(document))
    assert result.after is None
    assert not [f for f in result.findings if f.kind is Kind.CONVERTED]


# Comments over arguments that have no place any more: verbose= of RunConfig, preprocessor= of the trainer.
GONE_WITH_ARGUMENTS = {"# The table in the terminal only.", "# Sentences, then tokens."}


def test_comments_survive(document: Path) -> None:
    """Every comment of the legacy file stands in its twin."""
    before, after = (comment_lines(read(path)) for path in (document, twin_of(document)))
    assert before - after - Counter(GONE_WITH_ARGUMENTS) == Counter()


def comment_lines(text: str) -> Counter[str]:
    """The comments that have a line of their own, and how often."""
    return Counter(line.strip() for line in text.splitlines() if line.lstrip().startswith("#"))


def test_twins_compile_and_are_clean_under_pyflakes(tmp_path: Path) -> None:
    for document in DOCUMENTS:
        if document.suffix in {".py", ".ipynb"}:  # the blocks of a page may leave out what was said before
            text = module(twin_of(document))
            ast.parse(text)
            (tmp_path / f"{document.parent.parent.name}_{document.parent.name}.py").write_text(text)
    folders = [str(path / "after") for path in FIXTURES.glob("projects/*")]
    command = [sys.executable, "-m", "pyflakes", str(tmp_path), *folders]
    environment = os.environ | {"PYFLAKES_BUILTINS": "dbutils,display"}  # what Databricks defines
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    # Names like `_cell_2__` stand for edges of cells and for magics. A star import stays as it is (RM694, RM699), and
    # so do the user's own imports in cells below that which needs the same names now.
    allowed = (
        "undefined name '_cell_",
        "ray_air_star_import.py",
        "ray_air_star_import_of_tune.py",
        "imports_in_later_cells.py:17:1: 'transformers' imported but unused",
        "imports_in_later_cells.py:109:1: redefinition of unused 'os'",
        "imports_in_later_cells.py:111:1: redefinition of unused 'DataLoader'",
    )
    assert [line for line in outcome.stdout.splitlines() if not any(text in line for text in allowed)] == []


@pytest.mark.parametrize(
    "options",
    [Options(style="inline"), Options(style="adapter"), Options(guide=True)],
    ids=["inline", "adapter", "guide"],
)
def test_every_form_is_python_that_stays_as_it_is(document: Path, options: Options) -> None:
    after, once = converted(document, options)
    assert not [f for f in once.findings if f.kind is Kind.ERROR]
    _, again = converted(document, options, after)
    assert again.after is None


@pytest.mark.parametrize("friend", FALSE_FRIENDS, ids=lambda path: path.stem)
def test_false_friends_are_left_alone(friend: Path) -> None:
    result = convert(read(friend), str(friend))
    assert result.after is None
    # Ray's own MosaicTrainer is nobody's TransformersTrainer, but it is gone as well, and that is said; so is that its
    # workers download to one folder.
    told = {"RM692", "RM483"} if friend.stem == "mosaic_trainer" else set()
    assert {finding.code for finding in result.findings} <= told


@pytest.mark.parametrize("project", PROJECTS, ids=case_name)
def test_every_project_becomes_its_twin(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "before", tmp_path, dirs_exist_ok=True)
    job = Job(options_of(project / "before"))
    run(found_in(tmp_path, job.options), job)
    assert files(tmp_path) == files(project / "after")
    run(found_in(tmp_path, job.options), job)
    assert files(tmp_path) == files(project / "after")


@pytest.mark.parametrize("project", PROJECTS, ids=case_name)
def test_what_is_said_of_a_project_is_written_down(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "before", tmp_path, dirs_exist_ok=True)
    assert project_findings(tmp_path, options_of(project / "before")) == read(project / "findings.txt")


def test_every_family_has_fixtures() -> None:
    families = [path for path in FIXTURES.iterdir() if path.is_dir() and path.name != "false_friends"]
    assert [family.name for family in families if not any(family.rglob("before*"))] == []
    assert FALSE_FRIENDS
