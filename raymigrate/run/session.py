"""Many files: finds them, converts each, writes the results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raymigrate.base.errors import CannotWorkError
from raymigrate.base.findings import Finding, Kind
from raymigrate.base.isolation import CrashedError, apart, working_on
from raymigrate.base.options import Options
from raymigrate.documents import UndecodableError, open_document
from raymigrate.files.contents import read_bytes
from raymigrate.files.discovery import CONFIGURATION, Discovery, processors
from raymigrate.run.conversion import broken, convert_document, crashed, failed
from raymigrate.run.engine import FileResult
from raymigrate.run.gates import concerns

if TYPE_CHECKING:
    from raymigrate.facts.project import Project
    from raymigrate.run.together import ProjectSummary

# A pool costs 40 ms and LibCST's import per worker; fewer bytes than this are done sooner without.
BYTES_WORTH_A_POOL = 300_000
# What overflows the stack of a parser is long. A process costs 3 ms, which one usual script need not spend.
BYTES_WORTH_A_PROCESS = 16_000


@dataclass
class Summary:
    """What a run found and did.

    Args:
        results: Files with findings or changes, in path order.
        scanned: Number of files looked at.
        projects: Jobs of several files.
        together: Paths of files that change together or not at all.
    """

    results: list[FileResult] = field(default_factory=list)
    scanned: int = 0
    projects: list[ProjectSummary] = field(default_factory=list)
    together: list[list[str]] = field(default_factory=list)

    @property
    def findings(self) -> Iterator[Finding]:
        """All findings, by file and place."""
        return (finding for result in self.results for finding in result.findings)

    @property
    def changed(self) -> list[FileResult]:
        """Results of files that change."""
        return [result for result in self.results if result.changes]

    def exit_code(self, *, dry_run: bool) -> int:
        """The exit code: 2 if something could not be done, 1 if something is left to do, else 0."""
        kinds = {finding.kind for finding in self.findings}
        if Kind.ERROR in kinds:
            return 2
        return int(Kind.MANUAL in kinds or Kind.UNSAFE in kinds or (dry_run and bool(self.changed)))


@dataclass(frozen=True)
class Job:
    """What to do with each file.

    Args:
        options: For the codemods.
        rewrite: Whether to work the new text out; False only tells whether there would be one.
        write: Whether to write it to the file.
        crashed: Files that ended the process when they were worked on, by real path, and how it ended.
    """

    options: Options
    rewrite: bool = True
    write: bool = True
    crashed: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, path: str, project: Project | None = None) -> FileResult:
        """Converts one file and writes it; every problem with it becomes a finding. For the arguments see `convert`."""
        [result] = self.finished([self.look(path, project)])
        return result

    def look(self, path: str, project: Project | None = None) -> FileResult:
        """Converts one file and writes nothing yet; every problem with it becomes a finding. See `convert`."""
        try:
            data = read_bytes(path)
        except OSError as error:
            return failed(path, f"cannot be read: {error.strerror or error}.")
        return self.convert(path, data, project)

    def convert(self, path: str, data: bytes, project: Project | None = None) -> FileResult:
        """Converts the bytes of one file and writes nothing; every problem with them becomes a finding.

        Places are those in the text of the document; `FileResult.in_cells` gives those in the file.

        Args:
            path: The file.
            data: Its bytes.
            project: The files that may be read besides; without, a file that cannot do without others waits.
        """
        if not self.options.part_of_job and not concerns(data, path, self.options):
            return FileResult(path)
        from raymigrate.facts.project import Alone, OtherFileNeeded  # noqa: PLC0415 - most runs never get here

        if how := self.crashed and self.crashed.get(os.path.realpath(path)):
            return crashed(path, how)
        try:
            with working_on(path):
                return self._converted(path, data, project or Alone())
        except OtherFileNeeded:
            return FileResult(path, waits=True)
        except UndecodableError as error:
            return failed(path, f"{error}.", error.line, error.column)
        except OSError as error:
            return failed(path, f"cannot be read: {error.strerror or error}.")
        except Exception as error:  # whatever it is, the other files are done
            return broken(path, error)

    def _converted(self, path: str, data: bytes, project: Project) -> FileResult:
        if path.endswith(CONFIGURATION):
            from raymigrate.run.configuration_names import legacy_names  # noqa: PLC0415 - few files name Ray

            return legacy_names(path, data, self.options)
        document = open_document(data, path)
        result = convert_document(document, path, self.options, rewrite=self.rewrite, project=project)
        if result.after is not None:
            _ = result.new_bytes  # its encoding may lack a character
        return result

    def finished(self, results: Sequence[FileResult], together: Sequence[Sequence[str]] = ()) -> list[FileResult]:
        """The results as a reader of the files sees them, once those are written that the job writes.

        Args:
            results: Results with places in the texts as they were read.
            together: Paths of files that change together or not at all.
        """
        if self.write:
            from raymigrate.run.writing import written  # noqa: PLC0415 - a check writes nothing

            results = written(results, together)
        return [result.in_cells() for result in results]


Progress = Callable[[Iterator[FileResult], int], Iterator[FileResult]]


def _unseen(results: Iterator[FileResult], total: int) -> Iterator[FileResult]:
    return results


def run(found: Discovery, job: Job, *, jobs: int = 0, progress: Progress = _unseen, isolated: bool = False) -> Summary:
    """Converts the files that a search found, and writes them.

    Args:
        found: See `raymigrate.files.discovery.discover`.
        job: What to do with each file.
        jobs: Number of processes; 0 chooses.
        progress: Passes the results on, given their number, and tells the user how far it is.
        isolated: Whether a file that ends the process shall cost no other one.
    """
    if isolated and (len(found.candidates) > 1 or _size(found.candidates) >= BYTES_WORTH_A_PROCESS):
        summary = _planned_apart(found, job, jobs, progress)
    else:
        summary = plan(found, job, jobs=jobs, progress=progress)
    summary.results = job.finished(summary.results, summary.together)
    return summary


def _planned_apart(found: Discovery, job: Job, jobs: int, progress: Progress) -> Summary:
    """Plans in another process: as often as files end it, each time without those that did."""
    while True:
        try:
            return apart(lambda job=job: plan(found, job, jobs=jobs, progress=progress))  # type: ignore[misc]
        except CrashedError as crash:
            real = os.path.realpath(crash.subject)
            if not crash.subject or real in job.crashed:
                raise CannotWorkError(f"A process ended by {crash.how}; no file was changed.") from None
            job = replace(job, crashed={**job.crashed, real: crash.how})


def converted_apart(job: Job, path: str, data: bytes, project: Project) -> FileResult:
    """Converts the bytes of one file as `Job.convert` does; if that ends the process, it was another one."""
    if len(data) < BYTES_WORTH_A_PROCESS:
        return job.convert(path, data, project)
    try:
        return apart(lambda: job.convert(path, data, project))
    except CrashedError as crash:
        return crashed(path, crash.how)


def plan(found: Discovery, job: Job, *, jobs: int = 0, progress: Progress = _unseen) -> Summary:
    """Converts the files that a search found, and writes none of them.

    Places are those in the texts as they were read: `Job.finished` gives those in the files.

    Args:
        found: See `raymigrate.files.discovery.discover`.
        job: What to do with each file.
        jobs: Number of processes; 0 chooses.
        progress: Passes the results on, given their number, and tells the user how far it is.
    """
    results = {problem.path: failed(problem.path, problem.message) for problem in found.problems}
    waiting: list[str] = []
    for result in progress(_map(job, found.candidates, jobs), len(found.candidates)):
        if result.waits:
            waiting.append(result.path)
        elif result.is_shown:
            results[result.path] = result
    summary = Summary(scanned=found.scanned)
    if waiting or results:
        from raymigrate.run.together import Together  # noqa: PLC0415 - as above

        together = Together(found, job, results)
        together.convert(waiting)
        summary.together, summary.projects = together.groups(), together.summaries()
        for result in results.values():
            result.asked, result.done = [], []  # they hold trees, which no other process needs
    if found.candidates:
        from raymigrate.run.pins import pin_results  # noqa: PLC0415 - most runs never get here

        results.update((result.path, result) for result in list(pin_results(found, results, job)))
    for path, result in results.items():
        if result.changes and found.leads_out(path):
            from raymigrate.run.together import left_outside  # noqa: PLC0415 - as above

            results[path] = left_outside(result)
    summary.results = [results[path] for path in sorted(results)]
    return summary


def _map(job: Job, paths: Sequence[str], jobs: int) -> Iterator[FileResult]:
    """Runs a job over files, in processes where that pays. Results come in the order of the paths."""
    jobs = jobs or processors()
    if jobs < 2 or len(paths) < 2 or _size(paths) < BYTES_WORTH_A_POOL:
        yield from map(job.look, paths)
        return
    from raymigrate.run.pool import isolated_map  # noqa: PLC0415 - costs 40 ms that small runs do not spend

    yield from isolated_map(job.look, paths, jobs, lost=crashed)


def _size(paths: Sequence[str]) -> int:
    total = 0
    for path in paths:
        try:
            total += os.stat(path).st_size  # noqa: PTH116 - pathlib costs a clean run 5 ms
        except OSError:
            continue
    return total
