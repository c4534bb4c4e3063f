"""What every format says alike: verdicts in one sentence, what to show of a gate, tables side by side."""

from __future__ import annotations

import re
from dataclasses import dataclass

from raymigrate.base.words import listed
from raymigrate.runtime.verify.results import ArmRun, Check, Comparison, Gate, Status, Verification

RELATIONS = {Status.PASS: "=", Status.EXPLAINED: "\N{ALMOST EQUAL TO}", Status.FAIL: "\N{NOT EQUAL TO}"}

# Bit equality may be claimed only where these were compared.
BITS = ("course", "end")

# These gates do not hold the right arm against the left one, so "C differs from B" would be wrong.
UNLIKE_OTHERS = {
    "self": "{left} against {right} is undecided: a repeated run does not equal itself (gate 'self')",
    "failure": "{right} does not train on as it should after a worker was killed (gate 'failure')",
    "alive": "{left} against {right} shows nothing: training is not alive (gate 'alive')",
}

# All control characters but tab and line feed, and halves of surrogate pairs: XML forbids most of them, and in a
# terminal an escape character would begin a command.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """The text with characters that cannot be shown spelled out, as Python would write them."""
    return UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def outcome(comparison: Comparison) -> Status:
    """The status of a comparison; NOT_APPLICABLE if no check could be made, for then nothing is proved."""
    if all(gate.status is Status.NOT_APPLICABLE for gate in comparison.gates):
        return Status.NOT_APPLICABLE
    return comparison.status


def overall(verification: Verification) -> Status:
    """The worst outcome; a comparison in which nothing was compared is worse than an explained one."""
    found = {outcome(comparison) for comparison in verification.comparisons}
    order = (Status.FAIL, Status.NOT_APPLICABLE, Status.EXPLAINED, Status.PASS)
    return next((status for status in order if status in found), Status.NOT_APPLICABLE)


def relation(comparison: Comparison) -> str:
    """`B = C`, for example; `B ? C` if nothing was compared."""
    return f"{comparison.left} {RELATIONS.get(outcome(comparison), '?')} {comparison.right}"


def verdict(comparison: Comparison) -> str:
    """One sentence that can be quoted."""
    status = outcome(comparison)
    if status is Status.NOT_APPLICABLE:
        return f"{comparison.left} against {comparison.right}: nothing could be compared, so nothing is shown."
    if status is Status.FAIL:
        return _failure(comparison)
    return f"{relation(comparison)}: {_claim(comparison, status)}{_hidden(comparison)}: {gate_counts(comparison)}."


def headline(verification: Verification) -> str:
    """The final verdict: that of the only comparison, or one sentence on all of them."""
    comparisons = verification.comparisons
    if not comparisons:
        return "Nothing was compared, so nothing is shown."
    if len(comparisons) == 1:
        return verdict(comparisons[0])
    unlike = [each for each in comparisons if outcome(each) in (Status.FAIL, Status.NOT_APPLICABLE)]
    good = [each for each in comparisons if each not in unlike]
    held = listed([f"{relation(each)} ({each.claim})" for each in good])
    if not unlike:
        return f"All {len(comparisons)} comparisons hold: {held}."
    first = next((each for each in unlike if outcome(each) is Status.FAIL), unlike[0])
    more = f" {len(unlike) - 1} more of {len(comparisons)} comparisons did not hold." if len(unlike) > 1 else ""
    rest = f" What holds: {held}." if held else ""
    return f"{verdict(first)}{more}{rest}"


def name_of_the_other(verification: Verification) -> str:
    """What a report calls the script that is compared with the original."""
    as_they_are = any(comparison.right == "Q" for comparison in verification.comparisons)
    return "compared with" if as_they_are else "converted"


def gate_counts(comparison: Comparison) -> str:
    """`7 gates passed, 1 explained (course), 1 not applicable (failure)`."""
    names: dict[Status, list[str]] = {status: [] for status in Status}
    for gate in comparison.gates:
        names[gate.status].append(gate.name)
    passed = len(names[Status.PASS])
    parts = [f"{passed} gate{'' if passed == 1 else 's'} passed"]
    for status, word in (
        (Status.FAIL, "failed"),
        (Status.EXPLAINED, "explained"),
        (Status.NOT_APPLICABLE, "not applicable"),
    ):
        if names[status]:
            parts.append(f"{len(names[status])} {word} ({', '.join(names[status])})")
    return ", ".join(parts)


