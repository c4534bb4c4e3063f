"""What a scenario found: a table that can be pasted into README.md, and its targets."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """A figure that must not be exceeded.

    Args:
        what: What was measured.
        value: The figure.
        limit: What it may be at most.
        unit: Of both.
        cpu: The same figure in CPU time, which says more where the machine had other work.
    """

    what: str
    value: float
    limit: float
    unit: str
    cpu: float | None = None

    @property
    def met(self) -> bool:
        """Whether it is not exceeded."""
        return self.value <= self.limit

    def __str__(self) -> str:
        verdict = "met" if self.met else "MISSED"
        cpu = f" (in CPU time {self.cpu:.1f})" if self.cpu is not None else ""
        return f"{self.what}: {self.value:.1f} {self.unit}{cpu}, at most {self.limit:g}: {verdict}"


@dataclass
class Report:
    """The result of one scenario.

    Args:
        title: What was measured.
        columns: Heads of the table.
        rows: Its cells.
        targets: How far they are met.
    """

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def __str__(self) -> str:
        cells = [self.columns, *self.rows]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.columns))]
        lines = [_line(row, widths) for row in cells]
        lines.insert(1, "|".join(["", "-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:]), ""]))
        return "\n".join([f"### {self.title}", "", *lines, "", *(f"* {target}" for target in self.targets), ""])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = [f"{cell:{'>' if column else '<'}{widths[column]}}" for column, cell in enumerate(row)]
    return f"| {' | '.join([first, *others])} |"
