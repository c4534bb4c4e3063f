# ruff: noqa: PTH120 - works on strings, as discovery.py does
"""Files that are converted together: scripts that need other files of their project, and what their jobs import.

What a script asks of another file is done in both or in neither: both are converted and checked before either is
written. Files outside the paths that were given are read, and never written.
"""

import os
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from raymigrate.base.families import LEGACY_TRAINERS, Family
from raymigrate.base.findings import Finding, Kind
from raymigrate.codemods.gone.names_in_strings import RM695
from raymigrate.comments.skips import RM906, Skips
from raymigrate.facts.projects.alone import Alone
from raymigrate.facts.projects.project import Project
from raymigrate.facts.projects.users import users
from raymigrate.facts.syntax.own_modules import may_import_files
from raymigrate.files.discovery import Discovery
from raymigrate.pins.needed import NATIVE
from raymigrate.run.environment_variables import told_of_variables
from raymigrate.run.file_rules import RM908
from raymigrate.run.job import Job
from raymigrate.run.neighbours import looked_at_again
from raymigrate.run.outcome import FileResult, ProjectSummary, codes_of, joined
from raymigrate.run.replaced_names import replacing_files
from raymigrate.run.serve_configs import serves, told_in_serve_configs
from raymigrate.run.settings_files import told_in_settings
from raymigrate.run.tuner_settings import retold

DUE = (Kind.CONVERTED, Kind.UNSAFE, Kind.MANUAL)
JOBS = LEGACY_TRAINERS | {Family.PREDICTORS}


