"""`raymigrate convert`: from the choices of the user to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from raymigrate.base.errors import NO_STDIN
from raymigrate.base.findings import one_line
from raymigrate.cli.settings import Settings
from raymigrate.files.discovery import CONFIGURATION, PAGES, SUFFIXES, below, discover, too_large
from raymigrate.files.gitignore import is_excluded
from raymigrate.reporting import DOCUMENTS
from raymigrate.run.gates import needles

if TYPE_CHECKING:
    from raymigrate.run.job import Job
    from raymigrate.run.outcome import Summary

NOTHING_THERE = (
    "Warning: no Python file or notebook was found there, or all of them are left out; are the paths right?"
    " (0 files scanned)"
)
Choices = Mapping[str, Any]


def run_conversion(paths: Sequence[str], settings: Settings, choices: Choices) -> int:
    """Finds files, converts them, and shows what was found.

    Args:
        paths: Files and folders, or `-` alone for stdin.
        settings: Tells which of the choices come from pyproject.toml.
        choices: The options of the command, by name.

    Returns:
        The exit code, as README.md has it.
    """
    _refuse_contradictions(paths, choices)
    if choices["report"]:
        from raymigrate.reporting.report_file import refuse_among, refuse_unfit  # noqa: PLC0415 - few runs report

        refuse_unfit(choices["report"])
    if baseline := _baseline(settings, choices):
        from raymigrate.run.baseline import read_baseline  # noqa: PLC0415 - few runs have one

        read_baseline(baseline)  # refused before anything is written
    if "-" in paths:
        return _convert_stdin(settings, choices)
    found = discover(
        paths,
        needles=_needles(choices),
        exclude=choices["exclude"],
        exclude_base=_exclude_base(settings),
        force_exclude=choices["force_exclude"],
        suffixes=(*SUFFIXES, *CONFIGURATION, *(PAGES if choices["docs"] else ())),
        jobs=choices["jobs"],
    )
    if choices["report"]:
        refuse_among(choices["report"], found)
    document = choices["output_format"] in DOCUMENTS or choices["report"] or choices["write_baseline"]
    if not found.candidates and not found.problems and not document:  # so ends nearly every run of a hook
        if not choices["quiet"]:
            click.echo(
                f"nothing legacy found ({found.scanned} file{'' if found.scanned == 1 else 's'} scanned)"
                if found.scanned
                else NOTHING_THERE,
                err=True,
            )
        return 0

    from raymigrate.reporting.terminal import with_progress  # noqa: PLC0415 - as below: a clean run needs none of it
    from raymigrate.run.session import run  # noqa: PLC0415

    job = _job(choices, write=True)
    if choices["interactive"]:
        from raymigrate.cli.interactive import InteractiveJob  # noqa: PLC0415

        summary = run(found, InteractiveJob(job.options, leads_out=found.leads_out), jobs=1)
    else:
        summary = run(found, job, jobs=choices["jobs"], progress=with_progress, isolated=True)
    return _shown(summary, settings, choices)


def _refuse_contradictions(paths: Sequence[str], choices: Choices) -> None:
    if "" in paths:
        raise click.UsageError("A path is empty; is a variable of the shell unset?")
    if sys.stdin is None and ("-" in paths or choices["interactive"]):
        raise click.UsageError(NO_STDIN)
    if "-" in paths and len(paths) > 1:
        raise click.UsageError("`-` stands for stdin, so it has to be the only path.")
    if choices["helpers"] == "module":
        if "-" in paths:
            raise click.UsageError("--helpers module writes a file beside scripts, which stdin has no place for.")
        if choices["interactive"]:
            raise click.UsageError("--helpers module concerns several files, and --interactive asks about one.")
    if not choices["interactive"]:
        return
    for other in ("check", "diff", "todo"):
        if choices[other]:
            raise click.UsageError(f"--interactive does not go together with --{other}.")
    if choices["output_format"] in DOCUMENTS:
        raise click.UsageError(
            f"--interactive shows changes on stdout, which --output-format {choices['output_format']} needs."
        )
    if "-" in paths:
        raise click.UsageError("--interactive reads its answers from stdin, so it cannot convert what comes there.")


def _convert_stdin(settings: Settings, choices: Choices) -> int:
    """Converts what comes from stdin, and writes it to stdout: converted, or as it came if nothing was to be done.

    So an editor that pipes a buffer through never loses it, whatever the exit code.
    """
    from raymigrate.facts.project import Project  # noqa: PLC0415
    from raymigrate.run.conversion import failed  # noqa: PLC0415
    from raymigrate.run.outcome import Summary  # noqa: PLC0415
    from raymigrate.run.session import converted_apart  # noqa: PLC0415

    data = sys.stdin.buffer.read()
    path = choices["stdin_filename"] or "<stdin>"
    excluded = choices["force_exclude"] and is_excluded(choices["exclude"], below(path, _exclude_base(settings)))
    summary = Summary(scanned=int(not excluded))
    if not excluded and any(needle in data for needle in _needles(choices)):
        job, reason = _job(choices, write=False), too_large(path, len(data))
        project = Project(named=(path,), may_write=lambda path: False)
        result = failed(path, reason) if reason else converted_apart(job, path, data, project)
        if result.findings or result.changes:
            summary.results.append(result)
        if result.after is not None and result.document is not None and not _dry_run(choices):
            data = result.new_bytes
            summary.results = [result.written()]
        summary.results = [result.in_cells() for result in summary.results]
    if not _dry_run(choices):
        stdout = sys.stdout.buffer
        stdout.write(data)
        stdout.flush()
    return _shown(summary, settings, choices, stdout_taken=not _dry_run(choices))


def _needles(choices: Choices) -> tuple[bytes, ...]:
    return needles(to_ray=choices["to_ray"], to_accelerate=choices["to_accelerate"])


def _exclude_base(settings: Settings) -> str:
    """The folder that the patterns of --exclude are relative to; empty for the current one."""
    return settings.folder if "exclude" in settings.values else ""


def _dry_run(choices: Choices) -> bool:
    return bool(choices["diff"] or choices["check"])


def _job(choices: Choices, *, write: bool) -> Job:
    from raymigrate.base.options import Options  # noqa: PLC0415
    from raymigrate.reporting.report_file import is_page  # noqa: PLC0415
    from raymigrate.run.job import Job  # noqa: PLC0415

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
    return os.path.join(settings.folder, path)  # noqa: PTH118 - pathlib costs every run 5 ms


def _shown(summary: Summary, settings: Settings, choices: Choices, *, stdout_taken: bool = False) -> int:
    from raymigrate.reporting.output import Output  # noqa: PLC0415

    dry_run = _dry_run(choices)
    if target := choices["write_baseline"]:
        from raymigrate.run.baseline import write_baseline  # noqa: PLC0415 - few runs have one

        number = write_baseline(target, summary)
        click.echo(f"{number} finding{'' if number == 1 else 's'} written to {one_line(target)}.", err=True)
    elif baseline := _baseline(settings, choices):
        from raymigrate.run.baseline import without_known  # noqa: PLC0415 - as above

        summary = without_known(summary, baseline, dry_run=dry_run)
    given = {f.name: choices[f.name] for f in fields(Output) if f.name in choices}
    Output(**given, dry_run=dry_run, stdout_taken=stdout_taken or choices["diff"]).show(summary)
    code = summary.exit_code(dry_run=dry_run)
    return 0 if target and code == 1 else code
