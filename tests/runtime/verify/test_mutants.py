"""The mutants of right conversions, the oracle that knows no gates, and the records of what verify made of them."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

import pytest

from scripts.mutant_oracle import seen, unlike
from scripts.mutants import OPERATORS, mutants
from scripts.verify_mutants import FOLDER, JOBS, REASONS, RESULTS, all_mutants, made_from, sample, table
from scripts.verify_plain_jobs import known
from tests.conftest import FIXTURES

AGAIN = "run python -m scripts.verify_mutants; with --table it only drops the records that do not fit"

# Operator, code, and one thing that it makes of it.
ONE_OF_EACH = [
    ("keyword dropped", "f(a, b=1, c=2)", "f(a, c=2)"),
    ("keyword dropped", "f(a, **b)", "f(a)"),
    ("item dropped", "f(callbacks=[A(), B()])", "f(callbacks=[A()])"),
    ("number changed", "f(8)", "f(9)"),
    ("number changed", "f(8)", "f(16)"),
    ("number changed", "f(1e-3)", "f(0.002)"),
    ("boolean flipped", "f(True)", "f(False)"),
    ("string swapped", 'f(d["train"], d["test"])', 'f(d["test"], d["test"])'),
    ("string swapped", 'a = shard("train")\nb = shard("test")', 'a = shard("test")\nb = shard("test")'),
    ("string swapped", 'A(eval_strategy="epoch", save_strategy="no")', 'A(eval_strategy="no", save_strategy="no")'),
    ("statement dropped", "zero_grad()", "pass"),
    ("statement dropped", "a = f()\na = wrap(a)", "a = f()\npass"),
    ("statement dropped", "def f(a):\n    return a", "def f(a):\n    pass"),
    ("method dropped", "class A:\n    @property\n    def f(self): ...", "class A:\n    pass"),
    ("call dropped", "a = gather((b, c))", "a = (b, c)"),
    ("call dropped", "a = b.select(c)", "a = b"),
    ("branch negated", "if a:\n    f()", "if not (a):\n    f()"),
    ("branch never taken", "if a:\n    f()", "if False:\n    f()"),
    ("branch always taken", "a = b if c else d", "a = b if True else d"),
    ("comparison changed", "a = b < c", "a = b <= c"),
    ("arithmetic changed", "a = b * c", "a = b // c"),
    ("off by one", "range(0, n)", "range(0, n - 1)"),
    ("off by one", "a = b[c:]", "a = b[c - 1:]"),
    ("context dropped", "with no_grad():\n    f()", "if True:\n    f()"),
    ("moved across prepare", "a = f()\nb = t.prepare(b)", "b = t.prepare(b)\na = f()"),
    ("moved across prepare", "b = prepare_trainer(b)\na = f()", "a = f()\nb = prepare_trainer(b)"),
]


@pytest.mark.parametrize(("operator", "code", "wanted"), ONE_OF_EACH)
def test_an_operator_makes_what_it_says(operator: str, code: str, wanted: str) -> None:
    made = {mutant.text for mutant in mutants(code) if mutant.operator == operator}
    assert wanted in made


def test_every_operator_is_tried() -> None:
    assert {operator for operator, _, _ in ONE_OF_EACH} == set(OPERATORS)


@pytest.mark.parametrize(
    "code",
    [
        '"""What it does."""',  # a docstring is no statement to drop
        'if __name__ == "__main__":\n    import a',  # nor is this a branch
        "def f():\n    a = 1.0j\n    return",
        "import numpy as np\na = np.mean",
    ],
)
def test_what_means_nothing_stays(code: str) -> None:
    assert mutants(code) == []


@pytest.mark.parametrize("job", ["bert", "preprocessor"])
def test_every_mutant_of_a_job_compiles_and_differs_in_one_place(job: str) -> None:
    text = (FIXTURES / JOBS[job] / "after.py").read_text(encoding="utf-8")
    meaning = ast.dump(ast.parse(text))
    made = all_mutants(job)
    assert len(made) > 100
    assert len({mutant.text for mutant in made.values()}) == len(made)
    for mutant in made.values():
        tree = ast.parse(mutant.text)
        compile(tree, mutant.name, "exec")
        assert ast.dump(tree) != meaning
        hunks = [line for line in unified_diff(text.splitlines(), mutant.text.splitlines(), n=0) if line[:2] == "@@"]
        assert len(hunks) <= (2 if mutant.operator == "moved across prepare" else 1), mutant.change


def test_a_sample_has_every_operator_and_is_the_same_each_time() -> None:
    made = all_mutants("bert")
    chosen = sample(made, 20, 1)
    assert chosen == sample(made, 20, 1) != sample(made, 20, 2)
    assert len(set(chosen)) == 20
    assert {made[name].operator for name in chosen} == {mutant.operator for mutant in made.values()}
    assert sample(made, 10_000, 1)[:20] == chosen
    assert sorted(sample(made, 10_000, 1)) == sorted(made)


OF_RAY = "2026-11-24 02:19:59,1\tINFO executor.py:12 -- Execution plan of dataset_"


def _run(folder: Path, loss: float = 0.5, pid: int = 7, weights: bytes = b"w", printed: str = "done in 3.5 s") -> Path:
    """What a run leaves, with two workers that made a step each."""
    (folder / "trace").mkdir(parents=True)
    for rank in range(2):
        events = [
            {"kind": "start", "time": pid, "pid": pid + rank, "rank": rank, "world_size": 2},
            {"kind": "step", "time": pid + 1, "pid": pid + rank, "rank": rank, "losses": [loss]},
        ]
        lines = "".join(json.dumps(event) + "\n" for event in events)
        (folder / "trace" / f"events-{pid + rank}.jsonl").write_text(lines)
    checkpoint = folder / "storage" / f"run-2026-11-24_0{pid}" / "checkpoint_1"
    checkpoint.mkdir(parents=True)
    (checkpoint / "model.bin").write_bytes(weights)
    (checkpoint / "state.json").write_text(json.dumps({"step": 4, "seconds": pid}))
    (folder / "log.txt").write_text(
        f"\x1b[36m(Worker pid={pid})\x1b[0m {printed}\nsaved in {folder}\n{OF_RAY}{pid * 'x'}\n"
    )
    return folder


@pytest.mark.parametrize(
    ("other", "apart"),
    [
        (lambda folder: _run(folder, pid=8), []),
        (lambda folder: _run(folder, printed="done in 4.5 s"), []),
        (lambda folder: _run(folder, printed="done in 4 s"), []),
        (lambda folder: _run(folder, printed="done in 4.5e-05 s"), []),
        (lambda folder: _run(folder, loss=0.6), ["step of 0: .losses", "step of 1: .losses"]),
        (lambda folder: _run(folder, weights=b"v"), ["file run-#-#-#/#/model.bin"]),
        (lambda folder: _run(folder, printed="not done"), ["printed: done in # s", "printed: not done"]),
    ],
    ids=[
        "another process",
        "another time",
        "a whole one",
        "a small one",
        "another loss",
        "other weights",
        "another line",
    ],
)
def test_the_oracle_sees_what_differs_but_for_what_differs_by_chance(
    other: Callable[[Path], Path], apart: list[str], tmp_path: Path
) -> None:
    right, again = seen(_run(tmp_path / "right")), seen(_run(tmp_path / "again", pid=9))
    by_chance = unlike(right, again)
    assert "step of 0: .losses" not in by_chance
    assert sorted(set(unlike(seen(other(tmp_path / "other")), right)) - set(by_chance)) == apart


def test_of_a_killed_run_the_oracle_sees_the_last_attempt(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run", loss=0.1)
    last = _run(tmp_path / "last", pid=9)
    for path in (last / "trace").iterdir():
        path.rename(folder / "trace" / path.name)
    assert seen(folder, last=True)["step of 0: .losses"] == [1, 0.5]
    assert seen(folder)["step of 0: .losses"] == [1, 0.1, 1, 0.5]


def test_records_fit_the_scripts_and_the_page_fits_the_records() -> None:
    results, reasons = known(RESULTS), known(REASONS)
    made = {job: all_mutants(job) for job in {name.partition(" ")[0] for name in results}}
    for name, found in results.items():
        job, _, mutant = name.partition(" ")
        assert found["made_from"] == made_from(job), AGAIN
        assert list(made[job][mutant].change) == found["change"], AGAIN
    survived = {name for name, found in results.items() if found["outcome"] == "survived"}
    assert set(reasons) <= survived, "reasons of mutants that did not survive"
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == table(results, reasons), AGAIN
