"""What other projects take into their CI: the action for GitHub, and the job for GitLab. Their shell steps are run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import FIXTURES, ROOT

LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
# Stands in for GitHub's own command: tells one known comment, and writes down what it is asked.
GH = """#!/bin/sh
case "$*" in
    *--paginate*) cat "$KNOWN" ;;
    *) echo "$*" >> "$ASKED"
       for word; do
           case "$word" in body=@*) cat "${word#body=@}" > "$ASKED.body" ;; esac
       done ;;
esac
"""


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A runner of GitHub with a checkout, raymigrate as the first step installs it, and a stand-in for `gh`."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    binaries = tmp_path / "temp/raymigrate/bin"
    binaries.mkdir(parents=True)
    (binaries / "raymigrate").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m raymigrate "$@"\n')
    (binaries / "gh").write_text(GH)
    for command in binaries.iterdir():
        command.chmod(0o755)
    return tmp_path


def step(name: str, runner: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs one step of the action in bash, as GitHub calls it."""
    binaries = runner / "temp/raymigrate/bin"
    environment = {
        **os.environ,
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(runner / "temp"),
        "GITHUB_OUTPUT": str(runner / "output"),
        "GITHUB_STEP_SUMMARY": str(runner / "summary"),
        "ASKED": str(runner / "asked"),
        "KNOWN": str(runner / "known"),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    names = set(STEPS[name].get("env", {}))
    assert names == set(variables), "the test gives each variable of the step"
    return subprocess.run(
        command, cwd=runner / "checkout", env={**environment, **variables}, capture_output=True, text=True, check=False
    )


def outputs(runner: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (runner / "output").read_text().splitlines())


def test_the_action_checks_and_leaves_sarif_outputs_and_a_summary(runner: Path) -> None:
    shutil.copy(LEGACY, runner / "checkout/train.py")
    done = step("Check", runner, CHECK_PATHS=".", OPTIONS="--ignore RM406", FORMAT="sarif")
    assert done.returncode == 0, done.stderr  # the last step fails, after the report is out
    assert outputs(runner) == {"exit-code": "1", "report": str(runner / "temp/raymigrate.md")}
    results = json.loads((runner / "temp/raymigrate.sarif").read_text())["runs"][0]["results"]
    assert {"RM101", "RM604"} <= {result["ruleId"] for result in results}
    assert "RM406" not in {result["ruleId"] for result in results}
    assert (runner / "summary").read_text().startswith("# raymigrate\n")
    assert (runner / "checkout/train.py").read_bytes() == LEGACY.read_bytes()


def test_without_code_scanning_the_action_prints_annotations(runner: Path) -> None:
    shutil.copy(LEGACY, runner / "checkout/train.py")
    done = step("Check", runner, CHECK_PATHS="train.py", OPTIONS="", FORMAT="github")
    assert "::error file=train.py,line=" in done.stdout


def test_the_action_passes_a_clean_tree(runner: Path) -> None:
    (runner / "checkout/plain.py").write_text("import os\n")
    assert step("Check", runner, CHECK_PATHS=".", OPTIONS="", FORMAT="sarif").returncode == 0
    assert outputs(runner)["exit-code"] == "0"


def test_an_option_that_does_not_exist_ends_the_action_at_once(runner: Path) -> None:
    done = step("Check", runner, CHECK_PATHS=".", OPTIONS="--nonsense", FORMAT="sarif")
    assert done.returncode == 2
    assert "--nonsense" in done.stderr


@pytest.mark.parametrize(
    ("code", "fail", "expected"), [("0", "true", 0), ("1", "true", 1), ("1", "false", 0), ("2", "false", 2)]
)
def test_the_action_fails_where_legacy_code_is_left_and_always_where_a_file_cannot_be_read(
    runner: Path, code: str, fail: str, expected: int
) -> None:
    assert step("Result", runner, CODE=code, FAIL=fail).returncode == expected


@pytest.mark.parametrize(
    ("known", "method"), [("", "POST repos/o/r/issues/7/comments "), ("12\n", "PATCH repos/o/r/issues/comments/12 ")]
)
def test_a_pull_request_gets_one_comment_that_each_run_replaces(runner: Path, known: str, method: str) -> None:
    (runner / "known").write_text(known)
    (runner / "report.md").write_text("# raymigrate\n\nnothing legacy found.\n")
    given = {"GH_TOKEN": "t", "REPOSITORY": "o/r", "NUMBER": "7", "REPORT": str(runner / "report.md")}
    done = step("Comment", runner, **given)
    assert done.returncode == 0, done.stderr
    assert f"api --method {method}" in (runner / "asked").read_text()
    assert (runner / "asked.body").read_text() == "<!-- raymigrate -->\n# raymigrate\n\nnothing legacy found.\n"


def test_a_comment_that_github_would_refuse_is_cut_at_a_line(runner: Path) -> None:
    (runner / "known").write_text("")
    (runner / "report.md").write_text("a line of the report\n" * 10_000)
    given = {"GH_TOKEN": "t", "REPOSITORY": "o/r", "NUMBER": "7", "REPORT": str(runner / "report.md")}
    assert step("Comment", runner, **given).returncode == 0
    lines = (runner / "asked.body").read_text().splitlines()
    assert len("\n".join(lines)) < 65_536
    assert set(lines[1:-2]) == {"a line of the report"}
    assert lines[-1] == "The whole report is in the summary of the job."


def test_no_input_is_pasted_into_a_script() -> None:
    """An input such as `$(rm -r ~)` would be run: inputs come as variables of the environment."""
    assert all("${{" not in step.get("run", "") for step in ACTION["runs"]["steps"])


def test_every_input_of_the_action_is_used_and_described() -> None:
    text = json.dumps(ACTION["runs"])
    for name, given in ACTION["inputs"].items():
        assert f"inputs.{name}" in text
        assert given["description"]


def test_the_gitlab_job_runs_and_its_report_is_code_quality(tmp_path: Path) -> None:
    _, job = yaml.safe_load_all((ROOT / "templates/raymigrate.yml").read_text())
    check = job["raymigrate"]["script"][1].replace("$[[ inputs.options ]]", "").replace("$[[ inputs.paths ]]", ".")
    shutil.copy(LEGACY, tmp_path / "train.py")
    command = check.replace("raymigrate check", f'"{sys.executable}" -m raymigrate check', 1)
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=variables, capture_output=True, check=False)
    assert done.returncode == 1
    entries = json.loads((tmp_path / job["raymigrate"]["artifacts"]["reports"]["codequality"]).read_text())
    assert {"RM101", "RM406"} <= {entry["check_name"] for entry in entries}
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)
    for entry in entries:
        assert set(entry) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert entry["location"]["path"] == "train.py"
    first = {entry["fingerprint"] for entry in entries}
    (tmp_path / "train.py").write_text("import os\n\n" + LEGACY.read_text())
    subprocess.run(["sh", "-c", command], cwd=tmp_path, env=variables, capture_output=True, check=False)
    assert {entry["fingerprint"] for entry in json.loads((tmp_path / "raymigrate.json").read_text())} == first
