"""The reports of `raymigrate verify`: what each must hold, and that nothing in a result can break one."""

import dataclasses
import io
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from raymigrate.runtime.verify.reporting import SUFFIXES, check_suffix, write_report
from raymigrate.runtime.verify.reporting.curves import MOST_POINTS, Curve, curves_of, points
from raymigrate.runtime.verify.reporting.html import html_text
from raymigrate.runtime.verify.reporting.json import json_text, json_verification
from raymigrate.runtime.verify.reporting.junit import junit_text
from raymigrate.runtime.verify.reporting.markdown import markdown_text
from raymigrate.runtime.verify.reporting.terminal import ArmProgress, make_console, print_summary
from raymigrate.runtime.verify.reporting.wording import headline, seconds_text, verdict
from raymigrate.runtime.verify.results import (
    ArmRun,
    Cause,
    Check,
    Comparison,
    Gate,
    Series,
    Setting,
    Status,
    Verification,
)

GATES = ("self", "contract", "start", "course", "end", "evaluation", "outcome", "failure", "alive")
CAUSE = Cause("loss averaged over devices", "factor 2.000 = number of workers", "Pass average_tokens=False.")
DRIFT = Cause("reduction of the loss", "weights equal, loss not")
HOSTILE = "<script>alert('1')</script> a|b `c` @somebody [red]d[/red] \x1b[31m \udcff \N{LESS-THAN OR EQUAL TO}"


@pytest.fixture(autouse=True)
def no_wishes_for_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """What continuous integration may set, and rich obeys."""
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def gates(**statuses: Status) -> tuple[Gate, ...]:
    """The whole ladder; gates pass unless said otherwise."""
    return tuple(
        Gate(
            name,
            f"Does {name} hold?",
            (
                Check(f"{name} one", Status.PASS, "12 of 12 equal"),
                Check(f"{name} two", statuses.get(name, Status.PASS), f"figures of {name}"),
            )
            if statuses.get(name) is not Status.NOT_APPLICABLE
            else (Check(name, Status.NOT_APPLICABLE, "not asked for"),),
        )
        for name in GATES
    )


def arm(letter: str, values: tuple[float | None, ...] = (0.7, 0.6, 0.5), **versions: str) -> ArmRun:
    series = tuple(Series("loss", rank, values) for rank in range(2))
    return ArmRun(
        letter, f"title of {letter}", Path("train.py"), 83.4, versions, series, Path(f"{letter}.log"), ("a note",)
    )


def verification(*comparisons: Comparison, arms: tuple[ArmRun, ...] | None = None) -> Verification:
    return Verification(
        original=Path("jobs/train.py"),
        converted=None,
        command="raymigrate verify jobs/train.py",
        started="2025-11-03T14:02:11+00:00",
        seconds=412.0,
        arms=arms
        if arms is not None
        else (arm("B", ray="2.7.2", torch="2.13.0"), arm("C", ray="2.60.0", torch="2.13.0")),
        comparisons=comparisons,
        pins=(Setting("seed", "42", "so that runs repeat"),),
        overrides=(Setting("max_steps", "12", "--max-steps"),),
        machine={"cpu": "2 cores"},
        not_covered=("GPU kernels.",),
    )


PASSING = verification(Comparison("B", "C", "the conversion", gates()))
FAILING = verification(Comparison("B", "C", "the conversion", gates(contract=Status.FAIL, end=Status.FAIL), (CAUSE,)))
EXPLAINED = verification(
    Comparison("B", "C", "library drift", gates(course=Status.EXPLAINED, failure=Status.NOT_APPLICABLE), (DRIFT,))
)
THREE = verification(*PASSING.comparisons, *EXPLAINED.comparisons, *FAILING.comparisons)
EMPTY = Verification(Path("train.py"), None, "raymigrate verify train.py", "", 0.0, (), ())
SAMPLES = {"passing": PASSING, "failing": FAILING, "explained": EXPLAINED, "three": THREE, "empty": EMPTY}


