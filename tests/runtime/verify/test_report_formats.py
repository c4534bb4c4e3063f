"""The reports of `raymigrate verify`: what each must hold, and that nothing in a result can break one."""

import html
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raymigrate.runtime.verify.reporting import SUFFIXES, check_suffix, write_report
from raymigrate.runtime.verify.reporting.html import html_text
from raymigrate.runtime.verify.reporting.json import json_text, json_verification
from raymigrate.runtime.verify.reporting.junit import junit_text
from raymigrate.runtime.verify.reporting.markdown import markdown_text
from raymigrate.runtime.verify.reporting.wording import headline, seconds_text, verdict
from raymigrate.runtime.verify.results import (
    ArmRun,
    Check,
    Comparison,
    Gate,
    Series,
    Status,
    Verification,
)
from tests.runtime.verify.verifications import (
    EMPTY,
    EXPLAINED,
    FAILING,
    PASSING,
    SAMPLES,
    THREE,
    Page,
    arm,
    gates,
    hostile,
    terminal_text,
    verification,
)

# Verdicts


def test_a_proof_is_claimed_in_one_line() -> None:
    assert headline(PASSING) == "B = C: the conversion is proved bit for bit: 9 gates passed."


def test_a_failure_names_its_first_gate_and_its_cause() -> None:
    assert headline(FAILING) == (
        "C differs from B at the gate 'contract': contract two: figures of contract; also at end. "
        "Cause: loss averaged over devices."
    )


def test_an_explained_difference_is_not_called_equal() -> None:
    assert headline(EXPLAINED) == (
        "B \N{ALMOST EQUAL TO} C: library drift stays within its bounds, and the differences have names: "
        "7 gates passed, 1 explained (course), 1 not applicable (failure)."
    )


def test_equality_of_two_library_stacks_is_the_absence_of_drift() -> None:
    sentence = verdict(Comparison("O", "C", "drift of transformers and datasets", gates()))
    assert sentence == "O = C: no drift of transformers and datasets, bit for bit: 9 gates passed."


@pytest.mark.parametrize("comparisons", [(), (Comparison("B", "C", "the conversion", ()),)])
def test_nothing_compared_is_no_proof(comparisons: tuple[Comparison, ...]) -> None:
    assert "nothing is shown" in headline(verification(*comparisons))


def test_bits_are_not_claimed_where_the_end_was_not_compared() -> None:
    sentence = verdict(Comparison("B", "C", "the conversion", gates(end=Status.NOT_APPLICABLE)))
    assert "bit for bit" not in sentence
    assert "1 not applicable (end)" in sentence


@pytest.mark.parametrize(
    ("gate", "words"), [("self", "undecided"), ("alive", "not alive"), ("failure", "after a worker was killed")]
)
def test_gates_of_one_arm_do_not_say_that_the_arms_differ(gate: str, words: str) -> None:
    sentence = verdict(Comparison("B", "C", "the conversion", gates(**{gate: Status.FAIL})))
    assert words in sentence
    assert "differs" not in sentence


