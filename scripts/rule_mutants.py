"""Changes the rules and facts in one place each, and tells which of these changes no test notices.

    python -m scripts.rule_mutants --number 300 --seed 18               # a sample; goes on where it was cut
    python -m scripts.rule_mutants --number 300 --seed 18 --minutes 30  # begins no other mutant after that
    python -m scripts.rule_mutants --number 300 --seed 18 --show        # runs nothing; prints what survived
    python -m scripts.rule_mutants --number 20 --only tuner/tuner_config.py  # one module, with the tests of its rules
    python -m scripts.rule_mutants --number 300 --seed 18 --commit e83894da  # the sample of then, what is left of it
    python -m scripts.rule_mutants --number 300 --seed 18 --again       # those that survived, with the tests of now
    python -m scripts.rule_mutants --number 300 --seed 18 --again --tests tests/rules/test_tuners.py  # with these alone

A mutant is a module of `raymigrate/codemods` or `raymigrate/facts` that an operator of `scripts/mutants.py`, or of
this file, changed. Files are drawn by how many lines they have, and mutants of a file alike. First all tests that
convert run once, to see which of them come to the place of each mutant; then those that do run on it, until one fails
or `--seconds` are over. The process that has collected the tests forks itself for each mutant, so that one costs no
more than its tests; only where a line outside of all functions is changed, the tests start anew in a copy. All is in
`build/rule_mutants`. What has survived, and why, stands in docs/mutation.md.
"""

from __future__ import annotations

import ast
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from raymigrate.codemods import OPTIONAL
from scripts.mutant_tests import ROOT, Change, MutantTests
from scripts.mutants import OPERATORS, Edit, Operator, Script, mutant

FOLDERS = ("raymigrate/codemods", "raymigrate/facts")
# Not of these: "a statement near one that calls prepare..." is for training scripts.
LEFT_OUT = ("moved across prepare",)
PROSE = ("Rule",)  # the texts of a rule are read by people
SCRATCH = ROOT / "build/rule_mutants"
TESTS = ("tests/rules", "tests/to_ray", "tests/test_twins.py")
MODULE_TESTS = ("tests/rules", "tests/to_ray", "tests")  # among which those of one module are looked for
TWINS = "not test_twins or becomes_its_twin or is_written_down"
Results = dict[str, dict[str, Any]]


def _operands(script: Script) -> Iterator[Edit]:
    """`a and b` becomes `a`, and `b`."""
    for node in script.nodes(ast.BoolOp):
        assert isinstance(node, ast.BoolOp)
        sign = " and " if isinstance(node.op, ast.And) else " or "
        for place in range(len(node.values)):
            rest = [script.code(value) for at, value in enumerate(node.values) if at != place]
            yield script.replaced(node, f"({sign.join(rest)})")


def _nots(script: Script) -> Iterator[Edit]:
    for node in script.nodes(ast.UnaryOp):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield script.replaced(node, script.code(node.operand))


def _entries(script: Script) -> Iterator[Edit]:
    """An entry of a set, a tuple or a dict goes."""
    for node in script.nodes(ast.Set, ast.Tuple, ast.Dict):
        if isinstance(node, ast.Dict):
            pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
            for key, value in pairs:
                begin, end = script.span(key)[0], script.without_item(value)[1]
                yield begin, end, ""
        elif isinstance(node, (ast.Set, ast.Tuple)) and len(node.elts) > 1:
            if all(isinstance(item, ast.Constant) for item in node.elts):
                yield from (script.without_item(item) for item in node.elts)


def _quantifiers(script: Script) -> Iterator[Edit]:
    """`any` becomes `all`, and `all` becomes `any`."""
    others = {"any": "all", "all": "any"}
    for node in script.nodes(ast.Call):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in others:
            yield script.replaced(node.func, others[node.func.id])


def _jumps(script: Script) -> Iterator[Edit]:
    for node in script.nodes(ast.Continue, ast.Break):
        assert isinstance(node, (ast.Continue, ast.Break))
        yield script.replaced(node, "pass")


