"""How reports name files: without the folders of the machine that made them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from raymigrate.facts.projects.project import Project


def shown(path: Path) -> Path:
    """A path as it is in a report.

    Args:
        path: A file or folder.

    Returns:
        The path below the working directory, or else below the folder of its project; the name alone if it is in
        neither, such as a script that git gave out into a temporary folder.
    """
    path = path.resolve()
    folders = (Path.cwd(), Path(Project().folder(str(path))))
    return next((path.relative_to(folder) for folder in folders if path.is_relative_to(folder)), Path(path.name))


def typed(arguments: Sequence[str]) -> str:
    """A command line that does the same in the same working directory, for any user.

    Args:
        arguments: The words of the command. A path below the working directory becomes relative, and one below the
            user's home is written with `$HOME`, which is what the shell made of `~`.
    """
    return " ".join(_typed(argument) for argument in arguments)


def _typed(argument: str) -> str:
    option, equals, value = argument.partition("=")
    if not equals:
        option, value = "", argument
    path = Path(value)
    if not path.is_absolute():
        return shlex.quote(argument)
    prefix = shlex.quote(option + equals) if equals else ""
    if path.is_relative_to(Path.cwd()):
        return prefix + shlex.quote(str(path.relative_to(Path.cwd())))
    home = Path.home()
    if path.is_relative_to(home) and home != Path(home.anchor):
        return f'{prefix}"$HOME"/{shlex.quote(str(path.relative_to(home)))}'
    return shlex.quote(argument)
