"""Every file that a comment, a docstring or a page names can be opened."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.site_pages import anchors, site_pages

# A path below one of our folders, with an anchor if it has one, or a document in capitals. What stands before it must
# not make it a part of something else: a URL, an absolute path, a longer relative one.
FOLDERS = "docs|tests|scripts|raymigrate|fixtures|benchmarks"
NAMED = re.compile(
    rf"(?<![\w./:<>{{}}-])(?:(?P<path>(?:{FOLDERS})(?:/\w(?:[\w.-]*\w)?)+)(?P<anchor>#[\w-]+)?(?P<open>[<{{*]?)"
    r"|(?P<document>[A-Z][A-Z0-9_-]+\.(?:md|tsv|rst|txt))\b)"
)
# `--report FILE.md`: the place of a name that a user chooses.
PLACEHOLDERS = {"FILE.md", "FILE.html"}
# `scripts/train.py` in a page that speaks of somebody's project.
EXAMPLES = {"scripts/train.py"}
# What the build writes.
BUILT = {"raymigrate/_version.py"}


@cache
def committed() -> list[Path]:
    """The files of the repository."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]


def prose_of_python(source: str) -> str:
    """The comments and docstrings of a Python file."""
    comments = [t.string for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type == tokenize.COMMENT]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    return "\n".join(comments + docstrings)


def prose() -> Iterator[tuple[Path, str]]:
    """Files that tell of the repository, with what they tell: pages, comments, docstrings."""
    for path in committed():
        folder = path.relative_to(ROOT).parts[0]
        if folder == "fixtures" or "verification" in path.parts:  # legacy scripts; records of what was run
            continue
        if path.suffix == ".py":
            yield path, prose_of_python(path.read_text(encoding="utf-8"))
        elif path.suffix in (".md", ".toml", ".yml", ".yaml", ".ini") or path.parent.name in ("scripts", ".ci"):
            yield path, path.read_text(encoding="utf-8")


def dangling(text: str, place: Path) -> list[str]:
    """What a text names that is not there.

    Args:
        text: Comments, docstrings or a page.
        place: The folder of its file; paths may begin there too.
    """
    missing = []
    for found in NAMED.finditer(text):
        document, path, anchor = found["document"], found["path"], found["anchor"]
        if document:
            if document not in PLACEHOLDERS and not any(known.name == document for known in committed()):
                missing.append(document)
        elif path not in EXAMPLES | BUILT and not _exists(path, place, complete=not found["open"]):
            missing.append(path)
        elif anchor and anchor[1:] not in anchors(site_pages().get(path.removeprefix("docs/"), "")):
            missing.append(path + anchor)
    return missing


def _exists(path: str, place: Path, *, complete: bool) -> bool:
    """Whether a path is there; of one with a placeholder, `scripts/log_{n}`, only its folder has to be."""
    path = path if complete else path.rpartition("/")[0]
    made = path.removeprefix("docs/") in site_pages() or path == "docs/rules"
    return made or (ROOT / path).exists() or (place / path).exists()


def test_every_file_that_is_named_is_there() -> None:
    found = {str(path.relative_to(ROOT)): dangling(text, path.parent) for path, text in prose()}
    assert len(found) > 300
    assert {name: missing for name, missing in found.items() if missing} == {}


@pytest.mark.parametrize(
    "text",
    [
        "# what it did: SEMANTICZ.md 3.2",
        "(DESIGNS.md)",
        "see docs/semantics/nothing.md",
        "docs/semantics/traps.md#t99",
        "tests/test_nothing.py holds them",
        "as in `raymigrate/codemods/nothing.py`.",
        "fixtures/nothing/<case>/before.py",
        "NOTES.tsv",
    ],
)
def test_a_name_that_leads_nowhere_is_found(text: str) -> None:
    assert len(dangling(text, ROOT)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "README.md",
        "docs/semantics/traps.md#t25",
        "docs/semantics/data.md#split.",
        "docs/rules/RM203.md",
        "docs/command-line.md",
        "docs/--no-docs",
        "fixtures/<family>/<case>/before.py",
        "`fixtures/projects/{{name}}`",
        "raymigrate/knowledge/tables/*.txt",
        "tests/test_pa*",
        "https://huggingface.co/docs/datasets/loading",
        "https://github.com/huggingface/transformers/blob/main/MIGRATION_GUIDE_V5.md",
        "huggingface/docs/datasets",
        "train.py",
        "--report FILE.md",
    ],
)
def test_a_name_that_leads_somewhere_or_is_an_example_is_left_alone(text: str) -> None:
    assert dangling(text, ROOT) == []


def test_comments_and_docstrings_are_read_and_code_is_not() -> None:
    source = '"""tests/a.py"""\nx = "tests/b.py"  # tests/c.py\ndef f():\n    """tests/d.py"""\n'
    assert sorted(dangling(prose_of_python(source), ROOT)) == ["tests/a.py", "tests/c.py", "tests/d.py"]
