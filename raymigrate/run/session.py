"""Many files: finds them, converts each, writes the results."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from raymigrate.base.errors import CannotWorkError
from raymigrate.base.isolation import CrashedError, apart
from raymigrate.base.options import nothing_found
from raymigrate.facts.projects.project import Project
from raymigrate.files.discovery import Discovery, pages_among, processors
from raymigrate.run.conversion import crashed, failed
from raymigrate.run.helper_modules import shared_helpers, with_modules
from raymigrate.run.job import RUNS, Job
from raymigrate.run.notebook_pins import pins_of_notebooks
from raymigrate.run.other_lines import settle_todos
from raymigrate.run.outcome import FileResult, Summary
from raymigrate.run.pins import pin_results
from raymigrate.run.together import Together, left_outside

# A pool costs 40 ms and LibCST's import per worker; fewer bytes than this are done sooner without.
BYTES_WORTH_A_POOL = 300_000
# What overflows the stack of a parser is long. A process costs 3 ms, which one usual script need not spend.
BYTES_WORTH_A_PROCESS = 16_000


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
    summary.results = job.finished(summary.results, summary.together, found.leads_out)
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
    """Converts the files that a search found, and writes none of them; for the arguments see `run`.

    Which helpers scripts share is known once all are converted: then those are converted again that import them.
    """
    summary = _plan(found, job, jobs=jobs, progress=progress)
    if job.options.helpers == "module":
        modules = shared_helpers(summary.results, found)
        if modules.imports:
            summary = _plan(found, replace(job, shared=modules.helpers), jobs=jobs)
        summary = with_modules(summary, modules)
    return summary


def _plan(found: Discovery, job: Job, *, jobs: int = 0, progress: Progress = _unseen) -> Summary:
    """Converts the files as they are. Places are those in the texts as they were read: `Job.finished` gives those in
    the files.
    """
    job = replace(job, tops=found.roots, run=next(RUNS))  # a caller may keep the job, and change files
    results = {problem.path: failed(problem.path, problem.message) for problem in found.problems}
    waiting: list[str] = []
    legacy = set[str]()
    for result in progress(_first_looks(job, found.candidates, jobs), len(found.candidates)):
        if result.waits:
            waiting.append(result.path)
        elif result.is_shown:
            results[result.path] = result
        if result.is_legacy:
            legacy.add(result.path)
    nothing = nothing_found(to_ray=job.options.to_ray, to_accelerate=job.options.to_accelerate)
    summary = Summary(scanned=found.scanned, pages=pages_among(found.candidates), nothing=nothing)
    together = Together(found, job, results)
    if waiting or results:
        together.convert(waiting)
        legacy |= together.legacy
        summary.together, summary.projects = together.groups(), together.summaries()
        for result in results.values():
            result.asked, result.done = [], []  # they hold trees, which no other process needs
    if found.candidates or found.named_lists:
        results.update((result.path, result) for result in list(pin_results(found, results, legacy, job)))
        told = list(pins_of_notebooks(found, results, legacy, job, together.with_pins))
        results.update((result.path, result) for result in told)
    if job.options.todo:
        settle_todos(results, found.leads_out)
    for path, result in results.items():
        if result.changes and found.leads_out(path):
            results[path] = left_outside(result)
    summary.results = [results[path] for path in sorted(results)]
    return summary


def _first_looks(job: Job, paths: Sequence[str], jobs: int) -> Iterator[FileResult]:
    """The results of files that can do without others, in the order of the paths; in processes where that pays.

    A single file has nobody to share work with: it may read others at once, while several would be begun and, where
    they turn out to need others, begun again.
    """
    if len(paths) == 1:
        return iter([FileResult(paths[0], waits=True)])
    jobs = jobs or processors()
    if jobs < 2 or _size(paths) < BYTES_WORTH_A_POOL:
        return map(job.first_look, paths)
    from raymigrate.run.pool import isolated_map  # noqa: PLC0415 - costs 40 ms that small runs do not spend

    return isolated_map(job.first_look, paths, jobs, lost=crashed)


def _size(paths: Sequence[str]) -> int:
    total = 0
    for path in paths:
        try:
            total += os.stat(path).st_size  # noqa: PTH116 - pathlib costs a clean run 5 ms
        except OSError:
            continue
    return total