ALL_OPERATORS: dict[str, Operator] = {
    **{name: operator for name, operator in OPERATORS.items() if name not in LEFT_OUT},
    "operand dropped": _operands,
    "not dropped": _nots,
    "entry dropped": _entries,
    "any and all": _quantifiers,
    "jump dropped": _jumps,
}


def sample(files: dict[str, str], number: int, seed: int) -> list[Change]:
    """Some mutants of some files.

    Args:
        files: The text of each file. One of twice as many lines is drawn twice as often.
        number: How many mutants; fewer where there are no more.
        seed: Draws the same ones from the same files.
    """
    chance = random.Random(seed)
    names = sorted(files)
    weights = [files[name].count("\n") for name in names]
    edits: dict[str, list[tuple[str, Edit]]] = {}
    scripts = {}
    chosen: dict[str, Change] = {}
    for _ in range(50 * number):
        if len(chosen) == number:
            break
        [name] = chance.choices(names, weights)
        if name not in scripts:
            scripts[name] = Script(files[name])
            edits[name] = _edits(scripts[name])
            chance.shuffle(edits[name])
        if edits[name]:
            operator, edit = edits[name].pop()
            made = mutant(scripts[name], operator, edit)
            if made is not None:
                change = Change(f"{name}:{made.name}", name, made.line, files[name], made.text)
                chosen.setdefault(change.name, change)
    return list(chosen.values())


def _edits(script: Script) -> list[tuple[str, Edit]]:
    """What could be changed, but for what a rule says of itself."""
    calls = (node for node in script.nodes(ast.Call) if isinstance(node, ast.Call))
    prose = [script.span(node) for node in calls if isinstance(node.func, ast.Name) and node.func.id in PROSE]
    found = [(name, edit) for name, operator in ALL_OPERATORS.items() for edit in operator(script)]
    return [each for each in found if not any(begin <= each[1][0] < end for begin, end in prose)]


def sources() -> dict[str, str]:
    """The files of which mutants are made, with their texts."""
    found = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in found}


def concerned(part: str, files: dict[str, str]) -> list[str]:
    """The files of tests that name a rule of some modules, or of those that import them.

    Args:
        part: What the paths of the modules hold.
        files: The text of each module.
    """
    modules = [name for name in files if part in name]
    names = {name.removesuffix(".py").replace("/", ".") for name in modules}
    users = [text for name, text in files.items() if name in modules or any(f"from {each} " in text for each in names)]
    codes = {code for text in users for code in re.findall(r"\bRM\d{3}\b", text)}
    words = {f"test_{name.rpartition('.')[2]}" for name in names}  # test_places.py, test_accelerate_scripts.py
    words |= {family for family in OPTIONAL if any(f"/{family}/" in name for name in modules)}
    found = sorted(path for folder in MODULE_TESTS for path in ROOT.glob(f"{folder}/test_*.py"))
    chosen = []
    for path in found:
        place = str(path.relative_to(ROOT))
        if any(word in place for word in words) or codes & set(re.findall(r"\bRM\d{3}\b", path.read_text())):
            chosen.append(place)
    return chosen


def of_commit(commit: str) -> dict[str, str]:
    """The files of which mutants were made at a commit, with their texts of that day."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    names = git("ls-tree", "-r", "--name-only", commit, *FOLDERS).splitlines()
    return {name: git("show", f"{commit}:{name}") for name in names if name.endswith(".py")}


def still_there(changes: Iterable[Change], files: dict[str, str]) -> list[Change]:
    """Of some mutants of an earlier day those whose line is there yet, made of the files as they are.

    Args:
        changes: The mutants.
        files: The text of each file today.
    """
    script = cache(Script)
    found: dict[str, Change] = {}
    for change in changes:
        text = files.get(change.file, "")
        line = change.before.splitlines()[change.line - 1]
        lines = {number for number, each in enumerate(text.splitlines(), 1) if each == line}
        operator, _, digest = change.name.partition(": ")[2].rpartition(" ")
        for edit in ALL_OPERATORS[operator](script(text)) if lines else ():
            made = mutant(script(text), operator, edit) if script(text).line_of(edit[0]) in lines else None
            if made is not None and made.name.endswith(f" {digest}"):
                name = f"{change.file}:{made.name}"
                found[name] = Change(name, change.file, made.line, text, made.text)
                break
    return list(found.values())


def known(path: Path) -> Results:
    """What was written down: the last that came of each mutant."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {each["name"]: each for each in map(json.loads, lines)}


