"""What the tests share: where the fixtures are, a home that is not the user's, the hub, how many tests run at once."""

import datetime
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
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
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it likewise

# Processes of a test run inherit these: what day it is, also after midnight, and whether the tests were chosen by name.
DAY = "RAYMIGRATE_TEST_DAY"
ROTATES = "RAYMIGRATE_TEST_ROTATES"
LAST = "ray or slow"  # what takes longest
# Test files are compiled with their asserts rewritten, which takes ten seconds: once, and not in each process of a run.
WRITES_NO_BYTECODE = pytest.StashKey[bool]()
MEMORY_OF_A_RUN = 3 * 2**30  # Ray's daemons, a driver, a controller and two workers that import torch


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-runs", action="store_true", help="take all of what is taken in turn, day by day")


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault(DAY, datetime.datetime.now(datetime.timezone.utc).date().isoformat())
    os.environ.setdefault(ROTATES, "yes" if config.args_source is pytest.Config.ArgsSource.TESTPATHS else "no")
    leave_home(config)
    config.stash[WRITES_NO_BYTECODE] = sys.dont_write_bytecode
    sys.dont_write_bytecode = False
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):  # not in what starts the workers
        gc.disable()  # until all is collected: nothing of it is garbage


def leave_home(config: pytest.Config) -> None:
    """Gives this process a home that is not the user's, before a test file imports what would look into it.

    What takes long to make, such as environments with old Ray, stays in build/cache.
    """
    from tests.jobs import CACHE  # noqa: PLC0415 - imports what the runs need

    home = tempfile.mkdtemp(prefix="raymigrate-home-")
    config.add_cleanup(partial(shutil.rmtree, home, ignore_errors=True))
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    os.environ |= {"HOME": home, "XDG_CACHE_HOME": str(CACHE)}


def today() -> datetime.date:
    """The day that chooses which records are held against a new run."""
    return datetime.date.fromisoformat(os.environ[DAY])


def todays(paths: Sequence[Path], parts: int, config: pytest.Config, *, later: int = 0) -> list[Path]:
    """One of so many parts of what takes long with all of them, another one each day; all of them with --all-runs.

    Args:
        paths: All of them.
        parts: How many parts.
        config: Of the test run.
        later: Takes the part of so many days later, so that two tests of a day do not take the same.
    """
    from scripts.prove import due  # noqa: PLC0415 - imports what the runs need

    if config.getoption("all_runs"):
        return list(paths)
    return due(paths, today() + datetime.timedelta(days=later), parts)


def pytest_report_header(config: pytest.Config) -> str:
    from scripts.prove import CASES, case_name, due, record  # noqa: PLC0415 - imports what the runs need

    if config.getoption("all_runs"):
        return f"before and after: all {len(CASES)} cases are run"
    stale = sum(record(case) is None for case in CASES)
    unfit = f", and {stale} without a record that fits (python -m scripts.prove --check names them)" if stale else ""
    chosen = ", ".join(case_name(case) for case in due(CASES, today()))
    return f"before and after: of {len(CASES)} cases those of {today()} are run: {chosen}{unfit}"


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One for each core; where Ray runs, which waits more than it computes, twice as many if the memory is enough."""
    cores = os.cpu_count() or 1
    if "not ray" in (config.option.markexpr or ""):
        return cores
    import psutil  # noqa: PLC0415 - comes with the libraries of `verify`

    return max(1, min(2 * cores, psutil.virtual_memory().available // MEMORY_OF_A_RUN))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out files without a test of the marks that `scripts/test` asks for last.

    To collect all takes half a minute, in each process of a run.
    """
    if config.option.markexpr != LAST or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if any(f"mark.{mark}" in text for mark in LAST.split(" or ")) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out cases of another day; what takes minutes begins first, so that nothing runs alone at the end.

    Cases of rotating tests, that is, unless the run names their file or is to run all.
    """
    if os.environ[ROTATES] == "yes" and not config.getoption("all_runs"):
        left_out = set(not_due(items, today()))
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.get_closest_marker("minutes") is None)


def not_due(items: Iterable[pytest.Item], day: datetime.date) -> Iterator[pytest.Item]:
    """Cases of tests marked `rotating(parts)` that are not of the part that runs on a day."""
    from scripts.prove import due  # noqa: PLC0415 - imports what the runs need

    tests: defaultdict[tuple[str, int], dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        if marker := item.get_closest_marker("rotating"):
            tests[item.nodeid.partition("[")[0], marker.args[0]][item.nodeid] = item
    for (_, parts), cases in tests.items():
        yield from (cases[name] for name in cases.keys() - due(list(cases), day, parts))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Compiles as the environment says from here on, and has the garbage collector leave what was collected alone.

    The 20,000 tests are a million objects. To look through them took a tenth of the time of a run, again and again.
    """
    sys.dont_write_bytecode = session.config.stash[WRITES_NO_BYTECODE]
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True)
def own_folders(request: pytest.FixtureRequest) -> Iterator[None]:
    """A home, a temporary folder and a Ray folder for each test that starts Ray, and Ray's settings.

    What only these tests need is not made for the 25,000 others.
    """
    if request.node.get_closest_marker("ray") is None:
        yield
        return
    from tests.jobs import RAY_SETTINGS, python_path, short_folder  # noqa: PLC0415

    tmp_path_factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
    monkeypatch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    with short_folder() as temporary, short_folder() as of_ray:
        for name, value in RAY_SETTINGS.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PYTHONPATH", python_path())
        monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        monkeypatch.setenv("RAY_TMPDIR", of_ray)
        monkeypatch.setenv("TMPDIR", temporary)
        monkeypatch.setattr(tempfile, "tempdir", None)  # else this process goes on with the former one
        yield


@pytest.fixture(scope="session")
def hub_url() -> Iterator[str]:
    """Where an offline hub answers."""
    from raymigrate.runtime.hub import HubServer, cached_hub  # noqa: PLC0415

    with HubServer(cached_hub()) as hub:
        yield hub.url


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


@pytest.fixture
def copied_script(script: Path, tmp_path: Path) -> Path:
    """Each of them with what lies beside it, in a folder of its own: a project of few files is searched at once."""
    return Path(shutil.copytree(script.parent, tmp_path / script.parent.name)) / script.name
