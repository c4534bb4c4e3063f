"""Files that change together are written together or not at all, and nothing that somebody saves meanwhile is lost."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.run import together, writing
from raymigrate.run.job import Job
from tests.conftest import FIXTURES
from tests.projects.files import MAPPED, MAPPER, codes, convert, write

PAGE = 4096
MODEL, TRAIN, OTHER = "model.py", "train.py", "other.py"
EDIT = "# saved by somebody else\n"


@pytest.fixture
def project(tmp_path: Path) -> dict[str, str]:
    """A preprocessor that two scripts ask to change; the texts before."""
    script = MAPPED.format(imports="import model", preprocessor="model.get_mapper()")
    mapper = MAPPER.replace('mapper = BatchMapper(double, batch_format="numpy")\n', "")
    write(tmp_path, {MODEL: mapper, TRAIN: script, OTHER: f"# other\n{script}"})
    return texts(tmp_path)


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def on_renaming(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], None]) -> None:
    """Has something done when a file is about to get its new text."""
    replace = os.replace

    def acting(source: str, target: str) -> None:
        if target.endswith(name):
            act()
        replace(source, target)

    monkeypatch.setattr(os, "replace", acting)


def full() -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", [MODEL, TRAIN, OTHER])
def test_one_that_cannot_be_written_leaves_all_as_they_were(
    tmp_path: Path, project: dict[str, str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    on_renaming(monkeypatch, name, full)
    summary = convert(tmp_path)
    assert texts(tmp_path) == project
    assert summary.exit_code(dry_run=False) == 2
    messages = {Path(f.path).name: f.message for f in summary.findings if f.kind is Kind.ERROR}
    assert messages.keys() == {MODEL, TRAIN, OTHER}
    for other, message in messages.items():
        if other == name:
            assert message == "cannot be written, and is as it was: No space left on device."
        else:
            assert message == f"left as it was: {tmp_path / name}, which it has to change with, cannot be written."


def test_nothing_is_written_before_all_is_proven(
    tmp_path: Path, project: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def noted(owner: object, name: str, step: str) -> None:
        act = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, **named: (steps.append(step), act(*given, **named))[1])

    noted(Job, "look", "planned")
    noted(together, "looked_at_again", "proven")
    noted(writing, "stage", "written")
    noted(os, "replace", "in its place")
    convert(tmp_path)
    order = ("planned", "proven", "written", "in its place")
    assert steps == sorted(steps, key=order.index)
    assert set(steps) == set(order)
    assert steps.count("written") == len(project)


@pytest.mark.parametrize("calls", range(8))
def test_a_disk_that_is_full_from_some_write_on(
    tmp_path: Path, project: dict[str, str], monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    real, left = os.write, [calls]

    def limited(descriptor: int, data: bytes) -> int:
        if not left[0]:
            full()
        left[0] -= 1
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", limited)
    summary = convert(tmp_path)
    if calls < 3:
        assert texts(tmp_path) == project
        assert "cannot be given its old text" not in str(summary.results)
    else:
        assert all("AccelerateTrainer" not in text for text in texts(tmp_path).values())
        assert summary.exit_code(dry_run=False) < 2


@pytest.mark.parametrize("edited", [MODEL, TRAIN])
@pytest.mark.parametrize("failing", [OTHER, TRAIN, MODEL])
def test_what_somebody_saves_meanwhile_is_kept(
    tmp_path: Path, project: dict[str, str], monkeypatch: pytest.MonkeyPatch, edited: str, failing: str
) -> None:
    """Whether the other files have their new text by then or not."""

    def save_and_fail() -> None:
        with (tmp_path / edited).open("a") as file:
            file.write(EDIT)
        full()

    on_renaming(monkeypatch, failing, save_and_fail)
    summary = convert(tmp_path)
    after = texts(tmp_path)
    assert after[edited].endswith(EDIT)
    assert {name: text for name, text in after.items() if name != edited} == {
        name: text for name, text in project.items() if name != edited
    }
    assert codes(summary, Kind.ERROR, edited) == {"RM902"}


def test_a_file_that_changes_before_anything_is_written_keeps_all_as_they_were(
    tmp_path: Path, project: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = writing.stage

    def stage_and_save(path: str, data: bytes) -> object:
        staged = stage(path, data)
        if path.endswith(TRAIN):
            (tmp_path / MODEL).write_text(EDIT)
        return staged

    monkeypatch.setattr(writing, "stage", stage_and_save)
    summary = convert(tmp_path)
    assert texts(tmp_path) == {**project, MODEL: EDIT}
    assert "changed while it was being converted" in str([f.message for f in summary.findings])


def test_files_with_a_second_name_change_together_too(
    tmp_path: Path, project: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "second name").hardlink_to(tmp_path / MODEL)
    on_renaming(monkeypatch, OTHER, full)
    convert(tmp_path)
    assert texts(tmp_path) == {**project, "second name": project[MODEL]}
    monkeypatch.undo()
    convert(tmp_path)
    after = texts(tmp_path)
    assert after["second name"] == after[MODEL] != project[MODEL]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() or os.system(f"mount -t tmpfs -o size=256k tmpfs '{folder}' 2>/dev/null"):
        pytest.skip("no disk can be mounted here")
    yield folder
    os.system(f"umount '{folder}'")


@pytest.mark.parametrize("pages", [0, 1, 2, 3, 5, 12])
def test_on_a_disk_that_is_really_full(disk: Path, pages: int) -> None:
    project = disk / "project"
    shutil.copytree(FIXTURES / "projects/src_layout/before", project)
    before = texts(project)
    statistics = os.statvfs(disk)
    with (disk / "filler").open("wb") as filler:
        filler.write(b"x" * (statistics.f_bavail * statistics.f_frsize - pages * PAGE))
    summary = convert(project)
    after = texts(project)
    assert "cannot be given its old text" not in str([f.message for f in summary.findings])
    if summary.exit_code(dry_run=False) == 2:
        unwritten = {Path(f.path).name for f in summary.findings if f.kind is Kind.ERROR}
        assert all(after[name] == before[name] for name in after if Path(name).name in unwritten)
        assert all(name in unwritten for group in summary.together for name in {Path(p).name for p in group})
    else:
        assert pages >= 1 and after != before
    assert sorted(after) == sorted(before)
