"""Files of a job that were not named, and what the reports say of a job as a whole."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from tests.projects.files import DRIVER, INIT, MAPPED, MAPPER, convert, write


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


SMALL = "from ray.air import session\n\n\ndef f():\n    session.report({})\n"


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, into which a test puts links, and another one that it does not name."""
    write(tmp_path / "elsewhere", {"model.py": INIT, "small.py": SMALL, "requirements.txt": "ray==2.6\n"})
    (tmp_path / "p").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "elsewhere"


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("paths", [["p"], ["p/"], ["../{name}/p"], ["{absolute}/p"], ["p", "p/plain.py"]])
def test_a_link_that_leads_out_of_the_folder_is_named_and_not_followed(
    beside: Path, paths: list[str], check: bool
) -> None:
    before = texts(beside)
    Path("p/small.py").symlink_to("../elsewhere/small.py")
    Path("p/plain.py").write_text(SMALL)
    absolute = Path.cwd()
    named = [path.format(absolute=absolute, name=absolute.name) for path in paths]
    outcome = CliRunner().invoke(main, [*(["--check"] if check else []), *named])
    assert outcome.exit_code == 1
    assert texts(beside) == before
    target = (beside / "small.py").resolve()
    assert f"small.py:1:1: RM908 manual: This is a link to {target}, which has to change (RM302)" in outcome.stdout
    assert ("session" in Path("p/plain.py").read_text()) == check


@pytest.mark.parametrize(
    "paths", [["p/small.py"], ["p", "elsewhere"], ["p", "elsewhere/small.py"], ["."], ["p", "p/small.py"]]
)
def test_a_link_to_what_was_named_is_followed(beside: Path, paths: list[str]) -> None:
    Path("p/small.py").symlink_to("../elsewhere/small.py")
    outcome = CliRunner().invoke(main, paths)
    assert "ray.train.report" in (beside / "small.py").read_text()
    assert "RM908" not in outcome.output
    assert Path("p/small.py").is_symlink()


@pytest.mark.parametrize("link", ["model.py", "package", "train.py"])
def test_no_file_of_a_project_is_reached_through_a_link(beside: Path, link: str) -> None:
    """Neither a file nor a folder that a script imports, nor a script that asks others to change."""
    files = {"train.py": DRIVER.format(imports="from model import init", init="init"), "model.py": INIT}
    if link == "package":
        files["train.py"] = files["train.py"].replace("from model", "from package.model")
    write(Path("p"), files)
    write(beside, {"train.py": files["train.py"].lstrip()})
    Path("p", "model.py" if link == "package" else link).unlink()
    Path("p", link).symlink_to(beside if link == "package" else beside / link)
    before = texts(beside)
    outcome = CliRunner().invoke(main, ["p"])
    assert texts(beside) == before
    assert outcome.exit_code == 1
    assert "RM908 manual" in outcome.stdout


def test_nothing_changes_for_a_script_that_is_reached_through_a_link(beside: Path) -> None:
    write(Path("p"), {"model.py": MAPPER})
    write(beside, {"train.py": MAPPED.format(imports="from model import mapper", preprocessor="mapper")})
    Path("p/train.py").symlink_to(beside / "train.py")
    before = texts(beside), texts(Path("p"))
    CliRunner().invoke(main, ["p"])
    assert (texts(beside), texts(Path("p"))) == before
    CliRunner().invoke(main, ["p", "elsewhere"])
    assert "AccelerateTrainer" not in (beside / "train.py").read_text()


def test_no_requirements_are_reached_through_a_link(beside: Path) -> None:
    Path("p/requirements.txt").symlink_to(beside / "requirements.txt")
    Path("p/t.py").write_text(SMALL)
    outcome = CliRunner().invoke(main, ["--unsafe", "p"])
    assert (beside / "requirements.txt").read_text().strip() == "ray==2.6"
    assert "requirements.txt:1:1: RM908 manual" in outcome.stdout


def test_patterns_hold_up_to_the_edge_of_a_repository_inside(tmp_path: Path) -> None:
    """What is walked is what is written: a model in a repository inside, and none in one that is left out."""
    for name in ("lib", "out"):
        driver = DRIVER.format(imports=f"from {name}.model import init", init="init")
        write(tmp_path, {f"{name}/model.py": INIT, f"train_{name}.py": driver})
    for folder in ("", "lib", "out"):
        (tmp_path / folder / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("model.py\n/out/\n")
    summary = convert(tmp_path)
    assert "no_cuda" not in (tmp_path / "lib/model.py").read_text()
    assert (tmp_path / "out/model.py").read_text() == INIT.lstrip("\n")
    assert [Path(f.path).name for f in summary.findings if f.code == "RM908"] == ["train_out.py"]
