"""What is mistyped on the command line is reported before anything is written."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli import main

LEGACY = "from ray.air import session\n\n\ndef f():\n    session.report({})\n"


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(LEGACY)
    return Path("train.py")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["chek", "."], "Did you mean `raymigrate check`?"),
        (["verfy", "train.py"], "Did you mean `raymigrate verify`?"),
        (["interactive", "."], "Did you mean `--interactive`?"),
        (["unsafe", "."], "Did you mean `--unsafe`?"),
        (["trian.py"], "Did you mean train.py?"),
        ([".", "src/train.py"], ""),
        (["format", "."], "`raymigrate PATH` converts; the other commands are "),
        (["check", "chek"], "Did you mean `raymigrate check`?"),
        (["convert", "train\n.py"], "Did you mean train.py?"),
    ],
)
def test_a_path_that_does_not_exist_is_refused_before_anything_is_written(
    script: Path, arguments: list[str], meant: str
) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "there is no such file or folder, so nothing was changed." in result.stderr
    assert meant in result.stderr
    assert script.read_text() == LEGACY


@pytest.mark.parametrize("path", [".", "train.py"])
@pytest.mark.parametrize("options", [(), ("--output-format", "json"), ("--select", "RM302")], ids=" ".join)
def test_check_and_diff_are_commands(script: Path, path: str, options: tuple[str, ...]) -> None:
    for command in ("check", "diff"):
        result = invoke(command, *options, path)
        assert script.read_text() == LEGACY
        assert result.exit_code == 1
        assert result.output == invoke(f"--{command}", *options, path).output
    assert "+++ b/" in invoke("diff", path).stdout


@pytest.mark.parametrize("command", ["check", "diff"])
def test_they_heed_the_settings(command: str) -> None:
    Path("pyproject.toml").write_text("[tool.raymigrate]\nignore = ['RM30']\n")
    assert invoke(command, ".").exit_code == 0


@pytest.mark.parametrize("option", ["--check", "--diff", "--interactive"])
def test_they_take_no_option_that_contradicts_them(script: Path, option: str) -> None:
    for command in ("check", "diff"):
        assert "No such option" in invoke(command, option, ".").stderr
    assert script.read_text() == LEGACY


@pytest.mark.parametrize("name", [".hidden.txt", "settings.ini", "build/old.py"])
def test_a_folder_without_scripts_is_told(script: Path, name: str) -> None:
    Path("empty", name).parent.mkdir(parents=True)
    Path("empty", name).write_text(LEGACY)
    result = invoke("--check", "empty")
    assert "no Python file or notebook was found there" in result.stderr
    assert result.exit_code == 0
    assert "no Python file" not in invoke("--check", ".").stderr
    assert invoke("--check", "-q", "empty").stderr == ""


@pytest.mark.parametrize("name", ["index.md", "guide/train.rst"])
@pytest.mark.parametrize("mode", [["--check"], [], ["diff"]])
def test_a_folder_of_pages_alone_is_told_how_they_are_read(name: str, mode: list[str]) -> None:
    page = Path("docs", name)
    page.parent.mkdir(parents=True)
    page.write_text(f"# Training\n\n```python\n{LEGACY}```\n")
    result = invoke(*mode, "docs")
    assert "no Python file or notebook was found there" in result.stderr
    assert "There are pages that may hold legacy code: --docs reads" in result.stderr
    assert (result.exit_code, result.stdout) == (0, "")
    assert invoke(*mode, "-q", "docs").stderr == ""
    page.write_text("# Training\n\nWith Ray.\n")
    assert "pages" not in invoke(*mode, "docs").stderr
    assert "pages" not in invoke(*mode, "--docs", "docs").stderr
    assert "pages" not in invoke(*mode, ".").stderr


@pytest.mark.parametrize("name", ["settings.ini", "run.sh", "notes.txt", "x.SH"])
def test_a_file_of_another_kind_is_told_as_such(name: str) -> None:
    Path(name).write_text("from ray.air import: session\n")
    assert f"{name}:1:20: RM901 error: is not a file that raymigrate converts" in invoke(name).stderr


@pytest.mark.parametrize("name", ["train", "train.pyw", "b.py", "train.PY"])
def test_but_not_one_that_may_be_python(name: str) -> None:
    Path(name).write_text("from ray.air import: session\n")
    assert f"{name}:1:20: RM901 error: cannot be parsed: " in invoke(name).stderr


@pytest.mark.parametrize(("option", "meant"), [("--dry-run", "`raymigrate diff`"), ("--fix", "`raymigrate PATH`")])
def test_an_option_of_similar_tools_is_told_by_its_name_here(option: str, meant: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("from ray.air import session\n")
    outcome = CliRunner().invoke(main, [option, str(script)])
    assert outcome.exit_code == 2
    assert meant in outcome.stderr
    assert script.read_text() == "from ray.air import session\n"
