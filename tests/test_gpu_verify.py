"""`scripts/gpu_verify.py`: the matrix is done in pieces, each once. The pieces themselves are quick stand-ins here."""

import shlex
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))  # where a script finds the other one

import gpu_verify
from gpu_verify import MATRIX, Cell

from raymigrate.runtime.verify.reporting.json import json_text
from tests.conftest import ROOT
from tests.runtime.verify.verifications import EXPLAINED, PASSING

TINY = [cell for cell in MATRIX if cell.size == "tiny"]


def commands(reports: Path) -> dict[str, str]:
    return {name: shlex.join(command) for name, command in gpu_verify._pieces(reports, "gpu")}


def test_the_matrix_covers_what_the_jobs_are_run_with(tmp_path: Path) -> None:
    assert len(MATRIX) == len({cell.name for cell in MATRIX}) == 3 * 2 * 2 * 2
    pieces = commands(tmp_path)
    assert list(pieces) == [*(cell.name for cell in MATRIX), "controls"]
    for cell in MATRIX:
        command = pieces[cell.name]
        script = next(part for part in command.split() if part.startswith("fixtures/"))
        assert (ROOT / script).exists()
        wanted = f"--hub-size {cell.size} --device gpu --workers {cell.workers} --precision {cell.precision} --repeat 2"
        assert wanted in command
    assert (ROOT / pieces["controls"].split()[-1]).exists()


def test_what_has_its_report_is_not_run_again(tmp_path: Path) -> None:
    for cell in MATRIX[:5]:
        (tmp_path / f"{cell.name}.json").touch()
    (tmp_path / "controls.xml").touch()
    assert list(commands(tmp_path)) == [cell.name for cell in MATRIX[5:]]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pieces write their report at once; "bf16" fails. Returns the names of those that ran."""
    ran: list[str] = []

    def command(cell: Cell, reports: Path, device: str) -> list[str]:
        ran.append(cell.name)
        code = (
            f"open({str(reports / f'{cell.name}.json')!r}, 'w').close(); raise SystemExit({cell.precision == 'bf16'})"
        )
        return [sys.executable, "-c", code]

    monkeypatch.setattr(gpu_verify, "_command", command)
    return ran


def test_a_failure_is_told_and_does_not_stop_the_rest(quick: list[str], tmp_path: Path) -> None:
    done, failed = gpu_verify.run(tmp_path, 10, "gpu", "bert-tiny", None)
    assert done
    assert failed == [cell.name for cell in TINY if cell.job == "bert" and cell.precision == "bf16"]


def test_pieces_that_may_not_end_in_time_are_left_for_the_next_call(quick: list[str], tmp_path: Path) -> None:
    assert gpu_verify.run(tmp_path, 0.9, "gpu", "tiny", None) == (False, [])  # none is begun in the last minute
    assert not list(tmp_path.glob("*.json"))


def test_a_piece_that_hangs_is_ended_in_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hangs = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(gpu_verify, "_command", lambda cell, reports, device: hangs)
    monkeypatch.setattr(gpu_verify, "SHORTEST", 0.0)
    assert gpu_verify.run(tmp_path, 1 / 60, "gpu", "bert-tiny-fp32-2", None) == (False, [])


def test_the_table_has_a_row_for_each_report_and_says_why_one_is_explained(tmp_path: Path) -> None:
    assert "No report" in gpu_verify.table(tmp_path, "gpu")
    for cell, found in zip(MATRIX, [PASSING, EXPLAINED], strict=False):
        (tmp_path / f"{cell.name}.json").write_text(json_text(found), encoding="utf-8")
    text = gpu_verify.table(tmp_path, "gpu")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [row.split(" | ")[-1] for row in rows[2:]] == [f"[{cell.name}]({cell.name}.md) |" for cell in MATRIX[:2]]
    assert len({row.count("|") for row in rows}) == 1
    assert f"* {MATRIX[1].name}: cause: {EXPLAINED.comparisons[0].causes[0].name}" in text