def key_checks(gate: Gate, most_passed: int) -> tuple[list[Check], int]:
    """The checks that matter: all that did not pass, then a few that did, and how many were left out."""
    unlike = [check for check in gate.checks if check.status in (Status.FAIL, Status.EXPLAINED)]
    others = [check for check in gate.checks if check not in unlike]
    others.sort(key=lambda check: check.status is not Status.PASS)
    return unlike + others[:most_passed], max(0, len(others) - most_passed)


def seconds_text(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 05 s`, `2 h 05 min`."""
    if not 0 <= seconds < float("inf"):
        return "unknown"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def memory_text(size: int | None) -> str:
    """`512 MiB`, `1.6 GiB`; "unknown" for None."""
    if size is None:
        return "unknown"
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def step_text(seconds: float | None) -> str:
    """`84 ms`, `1.25 s`; "unknown" for None."""
    if seconds is None or not 0 <= seconds < float("inf"):
        return "unknown"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def speed(verification: Verification, comparison: Comparison) -> str:
    """How fast the right arm trains beside the left one, in one sentence; empty if that was not measured.

    The load of the machine is part of it: it is reported, and no gate depends on it.
    """
    arms = {arm.letter: arm for arm in verification.arms}
    left, right = arms.get(comparison.left), arms.get(comparison.right)
    if left is None or right is None or not left.step_seconds or not right.step_seconds:
        return ""
    return (
        f"Throughput of {right.letter}: {left.step_seconds / right.step_seconds:.2f} times that of {left.letter} "
        f"({step_text(right.step_seconds)} and {step_text(left.step_seconds)} a step); peak memory of a worker "
        f"{memory_text(right.memory)} and {memory_text(left.memory)}."
    )


@dataclass(frozen=True)
class VersionRow:
    """A library in every environment; an empty string where one does not have it."""

    library: str
    versions: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether two environments have different versions."""
        return len(set(self.versions)) > 1


def version_table(verification: Verification) -> tuple[list[str], list[VersionRow]]:
    """The libraries of all arms, side by side in the order of the arms; repetitions of an arm share its column.

    Returns:
        The heads of the columns ("A", "C, C2") and the rows.
    """
    columns: dict[tuple[str, tuple[tuple[str, str], ...]], list[ArmRun]] = {}
    for arm in verification.arms:
        columns.setdefault((arm.letter[:1], tuple(sorted(arm.versions.items()))), []).append(arm)
    libraries = dict.fromkeys(library for arm in verification.arms for library in arm.versions)
    heads = [", ".join(arm.letter for arm in arms) for arms in columns.values()]
    firsts = [arms[0].versions for arms in columns.values()]
    return heads, [VersionRow(library, tuple(each.get(library, "") for each in firsts)) for library in libraries]


def _claim(comparison: Comparison, status: Status) -> str:
    drift = "drift" in comparison.claim  # equality shows that there is none
    if status is Status.EXPLAINED:
        what = f"{comparison.claim} {'stays' if drift else 'holds'}"
        named = ", and the differences have names" if comparison.causes else ""
        return f"{what} within its bounds{named}"
    passed = {gate.name for gate in comparison.gates if gate.status is Status.PASS}
    if not passed.issuperset(BITS):
        return "no difference was found, but not all of training was compared"
    return f"no {comparison.claim}, bit for bit" if drift else f"{comparison.claim} is proved bit for bit"


def _hidden(comparison: Comparison) -> str:
    """What a claim of equality has to leave open."""
    if not comparison.hidden:
        return ""
    pins = "pin" if len(comparison.hidden) == 1 else "pins"
    hide = "hides" if len(comparison.hidden) == 1 else "hide"
    return f", except for what the {pins} {listed(comparison.hidden)} {hide}"


def _failure(comparison: Comparison) -> str:
    failed = [gate for gate in comparison.gates if gate.status is Status.FAIL]
    first = failed[0]
    sentence = UNLIKE_OTHERS.get(first.name, "{right} differs from {left} at the gate '{gate}'")
    sentence = sentence.format(left=comparison.left, right=comparison.right, gate=first.name)
    check = next(check for check in first.checks if check.status is Status.FAIL)
    more = f"; also at {listed(gate.name for gate in failed[1:])}" if len(failed) > 1 else ""
    cause = f". Cause: {listed(cause.name for cause in comparison.causes)}" if comparison.causes else ""
    return f"{sentence}: {check.name}: {check.figures.rstrip('.')}{more}{cause}."
