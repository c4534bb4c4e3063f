"""`raymigrate env`: the environments of `raymigrate verify` by hand."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import click

from raymigrate.base.signals import interruptible
from raymigrate.runtime.environments.environment import REQUIREMENTS
from raymigrate.runtime.environments.locks import names

NAME = click.Choice(names())
REMOVABLE = click.Choice((*names(), REQUIREMENTS))


@click.group()
def env() -> None:
    """Make and remove the environments that `raymigrate verify` runs its arms in."""


@env.command()
@click.argument("name", type=NAME)
@click.option(
    "--python",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Python 3.10 or 3.11 to make it with; default: the running one, else one on the PATH.",
)
def create(name: str, python: Path | None) -> None:
    """Make an environment with venv and pip; pip's own variables and files (PIP_INDEX_URL and such) hold."""
    from raymigrate.runtime.environments import EnvironmentFailure, ensure  # noqa: PLC0415

    started = time.monotonic()
    line = _ProgressLine()
    try:
        with interruptible():
            made = ensure(name, progress=line.show, python=python)
    except EnvironmentFailure as error:
        line.end()
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        line.end()
        raise click.ClickException("Interrupted; what was made of the environment is removed.") from None
    line.end()
    click.echo(f"{name}: {made.title}, torch {made.torch}")
    click.echo(f"  {made.folder} ({_size(made.folder)}, {time.monotonic() - started:.0f} s)")


@env.command("list")
def list_environments() -> None:
    """List every environment: what it holds, whether it is made, where, how large."""
    from raymigrate.runtime.environments import find  # noqa: PLC0415
    from raymigrate.runtime.environments.environment import folders, locked  # noqa: PLC0415
    from raymigrate.runtime.environments.locks import lock  # noqa: PLC0415
    from raymigrate.runtime.environments.requirements import complete  # noqa: PLC0415

    for name in names():
        made = find(name)
        click.echo(f"{name}: {lock(name).title}" + (f", torch {made.torch}" if made else ""))
        if made:
            click.echo(f"  {made.folder} ({_size(made.folder)})")
        else:
            click.echo(f"  not made: raymigrate env create {name}")
        for folder in folders(name):
            if made is None or folder != made.folder:
                with locked(folder) as handle:
                    state = "being made" if handle is None else "not in use"
                click.echo(f"  {state}: {folder} ({_size(folder)})")
    for folder in folders(REQUIREMENTS):
        made = complete(folder)
        click.echo(f"{REQUIREMENTS}: {f'{made.title}, torch {made.torch}' if made else 'not complete'}")
        click.echo(f"  {folder} ({_size(folder)})")


@env.command()
@click.argument("name", type=REMOVABLE)
def remove(name: str) -> None:
    """Remove an environment, with those of the same name that earlier versions have made.

    The name "requirements" stands for all that `raymigrate verify` has made of requirements files.
    """
    from raymigrate.runtime.environments import EnvironmentFailure  # noqa: PLC0415
    from raymigrate.runtime.environments import remove as remove_all  # noqa: PLC0415

    try:
        removed = remove_all(name)
    except EnvironmentFailure as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{name} is removed." if removed else f"{name} was not made.")


class _ProgressLine:
    """Elapsed time and what is being done: one line that is overwritten in a terminal, else a line for each step."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.terminal = sys.stderr.isatty()
        self.last = ""

    def show(self, words: str) -> None:
        """Shows a step, or, if it is still the same, the time that has passed."""
        text = f"{time.monotonic() - self.started:4.0f} s  {words}"
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r{text[:width]:<{width}}", nl=False, err=True)
        elif words != self.last:
            click.echo(text, err=True)
        self.last = words

    def end(self) -> None:
        """Clears the line."""
        if self.terminal and self.last:
            click.echo(f"\r{' ' * (shutil.get_terminal_size().columns - 1)}\r", nl=False, err=True)


def _size(folder: Path) -> str:
    """What a folder occupies on disk."""
    blocks = 0
    for root, _, files in os.walk(folder):
        for name in files:
            status = os.lstat(os.path.join(root, name))  # noqa: PTH118 - tens of thousands of files
            blocks += status.st_blocks
    return f"{blocks * 512 / 1e9:.1f} GB"
