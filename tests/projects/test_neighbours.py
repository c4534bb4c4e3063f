"""A second run is foreseen with what the files of a project will hold, not with what they held."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.documents import open_document
from raymigrate.facts.projects.project import Project
from raymigrate.run.neighbours import looked_at_again
from raymigrate.run.outcome import FileResult

LOGS = "import ray.train\n\n\ndef log(loss):\n    ray.train.report({'loss': loss})\n"
BY_TRAINER = """from logs import log
from ray.train.torch import TorchTrainer


def objective(config):
    log(1)


TorchTrainer(objective)
"""
BY_TUNER = BY_TRAINER.replace("ray.train.torch", "ray.tune").replace("TorchTrainer", "Tuner")


def result(path: Path, before: str, after: str) -> FileResult:
    path.write_text(before)
    document = open_document(before.encode(), str(path))
    return FileResult(str(path), [], before, True, after, document=document, rewritten=document)


@pytest.mark.parametrize(("after", "refused"), [(BY_TRAINER, False), (BY_TUNER, True)])
def test_a_file_that_changed_neighbours_would_change_again_is_refused(
    after: str, refused: bool, tmp_path: Path
) -> None:
    logs = result(tmp_path / "logs.py", f"{LOGS}# old\n", LOGS)
    run = result(tmp_path / "run.py", BY_TRAINER, after)
    again = looked_at_again({logs.path: logs, run.path: run}, Project([f"{tmp_path}/"]), Options())
    assert set(again) == {logs.path, run.path}
    assert [f.kind for f in again[logs.path].findings] == [Kind.ERROR] * refused
    assert again[logs.path].changes is not refused
    if refused:
        assert "second run would change it again (RM413)" in again[logs.path].findings[0].message


def test_files_without_neighbours_that_change_are_not_looked_at_again(tmp_path: Path) -> None:
    (tmp_path / "logs.py").write_text(LOGS)
    run = result(tmp_path / "run.py", BY_TRAINER, BY_TUNER)
    assert looked_at_again({run.path: run}, Project([f"{tmp_path}/"]), Options()) == {}


def test_files_that_import_a_refused_one_are_converted_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    air = "from ray.air import session\nfrom ray.air.config import ScalingConfig\n"
    (tmp_path / "logs.py").write_text(f"{air}\n\ndef log(loss):\n    session.report({{'loss': loss}})\n")
    (tmp_path / "run.py").write_text(f"from ray.air.config import RunConfig\n{BY_TRAINER}")

    def unstable(changed: dict[str, FileResult], *_: object) -> dict[str, FileResult]:
        logs = next((real for real in changed if real.endswith("logs.py")), None)
        return {} if logs is None else {logs: refusal(changed[logs])}

    monkeypatch.setattr("raymigrate.run.together.looked_at_again", unstable)
    outcome = CliRunner().invoke(main, [str(tmp_path)])
    assert outcome.exit_code == 2
    assert "ray.air" in (tmp_path / "logs.py").read_text()
    assert "ray.air" not in (tmp_path / "run.py").read_text()


def refusal(changed: FileResult) -> FileResult:
    from raymigrate.run.conversion import failed  # noqa: PLC0415

    return failed(changed.path, "left as it was: a second run would change it again.")
