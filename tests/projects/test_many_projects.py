"""A folder of several projects and many scripts, however it is named: the same findings, the same files."""

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from raymigrate.facts.projects import project as project_facts
from tests.conftest import FIXTURES
from tests.projects.files import DRIVER, INIT, MAPPED, MAPPER, write

SMALL = "from ray.air import session\n\n\ndef log_{n}(metrics):\n    session.report(metrics)\n"


def tree(folder: Path) -> None:
    """Five projects that share file names, and 80 scripts, more than are kept parsed."""
    for name in ("init_in_config", "src_layout", "text_classifier"):
        shutil.copytree(FIXTURES / "projects" / name / "before", folder / name)
    write(
        folder,
        {
            "functions/lib/model.py": INIT,
            "functions/train.py": DRIVER.format(imports="from lib.model import init", init="init"),
            "mappers/lib/model.py": MAPPER,
            "mappers/train.py": MAPPED.format(imports="from lib.model import mapper", preprocessor="mapper"),
            **{f"scripts/log_{n:03}.py": SMALL.format(n=n) for n in range(80)},
        },
    )


def outcome(folder: Path, start: Path, path: str, *options: str) -> tuple[dict, dict[str, bytes]]:
    """What a run from a folder finds, with paths below the named one, and the files after it."""
    here = Path.cwd()
    os.chdir(start)
    try:
        result = CliRunner().invoke(main, ["--output-format", "json", *options, path], catch_exceptions=False)
    finally:
        os.chdir(here)
    text = result.stdout if path == "." else result.stdout.replace(f"{path}/", "")
    files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    return {"exit code": result.exit_code, **json.loads(text)}, files


@pytest.mark.parametrize("options", [("--check",), ()], ids=["check", "convert"])
def test_how_a_folder_is_named_changes_neither_findings_nor_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setattr(project_facts, "TEXT_KEPT", 0)
    outcomes = []
    for way in ("inside, relative", "inside, absolute", "outside, relative", "outside, absolute", "below, relative"):
        folder = tmp_path / way / "work"
        tree(folder)
        start = {"inside": folder, "outside": folder.parent, "below": folder / "scripts"}[way.split(",")[0]]
        path = str(folder) if "absolute" in way else os.path.relpath(folder, start)
        outcomes.append(outcome(folder, start, path, *options))
    found, files = outcomes[0]
    assert len(found["projects"]) == 5 and found["scanned"] > 80 > project_facts.MODULES_KEPT
    assert len(found["changed"]) > 85
    for other_found, other_files in outcomes[1:]:
        assert other_found == found
        assert other_files == files


def test_a_project_named_twice_relative_and_absolute_is_converted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path / "twice")
    tree(tmp_path / "once")
    monkeypatch.chdir(tmp_path)
    twice = CliRunner().invoke(main, ["twice/functions", str(tmp_path / "twice")], catch_exceptions=False)
    once = CliRunner().invoke(main, ["once"], catch_exceptions=False)
    assert twice.exit_code == once.exit_code
    for path in (tmp_path / "once").rglob("*.py"):
        assert (tmp_path / "twice" / path.relative_to(tmp_path / "once")).read_bytes() == path.read_bytes(), path
