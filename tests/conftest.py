"""What the tests share: where the fixtures are."""

import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
SCRIPTS = sorted(path for path in FIXTURES.rglob("before.py") if "projects" not in path.relative_to(FIXTURES).parts)
DOCUMENTS = sorted(path for path in FIXTURES.rglob("before.*") if "projects" not in path.relative_to(FIXTURES).parts)
PROJECTS = sorted(path.parent for path in FIXTURES.glob("projects/*/before"))
FALSE_FRIENDS = sorted(FIXTURES.glob("false_friends/*.py"))

# What a shell starts in the background ignores Ctrl-C, and so would the commands that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def case_name(path: Path) -> str:
    """Short name of a fixture, for test reports."""
    return "/".join(path.relative_to(FIXTURES).parts[:2])


@pytest.fixture(params=DOCUMENTS, ids=case_name)
def document(request: pytest.FixtureRequest) -> Path:
    """Every legacy file of the fixtures: scripts, notebooks, pages."""
    return request.param


@pytest.fixture(params=SCRIPTS, ids=case_name)
def script(request: pytest.FixtureRequest) -> Path:
    """Every legacy script of the fixtures."""
    return request.param
