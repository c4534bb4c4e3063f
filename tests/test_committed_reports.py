"""The reports below docs/verification are what the present version makes of their data."""

from pathlib import Path

import pytest

from raymigrate.runtime.verify.reporting.json import json_text, json_verification
from raymigrate.runtime.verify.reporting.markdown import markdown_text
from tests.conftest import ROOT

REPORTS = sorted((ROOT / "docs/verification").rglob("*.json"))
AGAIN = "make the reports anew: python scripts/verify_bundled_jobs.py --render"


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_committed_report_is_what_its_data_give(path: Path) -> None:
    found = json_verification(path.read_text(encoding="utf-8"))
    assert json_text(found) == path.read_text(encoding="utf-8"), AGAIN
    assert markdown_text(found) == path.with_suffix(".md").read_text(encoding="utf-8"), AGAIN


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_committed_report_tells_a_command_that_can_be_repeated(path: Path) -> None:
    found = json_verification(path.read_text(encoding="utf-8"))
    assert (ROOT / found.original).is_file()
    assert f"raymigrate verify {found.original} " in found.command
    assert f"--report {path.relative_to(ROOT)}" in found.command
