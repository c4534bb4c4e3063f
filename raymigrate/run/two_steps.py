"""`--to-accelerate` and `--to-ray` in one run: a native loop becomes one of accelerate, and that goes to Ray Train."""

from collections.abc import Callable
from dataclasses import replace

from raymigrate.base.findings import Finding, Kind
from raymigrate.base.options import Options
from raymigrate.comments.skips import RM906
from raymigrate.documents.line_changes import moved_lines
from raymigrate.files.script import lines_of
from raymigrate.run.outcome import FileResult, by_place, key_of

# What both steps tell of the same thing, each in words of its own: what stands in the finding of either.
TOLD_TWICE = (
    ("No seed is set", "No seed is set"),
    ("all set this seed", "Every worker sets this seed"),
    ("find_unused_parameters=True", "find_unused_parameters=True"),
    ("spreads the model over all GPUs that a process sees", "refuses that on several workers"),
)
# The same of what they tell in one line.
TOLD_TWICE_THERE = (
    ("Every process of a distributed run writes this file", "Every process writes this file"),
    ("Several processes ask for this folder", "Several processes ask for this folder"),
    ("Several processes download this", "Several workers download this"),
    ("uses attributes of the model, which under several", "It is wrapped in DistributedDataParallel"),
    ("goes through two backward() here", "goes through two backward() here"),
    ("Weights are loaded in the dtype of the checkpoint", "Weights are loaded in the dtype of the checkpoint"),
)
# What the first step tells of torchrun, which starts nothing any more where Ray does.
OF_LAUNCHERS = (
    *("the processes that torchrun starts", "are started with torchrun"),
    *("DataParallel used all GPUs", "mp.spawn() started the processes"),
)
# Of families whose modules are imported with their option only.
ON_RAY = "RM820"
NATIVE, NOT_ON_RAY = "RM851", "RM802"
Step = Callable[[str, Options, bool], FileResult]


def convert_in_two_steps(text: str, options: Options, convert: Step, *, rewrite: bool) -> FileResult:
    """Converts a text twice, with one of the options at a time.

    Args:
        text: Source text.
        options: What the user asked for, both steps among it.
        convert: Steps a text with options; the last argument says whether to rewrite or to look only.
        rewrite: Whether the new text is wanted.

    Returns:
        One result, with places in `text`. Where the second step refuses what came of the first, nothing changes.
    """
    first = convert(text, replace(options, to_ray=False), True)
    if first.has_error:
        return first
    then = replace(options, to_accelerate=False, shows_gpu=first.shows_gpu, launcher=first.launcher)
    second = convert(text if first.after is None else first.after, then, rewrite)
    placed = second.findings if first.after is None else _placed(second.findings, first.after, text)
    if second.has_error:
        findings = by_place(placed) if first.changes else _both(first.findings, placed)
        return replace(first, findings=findings, changes=False, after=None, left=[])
    after = (first.after if second.after is None else second.after) if rewrite else None
    new_places = {}
    if first.after is not None and second.after is not None:
        final = (finding for finding, _ in second.in_new_text())
        new_places = {key_of(old): (new.line, new.column) for old, new in zip(placed, final, strict=True)}
    left: list[Finding] = []
    if second.after is not None:
        left = _both(convert(second.after, replace(options, to_ray=False), False).findings, second.left)
    elif after is not None:
        left = _both(first.left, second.findings)
    return replace(
        second,
        before=text,
        findings=_both(first.findings, placed),
        changes=first.changes or second.changes,
        after=after,
        left=left,
        new_places=new_places,
    )


def _both(first: list[Finding], second: list[Finding]) -> list[Finding]:
    """What either step tells, once; of comments that silence nothing, what both tell."""
    told = {(finding.code, finding.words) for finding in second}
    earlier = {(finding.code, finding.words) for finding in first}
    stays_native = any(finding.code == NATIVE for finding in first)  # which says why it does not go to Ray either
    findings = [f for f in first if (f.code, f.words) not in told and not _is_told_again(f, second)]
    findings += [f for f in second if f.code != RM906.code or (f.code, f.words) in earlier]
    findings = [f for f in findings if f.code != RM906.code or (f.code, f.words) in told]
    return by_place([f for f in findings if not (stays_native and f.code == NOT_ON_RAY)])


def _is_told_again(finding: Finding, second: list[Finding]) -> bool:
    """Whether the second step tells of the same thing in other words, or makes it needless."""
    goes = any(other.code == ON_RAY and other.kind is Kind.CONVERTED for other in second)
    if goes and any(words in finding.message for words in OF_LAUNCHERS):
        return True
    return any(
        words in finding.message and finding.kind is other.kind and again in other.message
        for other in second
        for words, again in (*TOLD_TWICE, *(TOLD_TWICE_THERE if finding.line == other.line else ()))
    )


def _placed(findings: list[Finding], between: str, text: str) -> list[Finding]:
    """Findings in the text between the steps, with places in the one before both.

    The column is that of the statement where the first step has changed or added the line. A blank line, to which the
    first step added, stands for the code below it.
    """
    moved, changed, lines = moved_lines(between, text), lines_of(between), lines_of(text)
    placed = []
    for finding in findings:
        line = min(moved(finding.line), len(lines))
        line = next((number for number in range(line, len(lines) + 1) if lines[number - 1].strip()), line)
        now, before = changed[finding.line - 1], lines[line - 1]
        start = len(before) - len(before.lstrip()) + 1
        column = finding.column if now == before else start
        placed.append(replace(finding, line=line, column=column).with_own_lines(moved))
    return placed
