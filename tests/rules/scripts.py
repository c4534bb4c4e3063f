"""What the tests of single rules share: a script is converted as text."""

from dataclasses import dataclass
from textwrap import dedent

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.engine import convert


@dataclass(frozen=True)
class Outcome:
    """What became of a script.

    Args:
        text: The script after the run, changed or not.
        findings: Code, what became of it, and line of each finding.
        messages: The message of each finding, with what is to do.
    """

    text: str
    findings: list[tuple[str, Kind, int]]
    messages: list[str]

    def lines(self, code: str, kind: Kind | None = None) -> list[int]:
        """The lines of the findings of one rule, of a kind or of all."""
        return [line for found, became, line in self.findings if found == code and kind in (None, became)]


def converted(text: str, **options: object) -> Outcome:
    """Converts a script; nothing of it may go wrong."""
    script = dedent(text).lstrip("\n")
    result = convert(script, options=Options(**options))  # type: ignore[arg-type]
    findings = [(f.code, f.kind, f.line) for f in result.findings]
    assert not [finding for finding in findings if finding[1] is Kind.ERROR], result.findings
    after = script if result.after is None else result.after
    return Outcome(after, findings, [f"{f.message} {f.advice}" for f in result.findings])
