"""`scripts/gpu_verify.py`: the matrix is done in pieces, each once. The pieces themselves are quick stand-ins here."""

import shlex
import sys
from dataclasses import replace
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
        (tmp_path / f"{cell.name}.json").write_text(json_text(PASSING), encoding="utf-8")
    (tmp_path / "controls.xml").touch()
    assert list(commands(tmp_path)) == [cell.name for cell in MATRIX[5:]]


def test_the_report_of_an_arm_that_did_not_run_is_none(tmp_path: Path) -> None:
    (tmp_path / f"{MATRIX[0].name}.json").write_text(json_text(replace(PASSING, arms=(), comparisons=())), "utf-8")
    assert next(iter(commands(tmp_path))) == MATRIX[0].name
    assert "No report" in gpu_verify.table(tmp_path, "gpu")


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
    assert "Controls" not in text
    suite = '<testsuites><testsuite errors="0" failures="2" skipped="1" tests="11"/></testsuites>'
    (tmp_path / "controls.xml").write_text(suite, encoding="utf-8")
    assert "8 of 11 did." in gpu_verify.table(tmp_path, "gpu")
    dated = suite.replace("tests=", 'timestamp="2025-11-02T10:13:15.053927+00:00" tests=')
    (tmp_path / "controls.xml").write_text(dated, encoding="utf-8")
    assert "8 of 11 did, begun 2025-11-02 10:13 UTC." in gpu_verify.table(tmp_path, "gpu")
    assert f"Ran from {PASSING.started[:10]}" in text
    assert {row.split(" | ")[-2] for row in rows[2:]} == {PASSING.started[:10]}
    assert {row.split(" | ")[-5] for row in rows[2:]} == {"2"}  # both began at the same second
    assert f"* {MATRIX[1].name}: cause: {EXPLAINED.comparisons[0].causes[0].name}" in text


def test_reports_tell_how_many_ran_at_once() -> None:
    times = {"bert": ("10:00", 60), "gpt2_own_data": ("10:00", 100), "gpt2_ray_data": ("10:01", 30)}
    found = {
        Cell(job, "tiny", "fp32", 2): replace(PASSING, started=f"2025-11-03T{clock}:00+00:00", seconds=seconds)
        for job, (clock, seconds) in times.items()
    }
    assert list(gpu_verify._at_once(found).values()) == [2, 2, 2]
    found[Cell("bert", "full", "fp32", 2)] = replace(PASSING, started="2025-11-03T10:01:10+00:00", seconds=1)
    assert list(gpu_verify._at_once(found).values()) == [2, 3, 3, 3]


def test_several_pieces_run_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each waits for the other's report."""
    names = [cell.name for cell in TINY if cell.job == "bert" and cell.precision == "fp32"]

    def command(cell: Cell, reports: Path, device: str) -> list[str]:
        other = next(name for name in names if name != cell.name)
        code = (
            "import pathlib, time\n"
            f"pathlib.Path({str(tmp_path / f'{cell.name}.json')!r}).touch()\n"
            f"while not pathlib.Path({str(tmp_path / f'{other}.json')!r}).exists(): time.sleep(0.1)"
        )
        return [sys.executable, "-c", code]

    monkeypatch.setattr(gpu_verify, "_command", command)
    assert len(names) == 2
    assert gpu_verify.run(tmp_path, 10, "gpu", "bert-tiny-fp32", tmp_path / "reports.tar.gz", jobs=2) == (True, [])
    assert (tmp_path / "reports.tar.gz").exists()
