"""Mutants of the rules and facts: how they are drawn, how code gets into functions that live, which tests they get."""

import gc
import importlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from scripts import mutant_tests
from scripts.live_code import Hits, marked, put_in
from scripts.mutant_tests import MutantTests, chosen
from scripts.mutants import Script
from scripts.rule_mutants import ALL_OPERATORS, PROSE, concerned, difference, known, sample, sources, still_there

TEXT = dedent("""\
    from functools import cache

    LIMITS = {"a": 1, "b": 2}


    def outer(name):
        def inner(value):
            return value in LIMITS

        return inner(name)


    @cache
    def kept(name):
        if name == "a":
            return 1
        return 0


    class Held:
        @property
        def value(self):
            return LIMITS["a"]
    """)


@pytest.fixture
def living(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "raymigrate_of_this_test.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("raymigrate_of_this_test")
    del sys.modules["raymigrate_of_this_test"]


def changed(module: ModuleType, old: str, new: str) -> bool:
    assert old in TEXT
    return put_in(str(module.__file__), TEXT, TEXT.replace(old, new))


def test_a_function_that_lives_gets_other_code(living: ModuleType) -> None:
    outer, held = living.outer, living.Held()
    assert changed(living, "value in LIMITS", "value not in LIMITS")
    assert (outer("a"), outer("c")) == (False, True)
    assert changed(living, 'LIMITS["a"]', 'LIMITS["b"]')
    assert held.value == 2


def test_what_was_cached_is_forgotten(living: ModuleType) -> None:
    assert living.kept("a") == 1
    assert changed(living, 'name == "a"', 'name != "a"')
    assert living.kept("a") == 0


def test_functions_are_found_that_the_collector_leaves_alone(living: ModuleType) -> None:
    frozen = gc.get_freeze_count()
    gc.freeze()
    assert changed(living, "return 0", "return 2")
    assert living.kept("b") == 2
    assert gc.get_freeze_count()
    if not frozen:
        gc.unfreeze()


@pytest.mark.parametrize(
    ("old", "new"), [('"b": 2', ""), ("@cache\n", ""), ("def kept(name)", "def kept(name=2)"), ("@property", "@cache")]
)
def test_what_runs_at_import_cannot_be_put_in(living: ModuleType, old: str, new: str) -> None:
    assert not changed(living, old, new)


def test_lines_that_move_change_no_function(living: ModuleType) -> None:
    code = living.kept.__wrapped__.__code__
    assert changed(living, "    return inner(name)", "\n    return inner(name) or 1")
    assert living.kept.__wrapped__.__code__ is code


def line(part: str) -> int:
    return next(number for number, text in enumerate(TEXT.splitlines(), 1) if part in text)


@pytest.mark.parametrize(
    ("place", "call", "hits"),
    [
        ("return value in", "outer", [7]),
        ("return value in", "kept", []),
        ("return 1", "kept", [7]),
        ("if name", "kept", [7]),
        ("LIMITS =", "outer", [7]),  # it reads the table
        ("LIMITS =", "kept", []),
        ("@cache", "kept", [7]),
    ],
)
def test_a_marked_statement_says_that_it_runs(living: ModuleType, place: str, call: str, hits: list[int]) -> None:
    put_in(str(living.__file__), TEXT, marked(TEXT, {7: line(place)}))
    said = Hits()
    getattr(living, call)("a")
    assert said.taken() == hits
    assert said.taken() == []


def test_tests_whose_neighbours_come_there_most_run_first() -> None:
    visits = {
        "far.py::one": {"s": 0.1, "mutants": ["m"]},
        "far.py::two": {"s": 0.1, "mutants": []},
        "own.py::slow": {"s": 2.0, "mutants": ["m"]},
        "own.py::quick": {"s": 0.2, "mutants": ["m"]},
        "never.py::one": {"s": 0.1, "mutants": ["other"]},
    }
    assert chosen("m", visits, 9) == ["own.py::quick", "far.py::one", "own.py::slow"]
    assert chosen("m", visits, 1) == ["own.py::quick", "far.py::one"]
    assert chosen("m", visits, 0.1) == ["own.py::quick"]  # one at least
    assert chosen("none", visits, 9) == []


def test_a_first_pass_that_was_cut_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutant_tests, "_side_by_side", lambda work, items, jobs: work(items))
    monkeypatch.setattr(mutant_tests, "_failure", lambda item, following: None)
    monkeypatch.setattr(mutant_tests, "PACKAGES", ())
    visits = tmp_path / "visits.jsonl"
    visits.write_text('{"a.py::one": {"s": 9, "mutants": ["m"]}}\n')
    session: Any = SimpleNamespace(items=[SimpleNamespace(nodeid=f"a.py::{name}") for name in ("one", "two")])

    def seen(until: float) -> dict[str, list[str]]:
        MutantTests([], 1, until, visits, 1, lambda name, outcome: None).pytest_runtestloop(session)
        return {test: each["mutants"] for line in visits.open() for test, each in json.loads(line).items()}

    assert seen(until=0) == {"a.py::one": ["m"]}
    assert seen(until=time.time() + 60) == {"a.py::one": ["m"], "a.py::two": []}