def test_of_several_comparisons_the_failed_one_comes_first() -> None:
    sentence = headline(THREE)
    assert sentence.startswith("C differs from B at the gate 'contract'")
    assert "B = C (the conversion)" in sentence


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.7, "1 min 00 s"), (125, "2 min 05 s"), (7500, "2 h 05 min")],
)
def test_seconds_are_readable(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


# What every format holds


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_holds_verdicts_gates_and_causes(name: str) -> None:
    result = SAMPLES[name]
    wanted = [headline(result), *(verdict(each) for each in result.comparisons)]
    wanted += [gate.name for each in result.comparisons for gate in each.gates]
    wanted += [text for each in result.comparisons for cause in each.causes for text in (cause.evidence, cause.remedy)]
    xml = "\n".join(
        text
        for element in ET.fromstring(junit_text(result)).iter()
        for text in (element.text, *element.attrib.values())
        if text
    )
    markdown = re.sub(r"\\(.)", r"\1", markdown_text(result))
    for report in (html_text(result), markdown, json.dumps(json.loads(json_text(result)), ensure_ascii=False), xml):
        plain = report.replace("&#39;", "'")
        for text in wanted[1:] if report is xml and result.comparisons else wanted:
            assert text in plain
    for text in wanted:
        assert text in terminal_text(result)


def test_no_format_breaks_on_hostile_text() -> None:
    result = hostile()
    page = Page(html_text(result))
    assert page.tags["script"] == 0
    assert "<script>alert" in page.text
    prose = re.sub(r"(?s)(`{2,}).*?\1", "", markdown_text(result))  # without code, which shows and links nothing
    assert "&lt;script&gt;" in prose
    assert "<script" not in prose
    assert "@somebody" not in prose
    assert json_verification(json_text(result)) == result
    failure = ET.fromstring(junit_text(result)).find(".//failure")
    assert failure is not None and "<script>" in failure.attrib["message"]
    text = terminal_text(result)
    assert "\x1b" not in text
    assert "[red]" in text


texts = st.text(st.characters(exclude_categories=["Cs"]) | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF))
st.register_type_strategy(Path, texts.map(Path))
st.register_type_strategy(str, texts)
verifications = st.from_type(Verification)
WITHOUT_NAN = st.floats(allow_nan=False)


@pytest.mark.filterwarnings("ignore:Glyph")  # letters of arms that matplotlib has no font for; the page has
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(verifications)
def test_no_verification_breaks_a_format(result: Verification) -> None:
    ET.fromstring(junit_text(result))
    markdown_text(result).encode("utf-8")
    assert json_text(json_verification(json_text(result))) == json_text(result)
    assert "\x1b" not in terminal_text(result, "ascii")
    Page(html_text(result))


# JSON


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_json_round_trip(data: st.DataObject) -> None:
    """NaN aside, which is equal to nothing, what is read is what was written."""
    with_series = st.builds(Series, values=st.lists(st.none() | WITHOUT_NAN).map(tuple))
    arms = st.builds(ArmRun, seconds=WITHOUT_NAN, series=st.lists(with_series, max_size=3).map(tuple))
    result = data.draw(
        st.builds(Verification, seconds=WITHOUT_NAN, arms=st.lists(arms, max_size=3).map(tuple), pins=st.just(()))
    )
    assert json_verification(json_text(result)) == result


def test_json_is_strict_and_holds_what_is_derived() -> None:
    result = verification(*FAILING.comparisons, arms=(arm("B", (math.nan, math.inf, -math.inf, None)),))
    document = json.loads(json_text(result), parse_constant=pytest.fail)
    assert document["schema"] == 1
    assert document["passed"] is False
    assert document["comparisons"][0]["status"] == "fail"
    assert document["comparisons"][0]["gates"][1]["status"] == "fail"
    assert document["arms"][0]["series"][0]["values"] == ["NaN", "Infinity", "-Infinity", None]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1}', json_text(PASSING).replace("412.0", '"long"')]
)
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        json_verification(text)


# JUnit


def test_junit_counts() -> None:
    root = ET.fromstring(junit_text(THREE))
    assert [suite.attrib["failures"] for suite in root] == ["0", "0", "2"]
    assert [suite.attrib["skipped"] for suite in root] == ["0", "1", "0"]
    assert (root.attrib["tests"], root.attrib["failures"]) == ("27", "2")


def test_junit_explained_gate_passes_and_says_why() -> None:
    (case,) = (
        case
        for case in ET.fromstring(junit_text(EXPLAINED)).iter("testcase")
        if case.attrib["name"].startswith("course")
    )
    assert case.find("failure") is None
    assert "reduction of the loss" in (case.findtext("system-out") or "")


def test_junit_without_a_comparison_is_no_success() -> None:
    assert ET.fromstring(junit_text(EMPTY)).attrib["errors"] == "1"


# Markdown


