"""A finding of the old text is named where it stands in the new one."""

from raymigrate.base.findings import Finding, Kind
from raymigrate.run.outcome import FileResult

SAME = "get_model() is gone, if this is a checkpoint."


def found(message: str, line: int, column: int = 1) -> Finding:
    return Finding("RM601", Kind.MANUAL, message, "", line, column)


def places(findings: list[Finding], left: list[Finding]) -> list[tuple[int, int]]:
    result = FileResult("train.py", findings, "a\nb\nc\nd\n", True, "new\na\nb\nc\nd\n", left).written()
    return [(finding.line, finding.column) for finding in result.findings]


def test_a_finding_goes_with_its_line_and_not_with_an_equal_one_elsewhere() -> None:
    old = [found("get_model() is gone.", 2), found(SAME, 4)]
    assert places(old, [found(SAME, 3), found(SAME, 5)]) == [(3, 1), (5, 1)]


def test_findings_of_lines_that_change_are_matched_in_their_order() -> None:
    old = [found(SAME, 1, 9), found(SAME, 1, 20)]
    assert places(old, [found(SAME, 4, 2), found(SAME, 5, 3)]) == [(4, 2), (5, 3)]


def test_what_a_second_run_does_not_say_stays_by_its_line() -> None:
    assert places([found(SAME, 2), found(SAME, 3)], [found(SAME, 4)]) == [(3, 1), (4, 1)]
    assert places([found(SAME, 2)], []) == [(3, 1)]
