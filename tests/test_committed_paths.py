"""No file of the repository names a folder of the machine on which it was made."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.conftest import ROOT

# A folder of somebody's home, or one that continuous integration works in. What stands before it must not
# make it a part of something else: a URL, a relative path.
MACHINE = re.compile(
    r"(?<![\w.~*$}-])(?<!:/)(?:/root|/work|/workspace|/builds|/Users/[\w.-]+|/home/[\w.-]+)(?=/)|\b[A-Za-z]:\\+Users\\+\w+"
)
# Homes that nobody has: they stand for a user's in tests and fixtures.
MADE_UP = ("/home/me",)


def machine_paths(text: str) -> list[str]:
    """The folders of a machine that a text names."""
    return [found[0] for found in MACHINE.finditer(text) if found[0] not in MADE_UP]


def test_no_committed_file_names_a_folder_of_a_machine() -> None:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    assert len(paths) > 500
    texts = {path: path.read_bytes().decode("utf-8", "replace") for path in paths if path.is_file()}
    found = {str(path.relative_to(ROOT)): machine_paths(text) for path, text in texts.items()}
    assert {name: folders for name, folders in found.items() if folders} == {}


@pytest.mark.parametrize(
    "text",
    [
        '"original": "/{}/lab/train.py"',
        "--report={}/out.md".format("/{}/x"),
        "<code>/{}/train.py</code>",
        "(/{}/a)",
        "file:///{}/a",
    ],
)
@pytest.mark.parametrize("folder", ["root", "work", "home/somebody", "Users/some.body"])
def test_a_folder_of_a_machine_is_found(text: str, folder: str) -> None:
    assert machine_paths(text.format(folder)) == [f"/{folder}"]


def test_a_home_on_windows_is_found() -> None:
    assert machine_paths("C:\\{}\\somebody\\train.py".format("Users"))


@pytest.mark.parametrize(
    "text",
    [
        "/home/me/train.py",
        "https://example.org/work/x",
        "s3://work/x",
        "{tmp}/work/x",
        "a/root/b",
        "/workers/x",
        "~/work/x",
    ],
)
def test_what_is_no_folder_of_a_machine_is_left_alone(text: str) -> None:
    assert machine_paths(text) == []
