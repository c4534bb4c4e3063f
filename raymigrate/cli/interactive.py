"""`--interactive`: shows each conversion and asks whether to make it, as `git add -p` does with hunks.

Edits that belong together are one question, so that no answer leaves a script half converted: all that turns a trainer
into a TorchTrainer, with its configuration, session calls and checkpoints. The engine makes only the edits that
were accepted, and checks every text that is shown as it checks all.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import click

from raymigrate.base.families import LEGACY_TRAINERS, Family
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.words import one_line
from raymigrate.facts.projects.project import Project
from raymigrate.reporting.diff import unified_diff
from raymigrate.reporting.text import finding_lines
from raymigrate.run.job import Job
from raymigrate.run.outcome import FileResult
from raymigrate.run.writing import written

Key = tuple[str, str, str]  # code, message and line of a finding: stays the same while other lines change
# What turns a script for Ray into one for today's: without one part of it the others do not run.
RAY = LEGACY_TRAINERS | {Family.RAY_AIR, Family.DATA, Family.RESULTS, Family.PREDICTORS, Family.GONE}
ANSWERS = {
    "y": "make this change",
    "n": "leave it out",
    "a": "make this change and all later ones in this file",
    "d": "leave out this change and all later ones in this file",
    "q": "leave out this change and all later ones, and end",
}
LEAVE = ("d", "q")
COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass
class Conversation:
    """What the user has said so far.

    Args:
        rest: The answer that holds for the rest of a file, or of the run; empty while there is none.
    """

    rest: str = ""

    def wants(self, change: FileResult, findings: Sequence[Finding]) -> bool:
        """Shows a change and asks."""
        if not self.rest:
            _show(change, findings)
            answer = _answer(change.path)
            if answer in "adq":
                self.rest = answer
            return answer in "ya"
        return self.rest == "a"

    @property
    def leaves_the_rest(self) -> bool:
        """Whether there is nothing more to ask, nor to change."""
        return self.rest in LEAVE

    def next_file(self) -> None:
        """Asks again, unless the user has had enough."""
        if self.rest != "q":
            self.rest = ""


@dataclass(frozen=True)
class InteractiveJob(Job):
    """A job that asks about each change. It runs in one process.

    Args:
        conversation: With whom.
        leads_out: Tells of a path whether it leads to where nothing may be written.
    """

    conversation: Conversation = field(default_factory=Conversation)
    leads_out: Callable[[str], bool] = lambda path: False

    def first_look(self, path: str) -> FileResult:
        """Converts one file, and writes at once what the user wants: no answer is lost if the run is ended."""
        result = self.look(path)
        return result if self.leads_out(path) else next(iter(written([result], (), self.leads_out)))

    def convert(self, path: str, data: bytes, project: Project | None = None) -> FileResult:
        """Converts the bytes of a file as far as the user wants it; no file asks another one to change."""
        if self.leads_out(path):
            return Job(self.options, write=False).convert(path, data, project)  # the run tells of it
        project = Project(named=(path,), may_write=lambda path: False)
        whole = super().convert(path, data, project)
        if whole.after is None:
            return whole
        self.conversation.next_file()
        current = replace(whole, changes=False, after=None)
        accepted: frozenset[Key] = frozenset()
        asked: frozenset[Key] = frozenset()
        for keys in _questions(whole):
            if self.conversation.leaves_the_rest:
                break
            asked |= keys
            trial = self._with(path, data, project, accepted | asked)
            if trial.after is None or trial.after == current.after:
                continue  # no change on its own, or one that the engine refuses: asked together with the next
            change = replace(trial, before=whole.before if current.after is None else current.after)
            if self.conversation.wants(change, [f for f in whole.findings if _key(f, whole.before) in asked]):
                current, accepted = trial, accepted | asked
            asked = frozenset()
        return self._with(path, data, project, accepted)

    def _with(self, path: str, data: bytes, project: Project, accepted: frozenset[Key]) -> FileResult:
        return Job(replace(self.options, accepted=accepted), write=False).convert(path, data, project)


def _questions(result: FileResult) -> Iterator[frozenset[Key]]:
    """The convertible findings of a file, those together that belong together."""
    findings = [finding for finding in result.findings if finding.kind is Kind.CONVERTED]
    trains = any(finding.family in LEGACY_TRAINERS for finding in findings)
    together = frozenset(Family) if trains else RAY
    ray = frozenset(_key(finding, result.before) for finding in findings if finding.family in together)
    if ray:
        yield ray
    others = [_key(finding, result.before) for finding in findings if finding.family not in together]
    for key in dict.fromkeys(others):
        yield frozenset({key})


def _key(finding: Finding, text: str) -> Key:
    return finding.code, finding.message, text.split("\n")[finding.line - 1].strip()


def _show(change: FileResult, findings: Sequence[Finding]) -> None:
    for line in unified_diff(change).decode("utf-8", "replace").splitlines():
        click.secho(line, fg=COLOURS.get(line[:1]), bold=line.startswith(("---", "+++")))
    for finding in findings:
        for line in finding_lines(finding, dry_run=True):
            click.echo(line)


def _answer(path: str) -> str:
    while True:
        try:
            answer = (
                click.prompt(f"{one_line(path)}: make this change [{','.join(ANSWERS)},?]", prompt_suffix=" ")
                .strip()
                .lower()
            )
        except click.Abort:  # the end of the input, or Ctrl-C: what was wanted so far stays
            click.echo()
            return "q"
        if answer in ANSWERS:
            return answer
        for letter, meaning in ANSWERS.items():
            click.echo(f"{letter} - {meaning}")