class Together:
    """Converts files that belong together.

    Args:
        found: What was named on the command line.
        job: What to do with each file.
        results: What became of the files that were converted on their own; what is converted here is added.
    """

    def __init__(self, found: Discovery, job: Job, results: dict[str, FileResult]) -> None:
        self.found = found
        self.job = job
        self.part = replace(job, options=replace(job.options, part_of_job=True))
        self.part_of_loop = replace(job, options=replace(job.options, part_of_loop=True))
        self.results = results
        self.alone = {os.path.realpath(path): result for path, result in results.items()}
        self.project = Project(
            found.roots,
            (*found.named, *found.candidates),
            may_write=self.found.covers,
            crashed=job.crashed,
            shared=job.shared,
            judge=lambda path: self._ahead(path, rewrite=False)[0],
            becomes=lambda path: self._ahead(path, rewrite=True)[1],
        )
        if not job.shared.texts:  # else files will hold something else than they did
            self.project.searched = Alone.found_in(job.run)
        self._known_ahead: dict[tuple[str, bool], tuple[list[Finding], str | None]] = {}  # by real path and rewrite
        self.links: dict[str, set[str]] = {}  # the files of the project that each script of a job imports
        self.new: dict[str, FileResult] = {}  # by real path: what was converted here
        self.known = ChainMap(self.new, self.alone)
        self.due: dict[str, str] = {}  # by real path: the files that are asked for something new
        self.parts: dict[str, Job] = {}  # by real path: how what is part of a job or loop was converted
        self.followed: set[str] = set()  # real paths of the files whose imports were followed
        self.unstable: dict[str, FileResult] = {}  # by real path: what is refused, as a second run would change it

    def convert(self, waiting: Iterable[str]) -> None:
        """Converts the files that wait for others and what jobs import.

        Args:
            waiting: Files that could not be converted on their own.
        """
        waiting = dict.fromkeys(waiting)
        while True:
            found = (self.project.asked, self.project.uses, self.project.places, self.project.callers)
            for earlier in (self.new, self.due, self.parts, self.followed, self.links, *found):
                earlier.clear()
            for path in waiting:
                self._add(path, self.job)
            self._convert_asked()
            self._convert_imported()
            self._look_at_tests()
            if refused := self._refused():
                self.project.refused |= refused
            elif not self._look_again():
                break
        for result in self.new.values():
            if (self.found.covers(result.path) or result.path in waiting) and result.is_shown:
                self.results[result.path] = result
        self._report_outside()
        self.results.update((r.path, r) for r in list(retold(self.results, self.project, self.job.options)))
        self._report_settings()

    @property
    def legacy(self) -> set[str]:
        """The files among them that are legacy code, whether or not there is something to say of them."""
        return {result.path for result in self.new.values() if result.is_legacy}

    def with_pins(self, path: str) -> FileResult:
        """What becomes of a file where the versions that it installs matter; see `Job.for_ray`."""
        job = self.parts.get(os.path.realpath(path), self.job)
        result = replace(job, for_ray=True).look(path, self.project)
        result.asked, result.done = [], []  # as those of the results of a run
        return result

    def groups(self) -> list[list[str]]:
        """The files that change together: what a script asks of others, and the script. The asked ones come first."""
        pairs = [(real, os.path.realpath(r.path)) for real, result in self.new.items() for r in result.asked]
        return [
            [self.project.name(real) for real in sorted(group, key=lambda real: (real not in self.project.asked, real))]
            for group in joined(set(pair) for pair in pairs)
        ]

    # -- conversion --------------------------------------------------------------------------------

    def _add(self, path: str, job: Job) -> None:
        """Converts a file, and remembers what it asks of others."""
        real = os.path.realpath(path)
        result = self.unstable.get(real) or job.look(path, self.project)
        self.new[real] = result
        if job is not self.job:
            self.parts[real] = job
        for request in result.asked:
            target = os.path.realpath(request.path)
            asked = self.project.asked.setdefault(target, [])
            if not any((other.path, other.name) == (request.path, request.name) for other in asked):
                asked.append(request)
                self.due.setdefault(target, request.path)

    def _ahead(self, path: str, *, rewrite: bool) -> tuple[list[Finding], str | None]:
        """What there is to say of a file, and what it becomes, before it is its turn.

        Args:
            path: A file that another one runs as a job, or replaces names in.
            rewrite: Whether its new text is asked for, which is so where nothing is written too.
        """
        real = os.path.realpath(path)
        if (real, rewrite) not in self._known_ahead:
            self._known_ahead[real, rewrite] = [], None  # where two files do so with each other
            result = self.known.get(real)
            if result is None or (rewrite and result.changes and result.after is None):
                result = replace(self.job, rewrite=rewrite).look(path, self.project)
            self._known_ahead[real, rewrite] = result.findings, result.after
        return self._known_ahead[real, rewrite]

    def _look_at_tests(self) -> None:
        """Looks at the files that may replace names in the modules that change, whether or not they name Ray."""
        searched = {*map(os.path.realpath, self.found.candidates), *self.new}
        if self.job.options.enabled(RM695.code):
            for path in [*replacing_files(self.known.values(), self.project)]:
                if os.path.realpath(path) not in searched and self.found.covers(path):
                    self._add(path, self.job)

    def _look_again(self) -> bool:
        """Looks at the files that change beside those that change too; whether one of them has to stay as it is."""
        changed = {real: result for real, result in self.known.items() if result.after is not None}
        for real, result in looked_at_again(changed, self.project, self.job.options).items():
            if result.has_error:
                self.unstable[real] = result
            if real in self.new:
                self.new[real] = result
            else:
                self.alone[real] = self.results[result.path] = result
        return not self.unstable.keys().isdisjoint(changed)

    def _convert_asked(self) -> None:
        """Converts the files that others ask to change, with all that is asked of them; they may ask in turn."""
        while self.due:
            real, path = next(iter(self.due.items()))
            del self.due[real]
            known = real in self.alone or path in self.found.candidates
            self._add(path, self.job if known else self.part)

    def _convert_imported(self) -> None:
        """Converts what belongs to converted jobs: the modules that they import, whose functions run in the job, and
        the files that use their trainers and results, with what these import; and such files of other legacy trainers.
        Loops that go to accelerate take the modules that they import to the libraries of today.
        """
        results = dict(self.known)
        jobs = [real for real, result in results.items() if _is_job(result)]
        self._follow_imports(jobs)
        # Legacy code that seems to train with some other trainer, such as a TorchTrainer.
        others = [real for real, r in results.items() if r.is_legacy and "Trainer" in r.before and real not in jobs]
        self._follow_imports(others)
        self._follow_imports([real for real, r in results.items() if _is_loop(r)], self.part_of_loop)
        if not self.found.roots and len({*self.found.named, *self.found.candidates}) < 2:
            return  # there is no other file that may be written
        makers = [real for real, job in self.parts.items() if job is self.part and "Trainer(" in self.new[real].before]
        self._follow_imports(list(self._convert_users(dict.fromkeys([*jobs, *others, *makers]))))

    def _convert_users(self, jobs: Iterable[str]) -> Iterator[str]:
        """Converts the files that use what jobs hand on, and gives their real paths."""
        for module in users(self.project, [self.project.name(real) for real in jobs]):
            if self.found.covers(module.path):
                self._add_part(module.path, self.part)
                yield os.path.realpath(module.path)

    def _add_part(self, path: str, job: Job) -> None:
        """Converts a file as part of a job or loop, unless it was, is a job itself, or cannot be converted."""
        real = os.path.realpath(path)
        known = self.known.get(real)
        if real not in self.parts and (known is None or not (_is_job(known) or known.has_error)):
            self._add(path, job)

    def _follow_imports(self, start: list[str], job: Job | None = None) -> None:
        """Converts the modules of the project that files import, and those that these import."""
        queue = [real for real in start if real not in self.followed]
        self.followed.update(queue)
        while queue:
            real = queue.pop()
            result = self.known.get(real)
            path = self.project.name(real)
            if result is not None and result.before and not may_import_files(result.before):
                continue
            module = self.project.module(path)
            for path, _ in self.project.imported_files(module) if module is not None else ():
                imported = os.path.realpath(path)
                if imported != real:
                    self.links.setdefault(real, set()).add(imported)
                if imported not in self.followed:
                    self.followed.add(imported)
                    queue.append(imported)
                    self._add_part(path, job or self.part)

    def _refused(self) -> set[str]:
        """The files that cannot be changed as they are asked, or for a script that cannot be converted."""
        refused = set()
        for result in self.new.values():
            for request in result.asked:
                real = os.path.realpath(request.path)
                target = self.new[real]
                names = {(done.path, done.name) for done in target.done}
                stays = result.has_error or not self.found.covers(result.path)
                if stays or target.has_error or (request.path, request.name) not in names:
                    refused.add(real)
        return refused

    # -- what is said of other files ---------------------------------------------------------------------

    def _report_outside(self) -> None:
        """Says of each file that would have to change but was not named which file that is."""
        if not self.job.options.enabled(RM908.code):
            return
        for real, result in self.new.items():
            needed = None if self.found.covers(result.path) else _needed_outside(result)
            if needed is None:
                continue
            for importer in (self.project.name(name) for name, links in self.links.items() if real in links):
                if self.found.covers(importer):
                    self._report_import(importer, real, needed)

    def _report_import(self, importer: str, imported: str, needed: Finding) -> None:
        """Puts a finding where a file imports another one, unless a comment there silences it."""
        earlier = self.results.get(importer, FileResult(importer))
        module = self.project.module(importer)
        imports = self.project.imported_files(module) if module is not None else ()
        line = next((statement.lineno for path, statement in imports if os.path.realpath(path) == imported), 1)
        if skip := Skips(module.text if module is not None else "").of(RM908.code, line):
            needed = needed.skipped(skip.reason)
            earlier = earlier.without_stale({skip.line})
        needed = replace(needed, line=line, path=importer)
        self.results[importer] = earlier.with_findings([*earlier.findings, needed])

    def _report_settings(self) -> None:
        """Says what the settings files of legacy jobs, and those beside code for Serve, hold that is gone."""
        jobs = [
            r for real, r in self.known.items() if _is_job(r) or _writes_job(r) or self.parts.get(real) is self.part
        ]
        served = [*jobs, *filter(serves, self.known.values())]
        if not served:
            return
        how = self.project, self.job.options, self.found.covers
        of_jobs = (*told_in_settings(jobs, *how), *told_of_variables(jobs, *how))
        for told in (*of_jobs, *told_in_serve_configs(served, *how)):
            self.results[told.path] = self.results.get(told.path, told).with_told(told)

    # -- summaries -------------------------------------------------------------------------------------

    def summaries(self) -> list[ProjectSummary]:
        """What became of each job of several files; jobs that share a file count as one."""
        groups = joined({real, *links} for real, links in self.links.items())
        results = {os.path.realpath(path): result for path, result in self.results.items()}
        return sorted((self._summary(group, results) for group in groups), key=lambda summary: summary.folder)

    def _summary(self, group: set[str], results: dict[str, FileResult]) -> ProjectSummary:
        known = [results[real] for real in group if real in results]
        left = [r for r in known if any(f.kind in (Kind.MANUAL, Kind.UNSAFE, Kind.ERROR) for f in r.findings)]
        folder = self.project.name(os.path.commonpath([os.path.dirname(real) for real in group]))
        outside = sum(not self.found.covers(self.project.name(real)) for real in group)
        changed = sum(result.changes for result in known)
        return ProjectSummary(folder, len(group), changed, len(left), outside)


