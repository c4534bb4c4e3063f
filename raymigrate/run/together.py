# ruff: noqa: PTH117, PTH120 - works on strings, as discovery.py does
"""Files that are converted together: scripts that need other files of their project, and what their jobs import.

What a script asks of another file is done in both or in neither: both are converted and checked before either is
written. Files outside the paths that were given are read, and never written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from raymigrate.base.findings import Finding, Kind
from raymigrate.codemods.gone.names_in_strings import RM695
from raymigrate.comments.skips import RM906, Skips
from raymigrate.facts.own_modules import may_import_files
from raymigrate.facts.project import Project
from raymigrate.facts.users import users
from raymigrate.files.contents import read_bytes
from raymigrate.files.discovery import SKIPPED, Discovery, layers_of
from raymigrate.files.gitignore import Patterns, is_ignored
from raymigrate.run.conversion import failed
from raymigrate.run.environment_variables import told_of_variables
from raymigrate.run.file_rules import RM908
from raymigrate.run.job import Job
from raymigrate.run.job_files import has_trainer, is_job, is_loop, is_settled, writes_job
from raymigrate.run.neighbours import looked_at_again
from raymigrate.run.outcome import FileResult, ProjectSummary, codes_of
from raymigrate.run.replaced_names import replacing_files
from raymigrate.run.serve_configs import serves, told_in_serve_configs
from raymigrate.run.settings_files import told_in_settings
from raymigrate.run.tuner_settings import retold

DUE = (Kind.CONVERTED, Kind.UNSAFE, Kind.MANUAL)


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
            may_write=self._is_covered,
            crashed=job.crashed,
            shared=job.shared,
            judge=self._findings,
            becomes=self._new_text,
        )
        self._judged: dict[str, list[Finding]] = {}  # by real path: what files are asked about that others run as jobs
        self._new_texts: dict[str, str | None] = {}  # by real path: those of files whose names others replace
        self.given = {os.path.normpath(path) for path in (*found.named, *found.candidates)}
        self._layers: dict[str, list[Patterns]] = {}  # by folder
        self.links: dict[str, set[str]] = {}  # the files of the project that each script of a job imports
        self.new: dict[str, FileResult] = {}  # by real path: what was converted here
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
            self.new.clear()
            self.parts.clear()
            self.followed.clear()
            self.links.clear()
            self.project.asked.clear()
            self.project.uses.clear()
            self.project.places.clear()
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
            if (self._is_covered(result.path) or result.path in waiting) and result.is_shown:
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
        result = self._converted(path, replace(job, for_ray=True))
        result.asked, result.done = [], []  # as those of the results of a run
        return result

    def groups(self) -> list[list[str]]:
        """The files that change together: what a script asks of others, and the script. The asked ones come first."""
        pairs = [(real, os.path.realpath(r.path)) for real, result in self.new.items() for r in result.asked]
        return [
            [self.project.name(real) for real in sorted(group, key=lambda real: (real not in self.project.asked, real))]
            for group in _joined(set(pair) for pair in pairs)
        ]

    # -- conversion --------------------------------------------------------------------------------

    def _add(self, path: str, job: Job) -> FileResult:
        """Converts a file, and remembers what it asks of others."""
        real = os.path.realpath(path)
        result = self.unstable.get(real) or self._converted(path, job)
        self.new[real] = result
        if job is not self.job:
            self.parts[real] = job
        for request in result.asked:
            asked = self.project.asked.setdefault(os.path.realpath(request.path), [])
            if not any((other.path, other.name) == (request.path, request.name) for other in asked):
                asked.append(request)
        return result

    def _converted(self, path: str, job: Job) -> FileResult:
        try:
            return job.convert(path, read_bytes(path), self.project)
        except OSError as error:
            return failed(path, f"cannot be read: {error.strerror or error}.")

    def _findings(self, path: str) -> list[Finding]:
        """What there is to say of a file, before it is its turn."""
        real = os.path.realpath(path)
        if real not in self._judged:
            self._judged[real] = []  # where two files run each other
            result = self.new.get(real) or self.alone.get(real)
            self._judged[real] = (result or self._converted(path, replace(self.job, rewrite=False))).findings
        return self._judged[real]

    def _look_at_tests(self) -> None:
        """Looks at the files that may replace names in the modules that change, whether or not they name Ray."""
        searched = {*map(os.path.realpath, self.found.candidates), *self.new}
        if self.job.options.enabled(RM695.code):
            for path in [*replacing_files({**self.alone, **self.new}.values(), self.project)]:
                if os.path.realpath(path) not in searched and self._is_covered(path):
                    self._add(path, self.job)

    def _new_text(self, path: str) -> str | None:
        """What becomes of a file, before it is its turn, and where nothing is written too."""
        real = os.path.realpath(path)
        if real not in self._new_texts:
            self._new_texts[real] = None  # where two files replace names in each other
            result = self.new.get(real) or self.alone.get(real)
            if result is None or (result.changes and result.after is None):
                result = self._converted(path, replace(self.job, rewrite=True))
            self._new_texts[real] = result.after
        return self._new_texts[real]

    def _look_again(self) -> bool:
        """Looks at the files that change beside those that change too; whether one of them has to stay as it is."""
        results = {**self.alone, **self.new}
        changed = {real: result for real, result in results.items() if result.after is not None}
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
        carried_out: dict[str, int] = {}
        while True:
            open_requests = [real for real, asked in self.project.asked.items() if carried_out.get(real) != len(asked)]
            if not open_requests:
                return
            for real in open_requests:
                asked = self.project.asked[real]
                carried_out[real] = len(asked)
                path = asked[0].path
                known = real in self.alone or path in self.found.candidates
                self._add(path, self.job if known else self.part)

    def _convert_imported(self) -> None:
        """Converts what belongs to converted jobs: the modules that they import, whose functions run in the job, and
        the files that use their trainers and results, with what these import; and such files of other legacy trainers.
        Loops that go to accelerate take the modules that they import to the libraries of today.
        """
        results = {**self.alone, **self.new}
        jobs = [real for real, result in results.items() if is_job(result)]
        self._follow_imports(jobs)
        others = [real for real, result in results.items() if has_trainer(result) and real not in jobs]
        self._follow_imports(others)
        self._follow_imports([real for real, r in results.items() if is_loop(r)], self.part_of_loop)
        if not self.found.roots and len(self.given) < 2:
            return  # there is no other file that may be written
        makers = [real for real, job in self.parts.items() if job is self.part and "Trainer(" in self.new[real].before]
        self._follow_imports(list(self._convert_users(dict.fromkeys([*jobs, *others, *makers]))))

    def _convert_users(self, jobs: Iterable[str]) -> Iterator[str]:
        """Converts the files that use what jobs hand on, and gives their real paths."""
        for module in users(self.project, [self.project.name(real) for real in jobs]):
            if self._is_covered(module.path):
                self._add_part(module.path, self.part)
                yield os.path.realpath(module.path)

    def _add_part(self, path: str, job: Job) -> None:
        """Converts a file as part of a job or loop, unless it was, or would come out the same."""
        real = os.path.realpath(path)
        if real not in self.parts and not is_settled(self.new.get(real) or self.alone.get(real)):
            self._add(path, job)

    def _follow_imports(self, start: list[str], job: Job | None = None) -> None:
        """Converts the modules of the project that files import, and those that these import."""
        queue = [real for real in start if real not in self.followed]
        self.followed.update(queue)
        while queue:
            real = queue.pop()
            result = self.new.get(real) or self.alone.get(real)
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
                stays = result.has_error or not self._is_covered(result.path)
                if stays or target.has_error or (request.path, request.name) not in names:
                    refused.add(real)
        return refused

    # -- paths that were not given ---------------------------------------------------------------------

    def _is_covered(self, path: str) -> bool:
        """Whether a file is among those that were named: itself, or below a folder and not left out there."""
        path = os.path.normpath(path)
        if self.found.leads_out(path):
            return False
        if path in self.given:
            return True
        for root in self.found.roots:
            base = os.path.normpath(root) if root else ""
            below = path if not base or base == "." else path[len(base) + 1 :] if path.startswith(f"{base}/") else ""
            if not below or os.path.isabs(below) or below.startswith("../"):
                continue
            folders = below.split("/")[:-1]
            if any(folder in SKIPPED or folder.startswith(".") for folder in folders):
                continue
            start = root + below
            around = [root, *(root + "/".join(folders[: n + 1]) + "/" for n in range(len(folders)))]
            ways = zip(around, (*around[1:], start), strict=True)
            if not any(is_ignored(self._layers_of(folder), name) for folder, name in ways):
                return True
        return False

    def _layers_of(self, folder: str) -> list[Patterns]:
        """The patterns that hold in a folder, read once."""
        if folder not in self._layers:
            self._layers[folder] = layers_of(folder, self.found)
        return self._layers[folder]

    def _report_outside(self) -> None:
        """Says of each file that would have to change but was not named which file that is."""
        if not self.job.options.enabled(RM908.code):
            return
        for real, result in self.new.items():
            needed = None if self._is_covered(result.path) else _needed_outside(result)
            if needed is None:
                continue
            for importer in (self.project.name(name) for name, links in self.links.items() if real in links):
                if self._is_covered(importer):
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
        results = {**self.alone, **self.new}
        jobs = [r for real, r in results.items() if is_job(r) or writes_job(r) or self.parts.get(real) is self.part]
        served = [*jobs, *filter(serves, results.values())]
        if not served:
            return
        how = self.project, self.job.options, self._is_covered
        of_jobs = (*told_in_settings(jobs, *how), *told_of_variables(jobs, *how))
        for told in (*of_jobs, *told_in_serve_configs(served, *how)):
            known = self.results.setdefault(told.path, told)
            self.results[told.path] = known.with_findings([*dict.fromkeys([*known.findings, *told.findings])])
            for document in (known.document, known.rewritten):  # what cells write is told where they are
                if document is not None and told.document is not None:
                    document.remarks = [*dict.fromkeys([*document.remarks, *told.document.remarks])]

    # -- summaries -------------------------------------------------------------------------------------

    def summaries(self) -> list[ProjectSummary]:
        """What became of each job of several files; jobs that share a file count as one."""
        groups = _joined({real, *links} for real, links in self.links.items())
        return sorted((self._summary(group) for group in groups), key=lambda summary: summary.folder)

    def _summary(self, group: set[str]) -> ProjectSummary:
        results = {os.path.realpath(path): result for path, result in self.results.items()}
        known = [results[real] for real in group if real in results]
        left = [r for r in known if any(f.kind in (Kind.MANUAL, Kind.UNSAFE, Kind.ERROR) for f in r.findings)]
        folder = self.project.name(os.path.commonpath([os.path.dirname(real) for real in group]))
        outside = sum(not self._is_covered(self.project.name(real)) for real in group)
        changed = sum(result.changes for result in known)
        return ProjectSummary(folder, len(group), changed, len(left), outside)


def _joined(sets: Iterable[set[str]]) -> list[set[str]]:
    """Sets, with those united that share something."""
    groups: list[set[str]] = []
    for group in sets:
        joined = [other for other in groups if not group.isdisjoint(other)]
        groups = [other for other in groups if other not in joined] + [group.union(*joined)]
    return groups


def left_outside(result: FileResult) -> FileResult:
    """The result of a link to a file that was not named, which has to change: it stays as it is."""
    codes = codes_of(finding for finding in result.findings if finding.kind in DUE)
    target = os.path.realpath(result.path)
    message = f"This is a link to {target}, which has to change ({codes}); it is not among the paths given."
    return FileResult(result.path, [Finding(RM908.code, Kind.MANUAL, message, RM908.fix, path=result.path)])


def _needed_outside(result: FileResult) -> Finding | None:
    """What to say of a file that was not named: that it has to change, or that comments in it keep it as it is."""
    due = [f for f in result.findings if f.kind in DUE and f.code != RM906.code]
    kept = [finding for finding in result.findings if finding.kind is Kind.SKIPPED]
    if not due and not kept:
        return None
    codes = codes_of(due or kept)
    message = f"{result.path} is part of this job and has to change ({codes}); it is not among the paths given."
    needed = Finding(RM908.code, Kind.MANUAL, message, RM908.fix)
    return needed if due else needed.skipped(kept[0].reason)
