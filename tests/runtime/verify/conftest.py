"""What every test of verify needs."""

import pytest


@pytest.fixture(autouse=True)
def no_wishes_for_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """What continuous integration may set, and rich obeys."""
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
