"""Runs tests on mutants: a plugin of pytest that forks a process for each, when all tests are collected."""

from __future__ import annotations

import json
import os
import pkgutil
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from scripts.live_code import Hits, marked, put_in

ROOT = Path(__file__).parent.parent
PACKAGES = ("raymigrate.codemods", "raymigrate.facts", "raymigrate.edits", "raymigrate.run")
MEMORY = 6 * 2**30
COPIED = ("raymigrate", "scripts", "tests", "fixtures", "docs", "pyproject.toml")
Outcome = dict[str, Any]


@dataclass
class Change:
    """A mutant and where it belongs.

    Args:
        name: Tells it from all others.
        file: The file, from the top of the repository.
        line: Where it differs.
        before: All of the file.
        after: All of it, changed.
    """

    name: str
    file: str
    line: int
    before: str
    after: str


@dataclass
class MutantTests:
    """The plugin.

    Args:
        changes: The mutants.
        seconds: How long the tests of one may take, as they took without it.
        until: The time at which no other mutant is begun.
        visits: A file that keeps which tests come to which mutant, as they are found; it is gone on with.
        jobs: How many processes share the work.
        write: Is called with the name of each mutant and what came of it.
        part: Every how many-th test is run at all.
    """

    changes: list[Change]
    seconds: float
    until: float
    visits: Path
    jobs: int
    write: Callable[[str, Outcome], None]
    part: int = 1
    _items: dict[str, pytest.Item] = field(default_factory=dict)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Runs the tests on all mutants, in place of the tests."""
        self._items = {item.nodeid: item for item in session.items[:: self.part]}
        for package in PACKAGES:  # not each is imported before a test needs it
            for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
                import_module(found.name)
        seen = self._seen()
        unseen = [item for name, item in self._items.items() if name not in seen]
        if unseen:
            _side_by_side(self._look, unseen, self.jobs)
        visits = self._seen()
        _side_by_side(lambda changes: self._run(changes, visits), self.changes, self.jobs)
        return True

    def _seen(self) -> Outcome:
        lines = self.visits.read_text(encoding="utf-8").splitlines() if self.visits.exists() else []
        return {test: visit for line in lines for test, visit in json.loads(line).items()}

    def _run(self, changes: list[Change], visits: Outcome) -> Outcome:
        for change in changes:
            if time.time() > self.until:
                break
            began = time.time()
            tests = chosen(change.name, visits, self.seconds)
            outcome = self._outcome(change, tests) if tests else {"outcome": "no test"}
            reached = sum(change.name in visit["mutants"] for visit in visits.values())
            self.write(change.name, {**outcome, "tests": len(tests), "of": reached, "s": round(time.time() - began, 1)})
        return {}

    def _look(self, items: list[pytest.Item]) -> Outcome:
        """Writes down which tests come to each mutant, and how long they take; one that fails comes to none."""
        hits = Hits()
        for file in {change.file for change in self.changes}:
            places = {i: change.line for i, change in enumerate(self.changes) if change.file == file}
            text = (ROOT / file).read_text(encoding="utf-8")
            put_in(str(ROOT / file), text, marked(text, places))
        for item, following in zip_longest(items, items[1:]):
            if time.time() > self.until:
                break
            hits.taken()
            began = time.process_time()
            passed = _failure(item, following) is None
            names = [self.changes[number].name for number in hits.taken()] if passed else []
            visit = {"s": round(time.process_time() - began, 3), "mutants": names}
            with self.visits.open("a", encoding="utf-8") as file:
                file.write(json.dumps({item.nodeid: visit}) + "\n")
        return {}

    def _outcome(self, change: Change, tests: list[str]) -> Outcome:
        items = [self._items[name] for name in tests if name in self._items]
        limit = int(3 * self.seconds) + 20
        outcome = _forked(lambda: _put_in_and_run(change, items), limit)
        if outcome.get("outcome") == "import":
            return _outcome_in_copy(change, tests, limit + 60)
        return outcome


def _put_in_and_run(change: Change, items: list[pytest.Item]) -> Outcome:
    if not put_in(str(ROOT / change.file), change.before, change.after):
        return {"outcome": "import"}
    for item, following in zip_longest(items, items[1:]):
        failure = _failure(item, following)
        if failure is not None:
            return {"outcome": "killed", "by": item.nodeid, "why": failure}
    return {"outcome": "survived"}


def chosen(name: str, visits: dict[str, Any], seconds: float) -> list[str]:
    """The tests of a mutant, in the order in which they run: those first whose neighbours come to it most.

    Args:
        name: Its name.
        visits: Which tests come to which mutants, and how long they take.
        seconds: How long they may take together.
    """
    every = Counter(_file(test) for test in visits)
    by_file: defaultdict[str, list[str]] = defaultdict(list)
    for test in sorted(
        (test for test in visits if name in visits[test]["mutants"]), key=lambda test: visits[test]["s"]
    ):
        by_file[_file(test)].append(test)
    files = sorted(by_file, key=lambda file: -len(by_file[file]) / every[file])
    taken: list[str] = []
    for test in _in_turn(by_file[file] for file in files):
        seconds -= visits[test]["s"]
        if seconds < 0 and taken:
            break
        taken.append(test)
    return taken


def _file(test: str) -> str:
    return test.partition("::")[0]


def _in_turn(lists: Iterable[list[str]]) -> list[str]:
    return [each for row in zip_longest(*lists) for each in row if each is not None]


def _failure(item: pytest.Item, following: pytest.Item | None) -> str | None:
    """The last line of what a test says that fails; None for one that passes or is skipped."""
    for report in runtestprotocol(item, log=False, nextitem=following):
        if report.failed:
            return (str(report.longrepr).strip().splitlines() or [""])[-1][:200]
    return None


def _side_by_side(work: Callable[[list[Any]], Outcome], items: list[Any], jobs: int) -> list[Outcome]:
    """What some work gives for each share of some items, in a process for each."""
    started = [_fork(partial(work, items[job::jobs])) for job in range(jobs)]
    return [_answer(*each) for each in started]


def _forked(work: Callable[[], Outcome], limit: int) -> Outcome:
    """What some work gives in a process of its own, or that it did not end in its seconds of CPU."""
    return _answer(*_fork(work, limit)) or {"outcome": "killed", "why": f"no end in {limit} s, or the process died"}


def _fork(work: Callable[[], Outcome], limit: int | None = None) -> tuple[int, Path]:
    answer = Path(tempfile.mkdtemp(prefix="mutant-"), "answer.json")
    child = os.fork()
    if child == 0:
        try:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(10 * limit)
            answer.write_text(json.dumps(work()), encoding="utf-8")
        finally:
            os._exit(0)
    return child, answer


def _answer(child: int, answer: Path) -> Outcome:
    os.waitpid(child, 0)
    given = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {}
    shutil.rmtree(answer.parent)
    return given


def _outcome_in_copy(change: Change, tests: list[str], limit: int) -> Outcome:
    """What the tests say where the module is imported as it is changed: in a copy of the repository."""
    copy = ROOT / f"build/rule_mutants/copy-{os.getpid()}"
    if not copy.exists():
        for name in COPIED:
            source = ROOT / name
            copy_one = shutil.copytree if source.is_dir() else shutil.copy
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            copy_one(source, copy / name)
    (copy / change.file).write_text(change.after, encoding="utf-8")
    names = copy / "names.txt"
    names.write_text("\n".join(tests), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:randomly", f"@{names}"]
    environment = os.environ | {"PYTHONPATH": str(copy)}
    try:
        ended = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=3 * limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {"outcome": "killed", "why": "no end"}
    finally:
        (copy / change.file).write_text(change.before, encoding="utf-8")
    if ended.returncode == 0:
        return {"outcome": "survived", "copy": True}
    lines = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return {"outcome": "killed", "copy": True, "why": (lines or ended.stdout.splitlines()[-1:] or [""])[0][:200]}
