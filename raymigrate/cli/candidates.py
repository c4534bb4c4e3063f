"""What a run does once there is something to convert or to report: of the files that a search found, or of stdin."""

import os
import sys
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import click

from raymigrate.base.options import Options, nothing_found
from raymigrate.base.words import one_line
from raymigrate.cli.interactive import InteractiveJob
from raymigrate.cli.settings import Settings
from raymigrate.facts.projects.project import Project
from raymigrate.files.discovery import Discovery, below, pages_among, too_large
from raymigrate.files.gitignore import is_excluded
from raymigrate.files.needles import PINS, needles
from raymigrate.reporting.output import Output
from raymigrate.reporting.progress import with_progress
from raymigrate.reporting.report_file import is_page, refuse_among, refuse_unfit
from raymigrate.run.baseline import read_baseline, without_known, write_baseline
from raymigrate.run.conversion import failed
from raymigrate.run.job import Job
from raymigrate.run.other_lines import settle_todos, with_lines_settled
from raymigrate.run.outcome import Summary
from raymigrate.run.session import converted_apart, run

Choices = Mapping[str, Any]


def convert_found(found: Discovery, settings: Settings, choices: Choices) -> int:
    """Converts the files that a search found, and shows what came of it.

    Args:
        found: See `raymigrate.files.discovery.discover`.
        settings: Tells which of the choices come from pyproject.toml.
        choices: The options of the command, by name.

    Returns:
        The exit code.
    """
    _refuse(settings, choices)
    if choices["report"]:
        refuse_among(choices["report"], found)
    job = _job(choices, write=True)
    if choices["interactive"]:
        summary = run(found, InteractiveJob(job.options, leads_out=found.leads_out), jobs=1)
    else:
        summary = run(found, job, jobs=choices["jobs"], progress=with_progress, isolated=True)
    return _shown(summary, settings, choices)


def convert_stdin(settings: Settings, choices: Choices) -> int:
    """Converts what comes from stdin, and writes it to stdout: converted, or as it came if nothing was to be done.

    So an editor that pipes a buffer through never loses it, whatever the exit code.
    """
    _refuse(settings, choices)
    data = sys.stdin.buffer.read()
    moves = {name: choices[name] for name in ("to_ray", "to_accelerate")}
    wanted = needles(**moves, pins=PINS in choices["select"])
    path = choices["stdin_filename"] or "<stdin>"
    excluded = choices["force_exclude"] and is_excluded(choices["exclude"], below(path, settings.exclude_base))
    summary = Summary(scanned=int(not excluded), nothing=nothing_found(**moves))
    if not excluded and any(needle in data for needle in wanted):
        summary.pages = pages_among([path])
        job, reason = _job(choices, write=False), too_large(path, len(data))
        project = Project(named=(path,), may_write=lambda path: False)
        result = failed(path, reason) if reason else converted_apart(job, path, data, project)
        if choices["todo"]:
            settled = {path: result}
            settle_todos(settled)
            result = settled[path]
        if result.findings or result.changes:
            summary.results.append(result)
        if result.after is not None and result.document is not None and not _dry_run(choices):
            data = result.new_bytes
            summary.results = [result.written()]
        summary.results = [result.in_cells() for result in with_lines_settled(summary.results)]
    if not _dry_run(choices):
        stdout = sys.stdout.buffer
        stdout.write(data)
        stdout.flush()
    return _shown(summary, settings, choices, stdout_taken=not _dry_run(choices))


def _refuse(settings: Settings, choices: Choices) -> None:
    """Refuses a report or a baseline that cannot be used, before anything is written."""
    if choices["report"]:
        refuse_unfit(choices["report"])
    if baseline := _baseline(settings, choices):
        read_baseline(baseline)


def _dry_run(choices: Choices) -> bool:
    return bool(choices["diff"] or choices["check"])


def _job(choices: Choices, *, write: bool) -> Job:
    options = Options(**{f.name: choices[f.name] for f in fields(Options) if f.name in choices})
    # A check alone need not know the new text, so it does without LibCST; SARIF carries it as fixes, and comments
    # that are to be written or removed show only in it, and a page shows it beside the old one.
    shows_text = choices["diff"] or choices["todo"] or choices["output_format"] == "sarif" or is_page(choices["report"])
    rewrite = not choices["check"] or shows_text
    return Job(options, rewrite=rewrite, write=write and not _dry_run(choices))


def _baseline(settings: Settings, choices: Choices) -> str:
    """The file of known findings; one that pyproject.toml names is beside that."""
    path = choices["baseline"] or ""
    if not path or "baseline" not in settings.values:
        return path
    return os.path.join(settings.folder, path)  # noqa: PTH118 - as everywhere on this path


def _shown(summary: Summary, settings: Settings, choices: Choices, *, stdout_taken: bool = False) -> int:
    dry_run = _dry_run(choices)
    if target := choices["write_baseline"]:
        number = write_baseline(target, summary)
        click.echo(f"{number} finding{'' if number == 1 else 's'} written to {one_line(target)}.", err=True)
    elif baseline := _baseline(settings, choices):
        summary = without_known(summary, baseline, dry_run=dry_run)
    given = {f.name: choices[f.name] for f in fields(Output) if f.name in choices}
    Output(**given, dry_run=dry_run, stdout_taken=stdout_taken or choices["diff"]).show(summary)
    code = summary.exit_code(dry_run=dry_run)
    return 0 if target and code == 1 else code
