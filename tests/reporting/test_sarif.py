"""SARIF: valid against the schema, fixes that give the converted file, rules that explain themselves."""

import json
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from raymigrate.cli import main
from raymigrate.run.rules import every_rule
from tests.conftest import DOCUMENTS, FIXTURES, ROOT, case_name

# The pattern of `language` has a bracket that is not escaped, which a strict reader of regular expressions refuses.
SCHEMA = json.loads((ROOT / "tests/data/sarif-2.1.0-rtm.5.json").read_text().replace("{2}]?$", r"{2}\\]?$"))
LEGACY = FIXTURES / "transformers_trainer/readme_example/before.py"
FAMILIES = sorted(path.name for path in FIXTURES.iterdir() if path.is_dir())
NOT_PLAIN = [path for path in DOCUMENTS if path.is_relative_to(FIXTURES / "notebooks")]
STARTS_WITH = {
    "RM101": r"\w+Trainer\(",
    "RM201": r"AccelerateTrainer\(",
    "RM301": r"from ray\.air",
    "RM401": "verbose=",
    "RM605": r"result\.metrics|[\w.]*report\(",
    "RM731": r"[\w-]+(\[\w+\])?==",
    "RM905": "%%writefile",
}


@cache
def validator() -> jsonschema_rs.Draft4Validator:
    return jsonschema_rs.Draft4Validator(SCHEMA)


def sarif(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["--output-format", "sarif", *map(str, arguments)])
    log = json.loads(result.stdout)
    validator().validate(log)
    return log


def results(log: dict[str, Any]) -> list[dict[str, Any]]:
    return log["runs"][0]["results"]


def applied(text: str, fix: dict[str, Any]) -> str:
    """Carries out a fix as a viewer does: by lines and columns, from the end."""
    lines = text.split("\n")

    def offset(line: int, column: int) -> int:
        return sum(len(one) + 1 for one in lines[: line - 1]) + column - 1

    for replacement in reversed(fix["artifactChanges"][0]["replacements"]):
        region = replacement["deletedRegion"]
        start = offset(region["startLine"], region["startColumn"])
        end = offset(region["endLine"], region["endColumn"])
        text = text[:start] + replacement["insertedContent"]["text"] + text[end:]
    return text


@pytest.mark.rotating(6)
@pytest.mark.parametrize("options", [["--check"], ["--diff"], ["--check", "--unsafe"]], ids=" ".join)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_log_of_fixtures_is_valid(options: list[str], family: str, tmp_path: Path) -> None:
    folder = shutil.copytree(FIXTURES / family, tmp_path / family)
    runner = CliRunner().invoke(main, ["--output-format", "sarif", *options, str(folder)])
    validator().validate(json.loads(runner.stderr if "--diff" in options else runner.stdout))


def test_a_log_without_results_is_valid(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import os\n")
    assert results(sarif(tmp_path)) == []


def test_a_log_of_bad_input_is_valid(tmp_path: Path) -> None:
    (tmp_path / "a b%é.py").write_text("from ray.air import session\nsession.report(\n")
    (tmp_path / "undecodable.py").write_bytes(b"from ray.air import session\n# \xff\n")
    log = sarif(tmp_path)
    assert {result["ruleId"] for result in results(log)} == {"RM901", "RM902"}
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""], ids=["LF", "CRLF", "no newline at the end"])
def test_a_fix_gives_the_converted_file(tmp_path: Path, ending: str) -> None:
    text = LEGACY.read_text()
    text = text.rstrip("\n") if not ending else text.replace("\n", ending)
    train = tmp_path / "train.py"
    train.write_bytes(text.encode())
    fixes = [result["fixes"] for result in results(sarif("--check", train)) if "fixes" in result]
    assert fixes
    assert all(len(fix) == 1 and fix == fixes[0] for fix in fixes)
    CliRunner().invoke(main, [str(train)])
    assert applied(text, fixes[0][0]) == train.read_bytes().decode()


@pytest.mark.parametrize("before", NOT_PLAIN, ids=case_name)
def test_places_and_fixes_are_those_of_the_file(tmp_path: Path, before: Path) -> None:
    path = tmp_path / before.name
    text = before.read_bytes().decode()
    path.write_bytes(text.encode())
    lines = text.split("\n")
    found = [result for result in results(sarif("--check", "--docs", path)) if result["ruleId"] in STARTS_WITH]
    for result in found:
        region = result["locations"][0]["physicalLocation"]["region"]
        assert re.match(STARTS_WITH[result["ruleId"]], lines[region["startLine"] - 1][region["startColumn"] - 1 :])
    fixes = [result["fixes"][0] for result in found if "fixes" in result]
    assert fixes
    CliRunner().invoke(main, ["--docs", str(path)])
    assert applied(text, fixes[0]) == path.read_bytes().decode()


def test_a_notebook_that_was_refused_has_the_cell_but_no_region(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    cell = {"cell_type": "code", "metadata": {}, "source": ["from ray import air\n", "air.(\n"]}
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    [result] = results(sarif("--check", path))
    assert result["properties"] == {"kind": "error", "cell": 1, "cellLine": 2, "cellColumn": 5}
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_convertible_results_have_fixes_and_others_have_none() -> None:
    for result in results(sarif("--check", LEGACY)):
        assert ("fixes" in result) == (result["properties"]["kind"] == "converted")


def test_the_first_of_very_many_results_has_the_fix_for_all(tmp_path: Path) -> None:
    train = tmp_path / "train.py"
    text = "from ray.air import session\n" + "x = 1\nsession.report({})\n" * 200
    train.write_text(text)
    log = sarif("--check", train)
    fixes = [result["fixes"][0] for result in results(log) if "fixes" in result]
    assert len(results(log)) == 200
    assert len(fixes) == 1
    CliRunner().invoke(main, [str(train)])
    assert applied(text, fixes[0]) == train.read_text()


def test_paths_are_relative_to_the_root_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b.py").write_text(LEGACY.read_text())
    [location] = results(sarif("--check", "."))[0]["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "a%20b.py", "uriBaseId": "%SRCROOT%"}


def test_every_rule_is_there_with_help_and_link() -> None:
    log = sarif("--check", LEGACY)
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in every_rule()]
    for described, rule in zip(rules, every_rule(), strict=True):
        assert described["helpUri"] == rule.link
        assert rule.why in described["help"]["text"]
        assert rule.fix in described["help"]["markdown"]
    for result in results(log):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_the_schema_refuses_what_is_not_sarif() -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        validator().validate({"version": "2.1.0", "runs": [{"results": "none"}]})