def left_outside(result: FileResult) -> FileResult:
    """The result of a link to a file that was not named, which has to change: it stays as it is."""
    due = [finding for finding in result.findings if finding.kind in DUE]
    needed = _outside(f"This is a link to {os.path.realpath(result.path)}, which", due)
    return FileResult(result.path, [replace(needed, path=result.path)])


def _needed_outside(result: FileResult) -> Finding | None:
    """What to say of a file that was not named: that it has to change, or that comments in it keep it as it is."""
    due = [f for f in result.findings if f.kind in DUE and f.code != RM906.code]
    kept = [finding for finding in result.findings if finding.kind is Kind.SKIPPED]
    if not due and not kept:
        return None
    needed = _outside(f"{result.path} is part of this job and", due or kept)
    return needed if due else needed.skipped(kept[0].reason)


def _outside(what: str, findings: Sequence[Finding]) -> Finding:
    message = f"{what} has to change ({codes_of(findings)}); it is not among the paths given."
    return Finding(RM908.code, Kind.MANUAL, message, RM908.fix)


def _is_job(result: FileResult) -> bool:
    """Whether a file has a legacy trainer or predictor, or is a plain script that becomes a job of Ray."""
    return any(
        (finding.family in JOBS and finding.kind is not Kind.SKIPPED)
        or (finding.family is Family.TO_RAY and finding.kind is Kind.CONVERTED)
        for finding in result.findings
    )


def _is_loop(result: FileResult) -> bool:
    """Whether a file trains by a native loop that goes to accelerate."""
    return any(finding.code == NATIVE and finding.kind is Kind.CONVERTED for finding in result.findings)


def _writes_job(result: FileResult) -> bool:
    """Whether a script that a cell of a notebook writes is a job: what is said of it is said of the cell."""
    document = result.document
    return document is not None and bool(document.scripts) and _is_job(result.with_findings(document.remarks))