@pytest.mark.parametrize(
    "name", ["a<img src=x onerror=alert(1)>.py", "<script>alert(1)</script>", "a&lt;b.py", "`<b>`"]
)
def test_markdown_holds_no_tag_of_a_name_not_even_in_code(name: str) -> None:
    """GitHub shows code as it is; not every renderer does."""
    run = replace(arm("B", ray=name), script=Path(name), letter="B")
    result = replace(verification(*PASSING.comparisons, arms=(run,)), command=f"raymigrate verify '{name}'")
    text = markdown_text(result)
    ours = {"details", "summary", "br", "code", "pre"}
    assert set(re.findall(r"</?([A-Za-z]\w*)", text)) <= ours
    shown = html.unescape(re.sub(r"\\(.)", r"\1", text))
    assert shown.count(" ".join(name.split())) >= 3  # escaped, not dropped: version, script, command


@pytest.mark.parametrize("result", [*SAMPLES.values(), hostile()])
def test_markdown_tables_have_equal_rows(result: Verification) -> None:
    for table in re.findall(r"(?:^\|.*\n)+", markdown_text(result), re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_markdown_is_short() -> None:
    long = Check("many", Status.FAIL, "tensor differs, " * 10_000)
    result = verification(Comparison("B", "C", "the conversion", (Gate("end", "?", (long,)),)))
    assert len(markdown_text(result)) < 4000


def test_markdown_marks_versions_that_differ() -> None:
    text = markdown_text(PASSING)
    assert "| ray | `2.7.2` | `2.60.0` | differs |" in text
    assert "| torch | `2.13.0` | `2.13.0` |  |" in text


def test_repetitions_of_an_arm_share_a_column() -> None:
    arms = (arm("B", ray="2.7.2"), arm("B2", ray="2.7.2"), arm("C", ray="2.60.0"))
    assert "| library | B, B2 | C |  |" in markdown_text(verification(*PASSING.comparisons, arms=arms))


# Files


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_suffix_chooses_the_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new" / f"report{suffix.upper()}"
    write_report(PASSING, path)
    start = {".html": "<!DOCTYPE html>", ".md": "## raymigrate", ".json": "{", ".xml": "<?xml"}[suffix]
    assert path.read_text(encoding="utf-8").startswith(start)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["report", "report.txt", ".html"])
def test_another_suffix_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must end in"):
        check_suffix(Path(name))


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_full_disk_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bytes | None) -> None:
    path = tmp_path / "report.md"
    if old is not None:
        path.write_bytes(old)

    def fail(_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        write_report(PASSING, path)
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == ([] if old is None else [old])


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_kill_at_any_call_leaves_the_old_report_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bytes | None
) -> None:
    write_report(PASSING, tmp_path / "new.json")
    new = (tmp_path / "new.json").read_bytes()
    for number in range(20):
        path = tmp_path / str(number) / "report.json"
        path.parent.mkdir()
        if old is not None:
            path.write_bytes(old)
        process = os.fork()
        if process == 0:
            count = iter(range(100))
            for name in ("open", "write", "fsync", "close", "replace"):
                monkeypatch.setattr(os, name, partial(_or_end, getattr(os, name), count, number))
            write_report(PASSING, path)
            os._exit(0)
        killed = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        text = path.read_bytes() if path.exists() else None
        assert text in (old, new)
        assert all(entry.name.startswith(".raymigrate-") for entry in path.parent.iterdir() if entry != path)
        if not killed:
            assert text == new
            assert number > 4
            return
    pytest.fail("the report is never written")


def _or_end(call: Callable[..., object], count: Iterator[int], number: int, *arguments: object) -> object:
    """Calls something, or ends the process half way."""
    if next(count) == number:
        if call.__name__ == "write":
            call(arguments[0], bytes(arguments[1])[:100])  # type: ignore[call-overload]
        os._exit(9)
    return call(*arguments)


def test_converting_imports_none_of_the_libraries() -> None:
    code = (
        "import sys, raymigrate.cli, raymigrate.runtime.verify.reporting\n"
        "assert not {'rich', 'jinja2', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
