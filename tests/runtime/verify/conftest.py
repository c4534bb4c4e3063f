"""What the tests of verify share."""

import tempfile

import pytest

from tests.runtime.verify.shared_runs import SharedRuns


@pytest.fixture(scope="session")
def shared_runs(tmp_path_factory: pytest.TempPathFactory, hub_url: str) -> SharedRuns:
    """Runs of jobs, for all tests of this process."""
    return SharedRuns(tmp_path_factory.mktemp("runs"), hub_url)


@pytest.fixture(autouse=True)
def no_wishes_for_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """What continuous integration may set, and rich obeys."""
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the logs of failed arms stay."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
