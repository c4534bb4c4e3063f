"""Proof records: what they depend on, which are run again on a day, and that one written by hand is found out."""

import datetime
import json
from pathlib import Path

import pytest

from scripts import prove
from scripts.prove import CASES, RECORD, SCRIPTS, Run, difference, due, excerpt, expected, inputs, record, run_script

DAY = datetime.date(2026, 11, 22)


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A case whose scripts need no Ray: one fails, the other prints two lines."""
    folder = tmp_path / "fixture"
    folder.mkdir()
    (folder / "before.py").write_text("raise ImportError('gone')\n")
    (folder / "after.py").write_text("import settings\nprint(__file__)\nprint('noise')\nprint('loss', settings.LOSS)\n")
    (folder / "settings.py").write_text("LOSS = 0.5\n")
    (folder / "findings.txt").write_text("1:1 RM712 converted: gone.\n")
    runs = {"before": {"exit": 1, "prints": "ImportError: gone"}, "after": {"exit": 0, "prints": "(?s)case.*loss 0.5"}}
    (folder / "runs.json").write_text(json.dumps(runs))
    return folder


def test_a_record_is_written_by_a_run_and_fits(case: Path, hub_url: str) -> None:
    assert record(case) is None
    assert prove.prove(case, hub_url) == ""
    proof = json.loads((case / RECORD).read_text())
    assert proof["before"]["exit"] == 1
    assert proof["before"]["prints"] == "ImportError: gone"
    assert proof["after"] == {"exit": 0, "prints": "case/after.py\nloss 0.5", "seconds": proof["after"]["seconds"]}
    assert {"ray", "torch", "transformers"} <= proof["libraries"].keys()
    known = record(case)
    assert known is not None
    assert [difference(expected(case)[which], known[which]) for which in SCRIPTS] == ["", ""]


def test_a_run_that_is_not_as_wanted_leaves_no_record(case: Path, hub_url: str) -> None:
    (case / "settings.py").write_text("LOSS = 0.7\n")
    assert "loss 0.5 was not printed" in prove.prove(case, hub_url)
    (case / "before.py").write_text("")
    assert "before.py: it ended with exit code 0, not 1" in prove.prove(case, hub_url)
    assert not (case / RECORD).exists()


@pytest.mark.parametrize("name", ["before.py", "after.py", "settings.py", "runs.json", "new.py", "below/new.json"])
def test_a_record_depends_on_the_scripts_and_what_lies_beside_them(case: Path, name: str) -> None:
    former = inputs(case)
    (case / name).parent.mkdir(exist_ok=True)
    (case / name).write_text('{"before": {}, "after": {}}\n')
    assert inputs(case) != former


@pytest.mark.parametrize("name", ["findings.txt", "options.json", RECORD, "__pycache__/settings.pyc"])
def test_a_record_does_not_depend_on_what_no_script_reads(case: Path, name: str) -> None:
    former = inputs(case)
    (case / name).parent.mkdir(exist_ok=True)
    (case / name).write_text("something else")
    assert inputs(case) == former


@pytest.mark.parametrize("library", prove.LIBRARIES)
def test_a_record_depends_on_the_libraries(case: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    former = inputs(case)
    installed = prove.installed
    monkeypatch.setattr(prove, "installed", lambda name: "99" if name == library else installed(name))
    assert inputs(case) != former


def test_a_record_depends_on_a_library_that_only_this_case_needs(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    former = inputs(case)
    monkeypatch.setattr(prove, "expected", lambda case: {"needs": ["mlflow"]})
    needed = inputs(case)
    assert needed != former
    monkeypatch.setattr(prove, "installed", lambda name: "99" if name == "mlflow-skinny" else "")
    assert inputs(case) != needed


def test_a_record_depends_on_python_and_on_our_own_helpers(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {inputs(case)}
    with monkeypatch.context() as patch:
        patch.setattr(prove.platform, "python_version_tuple", lambda: ("3", "99", "0"))
        seen.add(inputs(case))
    with monkeypatch.context() as patch:
        patch.setattr(prove, "assets_version", lambda: "other models")
        seen.add(inputs(case))
    for helper in prove.HELPERS:
        with monkeypatch.context() as patch:
            patch.setattr(prove, "hash_of", lambda path, changed=helper: "changed" if path == changed else "same")
            seen.add(inputs(case))
    assert len(seen) == 3 + len(prove.HELPERS)


def test_in_ten_days_each_case_has_its_turn_once() -> None:
    days = [DAY + datetime.timedelta(days=number) for number in range(10)]
    chosen = [case for day in days for case in due(CASES, day)]
    assert sorted(chosen) == CASES
    assert all(len(due(CASES, day)) in (len(CASES) // 10, len(CASES) // 10 + 1) for day in days)
    assert due(CASES, DAY) == due(list(reversed(CASES)), DAY)


def forged(case: Path, **prints: str) -> None:
    """A record that fits, by somebody who ran nothing."""
    runs = {which: {"exit": int(which == "before"), "prints": prints[which], "seconds": 9} for which in SCRIPTS}
    (case / RECORD).write_text(json.dumps({"inputs": inputs(case), **runs}))


def test_a_record_that_does_not_say_what_is_wanted_is_found_at_once(case: Path) -> None:
    forged(case, before="ImportError: gone", after="loss 0.9")
    known = record(case)
    assert known is not None
    assert difference(expected(case)["before"], known["before"]) == ""
    assert "was not printed" in difference(expected(case)["after"], known["after"])


def test_a_record_that_lies_is_found_when_the_script_runs(case: Path, hub_url: str, tmp_path: Path) -> None:
    (case / "settings.py").write_text("LOSS = 0.7\n")
    forged(case, before="ImportError: gone", after="case/after.py\nloss 0.5")
    known = record(case)
    assert known is not None
    assert difference(expected(case)["after"], known["after"]) == ""
    folder = tmp_path / "run"
    folder.mkdir()
    run = run_script(case, "after", hub_url, folder)
    assert "was not printed" in difference(expected(case)["after"], run)


def test_a_run_whose_ray_did_not_start_is_made_once_more(case: Path, hub_url: str, tmp_path: Path) -> None:
    """Only for that reason, only once, and with files that the first run did not touch."""
    starts = tmp_path / "starts"
    script = (
        "from pathlib import Path\n"
        f"starts = Path({str(starts)!r})\n"
        "starts.write_text(starts.read_text() + 'x' if starts.exists() else 'x')\n"
        "assert not Path('left').exists()\n"
        "Path('left').touch()\n"
        f"error = {prove.RAY_DID_NOT_START!r} if len(starts.read_text()) < LAST else 'loss is nan'\n"
        "raise Exception(error)\n"
    )
    for last, made in ((1, 1), (2, 2), (9, 2)):
        (case / "after.py").write_text(script.replace("LAST", str(last)))
        (tmp_path / str(last)).mkdir()
        starts.unlink(missing_ok=True)
        run = run_script(case, "after", hub_url, tmp_path / str(last))
        assert len(starts.read_text()) == made
        assert ("loss is nan" in run.prints) == (last <= made)
        assert run.exit == 1


def test_the_exit_code_and_the_text_have_to_agree() -> None:
    wanted = {"exit": 1, "prints": "Error: x"}
    assert difference(wanted, Run(2, "an Error: x\n", 1)) == ""
    assert "exit code 0, not 1" in difference(wanted, Run(0, "an Error: x\n", 1))
    assert "was not printed" in difference(wanted, Run(1, "an Error: y\n", 1))


def test_an_excerpt_is_short_and_names_no_place_of_this_machine(tmp_path: Path) -> None:
    printed = f"start\nrun {tmp_path}/results\n" + "step\n" * 500 + "best 1\nbest 2\nend\n"
    assert excerpt(r"(?s)run /.*best \d", printed, tmp_path) == "run /run/results\nbest 1\n"
    assert excerpt("st.p", printed, tmp_path) == "step"
