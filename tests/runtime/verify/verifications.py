"""Verifications that the tests of the reports use, and readers of what is written."""

import io
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

from raymigrate.runtime.verify.reporting.terminal import make_console, print_summary
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
