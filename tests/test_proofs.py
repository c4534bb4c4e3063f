"""Every rule about Ray Train, data, results and libraries is shown by a fixture that is run, or says why it cannot be.

The runs themselves, on real Ray, are those of tests/test_before_and_after.py.
"""

import json
import re
import warnings
from pathlib import Path

import pytest

from raymigrate.base.findings import Rule
from raymigrate.run.rules import every_rule, explanation
from tests.conftest import FIXTURES, case_name

RUNS = sorted(FIXTURES.rglob("runs.json"))
RULES = [rule for rule in every_rule() if re.fullmatch(r"RM[3-7]\d\d", rule.code)]


def shown_by_runs() -> set[str]:
    """The codes that the findings of the fixtures with runs name."""
    findings = [path.with_name("findings.txt").read_text(encoding="utf-8") for path in RUNS]
    return {code for text in findings for code in re.findall(r"^\S+ (RM\d{3}) ", text, re.MULTILINE)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_run_shows_the_rule_or_it_says_why_not(rule: Rule) -> None:
    shown = rule.code in shown_by_runs()
    assert shown or rule.unproven, f"give {rule.code} a fixture with a runs.json, or say in `unproven` why it has none"
    assert not (shown and rule.unproven), f"{rule.code} is shown by a run: take its `unproven` away"


@pytest.mark.parametrize("path", RUNS, ids=case_name)
def test_what_is_to_be_printed_is_a_clean_expression(path: Path) -> None:
    runs = json.loads(path.read_text(encoding="utf-8"))
    assert runs.keys() - {"needs"} == {"before", "after"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for run in (runs["before"], runs["after"]):
            assert run.keys() == {"exit", "prints"}
            re.compile(run["prints"])


@pytest.mark.parametrize("path", RUNS, ids=case_name)
def test_nothing_is_to_be_printed_right_after_another_line_where_workers_print_too(path: Path) -> None:
    runs = json.loads(path.read_text(encoding="utf-8"))
    for script in ("before", "after"):
        if ".fit()" in path.with_name(f"{script}.py").read_text(encoding="utf-8"):
            wanted = runs[script]["prints"]
            assert not re.search(r"\\n[\w\[]", wanted), f"what Ray prints can come between: write \\n.* in {wanted}"


def test_explain_says_why_a_rule_is_not_shown_by_a_run() -> None:
    rule = Rule("RM399", "a title", "why", "fix", "https://example.org", unproven="needs a GPU")
    assert "needs a GPU" in explanation(rule)
