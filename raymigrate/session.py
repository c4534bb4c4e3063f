"""Many files: finds them, converts each, writes the results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from raymigrate.config import Options
from raymigrate.conversion import convert_document, failed
from raymigrate.discovery import Discovery, processors
from raymigrate.documents import UndecodableError, open_document
from raymigrate.engine import FileResult
from raymigrate.files import read_bytes
from raymigrate.findings import Finding, Kind
from raymigrate.gates import concerns

if TYPE_CHECKING:
    from raymigrate.facts.project import Project
    from raymigrate.together import ProjectSummary

# A pool costs 40 ms and LibCST's import per worker; fewer bytes than this are done sooner without.
BYTES_WORTH_A_POOL = 300_000


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
        """The exit code of DESIGN.md: 2 something could not be done, 1 something is left to do, else 0."""
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
    """

    options: Options
    rewrite: bool = True
    write: bool = True

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
        if not self.options.part_of_job and not concerns(data, path):
            return FileResult(path)
        from raymigrate.facts.project import Alone, OtherFileNeeded  # noqa: PLC0415 - most runs never get here

        try:
            document = open_document(data, path)
            result = convert_document(document, path, self.options, rewrite=self.rewrite, project=project or Alone())
            if result.after is not None:
                _ = result.new_bytes  # its encoding may lack a character
        except OtherFileNeeded:
            return FileResult(path, waits=True)
        except UndecodableError as error:
            return failed(path, f"{error}.", error.line, error.column)
        except OSError as error:
            return failed(path, f"cannot be read: {error.strerror or error}.")
        return result

    def finished(self, results: Sequence[FileResult], together: Sequence[Sequence[str]] = ()) -> list[FileResult]:
        """The results as a reader of the files sees them, once those are written that the job writes.

        Args:
            results: Results with places in the texts as they were read.
            together: Paths of files that change together or not at all.
        """
        if self.write:
            from raymigrate.writing import written  # noqa: PLC0415 - a check writes nothing

            results = written(results, together)
        return [result.in_cells() for result in results]


Progress = Callable[[Iterator[FileResult], int], Iterator[FileResult]]


def _unseen(results: Iterator[FileResult], total: int) -> Iterator[FileResult]:
    return results


def run(found: Discovery, job: Job, *, jobs: int = 0, progress: Progress = _unseen) -> Summary:
    """Converts the files that a search found, and writes them. For the arguments see `plan`."""
    summary = plan(found, job, jobs=jobs, progress=progress)
    summary.results = job.finished(summary.results, summary.together)
    return summary


def plan(found: Discovery, job: Job, *, jobs: int = 0, progress: Progress = _unseen) -> Summary:
    """Converts the files that a search found, and writes none of them.

    Places are those in the texts as they were read: `Job.finished` gives those in the files.

    Args:
        found: See `raymigrate.discovery.discover`.
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
        from raymigrate.together import Together  # noqa: PLC0415 - as above

        together = Together(found, job, results)
        together.convert(waiting)
        summary.together, summary.projects = together.groups(), together.summaries()
    if found.candidates:
        from raymigrate.pins.project import pin_results  # noqa: PLC0415 - most runs never get here

        results.update((result.path, result) for result in list(pin_results(found, results, job)))
    summary.results = [results[path] for path in sorted(results)]
    return summary


def _map(job: Job, paths: Sequence[str], jobs: int) -> Iterator[FileResult]:
    """Runs a job over files, in processes where that pays. Results come in the order of the paths."""
    jobs = jobs or processors()
    if jobs < 2 or len(paths) < 2 or _size(paths) < BYTES_WORTH_A_POOL:
        yield from map(job.look, paths)
        return
    from raymigrate.pool import isolated_map  # noqa: PLC0415 - costs 40 ms that small runs do not spend

    yield from isolated_map(
        job.look, paths, jobs, lost=lambda path: failed(path, "brought the process down; left as it was.")
    )


def _size(paths: Sequence[str]) -> int:
    total = 0
    for path in paths:
        try:
            total += os.stat(path).st_size  # noqa: PTH116 - pathlib costs a clean run 5 ms
        except OSError:
            continue
    return total
