"""`raymigrate convert`: from the choices of the user to an exit code. A run without legacy code ends here."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from raymigrate.base.errors import NO_STDIN, CannotWorkError
from raymigrate.base.options import nothing_found
from raymigrate.base.signals import Interrupted, interruptible
from raymigrate.base.words import one_line
from raymigrate.cli.settings import Settings
from raymigrate.cli.suggestions import closest
from raymigrate.files.discovery import CONFIGURATION, PAGES, SUFFIXES, Discovery, discover
from raymigrate.files.needles import PINS, needles
from raymigrate.reporting import DOCUMENTS

NOTHING_THERE = (
    "Warning: no Python file or notebook was found there, or all of them are left out; are the paths right?"
    " (0 files scanned)"
)
PAGES_THERE = "There are pages that may hold legacy code: --docs reads their code blocks, as naming a page does."
Choices = Mapping[str, Any]


def convert_paths(ctx: click.Context, paths: Sequence[str], choices: Choices) -> int:
    """Does what `run_conversion` does, unless there is no such path or something ends it.

    Args:
        ctx: The call of the command, with the settings.
        paths: Files and folders, or `-` alone for stdin.
        choices: The options of the command, by name.

    Returns:
        The exit code, as README.md has it.

    Raises:
        CannotWorkError: If it is interrupted.
    """
    for path in paths if "-" not in paths else ():
        if path and not os.path.lexists(path):
            message = f"{one_line(path)}: there is no such file or folder, so nothing was changed."
            raise click.UsageError(message + _meant(ctx, path), ctx)
    try:
        with interruptible():
            return run_conversion(paths, ctx.obj, choices)
    except Interrupted as signal:
        click.echo(f"Error: Ended by {signal}; every file is either converted or as it was.", err=True)
        return 128 + signal.number
    except KeyboardInterrupt:
        raise CannotWorkError("Interrupted; every file is either converted or as it was.") from None


def _meant(ctx: click.Context, path: str) -> str:
    """What somebody may have meant by a path that does not exist: a command, an option, or another path."""
    group = ctx.find_root().command
    commands = group.list_commands(ctx) if isinstance(group, click.Group) else []
    if f"--{path}" in {name for option in ctx.command.params for name in option.opts}:
        return f" Did you mean `--{path}`?"
    if close := closest(path, commands):
        return f" Did you mean `raymigrate {close}`?"
    folder, name = os.path.split(path)
    if os.path.isdir(folder or ".") and (close := closest(name, os.listdir(folder or "."))):  # noqa: PTH112, PTH208
        return f" Did you mean {one_line(os.path.join(folder, close))}?"  # noqa: PTH118
    return (
        "" if folder or "." in name else f" `raymigrate PATH` converts; the other commands are {', '.join(commands)}."
    )


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
    found = None
    if "-" not in paths:
        found = _discover(paths, settings, choices, (*SUFFIXES, *CONFIGURATION, *(PAGES if choices["docs"] else ())))
        if not found.candidates and not found.named_lists and not found.problems and not _writes_more(choices):
            _say_that_nothing_is_left(found.scanned, choices)
            if not (found.scanned or choices["quiet"] or choices["docs"]):
                if _discover(paths, settings, choices, PAGES).candidates:
                    click.echo(PAGES_THERE, err=True)
            return 0

    from raymigrate.cli.candidates import convert_found, convert_stdin  # noqa: PLC0415 - most runs never get here

    return convert_stdin(settings, choices) if found is None else convert_found(found, settings, choices)


def _discover(paths: Sequence[str], settings: Settings, choices: Choices, suffixes: Sequence[str]) -> Discovery:
    """The files below the paths, with one of the suffixes, that hold a word of what the run is to change."""
    return discover(
        paths,
        needles=needles(
            to_ray=choices["to_ray"], to_accelerate=choices["to_accelerate"], pins=PINS in choices["select"]
        ),
        exclude=choices["exclude"],
        exclude_base=settings.exclude_base,
        force_exclude=choices["force_exclude"],
        suffixes=suffixes,
        jobs=choices["jobs"],
    )


def _writes_more(choices: Choices) -> bool:
    """Whether a run without findings prints or reads a document all the same."""
    return choices["output_format"] in DOCUMENTS or any(choices[n] for n in ("report", "baseline", "write_baseline"))


def _say_that_nothing_is_left(scanned: int, choices: Choices) -> None:
    if not choices["quiet"]:
        files = f"{scanned} file{'' if scanned == 1 else 's'}"
        nothing = nothing_found(to_ray=choices["to_ray"], to_accelerate=choices["to_accelerate"])
        click.echo(f"{nothing} ({files} scanned)" if scanned else NOTHING_THERE, err=True)


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