def test_a_seed_draws_the_same_mutants() -> None:
    files = {"a.py": TEXT, "b.py": "x = 1 if y else 2\n"}
    drawn = sample(files, 6, 5)
    assert [each.name for each in sample(files, 6, 5)] == [each.name for each in drawn]
    assert [each.name for each in sample(files, 4, 5)] == [each.name for each in drawn[:4]]
    assert [each.name for each in sample(files, 6, 6)] != [each.name for each in drawn]
    assert all(each.after != each.before == files[each.file] for each in drawn)
    assert difference(drawn[0])[0] == f"- {drawn[0].before.splitlines()[drawn[0].line - 1]}"


def test_the_tests_of_a_module_name_it_or_its_rules_or_those_of_who_imports_it() -> None:
    files = sources()
    of_a_rule = concerned("libraries/save_function.py", files)
    assert "tests/rules/test_save_function.py" in of_a_rule and "tests/rules/test_tuners.py" not in of_a_rule
    assert "tests/rules/test_pickled_modules.py" in concerned("facts/ray_train/pickling.py", files)
    assert {"tests/rules/test_to_accelerate.py"} <= set(concerned("to_accelerate/training.py", files))
    assert {"tests/to_ray/test_accelerate_scripts.py"} <= set(concerned("to_ray/accelerate_script.py", files))


def test_texts_of_a_rule_stay() -> None:
    prose = f"{PROSE[0]}('RM1', 'a', unproven='b', errors=('c', 'd'))\n"
    assert sample({"a.py": prose}, 3, 1) == []


@pytest.mark.parametrize(
    ("operator", "code", "becomes"),
    [
        ("operand dropped", "x = a and b", ["x = (b)", "x = (a)"]),
        ("not dropped", "x = not a", ["x = a"]),
        ("entry dropped", "x = ('a', 'b')", ["x = ('b')", "x = ('a')"]),
        ("entry dropped", "x = {'a': 1, 'b': 2}", ["x = {'b': 2}", "x = {'a': 1, }"]),
        ("any and all", "x = any(y)", ["x = all(y)"]),
        ("jump dropped", "for x in y:\n    continue", ["for x in y:\n    pass"]),
    ],
)
def test_operators(operator: str, code: str, becomes: list[str]) -> None:
    script = Script(code)
    edits = ALL_OPERATORS[operator](script)
    assert [code[:begin] + new + code[end:] for begin, end, new in edits] == becomes


def test_the_last_that_came_of_a_mutant_counts(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    assert known(path) == {}
    path.write_text('{"name": "m", "outcome": "survived"}\n{"name": "m", "outcome": "killed"}\n')
    assert known(path)["m"]["outcome"] == "killed"


def test_a_mutant_of_an_earlier_day_is_made_of_the_file_of_today() -> None:
    before = "def f(a):\n    if a > 1:\n        return a\n    return None\n"
    drawn = sample({"x.py": before}, 20, 1)
    moved = still_there(drawn, {"x.py": f"import ast\n\n\n{before}"})
    assert [change.line for change in moved] == [change.line + 3 for change in drawn]
    assert [change.after for change in moved] == [f"import ast\n\n\n{change.after}" for change in drawn]
    changed = still_there(drawn, {"x.py": before.replace("a > 1", "a > 2")})
    assert [change.line for change in changed] == [change.line for change in drawn if change.line != 2]
    assert still_there(drawn, {}) == []
