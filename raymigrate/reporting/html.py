"""The report as one HTML page that loads nothing: what was done, what is left, and every changed file side by side.

Needs jinja2 and pygments (the extra `report`); imported only for `--report page.html`.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from urllib.parse import quote
from zlib import crc32

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from raymigrate import __version__
from raymigrate.base.families import Family
from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.reporting.paths import relative_posix
from raymigrate.reporting.side_by_side import Block, blocks_of
from raymigrate.reporting.text import project_lines, summary_text
from raymigrate.run.outcome import FileResult, Summary
from raymigrate.run.rules import rule_by_code

TO_DO = (Kind.ERROR, Kind.MANUAL, Kind.UNSAFE)
WORDS = {
    Kind.ERROR: "could not be done",
    Kind.MANUAL: "left for a person",
    Kind.UNSAFE: "converted with --unsafe only",
    Kind.CONVERTED: "converted",
    Kind.NOTE: "to know",
    Kind.SKIPPED: "skipped by a comment",
}


@dataclass(frozen=True)
class FileSection:
    """All that is shown of one file."""

    result: FileResult

    @property
    def path(self) -> str:
        """The file, as seen from the current folder."""
        return relative_posix(self.result.path)

    @property
    def folder(self) -> str:
        """Its folder."""
        return str(PurePosixPath(self.path).parent)

    @cached_property
    def blocks(self) -> list[Block]:
        """Its lines, old and new."""
        return blocks_of(self.result)

    @property
    def rows_in_sight(self) -> int:
        """About how many lines the browser will show: it lays a file out only when that comes into sight."""
        return sum(1 if block.folded else len(block.rows) for block in self.blocks) + 2 * len(self.result.findings)

    @property
    def is_changed(self) -> bool:
        """Whether the run changes it."""
        return self.result.changes

    @cached_property
    def unplaced(self) -> list[Finding]:
        """Findings whose lines are not on the page."""
        shown = {id(finding) for block in self.blocks for row in block.rows for finding in row.findings}
        return [finding for finding in self.result.findings if id(finding) not in shown]

    @property
    def to_do(self) -> list[Finding]:
        """What is left for a person, apart from pins."""
        return [f for f in self.result.findings if f.kind in TO_DO and f.family is not Family.PINS]

    @property
    def pins(self) -> list[Finding]:
        """What was found of the versions that the file pins."""
        return [finding for finding in self.result.findings if finding.family is Family.PINS]

    @cached_property
    def counts(self) -> Counter[Kind]:
        """How many findings it has, by what became of them."""
        return Counter(finding.kind for finding in self.result.findings)


@dataclass(frozen=True)
class RuleRow:
    """How often a rule was met, by what became of it."""

    rule: Rule
    counts: dict[Kind, int]


def html_text(summary: Summary, *, dry_run: bool) -> str:
    """The report as a page.

    Args:
        summary: What the run found; its results must hold the new texts.
        dry_run: Whether nothing was written.
    """
    counts = Counter(finding.kind for finding in summary.findings)
    script = (Path(__file__).parent / "conversion.js").read_text(encoding="utf-8")
    sections = [FileSection(result) for result in summary.results]
    return (
        _environment()
        .get_template("conversion.html.j2")
        .render(
            sections=sections,
            sentence=summary_text(summary, dry_run=dry_run),
            projects=list(project_lines(summary, dry_run=dry_run)),
            counts=[(kind, counts[kind]) for kind in Kind if counts[kind]],
            rules=list(_rule_rows(summary)),
            folders=sorted({section.folder for section in sections}),
            to_do_kinds=TO_DO,
            words={**WORDS, Kind.CONVERTED: "would be converted"} if dry_run else WORDS,
            dry_run=dry_run,
            script=Markup(script),
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            raymigrate_version=__version__,
        )
    )


def _rule_rows(summary: Summary) -> Iterator[RuleRow]:
    counts = Counter((finding.code, finding.kind) for finding in summary.findings)
    for code in sorted({code for code, _ in counts}):
        yield RuleRow(rule_by_code(code), {kind: counts[code, kind] for kind in Kind})


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("raymigrate.reporting", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["slug"] = _slug
    environment.filters["anchor"] = _anchor
    environment.filters["rule"] = rule_by_code
    return environment


def _slug(path: str) -> str:
    """A name for a place on the page; two paths never get the same."""
    return quote(path.encode("utf-8", "surrogateescape"), safe="/._-")


def _anchor(finding: Finding, path: str) -> str:
    place = f"{finding.cell}-{finding.line}-{finding.column}-{finding.code}-{crc32(finding.message.encode()):x}"
    return f"{_slug(path)}:{place}"
