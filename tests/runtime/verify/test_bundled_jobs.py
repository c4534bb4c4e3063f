"""`raymigrate verify` from the command line on the bundled jobs, as a user calls it.

Slow: real Ray, two CPU workers; the test of all four arms makes the old environments first, unless they are cached.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import FIXTURES

pytestmark = pytest.mark.ray

BERT = FIXTURES / "accelerate_trainer/bert_mrpc/before.py"
GPT2 = FIXTURES / "transformers_trainer/gpt2_wikitext_own_data/before.py"
GPT2_RAY_DATA = FIXTURES / "transformers_trainer/gpt2_wikitext_ray_data/before.py"


def verify(*arguments: str | Path, folder: Path, timeout: float = 3000) -> subprocess.CompletedProcess[str]:
    """Runs the command in a folder, with temporary files below it."""
    command = [sys.executable, "-m", "raymigrate", "verify", "--offline", "--device", "cpu", *map(str, arguments)]
    (folder / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "temporary")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )


def test_gpt2_with_own_data_trains_as_before_and_all_reports_say_so(tmp_path: Path) -> None:
    names = ["out.html", "out.md", "out.json", "out.xml"]
    reports = [part for name in names for part in ("--report", name)]
    done = verify(GPT2, *reports, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "B = C: the conversion on the current libraries is proved bit for bit" in done.stdout
    assert list((tmp_path / "temporary").iterdir()) == []

    report = json.loads((tmp_path / "out.json").read_text())
    assert report["passed"] is True
    # Little more than the sum of its arms, also on a busy machine: preparing, comparing and cleaning up are the rest.
    assert report["seconds"] < 1.3 * sum(arm["seconds"] for arm in report["arms"]) + 10
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert list(suite.iter("failure")) == []
    assert len(list(suite.iter("testcase"))) == 9
    for name in ("out.html", "out.md"):
        assert "proved bit for bit" in (tmp_path / name).read_text()


@pytest.mark.rotating(2)
@pytest.mark.parametrize("job", [BERT, GPT2_RAY_DATA], ids=["own-loop", "trainer"])
def test_a_job_can_be_cut_short(job: Path, tmp_path: Path) -> None:
    done = verify(job, "--max-steps", "3", "--report", "out.json", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert {len(series["values"]) for arm in report["arms"] for series in arm["series"]} == {3}


def test_a_wrong_conversion_gives_exit_code_1(tmp_path: Path) -> None:
    right = GPT2.with_name("after.py").read_text()
    wrong = tmp_path / "job" / "train.py"
    wrong.parent.mkdir()
    wrong.write_text(right.replace("per_device_train_batch_size=4", "per_device_train_batch_size=2"))
    done = verify("--original", GPT2, wrong, folder=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "C differs from B at the gate 'contract'" in done.stdout
    assert "Cause: another batch size" in done.stdout


@pytest.mark.minutes
def test_bert_trains_as_on_the_real_old_ray(tmp_path: Path) -> None:
    """All four arms: A = O and B = C bit for bit, and with the pins A = C too."""
    done = verify(BERT, "--arms", "A,O,B,C", "--report", "out.json", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    statuses = {pair["left"] + pair["right"]: pair["status"] for pair in report["comparisons"]}
    assert statuses == dict.fromkeys(("AO", "BC", "OC", "AB", "AC"), "pass")
    versions = {arm["letter"]: arm["versions"] for arm in report["arms"]}
    assert versions["A"]["ray"].startswith("2.6")
    assert versions["O"]["transformers"] == versions["A"]["transformers"] != versions["C"]["transformers"]
