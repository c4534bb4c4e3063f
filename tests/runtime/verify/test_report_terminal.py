"""What `raymigrate verify` prints: the summary, and progress while arms run."""

import io
import re

import pytest
from rich.console import Console

from raymigrate.runtime.verify.reporting.terminal import ArmProgress, make_console, print_summary
from raymigrate.runtime.verify.reporting.wording import headline
from tests.runtime.verify.verifications import EXPLAINED, SAMPLES, THREE, hostile, terminal_text

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
