"""`raymigrate -`: one file from stdin to stdout, as editors use it."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main
from tests.conftest import FIXTURES

LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"
BROKEN = b"from ray.air import session\nsession.report(\n"


def piped(data: bytes, *options: str) -> Result:
    return CliRunner().invoke(main, [*options, "-"], input=data)


def test_stdout_gets_the_converted_file_and_stderr_the_findings() -> None:
    result = piped(LEGACY.read_bytes(), "--stdin-filename", "train.py")
    assert result.stdout_bytes == LEGACY.with_name("after.py").read_bytes()
    assert "train.py:64:26: RM406 manual" in result.stderr
    assert result.exit_code == 1


@pytest.mark.parametrize("data", [b"", b"import os\r\n", b"\xff\xfe", BROKEN, b"from ray.air import session  # \xe9\n"])
def test_what_is_not_converted_comes_back_as_it_was(data: bytes) -> None:
    assert piped(data).stdout_bytes == data


@pytest.mark.parametrize(("force", "converted"), [((), True), (("--force-exclude",), False)])
@pytest.mark.parametrize("excluded", ["vendor/", "*.py", "/vendor/old"])
def test_an_excluded_file_comes_back_as_it_was_where_that_is_asked_for(
    tmp_path: Path, force: tuple[str, ...], converted: bool, excluded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Editors pipe whatever is open; the patterns of pyproject.toml are relative to its folder."""
    (tmp_path / "pyproject.toml").write_text(f'[tool.raymigrate]\nexclude = ["{excluded}"]\n')
    (tmp_path / "vendor/old").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "vendor")
    result = piped(LEGACY.read_bytes(), *force, "--stdin-filename", "old/train.py")
    assert (result.stdout_bytes != LEGACY.read_bytes()) is converted
    assert result.exit_code == int(converted)


def test_a_broken_file_exits_2_and_is_named() -> None:
    result = piped(BROKEN, "--stdin-filename", "train.py")
    assert result.exit_code == 2
    assert "train.py:2:" in result.stderr
    assert "<stdin>:2:" in piped(BROKEN).stderr


@pytest.mark.parametrize(
    "data",
    [
        "# coding: latin-1\r\n# é\r\nfrom ray.air import session\r\nsession.report({})".encode("latin-1"),
        b"\xef\xbb\xbffrom ray.air import session\nsession.report({})\n",
    ],
    ids=["latin-1, CRLF, no newline at the end", "byte order mark"],
)
def test_bytes_around_the_edit_are_kept(data: bytes) -> None:
    result = piped(data)
    assert result.exit_code == 0
    assert result.stdout_bytes == data.replace(b"from ray.air import session", b"import ray.train").replace(
        b"session.", b"ray.train."
    )


def test_check_and_diff_print_no_code() -> None:
    data = LEGACY.read_bytes()
    checked = piped(data, "--check", "--stdin-filename", "train.py")
    assert checked.exit_code == 1
    assert checked.stdout.startswith("train.py:")
    changes = piped(data, "--diff", "--stdin-filename", "train.py")
    assert changes.stdout.startswith("--- a/train.py\n+++ b/train.py\n")


def test_json_of_a_conversion_goes_to_stderr() -> None:
    result = piped(LEGACY.read_bytes(), "--output-format", "json")
    assert result.stdout_bytes == LEGACY.with_name("after.py").read_bytes()
    assert result.stderr.startswith("{")


def test_files_that_the_script_names_are_looked_up_beside_its_name() -> None:
    case = FIXTURES / "accelerate_trainer/config_path_yaml"
    result = piped((case / "before.py").read_bytes(), "--stdin-filename", str(case / "before.py"))
    assert result.stdout_bytes == (case / "after.py").read_bytes()


def test_stdin_stands_alone() -> None:
    result = CliRunner().invoke(main, ["-", "train.py"])
    assert result.exit_code == 2
    assert "only path" in result.stderr


def test_what_is_too_large_comes_out_as_it_came() -> None:
    data = LEGACY.read_bytes() + b"#" * 2_200_000
    result = piped(data)
    assert result.exit_code == 2
    assert result.stdout_bytes == data
    assert "<stdin>:1:1: RM902 error: has 2.2 MB, over the limit of 2 MB for a source file" in result.stderr
