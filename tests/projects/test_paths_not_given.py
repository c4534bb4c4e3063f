"""Files of a job that were not named, and what the reports say of a job as a whole."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.projects.files import DRIVER, INIT, convert, write


@pytest.mark.parametrize("given", ["train.py", "--exclude", ".gitignore", "venv"])
def test_files_that_were_not_given_are_read_and_named_but_not_written(tmp_path: Path, given: str) -> None:
    write(
        tmp_path, {"lib/model.py": INIT, "train.py": DRIVER.format(imports="from lib.model import init", init="init")}
    )
    if given == ".gitignore":
        (tmp_path / ".gitignore").write_text("/lib/\n")
    if given == "venv":
        (tmp_path / "lib").rename(tmp_path / "dist")
        (tmp_path / "train.py").write_text((tmp_path / "train.py").read_text().replace("lib.model", "dist.model"))
    model = next(tmp_path.glob("*/model.py"))
    before = model.read_text()
    named = tmp_path / "train.py" if given == "train.py" else tmp_path
    summary = convert(named, exclude=("/lib/",) if given == "--exclude" else ())
    assert model.read_text() == before
    assert "trainer = init(None, None, **config)" in (tmp_path / "train.py").read_text()
    finding = next(f for f in summary.findings if f.code == "RM908")
    assert "model.py" in finding.message and "RM701" in finding.message
    assert Path(finding.path).name == "train.py"
    assert "import init" in (tmp_path / "train.py").read_text().splitlines()[finding.line - 1]
    assert [p.outside for p in summary.projects] == [1]


LOGGING = """
from ray.air import session


def log(metrics):
    session.report(metrics)
"""
USER = DRIVER.format(imports="from model import init\nfrom lib.log import log", init="init")


@pytest.mark.parametrize(
    ("module", "driver", "kept"),
    [
        (LOGGING, USER, False),
        (f"# raymigrate: skip-file -- the old cluster needs it\n{LOGGING}", USER, True),
        (LOGGING.replace("(metrics)\n", "(metrics)  # raymigrate: skip -- the old cluster needs it\n"), USER, True),
        (LOGGING, USER.replace("import log", "import log  # raymigrate: skip -- the old cluster needs it"), True),
        (
            LOGGING,
            USER.replace("import log", "import log  # raymigrate: skip[RM908] -- the old cluster needs it"),
            True,
        ),
        ("import os  # raymigrate: skip\n\n\ndef log(metrics):\n    print(metrics)\n", USER, None),
    ],
    ids=["no comment", "file", "line", "import", "import, by code", "nothing that has to change"],
)
@pytest.mark.parametrize("options", [("--check",), ()], ids=["check", "convert"])
def test_a_comment_there_or_at_the_import_silences_it(
    tmp_path: Path, module: str, driver: str, kept: bool | None, options: tuple[str, ...]
) -> None:
    write(tmp_path, {"lib/log.py": module, "model.py": INIT, "train.py": driver})
    given = (str(tmp_path / "train.py"), str(tmp_path / "model.py"))
    outcome = CliRunner().invoke(main, ["--output-format", "json", *options, *given])
    findings = [f for f in json.loads(outcome.stdout)["findings"] if f["code"] in ("RM908", "RM906")]
    if kept is None:
        assert findings == []
        return
    [finding] = findings
    assert (finding["code"], finding["kind"]) == ("RM908", "skipped" if kept else "manual")
    assert finding["reason"] == ("the old cluster needs it" if kept else "")
    assert "import log" in (tmp_path / "train.py").read_text().splitlines()[finding["line"] - 1]
    assert outcome.exit_code == int(not kept or bool(options))


def test_findings_about_other_files_stand_in_order(tmp_path: Path) -> None:
    write(tmp_path, {"lib/log.py": LOGGING, "model.py": INIT, "train.py": USER})
    outcome = CliRunner().invoke(main, ["--check", "--output-format", "json", str(tmp_path / "train.py")])
    lines = [finding["line"] for finding in json.loads(outcome.stdout)["findings"]]
    assert lines == sorted(lines)


def test_the_text_output_sums_a_project_up(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    outcome = CliRunner().invoke(main, [str(tmp_path)])
    assert f"project {tmp_path}: 2 files read, 2 converted" in outcome.output
    assert outcome.exit_code == 0, outcome.output


def test_json_and_the_report_sum_a_project_up(tmp_path: Path) -> None:
    write(tmp_path, {"model.py": INIT, "train.py": DRIVER.format(imports="from model import init", init="init")})
    report = tmp_path / "report.md"
    outcome = CliRunner().invoke(main, ["--check", "--output-format", "json", "--report", str(report), str(tmp_path)])
    assert json.loads(outcome.stdout)["projects"] == [
        {"folder": str(tmp_path), "read": 2, "converted": 2, "left": 0, "outside": 0}
    ]
    assert "2 files read, 2 would be converted" in report.read_text()