def hostile() -> Verification:
    """Every text is one that breaks formats that forget to escape it."""
    gate = Gate(HOSTILE, HOSTILE, (Check(HOSTILE, Status.FAIL, HOSTILE),))
    run = ArmRun(
        "C", HOSTILE, Path(HOSTILE), 1.0, {HOSTILE: HOSTILE}, (Series(HOSTILE, 0, (1.0,)),), Path(HOSTILE), (HOSTILE,)
    )
    comparison = Comparison("B", "C", HOSTILE, (gate,), (Cause(HOSTILE, HOSTILE, HOSTILE),))
    setting = Setting(HOSTILE, HOSTILE, HOSTILE)
    return Verification(
        Path(HOSTILE),
        Path(HOSTILE),
        HOSTILE,
        HOSTILE,
        1.0,
        (run,),
        (comparison,),
        (setting,),
        (setting,),
        {HOSTILE: HOSTILE},
        (HOSTILE,),
    )


def terminal_text(result: Verification, encoding: str = "utf-8") -> str:
    """What a pipe of the given encoding gets."""
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding=encoding)
    print_summary(result, make_console(stream))
    stream.flush()
    return data.getvalue().decode(encoding)


class Page(HTMLParser):
    """Checks that elements are closed in order, and gathers what a test asks for."""

    VOID = {"meta", "link", "br"}

    def __init__(self, text: str):
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


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


# HTML


def test_html_loads_nothing() -> None:
    text = html_text(THREE)
    page = Page(text)
    for name, value in page.attributes:
        if name in ("src", "href", "xlink:href"):
            assert (value or "").startswith(("#", "data:,"))
    assert not re.findall(r"@import|url\((?!#)", text)
    assert page.tags["script"] == 0
    assert page.tags["svg"] == 3


def test_html_ids_are_unique_and_found() -> None:
    page = Page(html_text(THREE))
    ids = Counter(value for name, value in page.attributes if name == "id")
    assert max(ids.values()) == 1
    assert {value for name, value in page.attributes if name.endswith("href") and value} <= {
        "data:,",
        *(f"#{each}" for each in ids),
    }


def test_html_is_the_same_each_time() -> None:
    assert html_text(FAILING) == html_text(FAILING)


def test_html_takes_its_colours_from_the_page() -> None:
    text = html_text(PASSING)
    assert "var(--left)" in text
    assert "#0102" not in text


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "values",
    [
        (),
        (None,),
        (math.nan,),
        (1.0,),
        (1e308, -1e308),
        (5e-324, 0.0),
        (None, 1.0, math.inf),
        tuple(map(float, range(10_000))),
    ],
    ids=["none", "missing", "nan", "one step", "huge", "tiny", "mixed", "long"],
)
def test_html_draws_any_series(values: tuple[float | None, ...]) -> None:
    result = verification(*PASSING.comparisons, arms=(arm("B"), arm("C", values)))
    text = html_text(result)
    Page(text)
    assert len(text) < 250_000
    assert "loss, ranks 0 and 1 (the same on each)" in text


# Curves


def curve(left: tuple[float | None, ...], right: tuple[float | None, ...]) -> Curve:
    return Curve("loss", (0,), left, right, ("B", "C"))


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ((1.0, 2.0), (1.0, 2.0), "Equal at all 2 steps."),
        ((1.0,), (1.0,), "Equal at the only step."),
        (
            (1.0, 2.0),
            (1.0, 2.5),
            "Equal at 1 of 2 steps; the largest difference is 0.5 at step 2 (2.0e-01 of its size).",
        ),
        ((1.0, 2.0), (1.0,), "B has 2 steps, C 1."),
        ((1.0, math.nan), (1.0, 2.0), "B is not finite at step 2."),
        ((math.nan,), (math.nan,), "Equal at the only step."),
        ((math.inf,) * 7, (1.0,) * 7, "B is not finite at steps 1, 2, 3, 4, 5 and 2 more."),
        ((1.0, None), (1.0, 2.0), "B was not measured at 1 step."),
        ((), (1.0,), "B did not measure it."),
        ((None,), (1.0,), "No step was measured in both arms."),
    ],
)
def test_figures_beside_a_curve(left: tuple[float | None, ...], right: tuple[float | None, ...], words: str) -> None:
    assert words in " ".join(curve(left, right).figures())