def report(changes: list[Change], results: Results) -> str:
    """What survived, with its lines, and the figures."""
    texts = []
    for change in changes:
        result = results.get(change.name, {})
        if result.get("outcome") in {"survived", "no test"}:
            ran = f"{result['outcome']}; {result['tests']} of {result['of']} tests"
            texts.append("\n    ".join((f"{change.name}  ({ran})", *difference(change))))
    counts = Counter(results[change.name]["outcome"] for change in changes if change.name in results)
    return "\n".join([*texts, ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))])


def difference(change: Change) -> list[str]:
    """The lines that a mutant changes."""
    made = [line for line in change.after.splitlines() if line not in change.before.splitlines()]
    place = change.before.splitlines()[change.line - 1]
    return [f"- {place}", *(f"+ {line}" for line in made[:6])]


@click.command()
@click.option("--number", default=300, show_default=True, help="How many mutants.")
@click.option("--seed", default=18, show_default=True, help="Draws them.")
@click.option("--seconds", default=12.0, show_default=True, help="How long the tests of a mutant may take.")
@click.option("--minutes", default=600.0, show_default=True, help="After these no other mutant is begun.")
@click.option("--jobs", default=2, show_default=True, help="How many processes share the work.")
@click.option("--only", default="", help="Only modules whose path holds this, and the tests that name their rules.")
@click.option("--commit", default="", help="The sample of this commit: of it, what is there yet.")
@click.option("--show", is_flag=True, help="Run nothing; print what survived.")
@click.option("--again", is_flag=True, help="Run those that survived once more, with the tests as they are now.")
@click.option("--part", default=1, show_default=True, help="Take every n-th test alone; --again is for what survived.")
@click.option(
    "--tests", multiple=True, help="With --again: these tests alone; of what they do not come to, nothing is said."
)
def main(
    number: int,
    seed: int,
    seconds: float,
    minutes: float,
    jobs: int,
    only: str,
    commit: str,
    show: bool,
    again: bool,
    part: int,
    tests: tuple[str, ...],
) -> None:
    """Runs a sample of mutants of the rules and facts."""
    files = sources()
    held_against = tests or (concerned(only, files) if only else TESTS)
    drawn_from = of_commit(commit) if commit else files
    changes = sample({name: text for name, text in drawn_from.items() if only in name}, number, seed)
    if commit:
        changes = still_there(changes, files)
    label = f"{seed}-{only.replace('/', '.')}" if only else f"{seed}"
    label += f"-{commit}" if commit else ""
    path = SCRATCH / f"{label}.jsonl"
    SCRATCH.mkdir(parents=True, exist_ok=True)
    results = known(path)
    if show:
        print(report(changes, results))
        return
    wanted = [each for each in changes if each.name not in results]
    if again:
        wanted = [each for each in changes if results.get(each.name, {}).get("outcome") in {"survived", "no test"}]
    visits = SCRATCH / f"{label}-{number}{'-again' if again else ''}{f'-{part}' if part > 1 else ''}.visits.jsonl"
    if again:
        visits.unlink(missing_ok=True)

    def write(name: str, outcome: dict[str, Any]) -> None:
        if tests and outcome["outcome"] == "no test":
            return
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, **outcome}) + "\n")
        print(f"{outcome['outcome']:9} {outcome['s']:5} s  {name}", file=sys.__stdout__, flush=True)

    plugin = MutantTests(wanted, seconds, time.time() + 60 * minutes, visits, jobs, write, part)
    arguments = ["-q", "-n", "0", "-p", "no:randomly", "-m", "not ray and not slow", "-k", TWINS]
    pytest.main([*arguments, *held_against], plugins=[plugin])
    print(report(changes, known(path)))


if __name__ == "__main__":
    main()
