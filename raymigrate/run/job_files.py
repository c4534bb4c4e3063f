"""Which files train, by what was found in them: with them goes what they import."""

from raymigrate.base.families import LEGACY_TRAINERS, Family
from raymigrate.base.findings import Kind
from raymigrate.pins.needed import NATIVE
from raymigrate.run.outcome import FileResult

JOBS = LEGACY_TRAINERS | {Family.PREDICTORS}


def is_job(result: FileResult) -> bool:
    """Whether a file has a legacy trainer or predictor, or is a plain script that becomes a job of Ray."""
    return any(
        (finding.family in JOBS and finding.kind is not Kind.SKIPPED)
        or (finding.family is Family.TO_RAY and finding.kind is Kind.CONVERTED)
        for finding in result.findings
    )


def is_loop(result: FileResult) -> bool:
    """Whether a file trains by a native loop that goes to accelerate."""
    return any(finding.code == NATIVE and finding.kind is Kind.CONVERTED for finding in result.findings)


def writes_job(result: FileResult) -> bool:
    """Whether a script that a cell of a notebook writes is a job: what is said of it is said of the cell."""
    document = result.document
    return document is not None and bool(document.scripts) and is_job(result.with_findings(document.remarks))