def test_ranks_that_differ_are_drawn_apart() -> None:
    left = dataclasses.replace(arm("B"), series=(Series("loss", 0, (1.0,)), Series("loss", 1, (2.0,))))
    right = dataclasses.replace(left, letter="C")
    result = verification(*PASSING.comparisons, arms=(left, right))
    assert [each.ranks for each in curves_of(result, result.comparisons[0])] == [(0,), (1,)]


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=MOST_POINTS + 1, max_size=4 * MOST_POINTS))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_thinning_keeps_the_peaks(values: list[float | None]) -> None:
    steps, drawn = points(values)
    known = [value for value in values if value is not None]
    assert len(steps) <= MOST_POINTS
    assert steps == sorted(set(steps))
    if known:
        assert max(known) in drawn and min(known) in drawn


# Terminal


@pytest.mark.parametrize("name", SAMPLES)
def test_pipes_get_no_escape_codes(name: str) -> None:
    assert "\x1b" not in terminal_text(SAMPLES[name])


def test_an_encoding_without_signs_gets_plain_ones() -> None:
    text = terminal_text(EXPLAINED, "ascii")
    assert "B ~ C" in text
    assert terminal_text(hostile(), "ascii")


def test_a_sentence_stays_one_line_in_a_pipe() -> None:
    assert terminal_text(THREE).splitlines()[-1] == headline(THREE)


def test_a_terminal_gets_colours_within_its_width() -> None:
    stream = io.StringIO()
    print_summary(THREE, Console(file=stream, force_terminal=True, width=60, color_system="standard"))
    text = stream.getvalue()
    assert "\x1b[" in text
    assert max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()) <= 60


def test_forced_colours_do_not_make_a_log_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    with ArmProgress(make_console(stream)) as progress:
        progress.start("C", "converted script")
    assert "\x1b[?25l" not in stream.getvalue()


def test_progress_in_a_pipe_is_a_few_plain_lines() -> None:
    stream = io.StringIO()
    with ArmProgress(make_console(stream)) as progress:
        progress.start("C", "converted script")
        for step in range(100):
            progress.update(f"step {step} of 100")
        progress.done(12.0)
    assert stream.getvalue().splitlines() == ["C  converted script: started", "C  converted script: done in 12 s"]


def test_progress_in_a_pipe_speaks_now_and_then() -> None:
    stream = io.StringIO()
    with ArmProgress(make_console(stream), seconds_between_lines=0) as progress:
        progress.start("C", "converted script")
        progress.update("step 5 of 12")
        progress.done(1.0)
    assert "C  converted script: step 5 of 12, 0.0 s" in stream.getvalue()


def test_progress_says_that_an_arm_stopped() -> None:
    stream = io.StringIO()
    with pytest.raises(KeyboardInterrupt), ArmProgress(make_console(stream)) as progress:
        progress.start("C", "converted script")
        raise KeyboardInterrupt
    assert "C  converted script: stopped after" in stream.getvalue()


def test_progress_in_a_terminal_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    with ArmProgress(Console(file=stream, force_terminal=True, force_interactive=True, width=60)) as progress:
        progress.start("C", "converted script")
        progress.update("step 5 of 12")
        progress.done(1.0)
    assert "\x1b[?25l" in stream.getvalue()  # the cursor is hidden,
    assert "\x1b[?25h" in stream.getvalue()  # and shown again
    assert "C  converted script: done in 1.0 s" in stream.getvalue()


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


def test_converting_imports_none_of_the_libraries() -> None:
    code = (
        "import sys, raymigrate.cli, raymigrate.runtime.verify.reporting\n"
        "assert not {'rich', 'jinja2', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
