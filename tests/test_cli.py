"""The command line as README.md and docs/usage.md describe it: options, streams, exit codes."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.run.rules import every_rule
from scripts.update_twins import options_of
from tests.conftest import FIXTURES, SCRIPTS, case_name, todays

LEGACY = FIXTURES / "transformers_trainer/gpt2_wikitext_ray_data/before.py"
WITH_MANUAL_WORK = FIXTURES / "transformers_trainer/wrong_arity/before.py"


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def train(tmp_path: Path) -> Path:
    """A legacy script that converts completely."""
    path = tmp_path / "train.py"
    shutil.copy(LEGACY, path)
    return path


def test_a_path_converts_in_place(train: Path) -> None:
    result = invoke(train)
    assert result.exit_code == 0
    assert train.read_text() == LEGACY.with_name("after.py").read_text()
    assert "1 file converted" in result.stderr


def test_a_second_run_changes_nothing(train: Path) -> None:
    invoke(train)
    status = train.stat()
    result = invoke(train)
    assert result.exit_code == 0
    assert train.stat().st_mtime_ns == status.st_mtime_ns
    assert "nothing legacy found" in result.stderr


def test_check_writes_nothing_and_exits_1(train: Path) -> None:
    before = train.read_bytes()
    result = invoke("--check", train)
    assert result.exit_code == 1
    assert train.read_bytes() == before
    assert f"{train}:" in result.stdout


def test_check_of_converted_code_exits_0(train: Path) -> None:
    invoke(train)
    assert invoke("--check", train).exit_code == 0


def test_diff_prints_only_the_diff_to_stdout_and_writes_nothing(train: Path) -> None:
    before = train.read_bytes()
    result = invoke("--diff", train)
    assert result.exit_code == 1
    assert train.read_bytes() == before
    assert result.stdout.startswith("--- a/")
    assert all(line[:1] in " +-@\\" for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    ("later", "ending", "last"), [(0, "\n", "\n"), (1, "\r\n", "")], ids=["usual", "CRLF, no newline at the end"]
)
def test_git_applies_the_diff(
    tmp_path: Path, later: int, ending: str, last: str, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.chdir(tmp_path)
    scripts = todays(SCRIPTS, 5, pytestconfig, later=later)
    texts, changing = {}, []
    for script in scripts:
        train = Path(case_name(script), "train.py")
        train.parent.mkdir(parents=True)
        texts[train] = (script.read_text().rstrip("\n") + last).replace("\n", ending).encode()
        if options_of(script) == Options() and script.read_bytes() != script.with_name("after.py").read_bytes():
            changing.append(train)
        for name in ("accelerate_config.yaml", "accelerate_config.json"):
            if script.with_name(name).exists():
                shutil.copy(script.with_name(name), train.parent)

    def write() -> None:
        for train, text in texts.items():
            train.write_bytes(text)

    write()
    patch = invoke("--diff", ".").stdout_bytes
    subprocess.run(["git", "apply", "-"], input=patch, check=True)
    applied = {train: train.read_bytes() for train in texts}
    assert changing
    assert all(applied[train] != texts[train] for train in changing)
    write()
    invoke(".")
    assert {train: train.read_bytes() for train in texts} == applied


@pytest.mark.parametrize(
    "data",
    [
        "# coding: latin-1\n# é\nfrom ray.air import session\nsession.report({})  # é\n".encode("latin-1"),
        b"\xef\xbb\xbffrom ray.air import session\nsession.report({})\n",
    ],
    ids=["latin-1", "byte order mark"],
)
def test_git_applies_the_diff_of_any_encoding(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    train = tmp_path / "train.py"
    train.write_bytes(data)
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "apply", "-"], input=invoke("--diff", "train.py").stdout_bytes, check=True)
    applied = train.read_bytes()
    train.write_bytes(data)
    invoke(train)
    assert train.read_bytes() == applied != data


def test_something_left_for_a_person_exits_1(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    shutil.copy(WITH_MANUAL_WORK, path)
    result = invoke(path)
    assert result.exit_code == 1
    assert "RM911 manual" in result.stdout


def test_select_applies_only_these_rules(train: Path) -> None:
    invoke("--select", "RM3", train)
    text = train.read_text()
    assert "from ray.train import" in text
    assert "TransformersTrainer(" in text


def test_ignore_leaves_rules_out(train: Path) -> None:
    invoke("--ignore", "RM7,RM1", train)
    text = train.read_text()
    assert "TransformersTrainer(" in text
    assert "from ray.train import" in text


def test_an_ignored_rule_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("from ray.air import session\n\nsession.report({})\n")
    invoke("--ignore", "RM302", path)
    assert path.read_text() == "from ray.air import session\n\nsession.report({})\n"


def test_an_unknown_code_is_refused(train: Path) -> None:
    result = invoke("--select", "RM999", train)
    assert result.exit_code == 2
    assert "no rule has the code RM999" in result.stderr


def test_the_adapter_style_leaves_the_init_function_as_it_is(train: Path) -> None:
    invoke("--style", "adapter", train)
    text = train.read_text()
    assert "def train_func(config):" in text
    assert "**config" in text


def test_unsafe_edits_are_made_only_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    shutil.copy(FIXTURES / "torch_trainer/fails_fast/before.py", path)
    result = invoke(path)
    assert result.exit_code == 1
    assert "RM401 unsafe" in result.stdout
    assert "failure_config=FailureConfig(fail_fast=True)" in path.read_text()
    assert invoke("--unsafe", path).exit_code == 0
    assert "failure_config" not in path.read_text()  # nothing is left of it


def test_exclude_leaves_paths_out(tmp_path: Path, train: Path) -> None:
    assert invoke("--check", "--exclude", "train.py", tmp_path).exit_code == 0


def test_json_is_one_document(train: Path) -> None:
    result = invoke("--check", "--output-format", "json", train)
    document = json.loads(result.stdout)
    assert document["version"] == 1
    assert document["changed"] == [str(train)]
    finding = document["findings"][0]
    keys = {"code", "kind", "message", "advice", "line", "column", "path", "cell", "reason", "link"}
    assert keys == finding.keys()


@pytest.mark.parametrize("family", ["to_accelerate", "to_ray"])
def test_findings_of_scripts_that_stay_point_at_code(tmp_path: Path, family: str) -> None:
    """Without the option of their family; of all others `test_all_formats_agree_and_point_at_what_they_speak_of`."""
    folder = shutil.copytree(FIXTURES / family, tmp_path / family)
    for finding in json.loads(invoke("--check", "--output-format", "json", folder).stdout)["findings"]:
        lines = Path(finding["path"]).read_text().splitlines()
        assert lines[finding["line"] - 1][finding["column"] - 1 :].strip(), finding


def test_statistics_count_by_rule(train: Path) -> None:
    assert "RM101" in invoke("--check", "--statistics", train).stdout


def test_quiet_prints_nothing(train: Path) -> None:
    result = invoke("--quiet", train)
    assert (result.stdout, result.stderr) == ("", "")


def test_jobs_give_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raymigrate.run.session.BYTES_WORTH_A_POOL", 0)
    outcomes = []
    for jobs in ("1", "2"):
        folder = tmp_path / jobs
        shutil.copytree(FIXTURES / "projects", folder / "projects")
        shutil.copytree(FIXTURES / "torch_trainer", folder / "torch_trainer")
        invoke("--jobs", jobs, folder)
        outcomes.append({p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*.py"))})
    assert outcomes[0] == outcomes[1]


def test_a_copy_of_the_fixtures_converts_at_once_and_stays(tmp_path: Path) -> None:
    folder = tmp_path / "fixtures"
    shutil.copytree(FIXTURES, folder)
    assert invoke(folder).exit_code == 1  # some fixtures leave work for a person
    for script in folder.rglob("before.py"):
        if not script.with_name("options.json").exists():  # a twin made with options: see test_twins
            assert script.read_bytes() == script.with_name("after.py").read_bytes(), script
    once = {path: path.read_bytes() for path in folder.rglob("*.py")}
    invoke(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*.py")} == once


def test_rules_lists_every_rule_on_a_line() -> None:
    lines = invoke("rules").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [rule.code for rule in every_rule()]


def test_rules_as_json() -> None:
    assert {rule["code"] for rule in json.loads(invoke("rules", "--output-format", "json").stdout)} >= {
        "RM101",
        "RM201",
    }


@pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: rule.code)
def test_every_rule_can_be_explained(rule) -> None:
    text = invoke("explain", rule.code).stdout
    assert text.startswith(f"{rule.code}: ")
    assert rule.why in text
    assert rule.link.startswith("https://")


def test_an_explanation_shows_before_and_after() -> None:
    text = invoke("explain", "RM203").stdout
    assert "\n    -    accelerator = Accelerator()\n    +    accelerator = Accelerator(cpu=True)\n" in text


@pytest.mark.parametrize("codes", [["RM101", "rm203"], ["RM101,RM203"], ["RM101, RM203"]])
def test_several_rules_are_explained_in_turn(codes: list[str]) -> None:
    text = invoke("explain", *codes).stdout
    assert text.startswith("RM101: ") and "\n\nRM203: " in text


@pytest.mark.parametrize("codes", ["RM000", "RM101,RM000"])
def test_explaining_an_unknown_code_exits_2(codes: str) -> None:
    result = invoke("explain", codes)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "RM000" in result.stderr


def test_no_arguments_show_help() -> None:
    result = invoke()
    assert "raymigrate PATH..." in result.output


def test_a_path_from_an_unset_variable_is_no_path() -> None:
    outcome = CliRunner().invoke(main, ["--check", ""])
    assert outcome.exit_code == 2
    assert "A path is empty; is a variable of the shell unset?" in outcome.stderr


def test_the_help_tells_whole_what_each_command_does() -> None:
    shown = CliRunner().invoke(main, ["--help"]).stdout
    assert "..." not in shown.partition("Commands:")[2]
