"""[tool.raymigrate] of pyproject.toml."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.cli.commands import convert, main
from raymigrate.cli.settings import NOT_SETTINGS
from tests.conftest import FIXTURES

LEGACY = "from ray.air import session\n\nsession.report({})\n"
UNSAFE = FIXTURES / "torch_trainer/fails_fast/before.py"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with one legacy script, and the current folder."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(LEGACY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(text: str, folder: str = ".") -> None:
    Path(folder).mkdir(exist_ok=True)
    Path(folder, "pyproject.toml").write_text(f"[tool.raymigrate]\n{text}\n")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_settings_hold_and_the_command_line_wins() -> None:
    settings('ignore = ["RM3"]')
    assert invoke("--check", ".").exit_code == 0
    assert invoke("--check", "--ignore", "RM1", ".").exit_code == 1
    assert invoke("--check", "--isolated", ".").exit_code == 1


def test_a_switch_can_be_turned_off(project: Path) -> None:
    (project / "train.py").write_bytes(UNSAFE.read_bytes())
    settings("unsafe = true")
    assert "RM401 would convert" in invoke("--check", ".").stdout
    assert "RM401 unsafe" in invoke("--check", "--no-unsafe", ".").stdout


def test_dashes_and_underscores_are_the_same(project: Path) -> None:
    for name in ("output-format", "output_format"):
        settings(f'{name} = "json"')
        assert invoke("--check", ".").stdout.startswith("{")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exlcude = []", "[tool.raymigrate] exlcude: there is no such setting; did you mean exclude?"),
        ("check = true", "[tool.raymigrate] check: there is no such setting"),
        ('unsafe = "yes"', "[tool.raymigrate] unsafe: must be true or false, not 'yes'"),
        ('select = "RM1"', "[tool.raymigrate] select: must be a list of strings, not 'RM1'"),
        ("jobs = true", "[tool.raymigrate] jobs: must be a whole number"),
        ("jobs = -1", "[tool.raymigrate] jobs: -1 is not in the range"),
        ('select = ["RM0"]', "[tool.raymigrate] select: no rule has the code RM0"),
        ('style = "nice"', "[tool.raymigrate] style: 'nice' is not one of"),
        ("exclude = [", "is not TOML"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(text: str, message: str, project: Path) -> None:
    settings(text)
    result = invoke("--check", ".")
    assert result.exit_code == 2
    assert message in result.stderr
    assert str(project / "pyproject.toml") in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_excludes_act_before_files_are_read_and_are_relative_to_the_file(project: Path) -> None:
    for folder in ("vendor", "src/vendor"):
        (project / folder).mkdir(parents=True)
        (project / folder / "old.py").write_text(LEGACY)
    settings('exclude = ["/vendor/", "train.py"]')
    assert [line.split(":")[0] for line in invoke("--check", ".").stdout.splitlines()] == ["src/vendor/old.py"]
    assert invoke("--check", "vendor").exit_code == 1  # a folder that is named is meant
    settings('exclude = ["src/vendor"]')
    assert invoke("--check", "src").exit_code == 0


def test_a_named_file_is_excluded_only_if_asked_for() -> None:
    settings('exclude = ["train.py"]')
    assert invoke("--check", "train.py").exit_code == 1
    assert invoke("--check", "--force-exclude", "train.py").exit_code == 0


def test_the_nearest_file_with_the_table_counts(project: Path) -> None:
    settings('ignore = ["RM3"]')
    (project / "package").mkdir()
    (project / "package/train.py").write_text(LEGACY)
    (project / "package/pyproject.toml").write_text("[tool.other]\nname = 'raymigrate'\n")
    assert invoke("--check", "package").exit_code == 0
    settings("", "package")
    assert invoke("--check", "package").exit_code == 1
    assert invoke("--check", "package/train.py").exit_code == 1
    assert invoke("--check", "package", "train.py").exit_code == 0  # what holds is that of the folder they share


def test_nothing_above_the_repository_counts(project: Path) -> None:
    settings('ignore = ["RM3"]')
    inner = project / "inner"
    (inner / ".git").mkdir(parents=True)
    (inner / "train.py").write_text(LEGACY)
    assert invoke("--check", "inner").exit_code == 1


def test_stdin_takes_them_from_where_its_name_lies(project: Path) -> None:
    settings('ignore = ["RM3"]', "package")
    run = CliRunner().invoke
    assert run(main, ["--check", "--stdin-filename", "package/x.py", "-"], input=LEGACY).exit_code == 0
    assert run(main, ["--check", "-"], input=LEGACY).exit_code == 1


def test_a_run_without_settings_imports_no_toml_parser(project: Path) -> None:
    (project / "train.py").write_text("import os\n")
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    code = (
        "import sys\nfrom raymigrate.cli import main\n"
        "try: main(['--check', '.'])\nexcept SystemExit: pass\n"
        "print(sorted({'tomllib', 'tomli', 'difflib', 'raymigrate.run.session'} & sys.modules.keys()))"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout == "[]\n"


def test_every_option_is_a_setting_or_known_not_to_be() -> None:
    names = {str(parameter.name) for parameter in convert.params}
    assert names > NOT_SETTINGS - {"help", "interactive"}


def test_settings_that_cannot_be_read_are_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    settings('exclude = ["train.py"]')
    monkeypatch.setattr("raymigrate.cli.settings.open", refuse, raising=False)
    result = invoke(".")
    assert result.exit_code == 2
    assert "pyproject.toml: cannot be read: Permission denied" in result.stderr
    assert Path("train.py").read_text() == LEGACY
    Path("pyproject.toml").unlink()
    assert invoke(".").exit_code == 0
